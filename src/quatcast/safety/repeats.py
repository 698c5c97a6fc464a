"""Frozen and still channels: both repeat their value exactly, but only one of them is a fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import every, some

FROZEN = 0.9
"""Seconds of exactly repeated values after which a channel that has moved before is frozen."""
LONGER = 1.5
"""The same as a multiple of repeats that were ordinary before."""
ONE_STEP = 1.5
"""Largest change of a coordinate, in units of the smallest one so far, that counts as one step of the resolution."""
SLOW = 0.1
"""The same in units of the usual change: so slowly does a body begin to move that has rested."""
SHARE = 0.02
"""Share of a change in the mean of changes."""


@dataclass
class Repeats(State):
    """How long each channel has repeated its value. Arrays have one entry per channel.

    Repeated values are ordinary at the resolution of a camera, but not for long, and hardly ever in all channels at the
    same time. A channel that has never moved is not frozen: it is still.

    A coarse encoder repeats its value as long as it moves slowly, and a robot as long as it stands. Both then go on
    from there, by one step of the resolution or slowly, whereas a marker that was lost reappears anywhere. Repeats that
    have ended in this way at least twice are ordinary: only longer ones are frozen.

    Attributes
    ----------
    value
        The last value that was present.
    count
        Number of samples in a row that repeated that value exactly.
    moved
        Whether the channel has ever changed its value.
    resolution, usual
        Smallest and mean change of the value so far, of the coordinate that changes most.
    ordinary
        (channels, 2), the longest repeats that have ended with a small change, the longest last.
    together
        (2,), the same for repeats of all channels that move.

    Examples
    --------
    >>> repeats = Repeats.begin((1, 3))
    >>> for t in [0, 1, *[2] * 10]:
    ...     frozen = repeats.update(np.full((1, 3), float(t)), np.array([True]), rate=10.0)
    >>> frozen, repeats.count
    (array([ True]), array([9]))
    """

    value: Floats
    count: Counts
    moved: Bools
    resolution: Floats
    usual: Floats
    ordinary: Counts
    together: Counts

    @classmethod
    def begin(cls, shape: tuple[int, int]) -> Repeats:
        """Return the initial state for samples of a shape (channels, dimensions)."""
        none = np.zeros(shape[0], dtype=np.int64)
        ordinary, together = np.zeros((shape[0], 2), dtype=np.int64), np.zeros(2, dtype=np.int64)
        return cls(
            np.full(shape, np.nan), none, none > 0, np.full(shape[0], np.inf), np.zeros(shape[0]), ordinary, together
        )

    def update(self, x: Floats, present: Bools, rate: float) -> Bools:
        """Take in a sample, and return which channels repeat their last value for longer than a moving channel does."""
        same: Bools = present & np.logical_and.reduce(x == self.value, axis=-1)
        first = np.isnan(self.value[:, 0])
        changed = present & ~same & ~first
        if some(changed):
            self._compare(np.maximum.reduce(np.abs(x - self.value), axis=-1), changed)
        if every(present & self.moved) and not some(same):
            self.count, self.value = np.zeros_like(self.count), x
            return same
        self.moved = self.moved | changed
        self.count = np.where(same, self.count + 1, np.where(present, 0, self.count))
        self.value = np.where(present[:, None], x, self.value)
        limit = np.maximum(max(3, round(FROZEN * rate)), LONGER * self.ordinary[:, 0])
        together = self.count[self.moved].min() if self.moved.sum() >= 3 else 0
        all_frozen = together >= max(3, round(FROZEN / 3 * rate), LONGER * self.together[0])
        return np.asarray(same & self.moved & (all_frozen | (self.count >= limit)))

    def _compare(self, change: Floats, changed: Bools) -> None:
        """Compare the changes of channels that have changed their value with the smallest ones so far."""
        self.resolution = np.where(changed, np.minimum(self.resolution, change), self.resolution)
        mean = np.where(self.usual > 0, self.usual + SHARE * (change - self.usual), change)
        self.usual = np.where(changed, mean, self.usual)
        if not some(changed & (self.count > 0)):
            return
        small = change <= np.maximum(ONE_STEP * self.resolution, SLOW * self.usual)
        ended = np.where(changed & small, self.count, 0)
        self.ordinary = np.sort(np.column_stack([self.ordinary, ended]), axis=1)[:, 1:]
        if every(small | ~changed) and some(self.moved):
            self.together = np.sort(np.append(self.together, self.count[self.moved].min()))[1:]
