"""RLS against padasip, against least squares in closed form, and under input that stops varying."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quatcast import RLS


def regression(n, m, p, seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, m)), rng.normal(size=(n, p))


def test_equals_padasip():
    """Padasip has no bias, so it is given the constant one as a last input; it starts with P = I/eps."""
    import padasip  # which takes a second that test processes without this test need not wait

    u, d = regression(200, 4, 1, 0)
    learner = RLS(forgetting=0.98, regularization=0.1)
    mine = [learner.update(x, y).prediction[0] for x, y in zip(u, d, strict=True)]
    filtered = padasip.filters.FilterRLS(n=5, mu=0.98, eps=0.1, w="zeros")
    theirs, _, _ = filtered.run(d[:, 0], np.hstack([u, np.ones((200, 1))]))
    np.testing.assert_allclose(mine, theirs, atol=1e-9)


@given(seed=st.integers(0, 99), forgetting=st.floats(0.9, 1.0), delta=st.floats(0.01, 1.0))
def test_equals_weighted_ridge_regression(seed, forgetting, delta):
    """After n steps θ minimises Σₛ λⁿ⁻ˢ|dₛ − θxₛ|² + λⁿδ|θ|²."""
    n, m = 40, 3
    u, d = regression(n, m, 2, seed)
    learner = RLS(forgetting=forgetting, regularization=delta)
    for x, y in zip(u, d, strict=True):
        learner.update(x, y)
    X = np.hstack([u, np.ones((n, 1))])
    weights = forgetting ** np.arange(n - 1, -1, -1)
    normal = (X.T * weights) @ X + forgetting**n * delta * np.eye(m + 1)
    theta = np.linalg.solve(normal, (X.T * weights) @ d).T
    found = learner.parameters()
    np.testing.assert_allclose(found["readout.weight"][..., 0], theta[:, :m], atol=1e-8)
    np.testing.assert_allclose(found["readout.bias"][..., 0], theta[:, m], atol=1e-8)


@pytest.mark.parametrize(("forgetting", "steps"), [(0.5, 2_000), (0.9, 8_000)])
def test_constant_input_does_not_blow_up(forgetting, steps):
    """Without a bound P grows as λ⁻ⁿ, past the largest double within 1,100 steps at λ = ½ and 6,800 at λ = 0.9."""
    learner = RLS(forgetting=forgetting)
    for _ in range(steps):
        step = learner.update([1.0, 2.0], [3.0])
    assert np.abs(step.error).max() < 1e-9
    # It still forgets along the input, as fast as λ says, and has learnt nothing wild in other directions.
    for _ in range(int(20 / (1 - forgetting))):
        step = learner.update([1.0, 2.0], [5.0])
    assert np.abs(step.error).max() < 1e-6
    assert np.abs(learner.predict([2.0, -1.0])).max() < 10.0


def test_runs_have_their_own_memory():
    u, d = regression(60, 2, 1, 5)
    both = RLS(forgetting=[0.9, 0.99], regularization=0.5)
    single = [RLS(forgetting=0.9, regularization=0.5), RLS(forgetting=0.99, regularization=0.5)]
    for x, y in zip(u, d, strict=True):
        step = both.update(x, y)
        np.testing.assert_allclose(step.prediction, [one.update(x, y).prediction for one in single], atol=1e-12)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"forgetting": 1.1}, "forgetting: .*1.1"),
        ({"forgetting": 0.0}, "forgetting: .*0.0"),
        ({"regularization": -1.0}, "regularization: .*-1.0"),
        ({"forgetting": [0.9, 0.99], "regularization": [1.0, 1.0, 1.0]}, "forgetting has 2, regularization has 3"),
    ],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        RLS(**settings)
