"""Forecasts by velocity and Kalman filters, compared with least squares and filters written plainly."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import ConstantVelocity, DampedVelocity, Kalman, quaternion
from quatcast.testing import forecaster_checks, smooth_positions

FORECASTERS = {
    "constant velocity": lambda: ConstantVelocity(3),
    "constant velocity over a span": lambda: ConstantVelocity(3, span=4),
    "damped velocity": lambda: DampedVelocity(3),
    "damped velocities": lambda: DampedVelocity(3, (1, 2, 4)),
    "Kalman, velocity": lambda: Kalman(3),
    "Kalman, acceleration": lambda: Kalman(3, "acceleration", ratios=(0.01, 1.0)),
}
every = pytest.mark.parametrize("make", FORECASTERS.values(), ids=FORECASTERS.keys())


@every
@pytest.mark.parametrize("check", forecaster_checks(), ids=lambda check: check.__name__)
def test_the_bank_of_checks(make, check):
    check(make, smooth_positions(60))


def straight(samples=30, channels=2, noise=0.0, seed=0):
    rng = np.random.default_rng(seed)
    line = np.arange(samples)[:, None, None] * rng.standard_normal((channels, 3)) + rng.standard_normal((channels, 3))
    return line + noise * rng.standard_normal(line.shape)


@every
def test_the_first_forecast_is_the_sample_and_the_second_is_finite(make):
    x = straight(2)
    forecaster = make()
    np.testing.assert_allclose(forecaster.update(x[0]), x[0], rtol=1e-15)
    second = forecaster.update(x[1])
    # At least a third of the way in the right direction, not beyond where the velocity leads.
    share = np.sum((second - x[1]) * (x[1] - x[0]), axis=-1) / np.sum((x[1] - x[0]) ** 2, axis=-1)
    assert ((share > 1.0) & (share < 3.6)).all()


@pytest.mark.parametrize("make", [ConstantVelocity, DampedVelocity, Kalman], ids=lambda make: make.__name__)
def test_several_horizons_are_learnt_as_each_alone(make):
    together, alone = make(7, horizons=(1, 3, 7)), [make(h) for h in (1, 3, 7)]
    for sample in smooth_positions(60):
        np.testing.assert_allclose(together.update(sample), [one.update(sample) for one in alone], rtol=1e-12)


@every
def test_forecasts_of_any_number_of_samples(make):
    forecaster = make()
    for sample in smooth_positions(60):
        forecaster.update(sample)
    forecast = forecaster.forecast(smooth_positions(61)[60], np.ones(2, dtype=bool))
    ahead = forecaster._ahead([0, 1.5, 3, 50])
    assert ahead.shape == (4, 2, 3)
    assert np.isfinite(ahead).all()
    np.testing.assert_allclose(ahead[2], forecast)
    if not isinstance(forecaster, Kalman):
        np.testing.assert_allclose(ahead[0], smooth_positions(61)[60])
        np.testing.assert_allclose(ahead[1], ahead[[0, 2]].mean(axis=0))


@every
@given(seed=st.integers(0, 1000), power=st.integers(-6, 6))
@settings(max_examples=5, deadline=None)
def test_forecasts_do_not_depend_on_units_and_axes(make, seed, power):
    x = smooth_positions(40) + 0.1 * np.random.default_rng(seed).standard_normal((40, 2, 3))
    turn = quaternion.random_unit(seed)
    expected = make().run(x).positions[5:]

    def turned(points):
        return quaternion.vector(quaternion.rotation(quaternion.pure(points), turn))

    np.testing.assert_allclose(make().run(turned(x)).positions[5:], turned(expected), atol=1e-8)
    scaled = make().run(10.0**power * x).positions[5:]
    np.testing.assert_allclose(scaled, 10.0**power * expected, rtol=1e-6, atol=1e-8 * 10.0**power)


def test_a_constant_velocity_over_a_span_is_the_slope_of_a_line():
    x = straight(20, noise=0.3)
    forecaster = ConstantVelocity(5, span=6)
    for t, sample in enumerate(x):
        forecast = forecaster.update(sample)
        if t:
            recent = x[max(0, t - 6) : t + 1].reshape(-1, 6)
            slope = np.polyfit(np.arange(len(recent)), recent, 1)[0].reshape(2, 3)
            np.testing.assert_allclose(forecast, sample + 5 * slope, atol=1e-12)


def test_damping_is_learnt_by_least_squares():
    """With much data and a long memory, the coefficient is that of a regression on all pairs that have matured."""
    x = np.cumsum(smooth_positions(400) + np.random.default_rng(0).standard_normal((400, 2, 3)), axis=0)
    h = 4
    forecaster = DampedVelocity(h, memory=1e9)
    forecaster.run(x)
    v, d = np.diff(x, axis=0)[:-h], x[h + 1 :] - x[1:-h]
    expected = np.sum(v * d, axis=(0, 2)) / np.sum(v * v, axis=(0, 2))
    np.testing.assert_allclose(forecaster.state.extrapolation.coefficients[0, :, 0], expected, rtol=0.02)


def test_damping_tells_a_line_from_noise():
    h = 10
    line, noise = straight(200), np.random.default_rng(1).standard_normal((200, 2, 3))
    for x, low, high in ((line, 0.95 * h, h), (noise, -1.0, 0.0)):
        forecaster = DampedVelocity(h)
        forecaster.run(x)
        b = forecaster.state.extrapolation.coefficients
        assert ((b > low) & (b <= high)).all()


def test_damping_withstands_outliers():
    """One sample in fifty is off by a hundred times the motion; the coefficient keeps half its size."""
    x = smooth_positions(600)
    wrong = x.copy()
    wrong[100::50] += 100.0
    clean, faulty = DampedVelocity(5), DampedVelocity(5)
    clean.run(x)
    faulty.run(wrong)
    expected = clean.state.extrapolation.coefficients
    squared = np.sum(np.diff(x, axis=0)[:-5] * (x[6:] - x[1:-5])) / np.sum(np.diff(wrong, axis=0) ** 2)
    assert squared < 0.1 * expected.min()  # what plain least squares would make of it
    np.testing.assert_allclose(faulty.state.extrapolation.coefficients, expected, rtol=0.6)


def test_unobserved_samples_are_not_learnt_from():
    x = smooth_positions(80)
    for make in (lambda: DampedVelocity(3, (1, 2)), lambda: Kalman(3)):
        one, other = make(), make()
        for t, sample in enumerate(x):
            observed = np.array([True, t % 7 != 3])
            one.update(sample, observed)
            other.update(sample + np.where(observed, 0.0, 5.0)[:, None], observed)
        if isinstance(one, Kalman):
            np.testing.assert_array_equal(one.state.mean, other.state.mean)
        np.testing.assert_array_equal(one._ahead([3])[:, 0], other._ahead([3])[:, 0])


def test_a_filter_that_follows_does_not_run_away():
    """Ten seconds in which a gate stands in for the samples, at 10 Hz."""
    x = smooth_positions(400)
    usual, follows = Kalman(5, "acceleration"), Kalman(5, "acceleration", follow=True)
    away = []
    for t, sample in enumerate(x):
        observed = np.full(len(sample), not 250 <= t < 350)
        made = [one.update(sample, observed) for one in (usual, follows)]
        if t == 250:
            weights = follows.state.weights
        if t == 349:
            away = [np.abs(forecast - sample).max() for forecast in made]
            np.testing.assert_array_equal(follows.state.weights, weights)
    assert away[1] < 0.1 * away[0]


def plain_kalman(z, n, ratio, seen):
    """Filter one coordinate z (T,) with measurement noise 1; yield mean, innovation and its variance."""
    F = np.array([[1, 1, 0.5], [0, 1, 1], [0, 0, 1]])[:n, :n]
    # The integral over one sample of g(s)g(s)ᵀ, with g(s) the effect of an impulse s before its end.
    s = (np.arange(20000) + 0.5) / 20000
    g = np.stack([s**2 / 2, s, np.ones_like(s)])[3 - n :]
    Q = ratio * (g @ g.T) / len(s)
    x, P = np.zeros(n), np.diag([1.0, 1e4 * (1 + ratio), 1e2 * (1 + ratio)][:n])
    x[0] = z[0]
    yield x, np.nan, np.nan
    for k in range(1, len(z)):
        x, P = F @ x, F @ P @ F.T + Q
        nu, S = z[k] - x[0], P[0, 0] + 1.0
        if seen[k]:
            K = P[:, 0] / S
            x, P = x + K * nu, (np.eye(n) - np.outer(K, np.eye(n)[0])) @ P
        yield x, nu, S


@pytest.mark.parametrize(("model", "n"), [("velocity", 2), ("acceleration", 3)])
def test_the_filter_is_a_plain_kalman_filter(model, n):
    rng = np.random.default_rng(3)
    z = np.cumsum(np.cumsum(rng.standard_normal(60))) + rng.standard_normal(60)
    seen = rng.random(60) > 0.2
    seen[:3] = True
    for ratio in (0.03, 5.0):
        forecaster = Kalman(4, model, ratios=(ratio,))
        for k, (x, _, _) in enumerate(plain_kalman(z, n, ratio, seen)):
            forecast = forecaster.update([[z[k]]], [bool(seen[k])])
            expected = sum(term * value for term, value in zip((1, 4, 8), x, strict=False))
            np.testing.assert_allclose(forecast[0, 0], expected, rtol=1e-6, atol=1e-6)


def test_filters_are_weighted_by_their_likelihood(monkeypatch):
    """With σ² the mean of ν²/S, the likelihood of N innovations is proportional to Π S^(-1/2) · σ^(-N)."""
    monkeypatch.setattr("quatcast.forecasting.kalman.CLIP", 1e6)
    rng = np.random.default_rng(4)
    z = np.cumsum(np.cumsum(0.3 * rng.standard_normal(40))) + rng.standard_normal(40)
    ratios = (0.01, 0.1, 1.0)
    forecaster = Kalman(2, ratios=ratios, memory=1e9)
    forecaster.run(z[:, None, None])
    likelihood = []
    for ratio in ratios:
        nu, S = np.array([row[1:] for row in plain_kalman(z, 2, ratio, np.ones(40, dtype=bool))][2:]).T
        likelihood.append(-0.5 * np.sum(np.log(S)) - 0.5 * len(S) * np.log(np.mean(nu**2 / S)))
    expected = np.exp(likelihood - np.max(likelihood))
    np.testing.assert_allclose(forecaster.state.weights[:, 0], expected / expected.sum(), rtol=1e-4)


@pytest.mark.parametrize("ratio", [1e-4, 1e-2, 1.0, 100.0])
def test_the_bank_finds_the_ratio_of_simulated_noise(ratio):
    rng = np.random.default_rng(5)
    kick = np.linalg.cholesky(ratio * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]))
    state, path = np.zeros((2, 3)), []
    for _ in range(400):
        state = np.array([[1, 1], [0, 1]]) @ state + kick @ rng.standard_normal((2, 3))
        path.append(state[0] + rng.standard_normal(3))
    forecaster = Kalman(1)
    forecaster.run(np.array(path)[:, None])
    assert forecaster.ratios[forecaster.state.weights[:, 0].argmax()] == pytest.approx(ratio)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ConstantVelocity(0), "horizon: expected a positive whole number, got 0"),
        (lambda: ConstantVelocity(1, span=0), "span: expected a positive whole number, got 0"),
        (lambda: DampedVelocity(1.5), "horizon: expected a positive whole number, got 1.5"),
        (
            lambda: DampedVelocity(2, (1, 1)),
            r"spans: expected different positive whole numbers of samples, got \(1, 1\)",
        ),
        (lambda: DampedVelocity(2, ()), r"spans: expected different positive whole numbers of samples, got \(\)"),
        (
            lambda: DampedVelocity(2, horizons=[1, 3]),
            r"horizons: expected different numbers, 2 the largest of them",
        ),
        (lambda: DampedVelocity(2, memory=0), "memory: expected a number of samples of at least 1, got 0"),
        (lambda: Kalman(2, "jerk"), "model: expected 'velocity' or 'acceleration', got 'jerk'"),
        (lambda: Kalman(2, ratios=(0.0,)), "ratios: expected positive finite numbers, got "),
        (lambda: Kalman(2, memory=np.nan), "memory: expected a number of samples of at least 1, got nan"),
    ],
)
def test_settings_are_checked(make, message):
    with pytest.raises(ValueError, match=message):
        make()
