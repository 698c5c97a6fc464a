"""Input weights in low-rank form, to which the newest steps are added later.

The input weights W are by far the largest array of a network with many lags. A step of gradient descent subtracts a
multiple of the sum of δ(s) ⊗ z(s)ᴴ over the moments s of the walk: EᵀZ in stacked arrays, where E has d rows of
spread derivatives per moment and Z the d rows of its input. The next step sums over the same inputs but one.
Therefore that product is not computed at every step. The weights are kept as

    W = W₀ + AᵀZ,

a step adds a multiple of E to A, and at intervals the product of the older rows of A and Z is added to W₀. Nothing is
approximated; only the order of the sums differs. What a step needs of W and of the gradient comes from far smaller
products:

    v Wᵀ = v W₀ᵀ + (v Zᵀ) A,        ‖EᵀZ‖² = Σₛₛ′ Re[(Σᵢ δᵢ(s)ᴴ δᵢ(s′)) (Σⱼ zⱼ(s′)ᴴ zⱼ(s))].

This holds for every optimizer whose step is a multiple of the gradient, and for no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Self

import numpy as np

from quatcast.algebra import Algebra, by_name, namespace, reshape
from quatcast.basics.typing import Array
from quatcast.checkpoint import State
from quatcast.engine.sliding_window import SlidingWindow

BLOCK = 24
"""Number of inputs after which all but the newest `BLOCK` rows of A are added to W₀.

It does not depend on the depth of the walk, so that the order of the sums of a run depends little on other runs."""
ROOM = 2
"""Number of blocks of rows for which there is room before old rows are discarded."""
SPARE = 2 * BLOCK
"""Number of inputs that have to be kept beyond the deepest walk."""
_ARRAYS = ("base", "coefficients", "gram")


@dataclass
class LowRankWeights(State):
    """Input weights W = W₀ + AᵀZ of one or several runs that share their inputs.

    The inputs belong to the history of the network and are passed to each method: the last inputs (d, m), `SPARE` more
    than a walk may reach.

    Attributes
    ----------
    algebra
        Name of the algebra.
    base
        W₀, (runs, d·q, m).
    coefficients, gram
        Rows of A and of the Gram matrix of Z, with room for further rows.
    start, size
        The moments of Z are the `size` newest; their rows of A and of the Gram matrix begin at the moment `start`.
    depth
        Depth of the last walk.
    waiting
        Number of inputs since rows were last added to W₀.

    Examples
    --------
    >>> import numpy as np
    >>> from quatcast.algebra import H
    >>> rng = np.random.default_rng(0)
    >>> inputs = SlidingWindow(5 + SPARE)
    >>> W = LowRankWeights.of(H, np.zeros((1, 4 * 2, 3)))
    >>> z, delta = rng.normal(size=(4, 3)), rng.normal(size=(1, 4, 2))
    >>> W.drive(z, inputs).shape
    (1, 4, 8)
    >>> inputs.append(z)
    >>> W.take(inputs)
    >>> W.gradient(H.expand(delta), inputs).add(-0.1)
    >>> bool(np.allclose(W.dense(inputs), -0.1 * H.expand(delta).mT @ z))
    True
    """

    algebra: str
    base: Array
    coefficients: Array
    gram: Array
    start: int = 0
    size: int = 0
    depth: int = 0
    waiting: int = 0
    _table: Array = field(init=False, repr=False)
    _products: Array = field(init=False, repr=False)
    _scratch: Array = field(init=False, repr=False)

    def __post_init__(self) -> None:
        algebra, xp = by_name(self.algebra), namespace(self.base)
        d = self._d = algebra.dimension
        # Σⱼ zⱼ(s′)ᴴ zⱼ(s) from the real products of components b of z(s) and b′ of z(s′): e_b′ is conjugated.
        one = xp.ones((1,), dtype=self.base.dtype, device=self.base.device)
        signs = xp.concat([one] + [-one] * (d - 1))
        self._table = reshape(reshape(algebra.mixing(self.base)[0], (d, d, d)) * signs[None, :, None], (d * d, d))
        self._products = self._zeros(0, d)
        self._scratch = np.empty_like(self.base) if type(self.base) is np.ndarray else self.base

    @classmethod
    def of(cls, algebra: Algebra, weights: Array) -> Self:
        """Begin with W = weights (runs, d·q, m), which will be changed in place."""
        xp, (runs, rows, _) = namespace(weights), weights.shape
        room, like = ROOM * BLOCK, {"dtype": weights.dtype, "device": weights.device}
        A = xp.zeros((runs, room * algebra.dimension, rows), **like)
        return cls(algebra.name, weights, A, xp.zeros((room, room * algebra.dimension), **like))

    def drive(self, u: Array, inputs: SlidingWindow) -> Array:
        """Return u Wᵀ for the next input u (d, m)."""
        driven = u @ self.base.mT
        if not self.size:
            self._products = self._zeros(0, self._d)
            return driven
        Z, A = self._window(inputs)
        self._products = Z @ u.mT
        return driven + self._products.mT @ A

    def take(self, inputs: SlidingWindow) -> None:
        """Add the input of the last `drive`, which has been appended to the inputs since, to the moments of Z."""
        self.size += 1
        self.waiting += 1
        self._relate(self.size - 1, self._products, inputs.last(1))

    def product(self, v: Array, inputs: SlidingWindow) -> Array:
        """Return v Wᵀ for v (…, m)."""
        if not self.size:
            return v @ self.base.mT
        Z, A = self._window(inputs)
        return v @ self.base.mT + (v @ Z.mT) @ A

    def gradient(self, E: Array, inputs: SlidingWindow) -> FactoredGradient:
        """Return the gradient EᵀZ, from spread derivatives E (runs, d·k, d·q) of the k newest moments, oldest first."""
        self.depth = E.shape[-2] // self._d
        if self.depth > self.size:
            self._keep(self._reached(inputs), inputs)
        return FactoredGradient(self, E, inputs)

    def squared_norm(self, E: Array) -> Array:
        """Return ‖EᵀZ‖² of each run."""
        xp, d = namespace(E), self._d
        first, last = self._newest(E)
        related = self.gram[first // d : last // d, first:last] @ E
        # Summed in order: moments that belong only to the walk of another run are leading zeros.
        half = xp.cumulative_sum(xp.vecdot(related, E[:, ::d, :]), axis=-1)[:, -1]
        # Rounding can make a sum that cancels negative.
        return 2.0 * xp.abs(half)

    def add(self, E: Array, inputs: SlidingWindow) -> None:
        """Add EᵀZ to W."""
        first, last = self._newest(E)
        self.coefficients[:, first:last, :] += E
        if self.waiting >= BLOCK:
            self._add_up(inputs)

    def dense(self, inputs: SlidingWindow) -> Array:
        """Return W as one array (runs, d·q, m)."""
        if not self.size:
            return self.base
        Z, A = self._window(inputs)
        return self.base + A.mT @ Z

    def mark(self) -> Any:
        """Return copies of the arrays, because a step writes into them."""
        copies = {name: getattr(self, name) + 0.0 for name in _ARRAYS}
        return copies | {name: getattr(self, name) for name in ("start", "size", "depth", "waiting")}

    def rewind(self, mark: Any) -> None:
        """Take the arrays and counters back."""
        for name, value in mark.items():
            setattr(self, name, value + 0)

    def _add_up(self, inputs: SlidingWindow) -> None:
        """Add the older part of AᵀZ to W₀."""
        self.waiting = 0
        old = max(0, self.size - BLOCK) * self._d
        Z, A = self._window(inputs)
        self.base += self._product(A[:, :old, :].mT, Z[:old, :])
        A[:, :old, :] = 0.0
        kept = self._reached(inputs)
        if kept <= self.size and self.start + self.size + BLOCK <= self.gram.shape[0]:
            self.start, self.size = self.start + self.size - kept, kept
        else:
            self._keep(kept, inputs)

    def _reached(self, inputs: SlidingWindow) -> int:
        """Return the number of moments that the next walks are expected to reach, in whole blocks."""
        return min(len(inputs), BLOCK * max(1, -(-self.depth // BLOCK)))

    def _keep(self, kept: int, inputs: SlidingWindow) -> None:
        """Move the newest rows of A and of the Gram matrix to the front; moments that had none get zeros."""
        d, (runs, rows, _) = self._d, self.base.shape
        known, room = min(kept, self.size), kept + ROOM * BLOCK
        end = self.start + self.size
        coefficients = self.coefficients[:, (end - known) * d : end * d, :] + 0.0
        gram = self.gram[end - known : end, (end - known) * d : end * d] + 0.0
        if room == self.gram.shape[0]:
            self.coefficients[...], self.gram[...] = 0.0, 0.0
        else:
            self.coefficients, self.gram = self._zeros(runs, room * d, rows), self._zeros(room, room * d)
        self.start, self.size = 0, kept
        self.coefficients[:, (kept - known) * d : kept * d, :] = coefficients
        if known == kept:
            self.gram[:kept, : kept * d] = gram
        else:
            Z, _ = self._window(inputs)
            for moment in range(kept):
                before, z = Z[: moment * d, :], Z[moment * d : (moment + 1) * d, :]
                self._relate(moment, before @ z.mT, z)

    def _relate(self, moment: int, products: Array, z: Array) -> None:
        """Write the row of a moment s′ of the Gram matrix: Σⱼ zⱼ(s′)ᴴ zⱼ(s) for each s before, then ½Σⱼ|zⱼ(s′)|².

        The real products Z z(s′)ᵀ are those of the moments before.
        """
        d, row = self._d, self.start + moment
        related, flat = reshape(products, (-1, d * d)) @ self._table, reshape(z, (-1,))
        self.gram[row, self.start * d : row * d] = reshape(related, (-1,))
        self.gram[row, row * d] = 0.5 * namespace(flat).vecdot(flat, flat)

    def _window(self, inputs: SlidingWindow) -> tuple[Array, Array]:
        """Return Z and the rows of A for its moments."""
        d, Z = self._d, inputs.last(self.size)
        A = self.coefficients[:, self.start * d : (self.start + self.size) * d, :]
        return reshape(Z, (self.size * d, Z.shape[-1])), A

    def _newest(self, E: Array) -> tuple[int, int]:
        """Return the first and last row of A for the newest moments, as many as E has."""
        last = (self.start + self.size) * self._d
        return last - E.shape[-2], last

    def _product(self, a: Array, b: Array) -> Array:
        """Return a @ b, of the shape of W; NumPy writes it into scratch memory, which is faster than fresh memory."""
        return np.matmul(a, b, out=self._scratch) if type(a) is np.ndarray else a @ b

    def _zeros(self, *shape: int) -> Array:
        return namespace(self.base).zeros(shape, dtype=self.base.dtype, device=self.base.device)


class FactoredGradient(NamedTuple):
    """A gradient EᵀZ of `LowRankWeights`, as its two factors."""

    weights: LowRankWeights
    spread: Array
    inputs: SlidingWindow

    def squared_norm(self) -> Array:
        """Return ‖EᵀZ‖² of each run."""
        return self.weights.squared_norm(self.spread)

    def add(self, factor: Any) -> None:
        """Add a multiple (runs, 1, 1) of the gradient to the weights; the gradient cannot be used afterwards."""
        spread = self.spread
        spread *= factor
        self.weights.add(spread, self.inputs)
