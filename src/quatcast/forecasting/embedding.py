"""How positions become the inputs and targets of a learner: delays, scaling, and stacked arrays of an algebra."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quatcast.algebra import Algebra
from quatcast.basics.typing import Floats
from quatcast.checkpoint import State

ScaleBy = Literal["coordinate", "channel"]
Target = Literal["position", "displacement"]

LONGEST = 1_000_000
"""Limit on delays in samples."""
LIMIT = 50.0
"""Largest scaled number of an input or target of displacements; larger ones are limited and not learnt from."""
OUTLYING = 20.0
"""Distance from the median, in multiples of its 80 % quantile, beyond which a sample does not count for the scales."""
STILL = 1e-12
"""Motion relative to the largest coordinate that is taken for rounding."""


def as_delays(lags: int | Sequence[int]) -> tuple[int, ...]:
    """Return the delays in samples, longest first, for a number of lags or a list of delays.

    Examples
    --------
    >>> as_delays(3), as_delays([0, 5, 1])
    ((2, 1, 0), (5, 1, 0))
    """
    given = np.asarray(lags)
    whole = given.dtype.kind in "iu" and given.ndim <= 1
    if whole and given.size and given.max() > LONGEST:
        raise ValueError(f"lags: expected at most {LONGEST:,} samples, got {given.max():,}")
    delays = np.arange(int(given)) if whole and given.ndim == 0 else np.unique(given)
    if not whole or delays.size == 0 or delays[0] < 0 or (given.ndim == 1 and len(delays) < len(given)):
        raise ValueError(f"lags: expected a positive number of lags, or different delays from 0 up, got {lags!r}")
    return tuple(int(delay) for delay in delays[::-1])


def encode(algebra: Algebra, points: Floats) -> Floats:
    """Convert points (…, dimensions) to a stacked vector of an algebra: (1, n) real numbers, or (d, points).

    A 3-D point becomes a pure quaternion and a 4-D point a full quaternion; real numbers are the coordinates in order.

    Examples
    --------
    >>> from quatcast.algebra import H, R
    >>> encode(H, np.array([[1.0, 2.0, 3.0]])).T
    array([[0., 1., 2., 3.]])
    >>> encode(R, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    array([[1., 2., 3., 4., 5., 6.]])
    """
    dimensions, d = points.shape[-1], algebra.dimension
    if d == 1:
        return points.reshape(1, -1)
    if dimensions > d:
        raise ValueError(f"a {dimensions}-D signal does not fit into the {d} components of {algebra}")
    stacked = np.zeros((d, points.size // dimensions))
    stacked[d - dimensions :] = points.reshape(-1, dimensions).T
    return stacked


def decode(algebra: Algebra, stacked: Floats, channels: int, dimensions: int) -> Floats:
    """Convert stacked vectors (…, d, n) back to points (…, channels, dimensions)."""
    if algebra.dimension == 1:
        return stacked.reshape(*stacked.shape[:-2], channels, dimensions)
    return stacked[..., algebra.dimension - dimensions :, :].swapaxes(-1, -2)


@dataclass
class Embedding(State):
    """Scaled inputs and targets of a learner.

    - Target "position", as published: samples and target are (x − center)/spread.
    - Target "displacement": the target is the displacement from the newest sample of the input, divided by the root
      mean square of such displacements. Each earlier sample of the input is a displacement from the newest one, divided
      by the root mean square of its own delay; the newest one is (x − center)/spread. Short and long delays then have
      equal variance.

    Attributes
    ----------
    algebra
        Algebra of the learner.
    target
        "position" or "displacement".
    center
        (channels, dimensions), mean position.
    input_scale
        (delays, channels, dimensions), by which each sample of an input is divided.
    target_scale
        (horizons, channels, dimensions), by which targets are divided.
    """

    algebra: Algebra
    target: Target
    center: Floats
    input_scale: Floats
    target_scale: Floats

    @classmethod
    def fit(
        cls,
        training: Floats,
        delays: Sequence[int],
        horizons: Sequence[int],
        target: Target,
        scale_by: ScaleBy,
        algebra: Algebra,
    ) -> Embedding:
        """Fit the scales to training samples (T, channels, dimensions).

        With "coordinate" each coordinate has its own scale, as published. With "channel" the coordinates of a channel
        share one scale, so that a rotation of space only rotates inputs and targets. A coordinate that does not move
        during training has scale 1. For displacements, samples that are far from all others do not count.
        """
        # Sums over time are several times faster along rows.
        rows = np.ascontiguousarray(np.moveaxis(training, 0, -1))
        if target == "displacement":
            rows = _without_outliers(rows)
        mean = np.nanmean if np.isnan(rows).any() else np.mean
        rounding = STILL * np.nanmax(np.abs(rows), axis=-1)
        if scale_by == "channel":
            rounding = np.broadcast_to(rounding.max(axis=-1, keepdims=True), rounding.shape)

        def size(deviations: Floats) -> Floats:
            power = mean(deviations * deviations, axis=-1)
            if scale_by == "channel":
                power = np.broadcast_to(power.mean(axis=-1, keepdims=True), power.shape)
            return np.where(np.sqrt(power) > rounding, np.sqrt(power), 1.0)

        def moved(steps: int) -> Floats:
            return rows[..., steps:] - rows[..., :-steps] if 0 < steps < len(training) else 0.0 * rows[..., :1]

        center = np.asarray(mean(rows, axis=-1))
        spread = size(rows - center[..., None])
        if target == "position":
            return cls(algebra, target, center, np.stack([spread] * len(delays)), np.stack([spread] * len(horizons)))
        input_scale = np.stack([size(moved(delay - delays[-1])) for delay in delays[:-1]] + [spread])
        return cls(algebra, target, center, input_scale, np.stack([size(moved(h)) for h in horizons]))

    def input(self, window: Floats) -> Floats:
        """Return the stacked input (d, m) of samples (delays, channels, dimensions), the newest last."""
        if self.target == "position":
            scaled = window - self.center
        else:
            scaled = window - window[-1]
            scaled[-1] = window[-1] - self.center
        scaled /= self.input_scale
        return encode(self.algebra, self._limited(scaled))

    def target_of(self, origin: Floats, x: Floats) -> Floats:
        """Return samples x (horizons, channels, dimensions) as the stacked target (d, p) of an input.

        `origin` is the newest sample of the input.
        """
        return encode(self.algebra, self._limited((x - self._zero(origin)) / self.target_scale))

    def position(self, origin: Floats, output: Floats) -> Floats:
        """Return the positions (…, horizons, channels, dimensions) that a stacked output (…, d, p) stands for.

        `origin` is the newest sample of the input.
        """
        horizons, channels, dimensions = self.target_scale.shape
        scaled = decode(self.algebra, output, horizons * channels, dimensions)
        return scaled.reshape(*scaled.shape[:-2], *self.target_scale.shape) * self.target_scale + self._zero(origin)

    def within_limits(self, stacked: Floats) -> bool:
        """Whether no number of a stacked input or target was limited."""
        return self.target == "position" or bool(np.abs(stacked).max() < LIMIT)

    def _limited(self, scaled: Floats) -> Floats:
        # Several times faster than `numpy.clip`.
        return scaled if self.target == "position" else np.minimum(np.maximum(scaled, -LIMIT), LIMIT)

    def _zero(self, origin: Floats) -> Floats:
        """Position that an output of zero stands for."""
        return self.center if self.target == "position" else origin


def _without_outliers(rows: Floats) -> Floats:
    """Return samples (channels, dimensions, T) with NaN for those that are far from all others, channel by channel."""
    moved = rows - np.median(rows, axis=-1, keepdims=True)
    distance = np.sqrt(np.sum(moved * moved, axis=-2, keepdims=True))
    limit = OUTLYING * np.quantile(distance, 0.8, axis=-1, keepdims=True)
    outlying = (distance > limit) & (limit > 0)
    return np.where(outlying, np.nan, rows) if outlying.any() else rows
