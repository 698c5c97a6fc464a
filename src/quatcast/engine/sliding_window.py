"""The last rows of a stream as one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from quatcast.algebra import namespace
from quatcast.basics.typing import Array
from quatcast.checkpoint import State

FIRST = 64
"""Rows that the first buffer has room for."""


class SlidingWindow(State):
    """The last `capacity` arrays of a stream, stored one after the other.

    They are in a buffer that grows to twice the capacity, so that reading them needs no copy and moving them is rare.
    Arrays of any library can be stored.

    Parameters
    ----------
    capacity
        Number of arrays that are kept.
    rows
        Arrays to begin with, one after the other along the first axis; they are copied.
    transposed
        Store numbers of the same place in successive arrays one after the other, which makes computations that treat
        all arrays alike faster. Only for NumPy arrays.

    Examples
    --------
    >>> last = SlidingWindow(2)
    >>> for x in (1.0, 2.0, 3.0):
    ...     last.append(np.array([x]))
    >>> last.rows
    array([[2.],
           [3.]])
    """

    def __init__(self, capacity: int, rows: Array | None = None, transposed: bool = False) -> None:
        self.capacity, self.transposed = capacity, transposed
        self._buffer: Any = np.zeros((0,))
        self._end, self._marked = 0, False
        if rows is not None:
            for t in range(max(0, rows.shape[0] - capacity), rows.shape[0]):
                self.append(rows[t, ...])

    def append(self, row: Array) -> None:
        """Add the newest array; all arrays have the same shape."""
        if self._end == self._buffer.shape[0]:
            self._make_room(row)
        self._buffer[self._end, ...] = row
        self._end += 1

    def _make_room(self, row: Array) -> None:
        kept, size, most = self.rows, self._buffer.shape[0], 2 * self.capacity
        # A mark refers to the rows of this buffer: they must not be overwritten.
        if size < most or self._marked:
            shape = (min(max(2 * size, FIRST), most), *row.shape)
            if self.transposed:
                self._buffer = np.zeros(shape, dtype=row.dtype, order="F")
            else:
                self._buffer = namespace(row).zeros(shape, dtype=row.dtype, device=row.device)
            self._marked = False
        self._end = len(self)
        if self._end:
            self._buffer[: self._end, ...] = kept

    def __len__(self) -> int:
        return min(self._end, self.capacity)

    @property
    def rows(self) -> Any:
        """The rows, the oldest first: a view that is valid until the next `append`."""
        return self.last(len(self))

    def last(self, n: int) -> Any:
        """Return the n newest rows, a view that is valid until the next `append`."""
        return self._buffer[self._end - n : self._end, ...]

    def mark(self) -> Any:
        """Return the buffer and the place of the newest row; later rows are written behind it."""
        self._marked = True
        return self._buffer, self._end

    def rewind(self, mark: Any) -> None:
        """Forget the rows that came after the mark."""
        self._buffer, self._end = mark
        self._marked = True
