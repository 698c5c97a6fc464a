"""The classical baselines as predictors: what each of them runs, and that `compare` does."""

import numpy as np
import pytest

from quatcast import QELM, ConstantVelocity, DampedVelocity, Forecaster, Kalman, Ridge
from quatcast.evaluation import Batch, Settings, compare, find_predictor

DISPLACEMENTS = {"horizon": 5, "lags": 12, "target": "displacement", "scale_by": "channel"}
NAMES = ("constant-velocity", "damped-velocity", "Kalman-CV", "Kalman-CA", "ridge", "QELM")
DIRECT = {
    "constant-velocity": lambda: ConstantVelocity(5),
    "damped-velocity": lambda: DampedVelocity(5, (1, 2, 4, 8), memory=500.0),
    "Kalman-CV": lambda: Kalman(5, "velocity", memory=500.0),
    "Kalman-CA": lambda: Kalman(5, "acceleration", memory=500.0),
    "ridge": lambda: Forecaster(Ridge(30.0, refit=10), **DISPLACEMENTS),
    "QELM": lambda: Forecaster(QELM(50, regularization=50.0, refit=10, seeds=[7]), **DISPLACEMENTS),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_predictor_with_usual_settings_is_its_forecaster(name, recordings):
    predictor, x = find_predictor(name), recordings[0].positions[:400]
    assert predictor.labels == ("causal",)
    batch = Batch([predictor.usual], seeds=[7], horizon=5, sampling_rate=10.0, labels="causal")
    training = {"training": x[:300]} if name in ("ridge", "QELM") else {}
    expected = DIRECT[name]().run(x, **training).positions
    np.testing.assert_array_equal(np.asarray(predictor.build(batch).run(x)), expected)


def test_the_baselines_can_be_compared(recordings, store, here):
    settings = Settings.of({"predictors": [*NAMES, "persistence"], "labels": ["causal"], "horizons": [0.5]})
    compare(recordings[:1], settings, store=store, workers=here)
    found = {result.predictor: result for result in store.results("test")}
    assert set(found) == {*NAMES, "persistence"}
    assert not any(result.diverged for result in found.values())
    for name in ("damped-velocity", "ridge", "QELM"):
        assert found[name].rmse < 0.8 * found["persistence"].rmse
    assert found["Kalman-CA"].rmse > found["Kalman-CV"].rmse > found["damped-velocity"].rmse
