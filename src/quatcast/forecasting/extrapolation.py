"""How far to follow a velocity: a running regression of displacements that have matured on estimates of motion."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quatcast.basics.annotations import check_whole
from quatcast.basics.typing import Bools, Floats
from quatcast.checkpoint import State

PRIOR = 2.0
"""Number of average samples that the coefficients before any sample count for."""
SHARE = 1e-2
"""Share of the power of all motions that is added to the power of each for this, because one may begin with zero."""
CLIP = 4.0
"""Error, in multiples of the running scale of errors, beyond which it counts less."""
TINY = 1e-60
"""Prevents a division by zero for a signal that does not move."""


def as_horizon(horizon: int) -> int:
    """Check a horizon in samples."""
    check_whole(horizon=horizon)
    return int(horizon)


def as_horizons(horizon: int, horizons: Sequence[int] | None) -> tuple[int, ...]:
    """Check the horizons that a forecaster learns, and return them in ascending order.

    Examples
    --------
    >>> as_horizons(5, None), as_horizons(10, [10, 5, 1])
    ((5,), (1, 5, 10))
    """
    if horizons is not None and np.ndim(horizons) != 1:
        raise ValueError(f"horizons: expected a list of numbers of samples, got {horizons!r}")
    given = (horizon,) if horizons is None else tuple(horizons)
    values = {as_horizon(value) for value in given}
    if as_horizon(horizon) not in values or len(values) < len(given) or horizon < max(values):
        raise ValueError(f"horizons: expected different numbers, {horizon} the largest of them, got {horizons!r}")
    return tuple(sorted(values))


@dataclass
class Extrapolation(State):
    r"""Coefficients b of motions m, such as velocities, in the displacement x(t+h) − x(t) ≈ Σᵢ bᵢ(h) mᵢ(t).

    They are fitted by least squares to displacements that have matured, for each horizon and channel. All coordinates
    of a channel have the same coefficients, so that a rotation of space rotates the forecasts. If an error e exceeds
    c = 4 times the running scale of errors, its displacement has the weight (c/\|e\|)², so that neither outlying
    displacements nor outlying motions dominate.

    Attributes
    ----------
    horizons
        h, in ascending order.
    prior
        (horizons, motions), the coefficients before any sample.
    memory
        Number of samples after which a displacement counts 1/e.
    recent
        Position, motions and whether channels were observed, of the last samples.
    normal
        Normal equations (horizons, channels, motions, motions + 1): the Gram matrix, and the products with the
        displacements in the last column.
    counts
        (horizons, channels), number of displacements in memory.
    scale
        Running scale of errors, of the same shape.
    coefficients
        b, (horizons, channels, motions).
    """

    horizons: tuple[int, ...]
    prior: Floats
    memory: float
    recent: deque[tuple[Floats, Floats, Bools]]
    normal: Floats
    counts: Floats
    scale: Floats
    coefficients: Floats

    @classmethod
    def begin(cls, horizons: tuple[int, ...], prior: Floats, memory: float, channels: int) -> Extrapolation:
        """Return the state before the first sample; `prior` is (horizons, motions)."""
        H, F = prior.shape
        normal, none = np.zeros((H, channels, F, F + 1)), np.zeros((H, channels))
        start = np.repeat(prior[:, None, :], channels, axis=1)
        recent: deque[tuple[Floats, Floats, Bools]] = deque(maxlen=horizons[-1] + 1)
        return cls(horizons, prior, memory, recent, normal, none, none, coefficients=start)

    def take_in(self, position: Floats, motions: Floats, observed: Bools) -> None:
        """Take in a position (channels, dimensions) and its motions (channels, motions, dimensions)."""
        self.recent.append((position, motions, observed))

    def displacement(self, horizons: Floats) -> Floats:
        """Return the displacements (H, channels, dimensions) expected in H numbers of samples, whole or not.

        Coefficients are interpolated between the horizons that are learnt, from zero; beyond the longest they stay.
        """
        known = np.array((0.0, *self.horizons))
        if len(horizons) == len(self.horizons) and (horizons == known[1:]).all():
            b = self.coefficients
        else:
            table = np.concatenate([np.zeros_like(self.coefficients[:1]), self.coefficients])
            above = np.clip(np.searchsorted(known, horizons), 1, len(known) - 1)
            share = np.clip((horizons - known[above - 1]) / (known[above] - known[above - 1]), 0.0, 1.0)[:, None, None]
            b = (1.0 - share) * table[above - 1] + share * table[above]
        motions = self.recent[-1][1]
        return np.asarray((b[..., None, :] @ motions)[..., 0, :])

    def learn(self) -> None:
        """Learn from the displacements that end at the newest sample."""
        ready = sum(h < len(self.recent) for h in self.horizons)
        if not ready:
            return
        x, _, observed = self.recent[-1]
        H, (channels, F, d) = len(self.horizons), self.recent[-1][1].shape
        # Motions, and the displacement that they led to in the last row; zero where it has not matured.
        pairs, seen = np.zeros((H, channels, F + 1, d)), np.zeros((H, channels), dtype=bool)
        for i, h in enumerate(self.horizons[:ready]):
            origin, motions, there = self.recent[-1 - h]
            pairs[i, :, :F], pairs[i, :, F], seen[i] = motions, x - origin, there & observed
        self._fit(pairs, seen)

    def _fit(self, pairs: Floats, seen: Bools) -> None:
        """Add one pair per horizon and channel where it was seen, and solve for the coefficients."""
        motions = pairs[..., :-1, :]
        error = pairs[..., -1, :] - (self.coefficients[..., None, :] @ motions)[..., 0, :]
        size = np.sqrt(np.sum(error * error, axis=-1))
        limit = np.where(self.scale > 0.0, CLIP * self.scale, np.inf)
        small = np.minimum(size, limit)
        weight = seen * np.square(small / np.maximum(size, TINY))
        keep = 1.0 - seen / self.memory
        self.counts = keep * self.counts + seen
        known = np.maximum(self.counts, TINY)
        self.scale = self.scale + seen / known * (small - self.scale)
        product = (weight[..., None, None] * motions) @ pairs.swapaxes(-1, -2)
        self.normal = keep[..., None, None] * self.normal + product
        gram, cross = self.normal[..., :-1], self.normal[..., -1]
        power = np.diagonal(gram, axis1=-2, axis2=-1)
        penalty = PRIOR / known[..., None] * (power + SHARE * power.sum(axis=-1, keepdims=True)) + TINY
        right = cross + penalty * self.prior[:, None, :]
        if right.shape[-1] == 1:
            self.coefficients = right / (gram[..., 0] + penalty)
        else:
            left = gram + penalty[..., None] * np.eye(right.shape[-1])
            self.coefficients = np.linalg.solve(left, right[..., None])[..., 0]
