"""Radii of forecasts between the horizons, which are interpolated."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from quatcast.checkpoint import State
from quatcast.safety.channels import norm
from quatcast.safety.conformal import Conformal
from quatcast.typing import Bools, Floats


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


def widened(t: Floats, radii: Floats, middles: Floats, between: Floats, asked: Floats) -> Floats:
    """Interpolate radii (n, …) at times t, and add what radii in the middle of the gaps exceed that.

    Parameters
    ----------
    t, radii
        Times and their radii.
    middles, between
        (n − 1,), a time in each gap between two of them, or its beginning for none, and the radii there.
    asked
        (m,), times asked for.

    Examples
    --------
    The radius is 1 at both ends of a second and 3 in between:

    >>> at = [np.array(times) for times in ([0.0, 1.0], [0.5], [0.25, 0.5, 1.0])]
    >>> widened(at[0], np.array([1.0, 1.0]), at[1], np.array([3.0]), at[2])
    array([2.5, 3. , 1. ])
    """

    def linear(times: Floats) -> tuple[NDArray[np.int64], Floats, Floats]:
        i, share = in_gaps(t, times)
        share = share.reshape(-1, *[1] * (radii.ndim - 1))
        return i, share, (1 - share) * radii[i] + share * radii[i + 1]

    # The excess falls to zero at the ends of a gap as a parabola does.
    _, middle, expected = linear(middles)
    inside = (middle > 0) & (middle < 1)
    excess = np.where(inside, np.maximum(between - expected, 0.0) / np.where(inside, middle * (1 - middle), 1.0), 0.0)
    i, share, plain = linear(asked)
    return np.asarray(plain + share * (1 - share) * excess[i])


@dataclass
class Between(State):
    """How far forecasts in the middle between two horizons, or before the first one, were from the truth.

    Attributes
    ----------
    knots
        0 and the horizons in samples.
    middles
        The sample in the middle of each gap between two knots; the first knot if there is none between them.
    conformals
        The radius in the middle of each gap.
    recent
        Newest sample and forecasts (knots, rows, dimensions), and which rows of the sample were replaced, of the last
        samples.
    radii
        (gaps, rows), NaN as long as they are not known.
    """

    knots: tuple[int, ...]
    middles: tuple[int, ...]
    conformals: list[Conformal]
    recent: deque[tuple[Floats, Bools]]
    radii: Floats

    @classmethod
    def begin(cls, horizons: Sequence[int], rows: int, level: float) -> Between:
        """Return the state before the first sample."""
        knots = (0, *horizons)
        middles = tuple((a + b) // 2 for a, b in pairwise(knots))
        conformals = [Conformal(rows, max(1, middle), level) for middle in middles]
        recent: deque[tuple[Floats, Bools]] = deque(maxlen=max(middles) + 1)
        return cls(knots, middles, conformals, recent, np.full((len(middles), rows), np.nan))

    def take(self, sample: Floats, path: Floats, replaced: Bools) -> None:
        """Take in a sample (rows, dimensions) and the forecasts (horizons, rows, dimensions) made at it."""
        self.recent.append((np.concatenate([sample[None], path]), replaced.copy()))

    def learn(self) -> None:
        """Learn from the newest sample how well those before it were forecast by interpolation."""
        (now, *_), replaced = self.recent[-1]
        t, radii = np.array(self.knots, dtype=float), self.radii.copy()
        for gap, middle in enumerate(self.middles):
            # Between two successive samples there is no sample to learn from.
            if self.knots[gap] < middle < len(self.recent):
                made = interpolate(t, self.recent[-1 - middle][0], np.array([float(middle)]))[0]
                radii[gap] = self.conformals[gap].update(np.where(replaced, np.nan, norm(now - made)))
        self.radii = radii
