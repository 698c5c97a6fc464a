"""Input weights whose newest steps are yet to be added in.

The input weights W are by far the largest array of a network with many lags. A step of gradient descent takes from
them a multiple of the sum of δ(s) ⊗ z(s)ᴴ over the moments s of the walk: EᵀZ in stacked arrays, E with d rows of
spread derivatives a moment and Z with the d rows of its input. The next step sums over the same inputs but one. So
that product is not formed at every step. The weights are kept as

    W = W₀ + AᵀZ,

a step adds a multiple of E to A, and now and then the product of the older rows of A and Z is added to W₀. Nothing is
approximated; sums are done in another order. What a step needs of W and of the gradient comes from far smaller
products:

    v Wᵀ = v W₀ᵀ + (v Zᵀ) A,        ‖EᵀZ‖² = Σₛₛ′ Re[(Σᵢ δᵢ(s)ᴴ δᵢ(s′)) (Σⱼ zⱼ(s′)ᴴ zⱼ(s))].

This holds for every optimiser whose step is a multiple of the gradient, and for no other.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from quatcast.algebra import Algebra, Array, namespace, reshape
from quatcast.backend import fetch

BLOCK = 24
"""Inputs after which all rows of A but as many are added up, whatever the depth of the walk, so that the order of sums
in a run depends little on how deep its neighbours walk."""
ROOM = 2
"""Blocks of rows that there is room for before old ones are thrown away."""


class Deferred:
    """Input weights W = W₀ + AᵀZ of one or several runs that share their inputs.

    Parameters
    ----------
    algebra
        R, C or H.
    weights
        W, (runs, d·q, m); changed in place.
    reach
        Moments that a walk goes back at most.

    Examples
    --------
    >>> import numpy as np
    >>> from quatcast.algebra import H
    >>> rng = np.random.default_rng(0)
    >>> W = Deferred(H, np.zeros((1, 4 * 2, 3)), reach=5)
    >>> z, delta = rng.normal(size=(4, 3)), rng.normal(size=(1, 4, 2))
    >>> W.take(z).shape
    (1, 4, 8)
    >>> W.gradient(H.expand(delta)).add(-0.1)
    >>> bool(np.allclose(W.dense(), -0.1 * H.expand(delta).mT @ z))
    True
    """

    def __init__(self, algebra: Algebra, weights: Array, reach: int) -> None:
        xp, d = namespace(weights), algebra.dimension
        self._algebra, self._base, self._reach = algebra, weights, reach
        self._inputs = self._zeros(2 * (reach + 2 * BLOCK) * d, weights.shape[-1])
        # Σⱼ zⱼ(s′)ᴴ zⱼ(s) from the real products of components b of z(s) and b′ of z(s′): e_b′ is conjugated.
        signs = xp.concat([xp.ones_like(weights[0, :1, 0]), -xp.ones_like(weights[0, : d - 1, 0])])
        table = reshape(algebra.mixing(weights)[0], (d, d, d))
        self._table = reshape(table * signs[None, :, None], (d * d, d))
        self._first = self._begin = self._end = self._depth = self._waiting = 0
        self._coefficients, self._gram = self._zeros(weights.shape[0], 0, weights.shape[1]), self._zeros(0, 0)
        self._keep(0)

    def take(self, u: Array) -> Array:
        """Return u Wᵀ for the next input u (d, m), and remember it: the walks to come go through it."""
        if self._waiting == BLOCK:
            self._add_up()
        d = self._algebra.dimension
        self._inputs[self._end * d : (self._end + 1) * d, :] = u
        self._end += 1
        self._waiting += 1
        products = self._relate(self._end)
        _, A = self._window()
        # The newest coefficients are still zero.
        return u @ self._base.mT + products.mT @ A

    def product(self, v: Array) -> Array:
        """Return v Wᵀ for v (…, m)."""
        Z, A = self._window()
        return v @ self._base.mT + (v @ Z.mT) @ A

    def gradient(self, E: Array) -> Outer:
        """Gradient EᵀZ, from spread derivatives E (runs, d·k, d·q) of the k newest moments, the oldest first."""
        self._depth = E.shape[-2] // self._algebra.dimension
        if self._depth > self._end - self._begin:
            self._keep(self._reached())
        return Outer(self, E)

    def squared_norm(self, E: Array) -> Array:
        """‖EᵀZ‖² of each run."""
        xp, d = namespace(E), self._algebra.dimension
        first, last = self._newest(E)
        terms = (E @ E[:, ::d, :].mT) * self._gram[first:last, first // d : last // d]
        # One after the other: moments that only a neighbour walks through are zeros in front.
        half = xp.cumulative_sum(xp.sum(terms, axis=1), axis=1)[:, -1]
        # What rounding leaves of a sum that cancels may be negative.
        return 2.0 * xp.abs(half)

    def add(self, E: Array) -> None:
        """Add EᵀZ to W."""
        first, last = self._newest(E)
        self._coefficients[:, first:last, :] += E

    def dense(self) -> Array:
        """W as one array (runs, d·q, m)."""
        Z, A = self._window()
        return self._base + A.mT @ Z

    def _add_up(self) -> None:
        """Add the older part of AᵀZ to W₀."""
        self._waiting, d = 0, self._algebra.dimension
        Z, A = self._window()
        old = max(0, self._end - self._begin - BLOCK) * d
        self._base += A[:, :old, :].mT @ Z[:old, :]
        A[:, :old, :] = 0.0
        if (self._end + BLOCK) * d > self._inputs.shape[0]:
            behind = self._end - self._reach - 2 * BLOCK
            self._inputs[: -behind * d, :] = self._inputs[behind * d :, :] + 0.0
            self._first, self._begin, self._end = self._first - behind, self._begin - behind, self._end - behind
        kept = self._reached()
        if self._begin <= self._end - kept and self._end + BLOCK <= self._first + self._gram.shape[1]:
            self._begin = self._end - kept
        else:
            self._keep(kept)

    def _reached(self) -> int:
        """Moments that the next walks are expected to reach, in whole blocks."""
        return min(self._end, BLOCK * max(1, -(-self._depth // BLOCK)))

    def _keep(self, kept: int) -> None:
        """Move the newest rows of A and of the Gram matrix to the front, zeros for moments that had none, with room."""
        d, (runs, rows, _) = self._algebra.dimension, self._base.shape
        coefficients, gram, known = self._coefficients, self._gram, min(kept, self._end - self._begin)
        old = self._rows(self._end - known, self._end)
        self._first = self._begin = self._end - kept
        new, room = self._rows(self._end - known, self._end), kept + ROOM * BLOCK
        self._coefficients, self._gram = self._zeros(runs, room * d, rows), self._zeros(room * d, room)
        self._coefficients[:, new, :] = coefficients[:, old, :]
        if known == kept:
            self._gram[new, :kept] = gram[old, old.start // d : old.stop // d]
        else:
            for end in range(self._begin + 1, self._end + 1):
                self._relate(end)

    def _relate(self, end: int) -> Array:
        """Put Σⱼ zⱼ(s′)ᴴ zⱼ(s) for the last s′ before `end` and all s up to it into its column of the Gram matrix.

        The matrix is that of pairs s ≤ s′, those with s = s′ counting half. Returns the real products Z z(s′)ᵀ.
        """
        d = self._algebra.dimension
        Z = self._inputs[self._begin * d : end * d, :]
        products = Z @ Z[-d:, :].mT
        related = reshape(reshape(products, (-1, d * d)) @ self._table, (-1,))
        related[-d:] *= 0.5
        self._gram[self._rows(self._begin, end), end - 1 - self._first] = related
        return products

    def _window(self) -> tuple[Array, Array]:
        """Z and A of the moments from `_begin`."""
        d, rows = self._algebra.dimension, self._rows(self._begin, self._end)
        return self._inputs[self._begin * d : self._end * d, :], self._coefficients[:, rows, :]

    def _rows(self, begin: int, end: int) -> slice:
        """Rows of A that belong to the moments from `begin` to before `end`."""
        d = self._algebra.dimension
        return slice((begin - self._first) * d, (end - self._first) * d)

    def _newest(self, E: Array) -> tuple[int, int]:
        """First and last row of A for the newest moments, as many as E has."""
        last = (self._end - self._first) * self._algebra.dimension
        return last - E.shape[-2], last

    def _zeros(self, *shape: int) -> Array:
        return namespace(self._base).zeros(shape, dtype=self._base.dtype, device=self._base.device)

    def state(self) -> dict[str, Any]:
        """Everything, as NumPy arrays of its own and plain values."""
        d, behind = self._algebra.dimension, max(0, self._end - self._reach - 2 * BLOCK)
        inputs = self._inputs[behind * d : self._end * d, :]
        arrays = {"base": self._base, "inputs": inputs, "coefficients": self._coefficients, "gram": self._gram}
        moments = {"first": self._first, "begin": self._begin, "end": self._end}
        return (
            {name: np.array(fetch(array)) for name, array in arrays.items()}
            | {name: moment - behind for name, moment in moments.items()}
            | {"depth": self._depth, "waiting": self._waiting}
        )

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""
        self._first, self._begin, self._end = state["first"], state["begin"], state["end"]
        self._depth, self._waiting = state["depth"], state["waiting"]
        xp, device = namespace(self._base), self._base.device
        self._base, self._coefficients, self._gram, inputs = (
            xp.asarray(state[name], device=device, copy=True) for name in ("base", "coefficients", "gram", "inputs")
        )
        self._inputs[: inputs.shape[0], :] = inputs


class Outer(NamedTuple):
    """A gradient EᵀZ of deferred weights, not multiplied out."""

    weights: Deferred
    spread: Array

    def squared_norm(self) -> Array:
        """‖EᵀZ‖² of each run."""
        return self.weights.squared_norm(self.spread)

    def add(self, factor: Any) -> None:
        """Add a multiple (runs, 1, 1) of it to the weights, and use it up."""
        spread = self.spread
        spread *= factor
        self.weights.add(spread)
