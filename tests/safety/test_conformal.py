"""Conformal radii: how often they contain the truth, and what they are computed from."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.safety.conformal import Conformal


def radii_of(errors, horizon, level=0.95):
    """Radii (T, channels) in the row of the sample that each was given for."""
    conformal = Conformal(errors.shape[1], horizon, level)
    given = np.array([conformal.update(row) for row in errors])
    return np.concatenate([np.full((horizon, errors.shape[1]), np.nan), given])[: len(errors)]


def overlapping(rng, T, horizon, channels=2):
    """Errors that share their causes over a horizon, as those of forecasts do."""
    noise = rng.standard_normal((T + horizon, channels, 3))
    sums = np.cumsum(noise, axis=0)
    return np.linalg.norm(sums[horizon:] - sums[:-horizon], axis=-1)


@pytest.mark.parametrize("horizon", [1, 5, 20])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_holds_stationary_errors_as_often_as_asked(horizon, level):
    errors = overlapping(np.random.default_rng(horizon), 6000, horizon)
    radii = radii_of(errors, horizon, level)
    covered = np.mean(errors[600:] <= radii[600:], axis=0)
    assert np.all(np.abs(covered - level) < 0.02)


def test_is_close_to_the_smallest_radius_that_would_do():
    errors = overlapping(np.random.default_rng(3), 6000, 5)
    radii = radii_of(errors, 5)
    best = np.quantile(errors, 0.95, axis=0)
    assert np.all(np.abs(radii[600:].mean(axis=0) / best - 1) < 0.08)


def test_follows_errors_that_grow_and_shrink():
    rng = np.random.default_rng(4)
    size = np.repeat([1.0, 4.0, 0.5, 3.0, 1.0], 1200)[:, None]
    errors = size * overlapping(rng, 6000, 5)
    covered = errors[300:] <= radii_of(errors, 5)[300:]
    assert abs(covered.mean() - 0.95) < 0.015


def test_uses_only_errors_that_are_known():
    errors = overlapping(np.random.default_rng(5), 300, 5)
    changed = errors.copy()
    changed[200:] *= 100
    a, b = radii_of(errors, 5), radii_of(changed, 5)
    np.testing.assert_array_equal(a[:205], b[:205])
    assert np.any(a[205:] != b[205:])


def test_the_first_radii_follow_the_formula():
    errors = np.arange(1.0, 61.0)[:, None]
    conformal = Conformal(1, 1, level=0.8)
    given = [conformal.update(row)[0] for row in errors]
    assert np.isnan(given[:19]).all()
    # 20 errors, none judged yet: (1 − 0.2)(1 + 1/20)·20 = 16.8, so the 17th smallest.
    assert given[19] == 17.0
    # Then every error is a miss and lowers α by 0.03·0.8.
    alpha = 0.2 - 0.03 * 0.8
    assert given[20] == np.ceil((1 - alpha) * (1 + 1 / 21) * 21)


def test_grows_beyond_the_largest_error_after_many_misses_but_not_without_end():
    errors = 1.05 ** np.arange(300.0)[:, None]
    radii = radii_of(errors, 1)
    assert radii[-1, 0] > errors[-2, 0]
    assert np.nanmax(radii[1:] / errors[:-1]) <= 1.2 + 1e-12


def test_channels_are_on_their_own_and_gaps_do_not_count():
    rng = np.random.default_rng(6)
    errors = overlapping(rng, 500, 5)
    gappy = errors.copy()
    gappy[rng.random(500) < 0.5, 1] = np.nan
    gappy[:100, 1] = np.nan
    np.testing.assert_array_equal(radii_of(errors, 5)[:, 0], radii_of(gappy, 5)[:, 0])
    conformal = Conformal(2, 5)
    known = 0
    for row in gappy:
        radius = conformal.update(row)
        known += np.isfinite(row[1])
        assert np.isfinite(radius[1]) == (known >= conformal.needed)


@given(st.lists(st.one_of(st.just(np.nan), st.floats(0, 1e9)), max_size=120), st.integers(1, 8))
@settings(max_examples=50, deadline=None)
def test_any_distances_make_radii_that_are_not_negative(errors, horizon):
    conformal = Conformal(1, horizon)
    for error in errors:
        radius = conformal.update([error])
        assert np.isnan(radius[0]) or 0 <= radius[0] <= 1.2e9


def test_goes_on_bit_for_bit_after_a_save(tmp_path):
    errors = overlapping(np.random.default_rng(7), 700, 5)
    conformal = Conformal(2, 5)
    for row in errors[:500]:
        conformal.update(row)
    conformal.save(tmp_path / "radius.npz")
    again = Conformal.load(tmp_path / "radius.npz")
    for row in errors[500:]:
        np.testing.assert_array_equal(conformal.update(row), again.update(row))


@pytest.mark.parametrize("bad", [[1.0], [1.0, -1.0], [1.0, np.inf], [[1.0, 2.0]]])
def test_refuses_what_are_no_distances_and_stays_as_it_was(bad):
    errors = overlapping(np.random.default_rng(8), 60, 2)
    conformal = Conformal(2, 2)
    for row in errors[:-1]:
        conformal.update(row)
    with pytest.raises(ValueError, match="errors: expected 2 distances"):
        conformal.update(bad)
    again = Conformal(2, 2)
    expected = [again.update(row) for row in errors][-1]
    np.testing.assert_array_equal(conformal.update(errors[-1]), expected)


@pytest.mark.parametrize("settings", [{"channels": 0}, {"horizon": 0}, {"level": 0.0}, {"level": 1.0}, {"level": 95}])
def test_refuses_settings_without_a_meaning(settings):
    with pytest.raises(ValueError, match=next(iter(settings))):
        Conformal(**{"channels": 1, "horizon": 1, **settings})


def test_radii_are_ranks_of_all_errors_whatever_happens_in_between():
    """Also after steps were undone, prepared or not, and for a newcomer that knows the errors only."""
    rng = np.random.default_rng(8)
    errors = np.where(rng.random((1200, 3)) < 0.1, np.nan, rng.exponential(size=(1200, 3)).round(1))
    errors[500:900, 1] = np.nan
    conformal = Conformal(channels=3, horizon=2)
    for t, error in enumerate(errors):
        if t % 7 == 0:
            mark = conformal.mark()
            conformal.update(error + 1.0)
            conformal.rewind(mark)
        newcomer = pickle.loads(pickle.dumps(conformal)) if t % 5 == 0 else None
        if t % 3 == 0:
            conformal.prepare()
        radii = conformal.update(error)
        if newcomer is not None:
            np.testing.assert_array_equal(newcomer.update(error), radii)
        np.testing.assert_array_equal(radii, [ranked(*channel) for channel in zip(*_known(conformal), strict=True)])


def _known(conformal):
    return conformal.state.errors, conformal.state.alpha


def ranked(errors, alpha, horizon=2):
    """The radius of one channel by its definition."""
    known = sorted(errors[np.isfinite(errors)])
    if len(known) < 20:
        return np.nan
    q = min((1 - alpha) * (1 + horizon / len(known)), 1.2)
    return known[min(int(np.ceil(q * len(known))), len(known)) - 1] * max(q, 1.0)


def test_forgetting_leaves_the_last_errors():
    rng = np.random.default_rng(3)
    errors = np.concatenate([50 + rng.exponential(size=(900, 2)), rng.exponential(size=(60, 2))])
    conformal, fresh = Conformal(2, 5, 0.9), Conformal(2, 5, 0.9)
    for e in errors:
        conformal.update(e)
    conformal.forget(60)
    for e in errors[-60:]:
        fresh.update(e)
    fresh.state.alpha = conformal.state.alpha
    e = rng.exponential(size=2)
    np.testing.assert_array_equal(conformal.update(e), fresh.update(e))
    assert conformal.given.max() < 60
