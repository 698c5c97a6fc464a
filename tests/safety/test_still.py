"""Channels of which nothing is known yet: they have never moved, or have never been seen."""

import numpy as np
import pytest

from quatcast import AdaptiveLinear, DampedVelocity, Forecaster, Gate, Guarded, Ridge, Status, recommended
from quatcast.data import simulated

RATE, HORIZON = 10.0, 5
PLACE = np.array([120.0, -40.0, 700.0])


def make():
    inner = Forecaster(Ridge(), horizon=HORIZON, lags=12, target="displacement", scale_by="channel", catch_up=7)
    return Guarded(inner, rate=RATE)


@pytest.fixture(scope="module")
def truth():
    """Two markers that move and a fixed reference."""
    positions = simulated(404, seconds=90)[1].positions.copy()
    positions[:, 2] = PLACE
    return positions


@pytest.fixture(scope="module")
def plain(truth):
    return make().run(truth)


def rmse(forecasts, truth, late):
    return np.sqrt(np.nanmean((forecasts.positions - truth)[late] ** 2))


@pytest.mark.parametrize("value", [0.0, 9999.0])
@pytest.mark.parametrize("length", [1, 5, 20])
def test_a_fault_of_a_fixed_reference_ends_with_it(truth, plain, value, length):
    """One lost value was taken for motion; the reference was then called frozen for ever, and the status was hold."""
    shown = truth.copy()
    shown[500 : 500 + length, 2] = value
    forecasts = make().run(shown)
    np.testing.assert_array_equal(forecasts.positions[450:, 2], truth[450:, 2])
    assert (forecasts.status[500 + 2 * length + 2 :] == Status.HOLD).sum() == 0
    assert (forecasts.status[560:] == plain.status[560:]).mean() > 0.95
    assert rmse(forecasts, truth, slice(500, None)) < 1.05 * rmse(plain, truth, slice(500, None))


def test_a_fixed_reference_that_is_put_elsewhere_is_still_there(truth, plain):
    """It was implausible, and the status hold, until it moved or came back."""
    shown = truth.copy()
    shown[500:, 2] += [30.0, -5.0, 2.0]
    forecasts = make().run(shown)
    assert (forecasts.status[540:640] == Status.HOLD).all()
    np.testing.assert_array_equal(forecasts.positions[660:, 2], shown[660:, 2])
    assert (forecasts.status[680:] == plain.status[680:]).mean() > 0.95
    assert rmse(forecasts, shown, slice(660, None)) < 1.05 * rmse(plain, truth, slice(660, None))


@pytest.mark.parametrize("value", [0.0, 9999.0])
def test_a_lost_value_of_a_fixed_reference_is_never_its_place(truth, value):
    shown = truth.copy()
    shown[500:, 2] = value
    forecasts = make().run(shown)
    assert (forecasts.status[540:] == Status.HOLD).all()


@pytest.mark.parametrize("seconds", [1.5, 10.0])
@pytest.mark.parametrize("value", [0.0, 9e8])
def test_a_lost_value_until_a_marker_is_seen_leaves_no_trace(truth, plain, seconds, value):
    """The jump from it was learnt from: errors were up to 280,000 times as large for minutes, with status ok."""
    shown, moving = truth + 1500.0, truth[:, :2] + 1500.0
    shown[: round(seconds * RATE), :2] = value
    forecasts = make().run(shown)
    error = forecasts.positions[:, :2] - moving
    assert np.sqrt(np.mean(error[500:] ** 2)) < 1.1 * np.sqrt(np.mean((plain.positions - truth)[500:, :2] ** 2))
    # The lost value is not where the marker belongs.
    gate = Gate(RATE)
    for row in shown[:500]:
        gate.update(row)
    assert gate.update(np.full_like(truth[0], value)).reasons[:2] == ("implausible", "implausible")


def test_a_marker_that_is_seen_late_may_be_anywhere(truth):
    """Far from the origin it seemed to jump there from zero, and was forecast half as well for a minute."""
    shown = simulated(404, seconds=90)[1].positions.copy()
    shown[:450, 2] = np.nan
    near = make().run(shown)
    shown[:, 2] += 1500.0
    far = make().run(shown)
    np.testing.assert_allclose(far.positions[460:, 2] - 1500.0, near.positions[460:, 2], atol=1e-6)
    np.testing.assert_allclose(far.positions[460:, :2], near.positions[460:, :2], atol=1e-6)


@pytest.mark.parametrize("rate", [5.0, 10.0, 50.0])
@pytest.mark.parametrize("step", [0.0, 0.5])
def test_a_body_that_begins_to_move_is_followed_within_a_second(rate, step):
    t = np.arange(20 * rate) / rate - 10
    x = 8 * (1 - np.cos(1.3 * np.maximum(t, 0.0)))[:, None, None] * np.ones(3) + PLACE
    x = np.round(x / step) * step if step else x
    gate = Gate(rate)
    gated = [gate.update(row) for row in x]
    assert not any(one.replaced.any() for one in gated[round(11 * rate) :])
    assert [one.reasons for one in gated].count(("start",)) == 1
    np.testing.assert_array_equal(np.array([one.position for one in gated])[round(11 * rate) :], x[round(11 * rate) :])


def start(seconds):
    """A body that rests for some seconds and then swings for a minute."""
    t = np.maximum(np.arange((seconds + 60) * RATE) / RATE - seconds, 0.0)
    swing = np.stack([8 * (1 - np.cos(1.3 * t)), 3 * np.sin(1.3 * t), 2 * np.sin(2.6 * t)], axis=-1)
    return swing[:, None] + np.array([100.0, 20.0, -30.0])


def test_a_velocity_is_not_learnt_from_rounding_errors_of_rest():
    """Coefficients were 1e14 after a rest of a minute, and for 20 s all real motion was an outlier."""
    x = start(60)
    error = np.linalg.norm((DampedVelocity(HORIZON, (1, 2, 4, 8, 16)).run(x).positions - x)[610:], axis=-1)
    last = np.linalg.norm(x[610:] - x[605:-HORIZON], axis=-1)
    assert error.max() < 3 * last.max()
    assert np.sqrt(np.mean(error[100:] ** 2)) < 0.5 * np.sqrt(np.mean(last[100:] ** 2))


def test_noise_after_a_rest_is_never_believed():
    """Neither in space nor along a line, where every eighth value agrees with the one before."""
    rng = np.random.default_rng(2)
    for direction in (np.ones(3), np.array([1.0, 0.0, 0.0])):
        rest = 1e-3 * rng.normal(size=(400, 2, 3))
        noise = rng.uniform(-1000.0, 1000.0, (2000, 2, 3 if direction.all() else 1)) * direction
        forecasts = Guarded(AdaptiveLinear(5), rate=10.0).run(np.concatenate([rest, noise]))
        assert (forecasts.status[440:] == Status.HOLD).all()


def test_a_body_that_has_rested_is_not_degraded_for_minutes():
    """Its radius was 1e11 times the usual one, which rounding errors had been."""
    status = recommended(HORIZON / RATE, RATE).run(start(8)).status
    assert (status[400:] == Status.OK).all()


@pytest.fixture(scope="module")
def moving():
    """Three markers that move, and the forecasts of the recommended forecaster."""
    positions = simulated(303, seconds=80)[1].positions
    return positions, recommended(HORIZON / RATE, RATE).run(positions)


@pytest.mark.parametrize("value", [300.0, 9e8])
@pytest.mark.parametrize(("first", "last"), [(0, 1), (0, 7), (3, 5)])
def test_a_fault_among_the_first_samples_leaves_no_trace(moving, value, first, last):
    """They are accepted unseen. One of 99999 doubled the errors for minutes, and made the gate let metres pass."""
    truth, clean = moving
    shown = truth.copy()
    shown[first:last] = value
    forecaster = recommended(HORIZON / RATE, RATE)
    spoilt = forecaster.run(shown)
    assert rmse(spoilt, truth, slice(600, None)) < 1.1 * rmse(clean, truth, slice(600, None))
    assert np.nanmean(spoilt.radius[600:]) < 1.2 * np.nanmean(clean.radius[600:])
    assert (spoilt.status[:349] == Status.WARMING_UP).all()
    assert (spoilt.status[420:] == Status.OK).mean() > 0.9
    assert forecaster.gate.update(shown[-1] + 100.0).reasons == ("implausible",) * 3
