"""Recurrent cells: the element-wise arithmetic between the matrix products of a layer.

A layer of q units with a cell of G gates computes, with R and D of G·q numbers each,

    R(n) = U ⊗ h(n−1),    D(n) = W ⊗ v(n) + b,    h(n) = cell(R(n), D(n), h(n−1)).

The engine computes all matrix products; the cell computes only what happens within each unit. For the adjoint the cell
takes λ = ∂J/∂h(n) to the derivatives with respect to R, D and h(n−1), and the engine continues with

    λ(n−1) = Uᴴ ⊗ ∂J/∂R + ∂J/∂h(n−1),    λ of the layer below = Wᴴ ⊗ ∂J/∂D,
    ∂J/∂U = Σ ∂J/∂R ⊗ h(n−1)ᴴ,    ∂J/∂W = Σ ∂J/∂D ⊗ v(n)ᴴ,    ∂J/∂b = Σ ∂J/∂D.

A cell therefore is two short functions, and real-time recurrent learning, rolling ahead and replay work for all cells.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from quatcast.basics.typing import Array
from quatcast.engine.activations import Activation

Saved = tuple[Array, ...]


class Cell(ABC):
    """Base class of cells.

    Arrays have the shape (…, d, G·q) or (…, d, q), with d the dimension of the algebra, G the number of gates and q the
    number of units. The last axis is ordered by gate: gate g occupies `[..., g * q : (g + 1) * q]`.

    Examples
    --------
    A cell without a nonlinearity, h(n) = R(n) + D(n):

    >>> import numpy as np
    >>> class LinearCell(Cell):
    ...     def forward(self, recurrent, driven, before):
    ...         return recurrent + driven, ()
    ...     def backward(self, lam, saved):
    ...         return lam, lam, None
    >>> LinearCell().advance(np.ones((1, 2)), np.ones((1, 2)), np.zeros((1, 2)))
    array([[2., 2.]])
    """

    gates: ClassVar[int] = 1
    """Number of gates G."""
    slope_only: ClassVar[bool] = False
    """Whether the state depends only on R + D and `saved` is its one slope S, so that ∂J/∂R = ∂J/∂D = λ ⊙ S.

    The engine may then pass the sum as D and 0.0 as R, and use a faster adjoint that does not call `backward`.
    """

    @abstractmethod
    def forward(self, recurrent: Array, driven: Array, before: Array) -> tuple[Array, Saved]:
        """Return the next state and the arrays that `backward` needs.

        Parameters
        ----------
        recurrent, driven
            R and D, (…, d, G·q).
        before
            State h(n−1), (…, d, q).
        """

    @abstractmethod
    def backward(self, lam: Array, saved: Saved) -> tuple[Array, Array, Array | None]:
        """Return the derivatives with respect to R, D and, element by element, h(n−1), for λ = ∂J/∂h(n).

        If R and D have the same derivative, return the same array twice, which saves work. The last derivative is None
        if h(n−1) acts only through R.
        """

    def advance(self, recurrent: Array, driven: Array, before: Array) -> Array:
        """Return the next state alone; a cell may override this if it is cheaper than `forward`."""
        return self.forward(recurrent, driven, before)[0]


@dataclass(frozen=True)
class SimpleCell(Cell):
    """The cell of the paper, h(n) = Φ(R + D), with a split activation Φ.

    Examples
    --------
    >>> import numpy as np
    >>> from quatcast.engine.activations import activation
    >>> cell = SimpleCell(activation("tanh"))
    >>> state, saved = cell.forward(np.zeros((1, 4, 2)), np.ones((1, 4, 2)), np.zeros((1, 4, 2)))
    >>> bool(np.allclose(cell.backward(np.ones((1, 4, 2)), saved)[0], 1.0 - np.tanh(1.0) ** 2))
    True
    """

    activation: Activation
    slope_only = True

    def forward(self, recurrent: Array, driven: Array, before: Array) -> tuple[Array, Saved]:
        """Return Φ(f) and the slopes Φ′(f), with f = R + D."""
        f = recurrent + driven
        state = self.activation.value(f)
        return state, (self.activation.slope(f, state),)

    def backward(self, lam: Array, saved: Saved) -> tuple[Array, Array, Array | None]:
        """Return λ ⊙ Φ′(f) twice."""
        delta = lam * saved[0]
        return delta, delta, None

    def advance(self, recurrent: Array, driven: Array, before: Array) -> Array:
        """Return Φ(R + D)."""
        return self.activation.value(recurrent + driven)
