"""How the channels of a signal move together, which says where a lost channel is likely to be."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.checkpoint import State

RIDGE = 1e-3
"""Regularisation of least squares, relative to the mean power of their inputs."""
TINY = 1e-12
"""Prevents a division by zero for a signal that has never moved."""
RETURN = 5.0
"""Seconds within which a replaced channel returns to the position inferred from the others."""


@dataclass
class Companions(State):
    """Running mean m and covariance S of all channels' positions and displacements, to infer lost channels.

    Attributes
    ----------
    forget
        Smallest weight of a new sample.
    lag
        Number of samples of a displacement.
    m, S
        Mean and covariance of a vector that holds, channel by channel, position and displacement.
    count
        Number of samples so far.

    Examples
    --------
    >>> companions = Companions.begin(channels=2, dimensions=1, lag=1, forget=0.01)
    >>> wave = np.sin(np.arange(50.0))[:, None, None] * [[1.0], [2.0]]
    >>> for t in range(1, 50):
    ...     companions.learn(wave[t], wave[t - 1])
    >>> position, variance = companions.infer(wave[-1], wave[-3:-1], np.array([True, False]), rate=10.0)
    >>> bool(abs(position - wave[-1, 1]) < 0.01), variance.round(2)
    (True, array([0.]))
    """

    forget: float
    lag: int
    m: Floats
    S: Floats
    count: int = 0

    @classmethod
    def begin(cls, channels: int, dimensions: int, lag: int, forget: float) -> Companions:
        """Return the initial state."""
        size = 2 * channels * dimensions
        return cls(forget, lag, np.zeros(size), np.zeros((size, size)))

    def begin_anew(self) -> None:
        """Forget everything."""
        self.m, self.S, self.count = np.zeros_like(self.m), np.zeros_like(self.S), 0

    def learn(self, position: Floats, before: Floats) -> None:
        """Learn from a sample (channels, dimensions) and the one `lag` samples before it."""
        self.count += 1
        share = max(1.0 / self.count, self.forget)
        deviation = _features(position, before) - self.m
        self.m = self.m + share * deviation
        self.S = (1 - share) * (self.S + share * (deviation[:, None] * deviation))

    def infer(self, position: Floats, past: Floats, observed: Bools, rate: float) -> tuple[Floats, Floats]:
        """Return the likely positions of the channels that are not observed, and what these leave unexplained.

        Parameters
        ----------
        position
            (channels, dimensions), the sample, undefined where it is not observed.
        past
            (…, channels, dimensions), samples before it, the newest last, at least lag + 1.
        observed
            (channels,), which channels are observed.
        rate
            Sampling rate in Hz.

        Returns
        -------
        positions
            (lost, dimensions). With c(t) what the observed channels suggest, this is c(t) + ρ(x(t−1) − c(t−1)).
        unexplained
            (lost,), mean square of the part of their displacements that these positions do not explain.
        """
        known, dimensions = np.repeat(observed, 2 * position.shape[1]), position.shape[1]
        ridge = RIDGE * np.trace(self.S) / len(self.S) + TINY
        S, cross = self.S[known][:, known], self.S[known][:, ~known]
        W = np.linalg.solve(S + ridge * np.eye(len(S)), cross)
        both = np.stack([_features(position, past[-self.lag]), _features(past[-1], past[-1 - self.lag])])
        expected = self.m[~known] + (both[:, known] - self.m[known]) @ W
        now, before = expected.reshape(2, -1, 2, dimensions)[:, :, 0]
        variance = np.maximum(np.diagonal(self.S)[~known] - np.sum(W * cross, axis=0), 0.0)
        rho = np.exp(-1.0 / (RETURN * rate))
        away = past[-1][~observed] - before
        # A channel that drifts by itself does not return, and its usual displacement is not suggested by the others.
        drift = np.stack([self.m.reshape(-1, 2, dimensions)[:, 1], np.zeros_like(position)], axis=1)
        suggested = (drift[observed].ravel() @ W).reshape(-1, 2, dimensions)[:, 0]
        bias = drift[~observed, 0] - suggested + (1.0 - rho**self.lag) * away
        unexplained = variance.reshape(-1, 2, dimensions)[:, 1] + bias * bias
        return now + rho * away, np.sum(unexplained, axis=-1)


def _features(position: Floats, before: Floats) -> Floats:
    """Return positions and displacements (channels · 2 · dimensions,)."""
    return np.concatenate([position, position - before], axis=-1).ravel()
