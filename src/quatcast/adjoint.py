"""Taking λ back through the past of a network: λₛ₋₁ = U(s)ᵀD(s)λₛ, and with stacked layers down through them first.

Two classes do the same. `Adjoint` is for any number of layers and runs and for any array library; `LoneAdjoint` for one
layer of one run under NumPy, the network that forecasts live, where calls and fresh memory cost more than arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quatcast.algebra import Algebra, Array, namespace, reshape
from quatcast.history import LoneMoment, Moment


class Adjoint:
    """λ on its way back, and what it leaves behind.

    Parameters
    ----------
    algebra
        R, C or H.
    lam
        λ of the top layer, (runs, d, q).
    layers
        Number of layers.
    """

    def __init__(self, algebra: Algebra, lam: Array, layers: int) -> None:
        self._lam: list[Array] = [0.0] * (layers - 1) + [lam]
        self._expand = algebra.expander(lam)
        self._spread: list[list[Array]] = [[] for _ in self._lam]
        self._trail: list[list[Array]] = [[] for _ in self._lam]

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

    def squared(self) -> Array:
        """‖λ‖² (runs, n) after each moment, over all layers."""
        n, xp = len(self._trail[0]), namespace(self._lam[-1])
        return sum(
            xp.sum(reshape(xp.vecdot(passed, passed), (passed.shape[0], n, -1)), axis=-1)
            for passed in (xp.concat(states, axis=-2) for states in self._trail)
        )

    def spread(self, layer: int, depth: int) -> Array:
        """Spread derivatives E (runs, d·depth, d·q) of the first `depth` moments, the oldest first."""
        return namespace(self._lam[-1]).concat(self._spread[layer][depth - 1 :: -1], axis=-2)


class LoneAdjoint:
    """`Adjoint` for one layer of one run under NumPy, in memory that every walk uses again.

    What `spread` gives lies in that memory: it is good until the next walk.
    """

    def __init__(self, algebra: Algebra, units: int) -> None:
        self._d, self._q = algebra.dimension, units
        self._table, _ = algebra.mixing(np.zeros(1))
        self._delta = np.empty((self._d, units))
        self._room(32)

    def begin(self, lam: Array) -> LoneAdjoint:
        """Begin a walk with λ (1, d, q)."""
        self._last, self._passed = lam[0], 0
        return self

    def _room(self, moments: int) -> None:
        """Make room for so many moments: E from the back, so that the oldest comes first, λ from the front."""
        d, q = self._d, self._q
        spread, trail = np.empty((moments, d * d, q)), np.empty((moments, d, q))
        shaped = spread.reshape(moments, d, d * q)
        self._trail, self._spread = trail.reshape(1, moments, d * q), shaped.reshape(1, moments * d, d * q)
        self._slots = list(zip(spread[::-1], shaped[::-1], trail, strict=True))

    def back(self, moments: Sequence[LoneMoment]) -> None:
        """Go back through moments, the newest first."""
        end = self._passed + len(moments)
        if end > len(self._slots):
            spread, trail = self._spread, self._trail
            self._room(2 * end)
            self._spread[:, -spread.shape[1] :, :], self._trail[:, : trail.shape[1], :] = spread, trail
        lam, delta, expand = self._last, self._delta, self._table.dot
        for (U, D), (products, E, after) in zip(moments, self._slots[self._passed : end], strict=True):
            np.multiply(lam, D, delta)
            expand(delta, products)
            lam = E.dot(U, after)
        self._last, self._passed = lam, end

    def squared(self) -> Array:
        """‖λ‖² (1, n) after each moment."""
        passed = self._trail[:, : self._passed, :]
        return np.vecdot(passed, passed)

    def spread(self, layer: int, depth: int) -> Array:
        """Spread derivatives E (1, d·depth, d·q) of the first `depth` moments, the oldest first."""
        return self._spread[:, -depth * self._d :, :]
