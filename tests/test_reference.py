"""Numbers of the library before its modules, states and cells were rebuilt, which it must still give.

`reference_numbers.json` was made with the last commit before the rebuild, whose forecasters learnt from each sample
before they answered.
"""

import json
from pathlib import Path

import numpy as np
import pytest

from quatcast import LMS, MCC, QLMS, QRNN, RLS, RNN, SGD, Forecaster, Persistence, recommended
from quatcast.data import extmarker, simulated

REFERENCE = json.loads((Path(__file__).parent / "reference_numbers.json").read_text())
TRAIN, SCORED, CLIP = 300, 600, 2.0

LEARNERS = {
    "QRNN-MCC": lambda: network(QRNN, 10, "adaptive"),
    "QRNN-MSE": lambda: network(QRNN, 10, float("inf")),
    "RNN-MCC": lambda: network(RNN, 20, "adaptive"),
    "RNN-MSE": lambda: network(RNN, 20, float("inf")),
    "QLMS": lambda: QLMS(optimizer=SGD([0.01], clip=CLIP)),
    "LMS": lambda: LMS(optimizer=SGD([0.01], clip=CLIP)),
    "RLS": lambda: RLS(forgetting=[0.999], regularization=1.0),
    "persistence": lambda: Persistence(),
}
LAGS = {"RLS": 10, "persistence": 1}


def network(kind, units, sigma):
    """A network of the experiments: one run of a batch, in which each run has its own kernel width."""
    return kind((units,), loss=MCC([sigma]), optimizer=SGD([0.05], clip=CLIP), seeds=[0], max_depth=128)


def rmse(errors):
    return float(np.sqrt(np.nanmean(np.sum(errors**2, axis=-1))))


def close(found, expected):
    np.testing.assert_allclose(np.ravel(found), np.ravel(expected), rtol=1e-9)


@pytest.fixture(scope="module")
def breathing():
    return simulated(seconds=90)[3].positions


@pytest.mark.parametrize("case", REFERENCE["predictors"])
def test_learners_forecast_as_before(breathing, case):
    name, labels = case.split(", ")
    learner, lags = LEARNERS[name](), LAGS.get(name, 30)
    forecaster = Forecaster(learner, horizon=5, lags=lags, labels=labels, train=TRAIN, learn_first=True)
    positions = forecaster.run(breathing, training=breathing[:TRAIN]).positions.reshape(breathing.shape)
    expected = REFERENCE["predictors"][case]
    errors = positions - breathing
    if "early" in expected:
        # Networks amplify rounding errors, which depend on the order of sums: from 1e-16 to 1e-3 within 600 samples.
        close(rmse(errors[100:TRAIN]), expected["early"]["rmse"])
        close(positions[TRAIN - 1], expected["early"]["last"])
        assert rmse(errors[SCORED:]) == pytest.approx(expected["rmse"], rel=0.1)
    else:
        close(rmse(errors[SCORED:]), expected["rmse"])
        close(positions[-1], expected["last"])


@pytest.mark.slow
@pytest.mark.parametrize("case", REFERENCE["recommended"])
def test_the_recommended_forecaster_forecasts_as_well_as_before(breathing, case, request):
    """At most 2 % worse, because rounding errors grow in its networks and differ from machine to machine."""
    name, horizon = case.split(", ")
    source, _, number = name.partition(" ")
    if source == "extmarker":
        x = extmarker(request.getfixturevalue("extmarker_folder"))[int(number) - 1].positions
    else:
        x = breathing
    forecasts = recommended(float(horizon.removesuffix(" s")), 10.0).run(x)
    assert rmse((forecasts.positions - x)[SCORED:]) < 1.02 * REFERENCE["recommended"][case]
