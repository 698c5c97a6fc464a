"""Faults among the first samples of a channel, which are accepted because there is nothing to compare them with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import norm

WARMUP = 5
"""Samples per channel that are accepted because there is nothing to compare them with."""
FAR = 3.0
"""Distance from the box of later positions, in its diagonals, beyond which a first sample was a fault."""


@dataclass
class FirstSamples(State):
    """The boxes of the first samples of each channel and of those that followed.

    Attributes
    ----------
    first, later
        (2, channels, dimensions), smallest and largest coordinates.

    Examples
    --------
    >>> samples = FirstSamples.begin((1, 3))
    >>> for t, x in enumerate([9999.0, 1.0, 2.0, 1.0, 2.0, 1.5, 3.0, 0.0]):
    ...     early = np.array([t < WARMUP])
    ...     samples.take(np.full((1, 3), x), first=early, later=~early, anew=np.array([t == 0]))
    >>> samples.faulty
    array([ True])
    """

    first: Floats
    later: Floats

    @classmethod
    def begin(cls, shape: tuple[int, int]) -> FirstSamples:
        """Return the initial state for samples of a shape (channels, dimensions)."""
        none = np.stack([np.full(shape, np.inf), np.full(shape, -np.inf)])
        return cls(none, none)

    def take(self, position: Floats, first: Bools, later: Bools, anew: Bools) -> None:
        """Take in the position of channels for which it is one of the first or a later one; some of them begin anew."""
        empty = np.array([np.inf, -np.inf])[:, None, None]
        self.first = _extended(np.where(anew[:, None], empty, self.first), position, first)
        self.later = _extended(np.where(anew[:, None], empty, self.later), position, later)

    @property
    def faulty(self) -> Bools:
        """Which channels had a fault among their first samples, judged by those that followed."""
        low, high = self.later
        with np.errstate(invalid="ignore"):  # boxes may be empty
            beyond = np.maximum(np.maximum(low - self.first[0], self.first[1] - high), 0.0)
            return np.asarray(norm(beyond) > FAR * norm(high - low))


def _extended(box: Floats, position: Floats, which: Bools) -> Floats:
    """Return a box that contains the positions of some channels, too."""
    wider = np.stack([np.minimum(box[0], position), np.maximum(box[1], position)])
    return np.where(which[:, None], wider, box)
