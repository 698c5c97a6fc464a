"""Forecasts by the running mean, compared with means computed directly."""

import numpy as np
import pytest

from quatcast import MeanPosition
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
