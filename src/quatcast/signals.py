"""How positions become the numbers that a learner sees: scaling, delays, and the algebra's own arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quatcast.algebra import Algebra

Floats = NDArray[np.float64]
ScaleBy = Literal["coordinate", "channel"]


@dataclass(frozen=True)
class Scaling:
    """An offset and a factor for each coordinate: scaled = (position − center)/scale.

    Examples
    --------
    >>> positions = np.array([[[0.0, 0.0, 1.0]], [[2.0, 0.0, 5.0]]])
    >>> Scaling.fit(positions, by="coordinate").scale
    array([[1., 1., 2.]])
    >>> Scaling.fit(positions, by="channel").scale.round(4)
    array([[1.291, 1.291, 1.291]])
    """

    center: Floats
    scale: Floats

    @classmethod
    def fit(cls, positions: Floats, by: ScaleBy) -> Scaling:
        """Centre and spread of positions (T, channels, dimensions).

        By "coordinate": the population standard deviation of each, as published. By "channel": one factor for all
        coordinates of a channel, the root mean square of their deviations, so that turning space turns the scaled
        signal too. A coordinate that never moves keeps its unit.
        """
        center = positions.mean(axis=0)
        variance = positions.var(axis=0)
        if by == "channel":
            variance = np.broadcast_to(variance.mean(axis=-1, keepdims=True), variance.shape)
        scale = np.sqrt(variance)
        return cls(center, np.where(scale > 0, scale, 1.0))

    @staticmethod
    def fit_displacement(displacements: Floats, by: ScaleBy) -> Floats:
        """Factors that give displacements (T, channels, dimensions) a root mean square of one."""
        power = np.mean(displacements**2, axis=0)
        if by == "channel":
            power = np.broadcast_to(power.mean(axis=-1, keepdims=True), power.shape)
        return np.where(power > 0, np.sqrt(power), 1.0)

    def apply(self, positions: Floats) -> Floats:
        """Scaled positions."""
        return (positions - self.center) / self.scale

    def undo(self, scaled: Floats) -> Floats:
        """Positions of scaled ones."""
        return scaled * self.scale + self.center


def as_delays(lags: int | Sequence[int]) -> tuple[int, ...]:
    """Delays in samples, the longest first, of a number of lags or of a list of delays.

    Examples
    --------
    >>> as_delays(3), as_delays([0, 5, 1])
    ((2, 1, 0), (5, 1, 0))
    """
    if isinstance(lags, int | np.integer):
        if lags < 1:
            raise ValueError(f"lags: at least 1, not {lags!r}")
        return tuple(range(int(lags) - 1, -1, -1))
    delays = tuple(sorted({int(delay) for delay in lags}, reverse=True))
    if not delays or delays[-1] < 0 or len(delays) != len(tuple(lags)):
        raise ValueError(f"lags: a number of lags, or different delays from 0 up, not {lags!r}")
    return delays


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


class Delays:
    """The last samples of a signal, to be looked up by delay.

    Samples lie one after the other in a buffer twice as long as the longest delay, so that a lookup of successive
    delays is a slice.

    Examples
    --------
    >>> line = Delays((2, 0))
    >>> for x in (1.0, 2.0, 3.0):
    ...     line.append(np.array([x]))
    >>> line.full, line.lookup()
    (True, array([[1.],
           [3.]]))
    """

    def __init__(self, delays: Sequence[int]) -> None:
        self.delays = np.asarray(delays)
        self.span = int(self.delays.max()) + 1
        self._end = 0
        self._buffer: Floats | None = None

    def append(self, sample: Floats) -> None:
        """Take in the newest sample."""
        if self._buffer is None:
            self._buffer = np.zeros((2 * self.span, *sample.shape))
        if self._end == len(self._buffer):
            self._buffer[: self.span] = self._buffer[self.span :]
            self._end = self.span
        self._buffer[self._end] = sample
        self._end += 1

    @property
    def full(self) -> bool:
        """Whether the longest delay has been seen."""
        return self._end >= self.span

    def lookup(self) -> Floats:
        """Samples at the delays, in their order, copied."""
        assert self._buffer is not None
        return np.asarray(self._buffer[self._end - 1 - self.delays])
