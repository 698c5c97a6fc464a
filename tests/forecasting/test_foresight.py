"""Recurrent learners roll forward in advance, after learning, which changes no forecast."""

import numpy as np
import pytest

from quatcast import MCC, QGRU, QRNN, RNN, SGD, Adam, Forecaster, Replay
from quatcast.data import simulated

LEARNERS = {
    "replay": lambda: QRNN((3,), loss=MCC(), optimizer=Adam(0.01), seeds=range(2), replay=Replay(window=4, memory=40)),
    "low-rank": lambda: QRNN((4,), optimizer=SGD(0.05)),
    "two-layers": lambda: RNN((4, 3), optimizer=SGD(0.05)),
    "gated": lambda: QGRU((3,), optimizer=Adam(0.01)),
}


@pytest.mark.parametrize("name", LEARNERS)
def test_forecasts_are_those_of_a_learner_that_does_nothing_in_advance(name, monkeypatch):
    """Also if `learn` is left out now and then, and after the parameters were replaced."""
    settings = {"horizon": 4, "lags": 3, "target": "displacement", "scale_by": "channel", "train": 30}
    usual, later = (Forecaster(LEARNERS[name](), **settings) for _ in range(2))
    monkeypatch.setattr(later.learner, "_foresee", lambda inputs: None)
    x, rng = simulated(seconds=60)[1].positions[:120], np.random.default_rng(1)
    every = np.ones(x.shape[1], dtype=bool)
    for one in (usual, later):
        one.begin(x.shape[1:])
    for t, row in enumerate(x):
        made, expected = usual.forecast(row, every), later.forecast(row, every)
        np.testing.assert_array_equal(made, expected)
        assert np.isfinite(made).all() == (t >= 30)
        if rng.uniform() > 0.2:
            usual.learn()
            later.learn()
        if t == 80:
            for one in (usual, later):
                one.learner.load_parameters({key: 1.1 * w for key, w in one.learner.parameters().items()})


def test_an_answer_takes_one_step_of_the_network(monkeypatch):
    forecaster = Forecaster(LEARNERS["replay"](), horizon=6, lags=3, train=30)
    x = simulated(seconds=60)[1].positions[:60]
    for row in x[:50]:
        forecaster.update(row)
    rolled, roll = [], forecaster.learner._engine.roll
    monkeypatch.setattr(forecaster.learner._engine, "roll", lambda *given: rolled.append(len(given[2])) or roll(*given))
    for row in x[50:]:
        forecaster.forecast(row, np.ones(3, dtype=bool))
        assert rolled == [1]
        forecaster.learn()
        assert rolled == [1, 6]
        rolled.clear()
