"""Forecasts by the running mean, compared with means computed directly."""

import numpy as np
import pytest

from quatcast import MeanPosition, recommended
from quatcast.data import simulated
from quatcast.testing import forecaster_checks, smooth_positions


@pytest.mark.parametrize("check", forecaster_checks(), ids=lambda check: check.__name__)
def test_the_bank_of_checks(check):
    check(lambda: MeanPosition(3, memory=20, first=5), smooth_positions(60))


def test_it_is_the_mean_of_all_samples_as_long_as_they_fit_the_memory():
    x = smooth_positions(60)
    made = MeanPosition(3, memory=60, first=4).run(x).positions
    assert np.isnan(made[:6]).all()
    np.testing.assert_allclose(made[6:], [x[: t - 2].mean(axis=0) for t in range(6, 60)])


def test_a_sample_counts_less_from_the_memory_on():
    """Weights of a running mean: one memory of equal samples, then each sample 1 − 1/M of the next one."""
    x, memory = smooth_positions(80), 20
    weights = np.full(memory, 1 / memory)
    for _ in range(memory, 79):
        weights = np.append((1 - 1 / memory) * weights, 1 / memory)
    made = MeanPosition(1, memory=memory).run(x).positions
    np.testing.assert_allclose(made[-1], np.tensordot(weights, x[:79], axes=1))


def test_samples_that_were_not_observed_do_not_count():
    x, seen = smooth_positions(30), np.random.default_rng(2).random((30, 2)) < 0.6
    seen[:3] = [[True, False], [False, False], [True, True]]
    forecaster = MeanPosition(2, memory=100)
    for t, (row, observed) in enumerate(zip(x, seen, strict=True)):
        made = forecaster.update(np.where(observed[:, None], row, row + 1e3), observed)
        for channel in (0, 1):
            known = x[: t + 1][seen[: t + 1, channel], channel]
            expected = known.mean(axis=0) if len(known) else row[channel] + 1e3
            np.testing.assert_allclose(made[channel], expected)


def test_it_waits_while_nothing_is_observed():
    """A forecast that begins while no error is counted would get a weight that it has not earned."""
    x, forecaster = smooth_positions(30), MeanPosition(1, first=5)
    forecaster.begin(x.shape[1:])
    observed = [not 3 <= t < 20 for t in range(30)]
    made = [forecaster.forecast(row, np.full(2, seen)) for row, seen in zip(x, observed, strict=True)]
    assert [bool(np.isfinite(one).all()) for one in made] == [t >= 21 for t in range(30)]


def test_a_jump_in_the_first_seconds_does_not_spoil_what_follows():
    """Nothing is learnt for 6 s after it, in which the mean position would have begun."""
    x = simulated(seconds=15)[1].positions.copy()
    x[80:] += [15.0, 5.0, 5.0]
    made = recommended(horizon=0.2, rate=10.0).run(x).positions
    errors = np.linalg.norm(made - x, axis=-1)[105:140]
    assert np.sqrt(np.mean(errors**2)) < 1.5  # 2.5 mm with the mean position


def test_all_horizons_have_the_same_forecast():
    x = smooth_positions(30)
    made = MeanPosition(5, horizons=(1, 5))
    for row in x:
        both = made.update(row)
    assert both.shape == (2, *x.shape[1:])
    np.testing.assert_array_equal(both[0], both[1])


@pytest.mark.parametrize("name", ["memory", "first"])
@pytest.mark.parametrize("value", [0, 1.5, True, "x"])
def test_an_argument_of_a_wrong_kind_is_named(name, value):
    with pytest.raises(ValueError, match=f"^{name}: expected a positive whole number, got "):
        MeanPosition(3, **{name: value})
