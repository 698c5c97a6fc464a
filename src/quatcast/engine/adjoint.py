"""Taking λ back through the past of a network, and down through its layers.

Two classes do the same. `Adjoint` works for all cells, any number of layers and runs, and any array library;
`OneLayerAdjoint` is for one layer under NumPy and cells that only save a slope, where calls and fresh memory would cost
more than arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from quatcast.algebra import Algebra, namespace, reshape, total
from quatcast.basics.typing import Array
from quatcast.engine.cells import Cell
from quatcast.engine.history import Moment


class Reach(NamedTuple):
    """Number of moments that a walk needs, and whether λ has decayed to the tolerance after them."""

    depth: int
    converged: bool


class Adjoint:
    """λ on its way back, and the derivatives that it leaves at each moment.

    Parameters
    ----------
    algebra
        R, C or H.
    cell
        Cell of all layers.
    lam
        λₙ of the top layer, (runs, d, q).
    layers
        Number of layers.
    """

    def __init__(self, algebra: Algebra, cell: Cell, lam: Array, layers: int) -> None:
        self._first, self._cell, self._expand = lam, cell, algebra.expander(lam)
        self._lam: list[Array] = [0.0] * (layers - 1) + [lam]
        self._spread: list[list[tuple[Array, Array]]] = [[] for _ in self._lam]
        self._trail: list[list[Array]] = [[] for _ in self._lam]
        self._alive: Array | None = None

    def back(self, moments: Sequence[Moment]) -> None:
        """Go back through moments, the newest first."""
        lam, expand = self._lam, self._expand
        for moment in moments:
            for k in range(len(lam) - 1, -1, -1):
                by_recurrent, by_driven, direct = self._cell.backward(lam[k], moment.saved[k])
                into = expand(by_driven)
                back = into if by_recurrent is by_driven else expand(by_recurrent)
                self._spread[k].append((back, into))
                lam[k] = back @ moment.recurrent[k]
                if direct is not None:
                    lam[k] = lam[k] + direct
                if k:
                    lam[k - 1] = lam[k - 1] + into @ moment.between[k - 1]
                    self._trail[k].append(lam[k])
            self._trail[0].append(lam[0])

    def reach(self, tol: float) -> Reach:
        """Return how far back the walk has to go until ‖λₛ‖ ≤ tol·‖λₙ‖.

        The walk of a run ends where its own λ is below the tolerance for all remaining moments that were examined,
        however deep the walks of other runs are: to the tolerance, it is the walk of that run by itself. A run that
        has become NaN does not prolong the walk of the others.
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

    def spread(self, layer: int, depth: int) -> tuple[Array, Array]:
        """Return the spread derivatives with respect to R and D, (runs, d·depth, d·G·q), the oldest moment first.

        Moments that belong only to the walk of another run are zeros.
        """
        back, into = zip(*self._spread[layer][depth - 1 :: -1], strict=True)
        E = self._in_a_row(into)
        return E if back[0] is into[0] else self._in_a_row(back), E

    def _in_a_row(self, spreads: Sequence[Array]) -> Array:
        E = namespace(self._first).concat(spreads, axis=-2)
        if self._alive is None:
            return E
        return reshape(reshape(E, (*self._alive.shape, -1)) * self._alive[:, :, None], E.shape)


class OneLayerAdjoint:
    """`Adjoint` for one layer under NumPy and a cell that only saves a slope, in memory that is reused.

    The result of `spread` lies in that memory: it is valid until the next walk. The moments of a single run have no run
    axis, because products of two-dimensional arrays are faster.

    Parameters
    ----------
    algebra
        R, C or H.
    shape
        Shape (runs, d, q) of λ.
    """

    def __init__(self, algebra: Algebra, shape: tuple[int, int, int]) -> None:
        self._shape, (self._table, _) = shape, algebra.mixing(np.zeros(1))
        self._single = shape[0] == 1
        self._delta = np.empty(shape[1:] if self._single else shape)
        self._room(32)

    def begin(self, lam: Array) -> OneLayerAdjoint:
        """Begin a walk with λₙ (runs, d, q)."""
        self._trail[0], self._passed = lam.reshape(self._trail.shape[1:]), 0
        self._alive: Array | None = None
        return self

    def _room(self, moments: int) -> None:
        """Make room for that many moments: E from the back, so that the oldest comes first, λ from the front."""
        runs, d, q = self._shape
        spread, trail = np.empty((runs, moments, d * d, q)), np.empty((moments + 1, runs, d, q))
        self._trail, self._spread = trail.reshape(moments + 1, runs, d * q), spread.reshape(runs, -1, d * q)
        slots, states = spread.swapaxes(0, 1)[::-1], trail
        if self._single:
            slots, states = slots[:, 0], states[:, 0]
        shaped = slots.reshape(*slots.shape[:-2], d, d * q)
        self._slots = list(zip(states, slots, shaped, states[1:], strict=False))

    def back(self, moments: Sequence[Moment]) -> None:
        """Go back through moments, the newest first."""
        end = self._passed + len(moments)
        if end > len(self._slots):
            spread, trail = self._spread, self._trail
            self._room(2 * end)
            self._spread[:, -spread.shape[1] :, :], self._trail[: len(trail)] = spread, trail
        table, delta, product = self._table, self._delta, np.ndarray.dot if self._single else np.matmul
        for ((U,), _, ((D,),)), (lam, products, E, after) in zip(moments, self._slots[self._passed : end], strict=True):
            np.multiply(lam, D, delta)
            product(table, delta, products)
            product(E, U, after)
        self._passed = end

    def reach(self, tol: float) -> Reach:
        """Return how far back the walk has to go, as `Adjoint.reach` does."""
        n, passed = self._passed, self._trail[: self._passed + 1]
        squared, most = np.vecdot(passed, passed), n + 1
        if self._single:
            first, *rest = squared[:, 0].tolist()
            limit = tol**2 * first
            while most > 1 and not rest[most - 2] > limit:
                most -= 1
            return Reach(min(most, n), most <= n)
        above = squared[1:] > tol**2 * squared[0]
        any_above = above.any(axis=1).tolist()
        while most > 1 and not any_above[most - 2]:
            most -= 1
        # A moment is needed if λ is above its limit after any moment beyond it; the first one always is.
        beyond = np.logical_or.accumulate(above[: most - 1][::-1])[most - min(most, n) :]
        self._alive = np.concatenate([beyond, above[:1] | True]).T
        return Reach(min(most, n), most <= n)

    def spread(self, layer: int, depth: int) -> tuple[Array, Array]:
        """Return the spread derivatives with respect to R and D, as `Adjoint.spread` does."""
        runs, d, _ = self._shape
        E = self._spread[:, -depth * d :, :]
        if self._alive is not None and not self._alive.all():
            E.reshape(runs, depth, -1)[~self._alive] = 0.0
        return E, E


def _squared_norms(rows: Array, n: int) -> Array:
    """Return ‖·‖² (runs, n) of n vectors that lie in rows (runs, d·n, q)."""
    return total(reshape(namespace(rows).vecdot(rows, rows), (rows.shape[0], n, -1)), axis=-1)
