"""Scores of orientations, compared with numpy-quaternion."""

import numpy as np
import pytest
import quaternion as nq
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import quaternion as qt
from quatcast.evaluation import score_orientations


@given(seed=st.integers(0, 2**32 - 1), runs=st.sampled_from([None, 3]))
@settings(max_examples=30, deadline=None)
def test_angles_are_those_of_numpy_quaternion(seed, runs):
    rng = np.random.default_rng(seed)
    actual = qt.random_unit(rng, (20, 2))
    forecast = qt.random_unit(rng, (20, 2) if runs is None else (runs, 20, 2))
    scores = score_orientations(actual, forecast, start=5)
    for run in range(runs or 1):
        own = forecast if runs is None else forecast[run]
        turns = nq.from_float_array(actual[5:]).conjugate() * nq.from_float_array(own[5:])
        angles = np.array([2 * np.arccos(min(1.0, abs(turn.w))) for turn in turns.ravel()])
        found = [np.atleast_1d(value)[run] for value in (scores.mean, scores.rmse, scores.p99, scores.max)]
        expected = [angles.mean(), np.sqrt((angles**2).mean()), np.percentile(angles, 99), angles.max()]
        np.testing.assert_allclose(found, expected, atol=1e-7)


def test_signs_poses_and_missing_samples():
    rng = np.random.default_rng(0)
    actual = qt.random_unit(rng, (30, 2))
    forecast = qt.product(actual, qt.from_rotation_vector([0.0, 0.1, 0.0]))
    expected = score_orientations(actual, forecast, start=0)
    assert expected.mean == pytest.approx(0.1)
    signs = rng.choice([-1.0, 1.0], (30, 2, 1))
    assert score_orientations(actual, signs * forecast, start=0).rmse == pytest.approx(0.1)
    poses = [np.concatenate([rng.standard_normal((30, 2, 3)), q], axis=-1) for q in (actual, forecast)]
    assert score_orientations(*poses, start=0) == expected
    actual[4, 1], forecast[4, 1] = np.nan, qt.random_unit(rng)
    assert score_orientations(actual, forecast, start=0).max == pytest.approx(0.1)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
def test_forecasts_that_are_no_orientations_have_diverged(bad):
    actual = qt.random_unit(0, (10, 1))
    forecast = np.stack([actual, actual])
    forecast[1, 7] = bad
    scores = score_orientations(actual, forecast, start=2)
    np.testing.assert_array_equal(scores.diverged, [False, True])
    np.testing.assert_array_equal(np.isnan(scores.rmse), [False, True])


def test_refusals():
    q = qt.random_unit(0, (10, 1))
    with pytest.raises(ValueError, match="forecast: expected shape"):
        score_orientations(q, q[1:])
    with pytest.raises(ValueError, match="actual: expected quaternions"):
        score_orientations(q[..., 1:], q[..., 1:])
    with pytest.raises(ValueError, match="start: expected an index that leaves at least 1 of 10 samples, got 10"):
        score_orientations(q, q, start=10)
    with pytest.raises(ValueError, match="actual: expected observed samples"):
        score_orientations(np.full_like(q, np.nan), q, start=0)
