"""Both adjoints equal the recursion written out, and each other."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import C, H, R
from quatcast.engine.activations import activation
from quatcast.engine.adjoint import Adjoint, OneLayerAdjoint
from quatcast.engine.cells import SimpleCell
from quatcast.engine.history import Moment

ALGEBRAS = pytest.mark.parametrize("algebra", [R, C, H], ids=repr)
UNITS = 3
CELL = SimpleCell(activation("tanh"))


def past(algebra, rng, n, decay):
    """Weights U (n, d·q, q) and slopes D (n, d, q), the newest first, that shrink λ by about `decay` a moment."""
    d = algebra.dimension
    return decay * rng.normal(size=(n, d * UNITS, UNITS)) / np.sqrt(d * UNITS), rng.uniform(0.5, 1.0, (n, d, UNITS))


def recursion(algebra, lam, weights, slopes):
    """δ(s) = D(s)λₛ and λₛ₋₁, by einsum over the table of the algebra: λₛ₋₁ = ∂/∂h of Σ δ·(U ⊗ h)."""
    d, deltas, after = algebra.dimension, [], []
    for U, D in zip(weights, slopes, strict=True):
        delta = lam * D
        lam = np.einsum("aij,abc,ci->bj", U.reshape(d, UNITS, UNITS), algebra.table, delta)
        deltas.append(delta)
        after.append(lam)
    return deltas, after


def depth_of(first, after, tol):
    """Moments up to the first after which λ stays below tol·‖λₙ‖ to the end, and whether there is one."""
    below = [np.linalg.norm(lam) <= tol * np.linalg.norm(first) for lam in after]
    over = [n for n in range(len(below)) if not below[n]]
    needed = over[-1] + 2 if over else 1
    return min(needed, len(after)), needed <= len(after)


@ALGEBRAS
@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_both_walk_as_the_recursion_does(algebra, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    d, tol = algebra.dimension, data.draw(st.sampled_from([0.0, 1e-12, 1e-3]))
    single = OneLayerAdjoint(algebra, (1, algebra.dimension, UNITS))
    # The second walk goes through the memory of the first, which may have had to grow.
    for _ in range(2):
        legs = data.draw(st.lists(st.integers(1, 60), min_size=1, max_size=3))
        weights, slopes = past(algebra, rng, sum(legs), data.draw(st.sampled_from([0.3, 1.0])))
        lam = rng.normal(size=(1, d, UNITS))
        general = Adjoint(algebra, CELL, lam, 1)
        single.begin(lam)
        done = 0
        for leg in legs:
            ahead = range(done, done + leg)
            general.back([Moment((weights[n][None],), (), ((slopes[n][None],),)) for n in ahead])
            single.back([Moment((weights[n],), (), ((slopes[n],),)) for n in ahead])
            done += leg
        deltas, after = recursion(algebra, lam[0], weights, slopes)
        expected = depth_of(lam, after, tol)
        for adjoint in (general, single):
            assert adjoint.reach(tol) == expected
            by_recurrent, E = adjoint.spread(0, expected[0])
            assert by_recurrent is E
            assert E.shape == (1, expected[0] * d, d * UNITS)
            heads = E[0, ::d].reshape(expected[0], d, UNITS)
            walked = deltas[expected[0] - 1 :: -1]
            # Relative to the largest number of a step, because others may be differences of nearly equal ones.
            size = np.maximum(np.abs(walked).max(axis=(1, 2), keepdims=True), 1e-300)
            np.testing.assert_allclose(heads / size, walked / size, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(general.spread(0, expected[0])[1], single.spread(0, expected[0])[1])


def begun(kind, lam):
    if kind is Adjoint:
        return Adjoint(H, CELL, lam, 1)
    return OneLayerAdjoint(H, lam.shape).begin(lam)


@pytest.mark.parametrize("decays", [(0.1, 0.9), (0.1, 3.0), (1e-5, 1e-6)], ids=str)
@pytest.mark.parametrize("kind", [Adjoint, OneLayerAdjoint])
def test_each_run_walks_as_far_as_it_has_to(kind, decays):
    rng, d, n = np.random.default_rng(0), 4, 12
    pasts = [past(H, rng, n, decay) for decay in decays]
    lam = rng.normal(size=(2, d, UNITS))
    together = begun(kind, lam)
    moments = [
        Moment((np.stack([U[s] for U, _ in pasts]),), (), ((np.stack([D[s] for _, D in pasts]),),)) for s in range(n)
    ]
    together.back(moments)
    reach = together.reach(1e-3)
    _, E = together.spread(0, reach.depth)
    depths = []
    for run, (U, D) in enumerate(pasts):
        alone = Adjoint(H, CELL, lam[run : run + 1], 1)
        alone.back([Moment((U[s][None],), (), ((D[s][None],),)) for s in range(n)])
        depths.append(alone.reach(1e-3).depth)
        own = depths[run] * d
        np.testing.assert_array_equal(E[run, -own:], alone.spread(0, depths[run])[1][0])
        assert not E[run, :-own].any()
    assert reach.converged == (decays[1] < 1.0)
    assert max(depths) == reach.depth
    assert depths[0] < depths[1] or depths == [1, 1]
