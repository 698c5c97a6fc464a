"""Radii between the horizons."""

import numpy as np
import pytest

from quatcast import AdaptiveLinear, Guarded, quaternion
from quatcast.safety.between import Between, interpolate, widened

RATE = 10.0


def sine(samples=700, period=4.0, noise=0.05):
    phase = 2 * np.pi * np.arange(samples) / RATE / period
    wave = np.stack([0 * phase, 3 * np.cos(phase), 12 * np.sin(phase)], axis=-1)[:, None]
    return wave + noise * np.random.default_rng(0).normal(size=wave.shape)


def covered(forecaster, x, aheads, start=250):
    """Share of errors within the radius, for each number of samples ahead; the recording is forecast once."""
    inside = {ahead: [] for ahead in aheads}
    for t, row in enumerate(x):
        made = forecaster.forecast(row)
        for ahead in aheads:
            if start <= t < len(x) - ahead:
                one = made.at(ahead / RATE)
                inside[ahead].append(np.linalg.norm(one.position - x[t + ahead], axis=-1) <= one.radius)
        forecaster.learn()
    return {ahead: np.mean(within) for ahead, within in inside.items()}


def test_a_radius_before_the_only_horizon_contains_the_error_of_the_interpolation():
    """Interpolated over a quarter of the period, a sine is off by many times the radius of the forecast."""
    shares = covered(Guarded(AdaptiveLinear(10), rate=RATE), sine(), [1, 3, 5, 7, 9])
    assert min(shares.values()) > 0.9, shares


@pytest.mark.parametrize("period", [4.0, 1.0, 0.7])
def test_a_radius_between_horizons_holds_anywhere_between_them(period):
    """Also for waves that pass through the middle of the gap at the right moment."""
    forecaster = Guarded(AdaptiveLinear(20, 24, horizons=[2, 20]), rate=RATE)
    shares = covered(forecaster, sine(period=period), [1, 3, 5, 11, 15, 19])
    assert min(shares.values()) > 0.9, shares


def test_a_gap_of_many_samples_is_compared_at_some_of_them():
    """A horizon of a thousand samples must not make every step compare a thousand."""
    between = Between.begin([1000], rows=1, level=0.9)
    time = np.arange(1300)
    for t in time:
        sample = np.array([[np.sin(0.01 * t), 0.0, 0.0]])
        then = np.array([[[np.sin(0.01 * (t + 1000)), 0.0, 0.0]]])
        between.take(sample, then, np.array([False]))
        between.learn()
    # Ten radians lie between the newest sample and the horizon.
    assert np.isnan(between.radii[0, 0])  # needs twice as many errors as the horizon has samples
    assert np.nanmax(between.conformals[0].state.errors) > 1.0


def test_where_interpolation_errs_no_more_than_forecasts_the_radius_is_linear():
    forecaster = Guarded(AdaptiveLinear(6, horizons=[4, 6]), rate=RATE)
    for row in sine(400, noise=0.5):
        made = forecaster.update(row)
    # Five samples lie between four and six, and the error there is about as large as at both ends.
    assert made.at(0.5).radius == pytest.approx(made.path.radii.mean(axis=0), rel=0.15)


def test_successive_samples_have_nothing_in_between():
    between = Between.begin([1, 2], rows=1, level=0.9)
    for t in range(60):
        between.take(np.full((1, 3), float(t)), np.full((2, 1, 3), float(t)), np.array([False]))
        between.learn()
    t = np.array(between.knots, dtype=float)
    radii = widened(t, np.array([[1.0], [1.0], [3.0]]), between.radii, np.array([0.5, 1.5]))
    np.testing.assert_array_equal(radii, [[1.0], [2.0]])


def test_replaced_samples_and_samples_that_are_not_learnt_from_do_not_disturb():
    x, lost = sine(), np.random.default_rng(1).random(700) < 0.1
    x[lost] = np.nan
    forecaster = Guarded(AdaptiveLinear(10), rate=RATE)
    made = []
    for t, row in enumerate(x):
        made.append(forecaster.forecast(row).at(0.5))
        if t % 7:
            forecaster.learn()
    truth = sine()
    pairs = zip(made[250:695], truth[255:], strict=True)
    inside = [np.linalg.norm(one.position - then) <= one.radius[0] for one, then in pairs]
    assert np.mean(inside) > 0.9


def test_poses_have_radii_of_both_halves_between_horizons():
    x = sine(noise=0.01)
    poses = np.concatenate([x, quaternion.from_rotation_vector(0.05 * x)], axis=-1)
    forecaster = Guarded(AdaptiveLinear(10), rate=RATE, space="pose")
    for row in poses:
        made = forecaster.update(row)
    between, end = made.at(0.5).radius, made.radius
    assert between.shape == (1, 2)
    assert (between > 3 * end).all()


def test_polynomials_of_the_second_degree_are_interpolated_exactly():
    t, asked = np.array([0.0, 0.5, 1.0, 3.0]), np.array([0.7, 0.9])
    x = np.stack([t**2, 1 - t], axis=-1)
    np.testing.assert_allclose(interpolate(t, x, asked), np.stack([asked**2, 1 - asked], axis=-1))
