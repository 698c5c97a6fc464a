"""The algebras R, C and H, each given by its multiplication table, with products on stacked arrays.

The real, complex and quaternion parts of the library share this implementation. With the basis elements
e₀ = 1, e₁, … the product of two numbers is

    (x y)_γ = Σ_αβ T[α, β, γ] x_α y_β,        e_α e_β = Σ_γ T[α, β, γ] e_γ.

**Stacked arrays.** The learners store a vector of m numbers with d components each as an array (…, d, m), components
first, and a matrix of q × m numbers as an array (…, d·q, m), in which row α·q + i holds component α of row i. A
matrix-vector product is then one real matrix product, which reads the weights once, followed by a signed sum given by
the table. No array is transposed in memory. All axes before the last two are run axes. The products accept the arrays
of any library that follows the array API standard.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra.backend import namespace, reshape
from quatcast.basics.typing import Array, Floats


@dataclass(frozen=True, eq=False)
class Algebra:
    """A finite-dimensional real algebra given by its multiplication table.

    Parameters
    ----------
    name
        One letter, by which `by_name` finds the algebra.
    table
        Multiplication table: T[α, β, γ] is the γ component of e_α e_β.

    Attributes
    ----------
    dimension
        Number d of real components per number: 1, 2 or 4.

    Examples
    --------
    The complex unit squared is −1:

    >>> C.multiply([0.0, 1.0], [0.0, 1.0])
    array([-1.,  0.])

    The product of a stacked 3 × 5 matrix of quaternions and a stacked vector of 5 quaternions:

    >>> W, v = np.ones((4 * 3, 5)), np.ones((4, 5))
    >>> H.apply(W, v).shape
    (4, 3)
    """

    name: str
    table: Floats
    dimension: int = field(init=False)
    _mixing: dict[Any, tuple[Array, Array]] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", len(self.table))

    def __repr__(self) -> str:
        return f"Algebra({self.name})"

    def __reduce__(self) -> tuple[Any, ...]:
        return (by_name, (self.name,))

    def multiply(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """Return the product x y of arrays (…, d) of numbers, element by element with broadcasting."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        return np.asarray(np.einsum("...a,...b,abc->...c", x, y, self.table))

    def mixing(self, like: Array) -> tuple[Array, Array]:
        """Return the matrix M[β·d + α, γ] = T[α, β, γ] and Mᵀ, with the library, type and device of `like`."""
        key = (type(like), like.dtype, str(like.device))
        if key not in self._mixing:
            d = self.dimension
            matrix = np.array(self.table.transpose(1, 0, 2), order="C").reshape(d * d, d)
            M = namespace(like).asarray(matrix, dtype=like.dtype, device=like.device)
            self._mixing[key] = M, M.T
        return self._mixing[key]

    def mix(self, products: Array) -> Array:
        """Add up real products (…, d, d·q) as the table says: `mix(v @ W.mT)` is W ⊗ v, of shape (…, d, q)."""
        d = self.dimension
        if d == 1:
            return products
        return self.mixing(products)[1] @ reshape(products, (*products.shape[:-2], d * d, -1))

    def apply(self, W: Array, v: Array) -> Array:
        """Return the matrix-vector product W ⊗ v, (…, d, q), of a matrix (…, d·q, m) and a vector (…, d, m)."""
        return self.mix(v @ W.mT)

    def expand(self, delta: Array) -> Array:
        """Expand the derivative δ (…, d, q) of a real function with respect to f = W ⊗ v into E (…, d, d·q).

        The derivative with respect to v is then `E @ W`, and the derivative with respect to W is `E.mT @ v`. Because
        e_α·1 = e_α, the first row `E[..., 0, :]` equals δ, which is the derivative with respect to a bias.
        """
        return self.expander(delta)(delta)

    def expander(self, like: Array) -> Callable[[Array], Array]:
        """Return `expand` for arrays with the library, device and run axes of `like`, which looks up the table once."""
        d = self.dimension
        if d == 1:
            return lambda delta: delta
        M, shape = self.mixing(like)[0], (*like.shape[:-2], d, -1)
        if type(like) is np.ndarray:
            return lambda delta: (M @ delta).reshape(shape)
        xp = namespace(like)
        return lambda delta: xp.reshape(M @ delta, shape)

    def blocks(self, like: Array) -> Array:
        """Return the matrix B[γ·d + β, α] = T[α, β, γ], with the library, type and device of `like`.

        Its product with the components α of w gives the blocks (γ, β) of the real matrix that multiplies by w.
        """
        M, _ = self.mixing(like)
        d = self.dimension
        return reshape(namespace(like).permute_dims(reshape(M, (d, d, d)), (2, 0, 1)), (d * d, d))


def _table(rows: list[str]) -> Floats:
    """Return the table of products written as rows such as "+1 +i": one row per left, one word per right factor."""
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
"""The complex numbers, with components (real, imaginary)."""
H = Algebra("H", _table(["+1 +i +j +k", "+i -1 +k -j", "+j -k -1 +i", "+k +j -i -1"]))
"""The quaternions, with components (a, b, c, d) for a + bi + cj + dk."""


def by_name(name: str) -> Algebra:
    """Return the algebra with the name "R", "C" or "H".

    Examples
    --------
    >>> by_name("H").dimension
    4
    """
    return {"R": R, "C": C, "H": H}[name]
