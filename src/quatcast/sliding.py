"""The last rows of a stream as one array."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


class Sliding:
    """The last `capacity` arrays of a stream, kept one after the other.

    They lie in a buffer twice as long, so that looking at them costs nothing and moving them is rare.

    Examples
    --------
    >>> last = Sliding(2)
    >>> for x in (1.0, 2.0, 3.0):
    ...     last.append(np.array([x]))
    >>> last.rows
    array([[2.],
           [3.]])
    """

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self._buffer: Floats | None = None
        self._end = 0

    def append(self, row: Floats) -> None:
        """Take in the newest array; all have one shape."""
        if self._buffer is None:
            self._buffer = np.zeros((2 * self.capacity, *row.shape))
        if self._end == len(self._buffer):
            self._buffer[: self.capacity] = self._buffer[self.capacity :]
            self._end = self.capacity
        self._buffer[self._end] = row
        self._end += 1

    def __len__(self) -> int:
        return min(self._end, self.capacity)

    @property
    def rows(self) -> Floats:
        """The rows, the oldest first: a view, good until the next `append`."""
        if self._buffer is None:
            return np.zeros((0,))
        return self._buffer[max(self._end - self.capacity, 0) : self._end]

    @rows.setter
    def rows(self, rows: Floats) -> None:
        self._buffer, self._end = None, 0
        for row in rows[-self.capacity :]:
            self.append(row)
