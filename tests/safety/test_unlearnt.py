"""Forecasts that nobody learns from: memory stays bounded, and a checkpoint in between forgets nothing."""

import pickle

import numpy as np
import pytest

from quatcast import Forecaster, Guarded, Ridge, recommended
from quatcast.data import simulated
from quatcast.safety.status import Status


@pytest.fixture(scope="module")
def calm():
    return simulated(seconds=60)[1].positions


def make(**settings):
    usual = {"horizon": 3, "lags": 6, "target": "displacement", "scale_by": "channel", "train": 40, "catch_up": 5}
    return Forecaster(Ridge(), **(usual | settings))


def test_samples_that_nobody_learns_from_do_not_pile_up(calm):
    guarded = Guarded(make(), rate=10.0)
    for row in calm[:80]:
        guarded.forecast(row)
    sizes = []
    for row in calm[80:300]:
        guarded.forecast(row)
        sizes.append(len(pickle.dumps(guarded)))
    assert len(guarded.forecaster.state.waiting) <= 80
    assert max(sizes[100:]) <= 1.02 * max(sizes[:100])
    # Once somebody calls `learn`, it catches up and forecasts.
    for row in calm[300:400]:
        forecast = guarded.update(row)
    assert forecast.status == Status.OK


def test_a_gap_among_waiting_samples_is_never_part_of_an_input(calm):
    """Dropping what has waited too long and beginning at the oldest sample left come to the same."""
    late, fresh = make(), make()
    late.begin((3, 3))
    everything = np.ones(3, dtype=bool)
    for t in range(150):
        late.forecast(calm[t], everything)
        if t == 45:
            late.learn()
    fresh.begin((3, 3), training=calm[:40])
    kept = late.state.waiting.positions.copy()
    np.testing.assert_array_equal(kept, calm[150 - len(kept) : 150])
    while late.state.waiting:
        late.learn()
    late.learner.begin(18 * 3, 9)
    for sample in kept:
        fresh.forecast(sample, everything)
        fresh.learn()
    np.testing.assert_array_equal(late.state.inputs, fresh.state.inputs)


@pytest.mark.parametrize("at", [20, 42, 120])
def test_learns_after_a_checkpoint_between_forecast_and_learn(calm, at, tmp_path):
    guarded = Guarded(make(), rate=10.0)
    for row in calm[:at]:
        guarded.update(row)
    guarded.forecast(calm[at])
    guarded.save(tmp_path / "guarded")
    others = [guarded, Guarded.load(tmp_path / "guarded"), pickle.loads(pickle.dumps(guarded))]
    for other in others:
        other.learn()
        other.learn()
    for row in calm[at + 1 : at + 60]:
        expected, *found = [other.update(row) for other in others]
        for one in found:
            np.testing.assert_array_equal(one.position, expected.position)
            np.testing.assert_array_equal(one.radius, expected.radius)


def test_learning_that_fails_after_a_checkpoint_leaves_the_forecast_as_it_was(calm, monkeypatch):
    guarded = Guarded(make(), rate=10.0)
    for row in calm[:120]:
        guarded.update(row)
    guarded.forecast(calm[120])
    loaded = pickle.loads(pickle.dumps(guarded))
    before = pickle.dumps(loaded.forecaster)

    def fail():
        raise ValueError("singular")

    monkeypatch.setattr(loaded.forecaster, "learn", fail)
    loaded.learn()
    monkeypatch.undo()
    assert pickle.dumps(loaded.forecaster) == before
    assert "singular" in loaded.update(calm[121]).reason


def test_the_recommended_forecaster_learns_after_a_checkpoint_too(calm):
    forecaster = recommended(0.5, 10.0)
    for row in calm[:360]:
        forecaster.update(row)
    forecaster.forecast(calm[360])
    other = pickle.loads(pickle.dumps(forecaster))
    forecaster.learn()
    other.learn()
    for row in calm[361:370]:
        np.testing.assert_array_equal(forecaster.update(row).position, other.update(row).position)
