"""Frozen and still channels: both repeat their value exactly, but only one of them is a fault."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.checkpoint import State
from quatcast.safety.channels import every, some
from quatcast.typing import Bools, Counts, Floats

FROZEN = 0.9
"""Seconds of exactly repeated values after which a channel that has moved before is frozen."""


@dataclass
class Repeats(State):
    """How long each channel has repeated its value. Arrays have one entry per channel.

    Repeated values are ordinary at the resolution of a camera, but not for long, and hardly ever in all channels at the
    same time. A channel that has never moved is not frozen: it is still.

    Attributes
    ----------
    value
        The last value that was present.
    count
        Number of samples in a row that repeated that value exactly.
    moved
        Whether the channel has ever changed its value.

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

    @classmethod
    def begin(cls, shape: tuple[int, int]) -> Repeats:
        """Return the initial state for samples of a shape (channels, dimensions)."""
        return cls(np.full(shape, np.nan), np.zeros(shape[0], dtype=np.int64), np.zeros(shape[0], dtype=bool))

    def update(self, x: Floats, present: Bools, rate: float) -> Bools:
        """Take in a sample, and return which channels repeat their last value for longer than a moving channel does."""
        same: Bools = present & np.logical_and.reduce(x == self.value, axis=-1)
        if every(present & self.moved) and not some(same):
            self.count, self.value = np.zeros_like(self.count), x
            return same
        first = np.isnan(self.value).all(axis=-1)
        self.moved = self.moved | (present & ~same & ~first)
        self.count = np.where(same, self.count + 1, np.where(present, 0, self.count))
        self.value = np.where(present[:, None], x, self.value)
        limit = max(3, round(FROZEN * rate))
        together = self.count[self.moved].min() if self.moved.sum() >= 3 else 0
        all_frozen = together >= max(3, round(FROZEN / 3 * rate))
        return np.asarray(same & self.moved & (all_frozen | (self.count >= limit)))
