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

from quatcast.algebra import Algebra, fetch, namespace, reshape
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.typing import Array

BLOCK = 24
"""Inputs after which all rows of A but as many are added up, whatever the depth of the walk, so that the order of sums
in a run depends little on how deep its neighbours walk."""
ROOM = 2
"""Blocks of rows that there is room for before old ones are thrown away."""
SPARE = 2 * BLOCK
"""Inputs that have to be kept beyond the deepest walk."""


class LowRankWeights:
    """Input weights W = W₀ + AᵀZ of one or several runs that share their inputs.

    Parameters
    ----------
    algebra
        R, C or H.
    weights
        W, (runs, d·q, m); changed in place.
    inputs
        The last inputs (d, m) of the network, `SPARE` more than a walk may reach.

    Examples
    --------
    >>> import numpy as np
    >>> from quatcast.algebra import H
    >>> rng = np.random.default_rng(0)
    >>> inputs = SlidingWindow(5 + SPARE)
    >>> W = LowRankWeights(H, np.zeros((1, 4 * 2, 3)), inputs)
    >>> z, delta = rng.normal(size=(4, 3)), rng.normal(size=(1, 4, 2))
    >>> W.drive(z).shape
    (1, 4, 8)
    >>> inputs.append(z)
    >>> W.take()
    >>> W.gradient(H.expand(delta)).add(-0.1)
    >>> bool(np.allclose(W.dense(), -0.1 * H.expand(delta).mT @ z))
    True
    """

    def __init__(self, algebra: Algebra, weights: Array, inputs: SlidingWindow) -> None:
        xp, d = namespace(weights), algebra.dimension
        self._d, self._base, self._inputs = d, weights, inputs
        # Σⱼ zⱼ(s′)ᴴ zⱼ(s) from the real products of components b of z(s) and b′ of z(s′): e_b′ is conjugated.
        signs = xp.concat([xp.ones_like(weights[0, :1, 0]), -xp.ones_like(weights[0, : d - 1, 0])])
        table = reshape(algebra.mixing(weights)[0], (d, d, d))
        self._table = reshape(table * signs[None, :, None], (d * d, d))
        self._scratch: Array | None = None
        self._products: Array | None = None
        # The moments of Z are the `_size` newest; their rows of A and of the Gram matrix begin at the moment `_start`.
        self._start = self._size = self._depth = self._waiting = 0
        self._coefficients, self._gram = self._zeros(weights.shape[0], 0, weights.shape[1]), self._zeros(0, 0)
        self._keep(0)

    def drive(self, u: Array) -> Array:
        """Return u Wᵀ for the next input u (d, m)."""
        driven = u @ self._base.mT
        if not self._size:
            self._products = self._zeros(0, self._d)
            return driven
        Z, A = self._window()
        self._products = Z @ u.mT
        return driven + self._products.mT @ A

    def take(self) -> None:
        """Take the input that drove last, and has been appended since, among the moments of Z."""
        self._size += 1
        self._waiting += 1
        self._relate(self._size - 1, self._products, self._inputs.last(1))

    def product(self, v: Array) -> Array:
        """Return v Wᵀ for v (…, m)."""
        if not self._size:
            return v @ self._base.mT
        Z, A = self._window()
        return v @ self._base.mT + (v @ Z.mT) @ A

    def gradient(self, E: Array) -> FactoredGradient:
        """Gradient EᵀZ, from spread derivatives E (runs, d·k, d·q) of the k newest moments, the oldest first."""
        self._depth = E.shape[-2] // self._d
        if self._depth > self._size:
            self._keep(self._reached())
        return FactoredGradient(self, E)

    def squared_norm(self, E: Array) -> Array:
        """‖EᵀZ‖² of each run."""
        xp, d = namespace(E), self._d
        first, last = self._newest(E)
        related = self._gram[first // d : last // d, first:last] @ E
        # One after the other: moments that only a neighbour walks through are zeros in front.
        half = xp.cumulative_sum(xp.vecdot(related, E[:, ::d, :]), axis=-1)[:, -1]
        # What rounding leaves of a sum that cancels may be negative.
        return 2.0 * xp.abs(half)

    def add(self, E: Array) -> None:
        """Add EᵀZ to W."""
        first, last = self._newest(E)
        self._coefficients[:, first:last, :] += E
        if self._waiting >= BLOCK:
            self._add_up()

    def dense(self) -> Array:
        """W as one array (runs, d·q, m)."""
        if not self._size:
            return self._base
        Z, A = self._window()
        return self._base + A.mT @ Z

    def _add_up(self) -> None:
        """Add the older part of AᵀZ to W₀."""
        self._waiting = 0
        old = max(0, self._size - BLOCK) * self._d
        Z, A = self._window()
        self._base += self._product(A[:, :old, :].mT, Z[:old, :])
        A[:, :old, :] = 0.0
        kept = self._reached()
        if kept <= self._size and self._start + self._size + BLOCK <= self._gram.shape[0]:
            self._start, self._size = self._start + self._size - kept, kept
        else:
            self._keep(kept)

    def _reached(self) -> int:
        """Moments that the next walks are expected to reach, in whole blocks."""
        return min(len(self._inputs), BLOCK * max(1, -(-self._depth // BLOCK)))

    def _keep(self, kept: int) -> None:
        """Move the newest rows of A and of the Gram matrix to the front, zeros for moments that had none, with room."""
        d, (runs, rows, _) = self._d, self._base.shape
        known, room = min(kept, self._size), kept + ROOM * BLOCK
        end = self._start + self._size
        coefficients = self._coefficients[:, (end - known) * d : end * d, :] + 0.0
        gram = self._gram[end - known : end, (end - known) * d : end * d] + 0.0
        if room == self._gram.shape[0]:
            self._coefficients[...], self._gram[...] = 0.0, 0.0
        else:
            self._coefficients, self._gram = self._zeros(runs, room * d, rows), self._zeros(room, room * d)
        self._start, self._size = 0, kept
        self._coefficients[:, (kept - known) * d : kept * d, :] = coefficients
        if known == kept:
            self._gram[:kept, : kept * d] = gram
        else:
            Z, _ = self._window()
            for moment in range(kept):
                before, z = Z[: moment * d, :], Z[moment * d : (moment + 1) * d, :]
                self._relate(moment, before @ z.mT, z)

    def _relate(self, moment: int, products: Array, z: Array) -> None:
        """Write the row of a moment s′ of the Gram matrix: Σⱼ zⱼ(s′)ᴴ zⱼ(s) for each s before, then ½Σⱼ|zⱼ(s′)|².

        The real products Z z(s′)ᵀ are those of the moments before.
        """
        d, row = self._d, self._start + moment
        related, flat = reshape(products, (-1, d * d)) @ self._table, reshape(z, (-1,))
        self._gram[row, self._start * d : row * d] = reshape(related, (-1,))
        self._gram[row, row * d] = 0.5 * namespace(flat).vecdot(flat, flat)

    def _window(self) -> tuple[Array, Array]:
        """Z and A of its moments."""
        d, Z = self._d, self._inputs.last(self._size)
        A = self._coefficients[:, self._start * d : (self._start + self._size) * d, :]
        return reshape(Z, (self._size * d, Z.shape[-1])), A

    def _newest(self, E: Array) -> tuple[int, int]:
        """First and last row of A for the newest moments, as many as E has."""
        last = (self._start + self._size) * self._d
        return last - E.shape[-2], last

    def _product(self, a: Array, b: Array) -> Array:
        """Return a @ b, of the shape of W: under NumPy into memory of its own, as asking for fresh takes longer."""
        if type(a) is not np.ndarray:
            return a @ b
        if self._scratch is None:
            self._scratch = np.empty_like(self._base)
        return np.matmul(a, b, out=self._scratch)

    def _zeros(self, *shape: int) -> Array:
        return namespace(self._base).zeros(shape, dtype=self._base.dtype, device=self._base.device)

    def __getstate__(self) -> dict[str, Any]:
        # What is written anew before it is read stays behind.
        return self.__dict__ | {"_scratch": None, "_products": None}

    def state(self) -> dict[str, Any]:
        """Everything but the inputs, as NumPy arrays of its own and plain values."""
        arrays = {"base": self._base, "coefficients": self._coefficients, "gram": self._gram}
        return {name: np.array(fetch(array)) for name, array in arrays.items()} | {
            "start": self._start,
            "size": self._size,
            "depth": self._depth,
            "waiting": self._waiting,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""
        self._start, self._size = state["start"], state["size"]
        self._depth, self._waiting = state["depth"], state["waiting"]
        xp, device = namespace(self._base), self._base.device
        self._base, self._coefficients, self._gram = (
            xp.asarray(state[name], device=device, copy=True) for name in ("base", "coefficients", "gram")
        )


class FactoredGradient(NamedTuple):
    """A gradient EᵀZ of deferred weights, not multiplied out."""

    weights: LowRankWeights
    spread: Array

    def squared_norm(self) -> Array:
        """‖EᵀZ‖² of each run."""
        return self.weights.squared_norm(self.spread)

    def add(self, factor: Any) -> None:
        """Add a multiple (runs, 1, 1) of it to the weights, and use it up."""
        spread = self.spread
        spread *= factor
        self.weights.add(spread)
