"""How positions become the numbers that a learner sees: delays, scaling, and the algebra's own arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from quatcast.algebra import Algebra
from quatcast.typing import Floats

ScaleBy = Literal["coordinate", "channel"]
Target = Literal["position", "displacement"]


def as_delays(lags: int | Sequence[int]) -> tuple[int, ...]:
    """Delays in samples, the longest first, of a number of lags or of a list of delays.

    Examples
    --------
    >>> as_delays(3), as_delays([0, 5, 1])
    ((2, 1, 0), (5, 1, 0))
    """
    given = np.asarray(lags)
    whole = given.dtype.kind in "iu" and given.ndim <= 1
    delays = np.arange(int(given)) if whole and given.ndim == 0 else np.unique(given)
    if not whole or delays.size == 0 or delays[0] < 0 or (given.ndim == 1 and len(delays) < len(given)):
        raise ValueError(f"lags: a number of lags from 1, or different delays from 0 up, not {lags!r}")
    return tuple(int(delay) for delay in delays[::-1])


def encode(algebra: Algebra, positions: Floats) -> Floats:
    """Positions (…, channels, dimensions) as numbers of an algebra: (…, n) real ones, or (…, channels, d).

    A 3-D point becomes a pure quaternion, a 4-D one a full quaternion; real numbers are the coordinates in order.

    Examples
    --------
    >>> from quatcast.algebra import H, R
    >>> encode(H, np.array([[1.0, 2.0, 3.0]]))
    array([[0., 1., 2., 3.]])
    >>> encode(R, np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))
    array([1., 2., 3., 4., 5., 6.])
    """
    dimensions, d = positions.shape[-1], algebra.dimension
    if d == 1:
        return positions.reshape(*positions.shape[:-2], -1)
    if dimensions > d:
        raise ValueError(f"a {dimensions}-D signal does not fit into the {d} components of {algebra}")
    padding = np.zeros((*positions.shape[:-1], d - dimensions))
    return np.concatenate([padding, positions], axis=-1)


def decode(algebra: Algebra, numbers: Floats, channels: int, dimensions: int) -> Floats:
    """Positions (…, channels, dimensions) of what `encode` gave."""
    if algebra.dimension == 1:
        return numbers.reshape(*numbers.shape[:-1], channels, dimensions)
    return numbers[..., algebra.dimension - dimensions :]


STILL = 1e-12
"""Of the largest coordinate: what moves by less has not moved, but been rounded."""


@dataclass(frozen=True)
class Embedding:
    """Inputs and targets of a learner, scaled.

    - Target "position", as published: samples and target are (x − center)/spread.
    - Target "displacement": the target is how far the sample lies from where the signal was when the forecast was made,
      over the root mean square of such displacements. Each earlier sample of the input is a displacement from the
      newest one, over the root mean square of its own delay; the newest one is (x − center)/spread. What a short
      delay tells is then as loud as what a long one tells.

    Attributes
    ----------
    center, spread
        (channels, dimensions), of the positions.
    loudness
        (delays, channels, dimensions), by which each sample of an input is divided; None for "position".
    reach
        (channels, dimensions), by which a target displacement is divided.
    """

    algebra: Algebra
    target: Target
    center: Floats
    spread: Floats
    loudness: Floats | None
    reach: Floats

    @classmethod
    def fit(
        cls, training: Floats, delays: Sequence[int], horizon: int, target: Target, scale_by: ScaleBy, algebra: Algebra
    ) -> Embedding:
        """Fit to training samples (T, channels, dimensions).

        By "coordinate" each coordinate has its own scale, as published. By "channel" the coordinates of a channel share
        one, so that turning space turns the inputs and targets too and does nothing else. What never moves in training
        keeps its unit.
        """
        rounding = STILL * np.abs(training).max(axis=0)
        if scale_by == "channel":
            rounding = np.broadcast_to(rounding.max(axis=-1, keepdims=True), rounding.shape)

        def size(deviations: Floats) -> Floats:
            power = np.mean(deviations**2, axis=0)
            if scale_by == "channel":
                power = np.broadcast_to(power.mean(axis=-1, keepdims=True), power.shape)
            return np.where(np.sqrt(power) > rounding, np.sqrt(power), 1.0)

        def moved(steps: int) -> Floats:
            return training[steps:] - training[:-steps] if 0 < steps < len(training) else training[:1] * 0.0

        center = training.mean(axis=0)
        spread = size(training - center)
        if target == "position":
            return cls(algebra, target, center, spread, None, np.ones_like(spread))
        loudness = np.stack([size(moved(delay - delays[-1])) for delay in delays[:-1]] + [spread])
        return cls(algebra, target, center, spread, loudness, size(moved(horizon)))

    def input(self, window: Floats) -> Floats:
        """Numbers of samples (delays, channels, dimensions), the newest last."""
        if self.loudness is None:
            scaled = (window - self.center) / self.spread
        else:
            scaled = window - window[-1]
            scaled[-1] = window[-1] - self.center
            scaled /= self.loudness
        numbers = encode(self.algebra, scaled)
        return numbers.reshape(-1, *numbers.shape[2:])

    def goal(self, origin: Floats, x: Floats) -> Floats:
        """Numbers of the sample x as the target of an input whose newest sample is `origin`."""
        scaled = (x - self.center) / self.spread if self.target == "position" else (x - origin) / self.reach
        return encode(self.algebra, scaled)

    def position(self, origin: Floats, output: Floats) -> Floats:
        """Position that an output stands for, for an input whose newest sample is `origin`."""
        scaled = decode(self.algebra, output, *origin.shape)
        return scaled * self.spread + self.center if self.target == "position" else origin + scaled * self.reach
