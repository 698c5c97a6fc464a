"""The status: how often it is not ok, what it announces, and whether its reasons come true."""

import pickle
import re

import numpy as np
import pytest

from quatcast import AdaptiveLinear, Forecaster, Guarded, Ridge
from quatcast.data import simulated
from quatcast.safety.status import Status
from quatcast.testing.bursts import with_burst


def make(horizon=5):
    inner = Forecaster(Ridge(), horizon=horizon, lags=12, target="displacement", scale_by="channel", catch_up=7)
    return Guarded(inner, rate=10.0)


def warmed(x, horizon=5):
    """Forecasts of x, and the pickled forecaster that made them."""
    forecaster = make(horizon)
    return [forecaster.update(row) for row in x], pickle.dumps(forecaster)


def continued(warm, x, name, start, length):
    """Forecasts from the start of a burst on, by a pickled forecaster that has seen x before it."""
    shown = with_burst(x, name, "one channel", start, length)
    np.testing.assert_array_equal(shown[:start], x[:start])
    forecaster = pickle.loads(warm)
    return [forecaster.update(row) for row in shown[start:]]


@pytest.fixture(scope="module")
def regular():
    """Forecasts of recordings of regular breathing, with their errors in units of the radius."""
    recordings = [r for r in simulated(seed=5, seconds=100) if r.group == "regular"]
    made = [make().run(recording.positions) for recording in recordings]
    errors = [
        np.linalg.norm(recording.positions - forecasts.positions, axis=-1) / forecasts.radius
        for recording, forecasts in zip(recordings, made, strict=True)
    ]
    return made, errors


def test_regular_breathing_is_hardly_ever_degraded(regular):
    made, _ = regular
    degraded = [np.mean(forecasts.status[600:] == Status.DEGRADED) for forecasts in made]
    assert np.mean(degraded) <= 0.02
    assert max(degraded) <= 0.05  # one of them coughs
    assert not any((forecasts.status[600:] == Status.HOLD).any() for forecasts in made)


def test_large_errors_are_announced_far_more_often_than_ordinary_ones(regular):
    told, large, ordinary = [], [], []
    for forecasts, errors in zip(*regular, strict=True):
        h = forecasts.horizon
        told.append(forecasts.status[600:-h] != Status.OK)
        large.append((errors[600 + h :] > 2).any(axis=-1))
        ordinary.append((errors[600 + h :] <= 1).all(axis=-1))
    told, large, ordinary = map(np.concatenate, (told, large, ordinary))
    assert large.sum() > 20
    assert told[large].mean() > 5 * told[ordinary].mean()


def test_unexpected_motion_is_announced_before_any_error_is_known():
    x = simulated(seed=5, seconds=70)[1].positions.copy()
    rng = np.random.default_rng(1)
    x[600:620] += np.cumsum(rng.normal(scale=0.6, size=(20, 3, 3)), axis=0)
    x[620:] += x[619] - simulated(seed=5, seconds=70)[1].positions[619]
    forecasts = make(horizon=20).run(x)
    told = [t for t in range(600, 620) if "times as unexpected as usual" in forecasts.reasons[t]]
    assert told
    assert told[0] < 610
    assert {Status(forecasts.status[t]) for t in told} <= {Status.DEGRADED, Status.HOLD}
    assert not any("unexpected" in reason for reason in forecasts.reasons[680:])


def test_every_reason_says_what_will_end_it():
    x = simulated(seed=5, seconds=65)[1].positions
    bursts = ("9999", "frozen", "missing in blocks", "noise of 10 mm", "shift by 20 mm for 10 s", "ramp of 50 mm/s")
    kinds = set()
    before, warm = warmed(x[:400])
    for forecasts in [before, *(continued(warm, x, name, 400, 100) for name in bursts)]:
        for status, reason in [(forecast.status, forecast.reason) for forecast in forecasts]:
            assert (status == Status.OK) == (reason == "")
            for part in reason.split("; ") if reason else []:
                assert re.search(r"\d s", part), part
                assert ", ends " in part or status == Status.HOLD, part
            assert not reason or ", ends " in reason
            kinds.add(re.sub(r"[\d.]+", "#", reason))
    assert len(kinds) > 10


def test_the_time_until_the_end_comes_true():
    """While "ends in t s" is all that is wrong, the same status lasts for that long and not longer."""
    x = simulated(seed=5, seconds=70)[1].positions
    _, warm = warmed(x[:500], horizon=1)
    for length in (5, 15, 45):
        forecasts = continued(warm, x, "all missing", 500, length)
        found = 0
        for t in range(100):
            if match := re.fullmatch(r"[^;]*, ends in ([\d.]+) s", forecasts[t].reason):
                left = round(10 * float(match[1]))
                assert {forecast.status for forecast in forecasts[t : t + left]} == {forecasts[t].status}
                then = forecasts[t + left].reason
                assert then == "" or then.split(" ago")[0] not in forecasts[t].reason.split(" ago")[0]
                found += 1
        assert found >= 3


def test_a_body_that_begins_to_move_is_not_degraded_for_ever():
    """While it rested its radius was zero, and any other is wider than ten times that."""
    t = np.arange(900) / 10.0
    x = 8.0 * np.sin(1.5 * np.maximum(t - 40.0, 0.0))[:, None, None] * np.array([1.0, 0.5, -0.3])
    forecasts = Guarded(AdaptiveLinear(5), rate=10.0).run(x)
    assert not any("inf" in reason for reason in forecasts.reasons)
    assert np.mean(forecasts.status[600:] == Status.OK) > 0.95


@pytest.mark.parametrize("size", [8.0, 50.0])
@pytest.mark.parametrize("jitter", [1e-10, 1e-6, 1e-3, 0.1])
def test_a_body_that_swings_after_a_rest_with_jitter_is_believed(jitter, size):
    """It was held for ever, because all its motion was thousands of times as large as usual; and P lost its sign."""
    t = np.arange(1200) / 10.0
    noise = jitter * np.random.default_rng(0).normal(size=(1200, 1, 3))
    x = size * np.sin(1.5 * np.maximum(t - 40.0, 0.0))[:, None, None] * np.array([1.0, 0.5, -0.3]) + noise
    forecasts = Guarded(AdaptiveLinear(5), rate=10.0).run(x)
    assert np.mean(forecasts.status[900:] == Status.OK) > 0.9
    errors = np.linalg.norm(forecasts.positions[1000:1200] - x[1000:], axis=-1)
    assert errors.max() < 0.02 * size + 10 * jitter
    assert not any(re.search(r"\d{4,}\.\d times", reason) for reason in forecasts.reasons)


@pytest.mark.parametrize("rate", [1.0, 10.0, 50.0])
def test_a_channel_of_which_every_second_sample_is_lost_is_not_ok(rate):
    """Forecasts of the samples that are lost are never compared with the truth."""
    t = np.arange(900) / 10.0
    x = np.sin(1.5 * t)[:, None, None] * np.ones((2, 3)) + 0.01 * np.random.default_rng(0).normal(size=(900, 2, 3))
    x[301::2, 0] = np.nan
    x[600:] = np.sin(1.5 * t[600:])[:, None, None] * np.ones((2, 3))
    x[700:] = np.where(np.random.default_rng(1).random((200, 2, 1)) < 0.1, np.nan, x[700:])
    guarded = Guarded(AdaptiveLinear(5), rate=rate)
    made = [guarded.update(row) for row in x]
    soon = 301 + round(max(3 * rate, 30))
    assert {one.status for one in made[soon:600]} == {Status.DEGRADED}
    assert re.fullmatch(r"\d\d% of the samples of channel 1 replaced for [\d.]+ s, ends below 25%.*", made[599].reason)
    assert not any("of the samples" in one.reason for one in [*made[200:300], *made[600 + round(4 * rate) + 20 :]])
