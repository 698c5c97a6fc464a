"""The algebras R, C and H: a dimension, a multiplication table, and products on stacked arrays.

One table serves every number field of the library. With basis elements e₀ = 1, e₁, … the product is

    (x y)_γ = Σ_αβ T[α, β, γ] x_α y_β,        e_α e_β = Σ_γ T[α, β, γ] e_γ.

**Stacked arrays.** The learners keep vectors of m numbers as arrays (…, d, m), components first, and matrices
of q × m numbers as (…, d·q, m), row α·q + i holding component α of row i. A matrix-vector product is then one
real matrix product that reads the weights once, and a signed sum by the table; no array is ever transposed in
memory. All axes before the last two are run axes. Everything here takes any array of the array API standard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.algebra.backend import namespace, reshape
from quatcast.typing import Array


@dataclass(frozen=True, eq=False)
class Algebra:
    """A finite-dimensional real algebra given by its multiplication table.

    Parameters
    ----------
    name
        One letter, for messages.
    table
        T[α, β, γ], the γ component of e_α e_β.

    Attributes
    ----------
    dimension
        d, the real components of one number: 1, 2 or 4.

    Examples
    --------
    >>> C.multiply([0.0, 1.0], [0.0, 1.0])
    array([-1.,  0.])
    """

    name: str
    table: NDArray[np.float64]
    dimension: int = field(init=False)
    _mixing: dict[Any, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", len(self.table))

    def __repr__(self) -> str:
        return f"Algebra({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (by_name, (self.name,))

    def multiply(self, x: ArrayLike, y: ArrayLike) -> NDArray[np.float64]:
        """Product x y, element by element, of arrays (…, d) that broadcast."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        return np.asarray(np.einsum("...a,...b,abc->...c", x, y, self.table))

    def mixing(self, like: Array) -> tuple[Array, Array]:
        """Return the table as a matrix M[β·d + α, γ] = T[α, β, γ], and Mᵀ, beside the array `like`."""
        key = (type(like), like.dtype, str(like.device))
        if key not in self._mixing:
            d = self.dimension
            matrix = np.array(self.table.transpose(1, 0, 2), order="C").reshape(d * d, d)
            M = namespace(like).asarray(matrix, dtype=like.dtype, device=like.device)
            self._mixing[key] = M, M.T
        return self._mixing[key]

    def mix(self, products: Array) -> Array:
        """Sum real products (…, d, d·q) by the table: `mix(v @ W.mT)` is W ⊗ v, of shape (…, d, q)."""
        d = self.dimension
        if d == 1:
            return products
        return self.mixing(products)[1] @ reshape(products, (*products.shape[:-2], d * d, -1))

    def apply(self, W: Array, v: Array) -> Array:
        """Return W ⊗ v: matrix (…, d·q, m), vector (…, d, m), result (…, d, q)."""
        return self.mix(v @ W.mT)

    def expand(self, delta: Array) -> Array:
        """Spread derivatives (…, d, q) of a real function with respect to f = W ⊗ v into E (…, d, d·q).

        E is what the two other derivatives are made of: with respect to v, `E @ W`; to W, `E.mT @ v`.
        Because e_α·1 = e_α, its first row `E[..., 0, :]` is δ itself, which is the derivative of a bias.
        """
        return self.expander(delta)(delta)

    def expander(self, like: Array) -> Callable[[Array], Array]:
        """`expand` for many arrays beside the array `like` and with its run axes, with the table looked up once."""
        d = self.dimension
        if d == 1:
            return lambda delta: delta
        M, shape = self.mixing(like)[0], (*like.shape[:-2], d, -1)
        if type(like) is np.ndarray:
            return lambda delta: (M @ delta).reshape(shape)
        xp = namespace(like)
        return lambda delta: xp.reshape(M @ delta, shape)

    def matrix(self, W: Array) -> Array:
        """Real matrix (…, d·q, d·m) of a stacked one: it takes the flattened v to the flattened W ⊗ v.

        Four times the numbers for quaternions, but no mixing afterwards: the better form where one W meets many v.
        """
        d, (*front, rows, m) = self.dimension, W.shape
        if d == 1:
            return W
        q, n = rows // d, len(front)
        blocks = reshape(self._blocks(W) @ reshape(W, (*front, d, q * m)), (*front, d, d, q, m))
        return reshape(_swap_middle(blocks, n), (*front, d * q, d * m))

    def fold(self, F: Array) -> Array:
        """Derivative (…, d·q, m) with respect to W, from that (…, d·q, d·m) with respect to `matrix(W)`."""
        d, (*front, rows, columns) = self.dimension, F.shape
        if d == 1:
            return F
        q, m, n = rows // d, columns // d, len(front)
        blocks = _swap_middle(reshape(F, (*front, d, q, d, m)), n)
        return reshape(self._blocks(F).T @ reshape(blocks, (*front, d * d, q * m)), (*front, rows, m))

    def _blocks(self, like: Array) -> Array:
        """Return the table as a matrix B[γ·d + β, α] = T[α, β, γ]."""
        M, _ = self.mixing(like)
        d = self.dimension
        return reshape(namespace(like).permute_dims(reshape(M, (d, d, d)), (2, 0, 1)), (d * d, d))


def _swap_middle(x: Array, n: int) -> Array:
    """Exchange axes n + 1 and n + 2 of an array of n + 4 axes."""
    return namespace(x).permute_dims(x, (*range(n), n, n + 2, n + 1, n + 3))


def _table(rows: list[str]) -> NDArray[np.float64]:
    """Table from rows such as "+1 +i", one a left factor, one word a right factor."""
    d = len(rows)
    table = np.zeros((d, d, d))
    for alpha, row in enumerate(rows):
        for beta, word in enumerate(row.split()):
            table[alpha, beta, "1ijk".index(word[1])] = -1.0 if word[0] == "-" else 1.0
    table.flags.writeable = False
    return table


R = Algebra("R", _table(["+1"]))
"""The real numbers."""
C = Algebra("C", _table(["+1 +i", "+i -1"]))
"""The complex numbers, (real, imaginary)."""
H = Algebra("H", _table(["+1 +i +j +k", "+i -1 +k -j", "+j -k -1 +i", "+k +j -i -1"]))
"""Hamilton's quaternions, (a, b, c, d) = a + bi + cj + dk."""


def by_name(name: str) -> Algebra:
    """Algebra of a one-letter name."""
    return {"R": R, "C": C, "H": H}[name]
