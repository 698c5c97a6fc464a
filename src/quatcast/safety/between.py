"""Radii of forecasts between the horizons, which are interpolated."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import norm
from quatcast.safety.conformal import Conformal

SAMPLES = 10
"""Number of samples between two horizons, at most, at which interpolated forecasts are compared with the truth."""
Distances = Callable[[Floats, int, Counts], Floats]
"""Gives distances of points for those in coordinates (n, rows), how many samples ago, and (n,) how many ahead."""


def interpolate(t: Floats, x: Floats, asked: Floats) -> Floats:
    """Interpolate points x (n, …) at times t by cubic Hermite polynomials with slopes from the neighbouring points.

    Examples
    --------
    >>> interpolate(np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 4.0]), np.array([0.5, 1.5]))
    array([0.375, 2.375])
    """
    shape = (-1, *[1] * (x.ndim - 1))
    slope = np.gradient(x, t, axis=0)
    i, s = in_gaps(t, asked)
    width, s = (t[i + 1] - t[i]).reshape(shape), s.reshape(shape)
    first = (1 + 2 * s) * (1 - s) ** 2 * x[i] + s * (1 - s) ** 2 * width * slope[i]
    return np.asarray(first + s**2 * (3 - 2 * s) * x[i + 1] + s**2 * (s - 1) * width * slope[i + 1])


def in_gaps(t: Floats, asked: Floats) -> tuple[NDArray[np.int64], Floats]:
    """Return between which times t the times asked for lie, and where between them, as a share."""
    i = np.clip(np.searchsorted(t, asked) - 1, 0, len(t) - 2)
    return i, (asked - t[i]) / (t[i + 1] - t[i])


def widened(t: Floats, radii: Floats, between: Floats, asked: Floats) -> Floats:
    """Interpolate radii (n, …) at times t linearly, but no less than `between` (n − 1, …) inside the gaps.

    Examples
    --------
    >>> widened(np.array([0.0, 1.0]), np.array([1.0, 2.0]), np.array([1.8]), np.array([0.5, 0.9, 1.0]))
    array([1.8, 1.9, 2. ])
    """
    i, share = in_gaps(t, asked)
    share = share.reshape(-1, *[1] * (radii.ndim - 1))
    linear = (1 - share) * radii[i] + share * radii[i + 1]
    return np.asarray(np.where(share < 1, np.maximum(linear, between[i]), linear))


def moments_between(knots: Sequence[int]) -> list[Counts]:
    """Return the samples inside each gap between two knots, ten of them if there are more.

    Examples
    --------
    >>> moments_between((0, 1, 4))
    [array([], dtype=int64), array([2, 3])]
    """
    return [
        np.unique(np.linspace(first + 1, last - 1, min(last - first - 1, SAMPLES)).round().astype(np.int64))
        for first, last in pairwise(knots)
    ]


@cache
def _interpolations(knots: tuple[int, ...]) -> list[tuple[Counts, slice, Floats]]:
    """Return for each gap the samples inside, the knots that they depend on, and the weights (samples, knots)."""
    t, unit = np.array(knots, dtype=float), np.eye(len(knots))
    near = [slice(max(0, gap - 1), gap + 3) for gap in range(len(knots) - 1)]
    # `interpolate` is linear in the points.
    return [
        (inside, which, interpolate(t, unit, inside.astype(float))[:, which])
        for inside, which in zip(moments_between(knots), near, strict=True)
    ]


@dataclass
class Between(State):
    """How far forecasts between two horizons, or before the first one, were from the truth.

    The error of a gap is the largest one of the samples in it, ten of them if there are more, so that its radius
    contains the true position anywhere in the gap. Where interpolation errs most depends on the signal: a wave may pass
    through the middle at the right moment and be far away before and after.

    Attributes
    ----------
    knots
        0 and the horizons in samples.
    conformals
        The radius in each gap between two knots.
    recent
        Newest sample and forecasts (knots, rows, dimensions), and which rows of the sample were replaced, of the last
        samples.
    radii
        (gaps, rows), NaN as long as they are not known, 0 between successive samples.
    """

    knots: tuple[int, ...]
    conformals: list[Conformal]
    recent: deque[tuple[Floats, Bools]]
    radii: Floats

    @classmethod
    def begin(cls, horizons: Sequence[int], rows: int, level: float) -> Between:
        """Return the state before the first sample."""
        knots = (0, *horizons)
        recent: deque[tuple[Floats, Bools]] = deque(maxlen=knots[-1] + 1)
        radii = np.where(np.diff(knots) > 1, np.nan, 0.0)
        conformals = [Conformal(rows, horizon, level) for horizon in horizons]
        return cls(knots, conformals, recent, np.repeat(radii[:, None], rows, axis=1))

    def take(self, sample: Floats, path: Floats, replaced: Bools) -> None:
        """Take in a sample (rows, dimensions) and the forecasts (horizons, rows, dimensions) made at it."""
        self.recent.append((np.concatenate([sample[None], path]), replaced.copy()))

    def learn(self, distances: Distances | None = None) -> None:
        """Learn from the newest samples how well they were forecast by interpolation.

        `distances` turns errors in coordinates into distances of points, if they differ.
        """
        radii = self.radii.copy()
        for gap, (last, (inside, near, weights)) in enumerate(
            zip(self.knots[1:], _interpolations(self.knots), strict=True)
        ):
            if not len(inside) or len(self.recent) <= last:
                continue
            made = np.einsum("sk,krd->srd", weights, self.recent[-1 - last][0][near])
            there = [self.recent[m - last - 1] for m in inside]
            errors = norm(np.array([knots[0] for knots, _ in there]) - made)
            if distances is not None:
                errors = distances(errors, last, inside)
            # The larger of a number and NaN is the number: rows that were replaced do not count.
            errors[np.array([replaced for _, replaced in there])] = np.nan
            radii[gap] = self.conformals[gap].update(np.fmax.reduce(errors, axis=0))
        self.radii = radii
