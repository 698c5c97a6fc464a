"""How the channels of a signal move together, which says where a lost channel is likely to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.checkpoint import State
from quatcast.typing import Bools, Floats

RIDGE = 1e-3
"""Regularisation of least squares, relative to the mean power of their inputs."""
TINY = 1e-12
"""Prevents a division by zero for a signal that has never moved."""


@dataclass
class Companions(State):
    """Running mean m and covariance S of a vector, and the expectation of a part of it given another part.

    Attributes
    ----------
    forget
        Smallest weight of a new vector.
    m, S
        Mean and covariance.
    count
        Number of vectors so far.

    Examples
    --------
    >>> companions = Companions.begin(2, forget=0.01)
    >>> for x in np.linspace(-1.0, 1.0, 50):
    ...     companions.learn(np.array([x, 2 * x]))
    >>> first = np.array([True, False])
    >>> companions.expect(np.array([0.5, 0.0]), observed=first, wanted=~first).round(2)
    array([1.])
    """

    forget: float
    m: Floats
    S: Floats
    count: int = 0

    @classmethod
    def begin(cls, size: int, forget: float) -> Companions:
        """Return the initial state for vectors of a size."""
        return cls(forget, np.zeros(size), np.zeros((size, size)))

    def learn(self, z: Floats) -> None:
        """Learn from one vector."""
        self.count += 1
        share = max(1.0 / self.count, self.forget)
        deviation = z - self.m
        self.m = self.m + share * deviation
        self.S = (1 - share) * (self.S + share * (deviation[:, None] * deviation))

    def expect(self, z: Floats, observed: Bools, wanted: Bools) -> Floats:
        """Return the expected values of the wanted components of (…, size), given the observed ones."""
        ridge = RIDGE * np.trace(self.S) / len(self.S) + TINY
        known = self.S[observed][:, observed] + ridge * np.eye(observed.sum())
        W = np.linalg.solve(known, self.S[observed][:, wanted])
        return np.asarray(self.m[wanted] + (z[..., observed] - self.m[observed]) @ W)
