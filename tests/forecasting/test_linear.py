"""Adaptive linear prediction against weighted least squares on all pairs at once, channel by channel."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import AdaptiveLinear, quaternion
from quatcast.testing import forecaster_checks, smooth_positions

LAGS, MEMORY, PENALTY = 3, 50.0, 0.7


def make(horizon=4, **more):
    return AdaptiveLinear(horizon, LAGS, memory=MEMORY, regularization=PENALTY, **more)


BANK = {"one horizon": make, "the longest of several": lambda: make(6)}


@pytest.mark.parametrize("maker", BANK.values(), ids=BANK.keys())
@pytest.mark.parametrize("check", forecaster_checks(), ids=lambda check: check.__name__)
def test_the_bank_of_checks(maker, check):
    check(maker, smooth_positions(90))


def wandering(samples=120, seed=0):
    rng = np.random.default_rng(seed)
    return smooth_positions(samples) + np.cumsum(0.3 * rng.standard_normal((samples, 2, 3)), axis=0)


def pairs_of(x, c, horizons):
    """Inputs and targets of one channel, as the docstring defines them; `center` is the running mean."""
    center = np.zeros_like(x[0, c])
    inputs, targets = [], []
    for t in range(len(x)):
        center = center + (x[t, c] - center) / min(t + 1, MEMORY)
        if t >= LAGS - 1:
            steps = [x[t - lag, c] - x[t, c] for lag in range(LAGS - 1, 0, -1)]
            inputs.append(np.concatenate([*steps, x[t, c] - center]))
            if t + max(horizons) < len(x):
                targets.append(np.concatenate([x[t + h, c] - x[t, c] for h in horizons]))
    return np.array(inputs), np.array(targets)


def least_squares(inputs, targets, seen=None):
    """Minimise Σ λᵃ|d − Wᵀφ|² + λⁿ|R W|², R² the penalty: the power of the first input, per sample."""
    seen = np.ones(len(targets), dtype=bool) if seen is None else seen
    first = (inputs[0] ** 2).reshape(LAGS, 3).mean(axis=-1).repeat(3)
    penalty = PENALTY * np.maximum(first, 1e-3 * first.mean())
    phi, d = inputs[: len(targets)][seen], targets[seen]
    age = np.arange(len(phi))[::-1]
    weight = (1 - 1 / MEMORY) ** (age / 2)
    last = (1 - 1 / MEMORY) ** (len(phi) / 2)
    rows = np.vstack([weight[:, None] * phi, last * np.diag(np.sqrt(penalty))])
    goal = np.vstack([weight[:, None] * d, np.zeros((phi.shape[1], d.shape[1]))])
    return np.linalg.lstsq(rows, goal, rcond=None)[0]


@pytest.mark.parametrize("horizons", [(4,), (1, 3, 4)])
@pytest.mark.parametrize("samples", [LAGS + 4, 20, 120])
def test_weights_are_those_of_weighted_least_squares(horizons, samples):
    x = wandering(samples)
    forecaster = make(horizons=None if len(horizons) == 1 else horizons)
    for sample in x:
        forecaster.update(sample)
    for c in range(2):
        inputs, targets = pairs_of(x, c, horizons)
        np.testing.assert_allclose(forecaster.state.weights[c], least_squares(inputs, targets), atol=1e-7)


def test_the_answer_uses_what_was_learnt_before():
    x = wandering()
    forecaster = make()
    for sample in x:
        made = forecaster.update(sample)
    for c in range(2):
        inputs, targets = pairs_of(x, c, (4,))
        W = least_squares(inputs, targets[:-1])  # the answer at the last sample comes before it is learnt from
        np.testing.assert_allclose(made[c], x[-1, c] + inputs[-1] @ W, atol=1e-7)


def test_pairs_with_an_unobserved_end_are_left_out():
    x = wandering()
    rng = np.random.default_rng(3)
    observed = rng.uniform(size=(len(x), 2)) > 0.2
    forecaster = make()
    for sample, there in zip(x, observed, strict=True):
        forecaster.update(sample, there)
    for c in range(2):
        inputs, targets = pairs_of(x, c, (4,))
        there = observed[LAGS - 1 :, c]
        W = least_squares(inputs, targets, there[:-4] & there[4:])
        np.testing.assert_allclose(forecaster.state.weights[c], W, atol=1e-7)


def test_channels_do_not_affect_each_other():
    x = wandering()
    alone = make().run(x[:, :1]).positions
    np.testing.assert_allclose(make().run(x).positions[:, :1], alone, atol=1e-9)


def test_the_first_forecast_comes_after_lags_and_horizon():
    made = np.stack(list(map(make().update, smooth_positions(20))))
    finite = np.isfinite(made).all(axis=(1, 2))
    np.testing.assert_array_equal(finite, np.arange(20) >= LAGS + 4)


def test_a_signal_that_begins_to_move_late_or_never_is_forecast():
    x = np.zeros((400, 2, 3))
    x[200:, 0] = smooth_positions(200)[:, 0]
    made = AdaptiveLinear(5).run(x).positions
    np.testing.assert_allclose(made[25:200], 0.0)
    np.testing.assert_allclose(made[25:, 1], 0.0)
    assert np.abs(made - x)[350:, 0].max() < 0.05 * np.abs(x).max()


def test_nothing_runs_away_while_the_signal_stands_still():
    """Without motion, forgetting would make the next gain as large as it gets: 5,000 still samples, then a step."""
    x = np.concatenate([wandering(300), np.tile(wandering(300)[-1], (5_000, 1, 1))])
    forecaster = make()
    for sample in x:
        forecaster.update(sample)
    assert np.isfinite(forecaster.state.P).all()
    rng = np.random.default_rng(0)
    made = [forecaster.update(x[-1] + rng.normal(size=(2, 3)) * 0.1) for _ in range(100)]
    assert np.abs(np.stack(made) - x[-1]).max() < 5.0


@given(power=st.integers(-6, 6))
@settings(max_examples=4, deadline=None)
def test_forecasts_do_not_depend_on_the_unit(power):
    x = wandering(80)
    expected = make().run(x).positions
    np.testing.assert_allclose(make().run(10.0**power * x).positions, 10.0**power * expected, rtol=1e-6)


@given(seed=st.integers(0, 1000))
@settings(max_examples=4, deadline=None)
def test_forecasts_turn_with_the_axes(seed):
    x, turn = wandering(80), quaternion.random_unit(seed)

    def turned(points):
        return quaternion.vector(quaternion.rotation(quaternion.pure(points), turn))

    np.testing.assert_allclose(make().run(turned(x)).positions[8:], turned(make().run(x).positions[8:]), atol=1e-7)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"horizon": 0}, "horizon: expected"),
        ({"horizon": 3, "lags": 1}, "lags: expected at least 2 samples, got 1"),
        ({"horizon": 3, "memory": 1.0}, "memory: expected a finite number above 1, got 1.0"),
        ({"horizon": 3, "regularization": 0.0}, "regularization: expected a finite number above 0, got 0.0"),
        ({"horizon": 3, "horizons": (1, 2)}, "horizon"),
    ],
)
def test_bad_settings_are_refused(settings, message):
    with pytest.raises(ValueError, match=message):
        AdaptiveLinear(**settings)
