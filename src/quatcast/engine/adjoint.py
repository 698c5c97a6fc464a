"""Taking λ back through the past of a network: λₛ₋₁ = U(s)ᵀD(s)λₛ, and with stacked layers down through them first.

Two classes do the same. `Adjoint` is for any number of layers and runs and for any array library; `SingleRunAdjoint` is
for one layer of one run under NumPy, where calls and fresh memory cost more than arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quatcast.algebra import Algebra, namespace, reshape, total
from quatcast.engine.history import Moment
from quatcast.typing import Array


class Reach(NamedTuple):
    """Moments that a walk takes, and whether λ has died out after them."""

    depth: int
    converged: bool


class Adjoint:
    """λ on its way back, and what it leaves behind.

    Parameters
    ----------
    algebra
        R, C or H.
    lam
        λₙ of the top layer, (runs, d, q).
    layers
        Number of layers.
    """

    def __init__(self, algebra: Algebra, lam: Array, layers: int) -> None:
        self._first, self._expand = lam, algebra.expander(lam)
        self._lam: list[Array] = [0.0] * (layers - 1) + [lam]
        self._spread: list[list[Array]] = [[] for _ in self._lam]
        self._trail: list[list[Array]] = [[] for _ in self._lam]
        self._alive: Array | None = None

    def back(self, moments: Sequence[Moment]) -> None:
        """Go back through moments, the newest first."""
        lam, expand = self._lam, self._expand
        for moment in moments:
            for k in range(len(lam) - 1, -1, -1):
                E = expand(lam[k] * moment.slopes[k])
                self._spread[k].append(E)
                lam[k] = E @ moment.recurrent[k]
                if k:
                    lam[k - 1] = lam[k - 1] + E @ moment.between[k - 1]
                    self._trail[k].append(lam[k])
            self._trail[0].append(lam[0])

    def reach(self, tol: float) -> Reach:
        """How far back the walk has to go until ‖λₛ‖ ≤ tol·‖λₙ‖.

        A run's walk is over when its own λ has died out for good, as far as was looked, however deep the others still
        go: to the tolerance it is the walk that it would have made alone. A run that has become NaN does not keep the
        others walking.
        """
        xp, n = namespace(self._first), len(self._trail[0])
        squared = sum(_squared_norms(xp.concat(states, axis=-2), n) for states in self._trail)
        above = squared > tol**2 * _squared_norms(self._first, 1)
        back = xp.arange(1, n + 1, dtype=squared.dtype, device=squared.device)
        # One moment more than the last after which λ is above its limit, and at least one.
        needed = xp.max(xp.astype(above, squared.dtype) * back, axis=1) + 1.0
        most = int(xp.max(needed))
        depth = min(most, n)
        if squared.shape[0] > 1:
            self._alive = xp.astype(xp.flip(back[:depth]) <= needed[:, None], squared.dtype)
        return Reach(depth, most <= n)

    def spread(self, layer: int, depth: int) -> Array:
        """Spread derivatives E (runs, d·depth, d·q) of the first `depth` moments, the oldest first.

        Zeros for moments that only other runs have to walk through.
        """
        E = namespace(self._first).concat(self._spread[layer][depth - 1 :: -1], axis=-2)
        if self._alive is None:
            return E
        return reshape(reshape(E, (*self._alive.shape, -1)) * self._alive[:, :, None], E.shape)


class SingleRunAdjoint:
    """`Adjoint` for one layer of one run under NumPy, in memory that every walk uses again.

    What `spread` gives lies in that memory: it is good until the next walk.
    """

    def __init__(self, algebra: Algebra, units: int) -> None:
        self._d, self.units = algebra.dimension, units
        self._table, _ = algebra.mixing(np.zeros(1))
        self._delta = np.empty((self._d, units))
        self._room(32)

    def begin(self, lam: Array) -> SingleRunAdjoint:
        """Begin a walk with λₙ (1, d, q)."""
        self._trail[0], self._passed = lam.reshape(-1), 0
        return self

    def _room(self, moments: int) -> None:
        """Make room for so many moments: E from the back, so that the oldest comes first, λ from the front."""
        d, q = self._d, self.units
        spread, trail = np.empty((moments, d * d, q)), np.empty((moments + 1, d, q))
        shaped = spread.reshape(moments, d, d * q)
        self._trail, self._spread = trail.reshape(moments + 1, d * q), shaped.reshape(1, moments * d, d * q)
        self._slots = list(zip(trail, spread[::-1], shaped[::-1], trail[1:], strict=False))

    def back(self, moments: Sequence[Moment]) -> None:
        """Go back through moments, the newest first."""
        end = self._passed + len(moments)
        if end > len(self._slots):
            spread, trail = self._spread, self._trail
            self._room(2 * end)
            self._spread[:, -spread.shape[1] :, :], self._trail[: len(trail)] = spread, trail
        delta, expand = self._delta, self._table.dot
        for ((U,), _, (D,)), (lam, products, E, after) in zip(moments, self._slots[self._passed : end], strict=True):
            np.multiply(lam, D, delta)
            expand(delta, products)
            E.dot(U, after)
        self._passed = end

    def reach(self, tol: float) -> Reach:
        """How far back the walk has to go until ‖λₛ‖ ≤ tol·‖λₙ‖, for good as far as was looked."""
        passed = self._trail[: self._passed + 1]
        first, *squared = np.vecdot(passed, passed).tolist()
        most, limit = len(squared) + 1, tol**2 * first
        while most > 1 and not squared[most - 2] > limit:
            most -= 1
        return Reach(min(most, len(squared)), most <= len(squared))

    def spread(self, layer: int, depth: int) -> Array:
        """Spread derivatives E (1, d·depth, d·q) of the first `depth` moments, the oldest first."""
        return self._spread[:, -depth * self._d :, :]


def _squared_norms(rows: Array, n: int) -> Array:
    """‖·‖² (runs, n) of n vectors that lie in rows (runs, d·n, q)."""
    return total(reshape(namespace(rows).vecdot(rows, rows), (rows.shape[0], n, -1)), axis=-1)
