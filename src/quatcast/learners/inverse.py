"""The inverse Gram matrix of a regression, changed a piece at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.checkpoint import State

MATRICES = 3
"""Number of matrices whose memory is used in turn: the present one, the next one, and one that a mark refers to."""


@dataclass
class Inverse(State):
    """P = (Σφφᵀ + Λ)⁻¹, symmetric to the last bit, with a change that may not have been carried out yet.

    The change is P ← P − KᵀK + GᵀG. For many features it is mostly a matter of reading and writing memory, and P is not
    needed before the next fit. So `advance` carries it out a piece at a time, and `finished` does the rest.

    Attributes
    ----------
    matrix
        P before the change; empty if it was a diagonal matrix.
    diagonal
        (n,), the diagonal of P before the change in that case.
    minus, plus
        K (…, n) and G (…, n), without rows if there is no change.
    pieces
        Number of pieces of a change. Always the same rows make a piece, because rounding depends on it.

    Examples
    --------
    >>> P = Inverse.of(np.eye(2), pieces=2)
    >>> P.change(P.matrix, minus=np.array([[0.5, 0.5]]))
    >>> P.advance()
    True
    >>> P.finished()
    array([[ 0.75, -0.25],
           [-0.25,  0.75]])
    """

    matrix: Floats
    diagonal: Floats
    minus: Floats
    plus: Floats
    pieces: int
    after: Floats = field(init=False)
    """P after the change, as far as it has been carried out."""
    rows: int = field(init=False)
    """Number of rows of `after` that are known."""
    marked: Floats = field(init=False)
    """`matrix` at the last mark. A step of a forecaster may contain several changes, which must not overwrite it."""
    spare: list[Floats] = field(init=False)
    """Earlier matrices, and memory in one dimension, to be used again: fresh memory takes much longer to write to."""

    def __post_init__(self) -> None:
        self.after, self.rows, self.marked, self.spare = self.matrix, 0, self.matrix, []

    @classmethod
    def of(cls, matrix: Floats, pieces: int) -> Self:
        """Begin with a matrix and no change."""
        none = np.zeros((0, len(matrix)))
        return cls(matrix, np.zeros(len(matrix)), none, none, pieces)

    def mark(self) -> Any:
        """Return the fields as they are."""
        self.marked = self.matrix
        return super().mark()

    def rewind(self, mark: Any) -> None:
        """Take the fields back; the change begins anew."""
        super().rewind(mark)
        self.rows = 0

    def change(
        self, matrix: Floats, *, minus: Floats, plus: Floats | None = None, diagonal: Floats | None = None
    ) -> None:
        """Let P be `matrix`, or if that is empty a matrix with the given diagonal, and begin to change it."""
        n = minus.shape[-1]
        if matrix is not self.matrix:
            self.spare = [memory for memory in (self.matrix, *self.spare) if memory.size][:MATRICES]
            self.matrix = matrix
        self.minus, self.plus = minus, np.zeros((0, n)) if plus is None else plus
        self.diagonal, self.rows = np.zeros(n) if diagonal is None else diagonal, 0

    def advance(self) -> bool:
        """Carry out the next piece of the change; False if there is none."""
        n = len(self.diagonal)
        if self.rows == n or not (len(self.minus) or len(self.plus)):
            return False
        if not self.rows:
            self.after = self._memory(n)
        here = slice(self.rows, min(n, self.rows - (-n // self.pieces)))
        right = slice(here.stop, n)
        square, beside = self._before(here, here), self._before(here, right)
        for sign, rank in ((-1.0, self.minus), (1.0, self.plus)):
            if len(rank):
                K = np.ascontiguousarray(rank[:, here])
                # A product with its own transpose is symmetric to the last bit.
                square = square + sign * (K.T @ K)
                beside = beside + sign * (K.T @ rank[:, right])
        # Whole rows, because a first write to every page of memory in one piece would take long.
        self.after[here, : here.start] = self.after[: here.start, here].T
        self.after[here, here], self.after[here, right] = square, beside
        self.rows = here.stop
        return True

    def finished(self) -> Floats:
        """Carry out the rest of the change and return P."""
        while self.advance():
            pass
        if len(self.minus) or len(self.plus):
            self.change(self.after, minus=np.zeros((0, len(self.diagonal))))
        return self.matrix

    def _memory(self, n: int) -> Floats:
        """Return memory for a matrix, if possible that of an earlier one that no mark refers to."""
        for i, memory in enumerate(self.spare):
            if memory.ndim == 1 and memory.size >= n * n:
                return self.spare.pop(i)[: n * n].reshape(n, n)
            if len(memory) == n and memory is not self.matrix and memory is not self.marked:
                return self.spare.pop(i)
        return np.empty((n, n))

    def _before(self, rows: slice, columns: slice) -> Floats:
        """Return a part of P before the change."""
        if len(self.matrix):
            return self.matrix[rows, columns]
        places = np.arange(len(self.diagonal))
        return np.where(places[rows, None] == places[columns], self.diagonal[columns], 0.0)
