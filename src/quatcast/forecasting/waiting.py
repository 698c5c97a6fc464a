"""Samples that have arrived and have not been taken in yet."""

from __future__ import annotations

from typing import Any

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.checkpoint import State
from quatcast.engine.sliding_window import SlidingWindow


class Waiting(State):
    """A queue of samples, each with which of its channels were observed.

    All of them are in one array: to mark, copy or save thousands of small ones would take longer than to forecast.

    Parameters
    ----------
    capacity
        Largest number of samples.
    positions, observed
        (T, channels, dimensions) and (T, channels) to begin with, the oldest first.

    Examples
    --------
    >>> waiting = Waiting(capacity=10)
    >>> for x in (1.0, 2.0):
    ...     waiting.append(np.array([[x]]), np.array([True]))
    >>> waiting.popleft()
    (array([[1.]]), array([ True]))
    >>> len(waiting), waiting.positions
    (1, array([[[2.]]]))
    """

    def __init__(self, capacity: int, positions: Floats | None = None, observed: Bools | None = None) -> None:
        self.capacity = capacity
        self._positions, self._observed = SlidingWindow(capacity, positions), SlidingWindow(capacity, observed)
        self._count = len(self._positions)

    @property
    def positions(self) -> Floats:
        """The samples, the oldest first: a view that is valid until the next `append`."""
        return np.asarray(self._positions.last(self._count)) if self._count else np.zeros(0)

    @property
    def observed(self) -> Bools:
        """Which of their channels were observed: a view that is valid until the next `append`."""
        return np.asarray(self._observed.last(self._count)) if self._count else np.zeros(0, dtype=bool)

    def __len__(self) -> int:
        return self._count

    def append(self, x: Floats, observed: Bools) -> None:
        """Add the newest sample."""
        self._positions.append(x)
        self._observed.append(observed)
        self._count = min(self._count + 1, self.capacity)

    def popleft(self) -> tuple[Floats, Bools]:
        """Take the oldest sample out."""
        x, observed = self.positions[0].copy(), self.observed[0].copy()
        self._count -= 1
        return x, observed

    def mark(self) -> Any:
        """Return where the queue begins and ends."""
        return self._positions.mark(), self._observed.mark(), self._count

    def rewind(self, mark: Any) -> None:
        """Let the queue begin and end where it did at the mark."""
        positions, observed, self._count = mark
        self._positions.rewind(positions)
        self._observed.rewind(observed)
