"""The weights of a mixture, compared with every choice of members."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quatcast.forecasting.mixture import blend


def best_by_trying_all(C, shrinkage):
    """Value of min wᵀCw + ρΣCₖₖwₖ² over the simplex, from the best point of the interior of each of its faces."""
    K = len(C)
    best = np.inf
    for size in range(1, K + 1):
        for face in itertools.combinations(range(K), size):
            # Stationary points of the Lagrangian on the plane Σw = 1.
            kkt = np.zeros((size + 1, size + 1))
            kkt[:size, :size] = 2 * (C[np.ix_(face, face)] + shrinkage * np.diag([C[k, k] for k in face]))
            kkt[:size, size] = kkt[size, :size] = 1.0
            found = np.linalg.lstsq(kkt, [*[0.0] * size, 1.0], rcond=None)[0][:size]
            if found.min() >= 0:
                best = min(best, objective(np.bincount(face, found, K), C, shrinkage))
    return best


def objective(w, C, shrinkage):
    return w @ C @ w + shrinkage * np.sum(np.diag(C) * w**2)


@settings(deadline=None)
@given(
    errors=st.integers(1, 5).flatmap(lambda K: arrays(float, (K, 12), elements=st.floats(-3, 3, width=16))),
    common=arrays(float, 12, elements=st.floats(-3, 3, width=16)),
    shrinkage=st.sampled_from([0.01, 0.1, 1.0]),
    active=arrays(bool, 5),
)
def test_weights_are_the_best_there_are(errors, common, shrinkage, active):
    """Wherever the search begins."""
    C = (errors + common) @ (errors + common).T
    w = blend(C, shrinkage, active[: len(C)])
    assert w.min() >= 0
    assert w.sum() == pytest.approx(1)
    best = best_by_trying_all(C, shrinkage)
    assert objective(w, C, shrinkage) <= best + 1e-6 * (best + 1e-6 * np.diag(C).max()) + 1e-12


def test_an_expert_left_out_too_early_is_taken_back():
    """Leaving experts out one after the other, the most negative first, ends elsewhere for some of these."""
    rng, early = np.random.default_rng(0), 0
    for _ in range(150):
        E = rng.normal(size=(6, 6)) @ rng.normal(size=(6, 18))
        C = E @ E.T
        w = blend(C, 0.01)
        assert objective(w, C, 0.01) <= best_by_trying_all(C, 0.01) * (1 + 1e-6)
        kept = np.arange(6)
        while True:
            v = np.linalg.solve((C + 0.01 * np.diag(np.diag(C)))[np.ix_(kept, kept)], np.ones(len(kept)))
            if v.min() >= 0:
                break
            kept = np.delete(kept, v.argmin())
        early += not set(np.flatnonzero(w > 1e-9)) <= set(kept)
    assert early > 0


def test_weights_by_hand():
    np.testing.assert_allclose(blend(np.diag([1.0, 3.0]), 0.0), [0.75, 0.25], atol=1e-8)
    np.testing.assert_allclose(blend(np.array([[1.0, 1.5], [1.5, 3.0]]), 1e9), [0.75, 0.25], atol=1e-8)
    # ρ = 1: minimise w² + 2w(1 − w) + 2(1 − w)² + (w² + 2(1 − w)²), so 4w² − 6w + 4 → w = 3/4.
    np.testing.assert_allclose(blend(np.array([[1.0, 1.0], [1.0, 2.0]]), 1.0), [3 / 4, 1 / 4], atol=1e-8)
    np.testing.assert_allclose(blend(np.array([[1.0, 2.0], [2.0, 5.0]]), 0.0), [1, 0], atol=1e-8)


def test_channels_are_weighed_each_by_itself():
    C = np.stack([np.diag([1.0, 3.0]), np.diag([3.0, 1.0])])
    np.testing.assert_allclose(blend(C, 0.0), [[0.75, 0.25], [0.25, 0.75]], atol=1e-8)


@pytest.mark.parametrize("factor", [1e-30, 1e-9, 1.0, 1e9, 1e30])
def test_the_unit_does_not_matter(factor):
    rng = np.random.default_rng(1)
    E = rng.normal(size=(4, 30)) + rng.normal(size=30)
    np.testing.assert_allclose(blend(factor * E @ E.T, 0.1), blend(E @ E.T, 0.1), rtol=1e-7)


@pytest.mark.parametrize("error", [0.0, 1e-20, 1e-10])
def test_an_expert_beyond_comparison_has_it_all(error):
    np.testing.assert_allclose(blend(np.diag([1.0, error, 2.0, 3.0]), 0.1), [0, 1, 0, 0], atol=1e-6)


def test_experts_that_are_always_right_share():
    np.testing.assert_allclose(blend(np.zeros((6, 6)), 0.5), np.full(6, 1 / 6))


@pytest.mark.parametrize("shrinkage", [0.0, 0.01])
def test_experts_that_err_alike_do_not_count_twice(shrinkage):
    rng = np.random.default_rng(2)
    one, other = rng.normal(size=(2, 2000))
    w = blend(np.array([one, one, one, other]) @ np.array([one, one, one, other]).T, shrinkage)
    assert w[:3].sum() == pytest.approx(0.5, abs=0.05)
    assert w[3] == pytest.approx(0.5, abs=0.05)
    np.testing.assert_allclose(w[:3], w[0], rtol=1e-5)
