"""The last rows of a stream as one array."""

from __future__ import annotations

from typing import Any

import numpy as np

from quatcast.algebra import namespace
from quatcast.typing import Array

FIRST = 64
"""Rows that there is room for at first."""


class SlidingWindow:
    """The last `capacity` arrays of a stream, kept one after the other.

    They lie in a buffer that grows to twice as many, so that looking at them costs nothing and moving them is rare.
    Any array library will do.

    Examples
    --------
    >>> last = SlidingWindow(2)
    >>> for x in (1.0, 2.0, 3.0):
    ...     last.append(np.array([x]))
    >>> last.rows
    array([[2.],
           [3.]])
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._buffer: Any = None
        self._end = 0

    def append(self, row: Array) -> None:
        """Take in the newest array; all have one shape."""
        if self._buffer is None or self._end == self._buffer.shape[0]:
            self._make_room(row)
        self._buffer[self._end, ...] = row
        self._end += 1

    def _make_room(self, row: Array) -> None:
        kept, most = self.rows, 2 * self.capacity
        size = 0 if self._buffer is None else self._buffer.shape[0]
        if size < most:
            shape = (min(max(2 * size, FIRST), most), *row.shape)
            self._buffer = namespace(row).zeros(shape, dtype=row.dtype, device=row.device)
        self._end = len(self)
        if self._end:
            # From the second half of a full buffer into the first.
            self._buffer[: self._end, ...] = kept

    def __len__(self) -> int:
        return min(self._end, self.capacity)

    @property
    def rows(self) -> Any:
        """The rows, the oldest first: a view, good until the next `append`."""
        return np.zeros((0,)) if self._buffer is None else self.last(len(self))

    @rows.setter
    def rows(self, rows: Array) -> None:
        self._buffer, self._end = None, 0
        for t in range(max(0, rows.shape[0] - self.capacity), rows.shape[0]):
            self.append(rows[t, ...])

    def last(self, n: int) -> Any:
        """The n newest of the rows."""
        return self._buffer[self._end - n : self._end, ...]
