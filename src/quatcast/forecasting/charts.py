"""Charts: how samples of a space turn into Euclidean coordinates and back.

Gate, members, mixture, radius and status work on coordinates, points of R^d whose differences are displacements. A
*chart* supplies them. For positions and vectors it is the identity. An orientation has no global coordinates without
jumps, so its path is *developed* into R³, as a ball that rolls on a plane leaves a track on it: every small rotation
from one sample to the next, a rotation vector in the frame of the body, is added to the previous coordinates.

A chart does not judge samples. The gate does, and passes to `accept` the rows of coordinates to continue from. A sample
that was rejected therefore leaves no trace in the coordinates of later ones.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.annotations import check_positive
from quatcast.basics.typing import Bools, Floats
from quatcast.checkpoint import Checkpointable, State


@dataclass
class Chart(State):
    """What a space remembers of a signal: the number of its channels. Subclasses add more.

    Examples
    --------
    >>> Position(rate=10.0).begin(2)
    Chart(channels=2)
    """

    channels: int


class Space(Checkpointable, ABC):
    """Base class of spaces: how samples (channels, k) become coordinates (rows, d) and back.

    A space holds settings only. What it remembers of a signal is a `Chart`, which `begin` creates and the caller keeps
    in its own state. For every sample, call `to_coordinates`, judge the coordinates, and call `accept`.

    Parameters
    ----------
    rate
        Sampling rate in Hz.

    Examples
    --------
    A space of positive sizes, whose coordinates are logarithms:

    >>> class Size(Vector):
    ...     name, kinds = "size", ("size",)
    ...     def to_coordinates(self, chart, sample):
    ...         return np.log(sample)
    ...     def from_coordinates(self, chart, coordinates, seconds=0.0):
    ...         return np.exp(coordinates)
    >>> space = Size(rate=10.0)
    >>> y = space.to_coordinates(space.begin(1), np.array([[2.0, 8.0]]))
    >>> space.from_coordinates(space.begin(1), y + np.log(2.0)).round(9)
    array([[ 4., 16.]])
    """

    name: ClassVar[str]
    """Name of the space, such as "pose"."""
    components: ClassVar[int | None]
    """k, how many numbers a channel has; None if any number will do."""
    kinds: ClassVar[tuple[str, ...]]
    """Kinds of rows, "position", "vector" or "orientation"; each has one row per channel, one kind after the other."""

    def __init__(self, rate: float) -> None:
        check_positive(rate=rate)
        self.rate = float(rate)

    def check(self, shape: tuple[int, ...]) -> None:
        """Refuse samples of a shape (channels, k) that do not belong to this space."""
        if self.components not in (None, shape[-1]):
            raise ValueError(
                f'sample: expected {self.components} numbers per channel for the space "{self.name}", got {shape[-1]}'
            )

    def rows(self, channels: int) -> tuple[str, ...]:
        """Return the kind of each row of coordinates.

        Examples
        --------
        >>> Position(rate=10.0).rows(2)
        ('position', 'position')
        """
        return tuple(kind for kind in self.kinds for _ in range(channels))

    def names(self, names: Sequence[str]) -> tuple[str, ...]:
        """Return the name of each row, given those of the channels, such as "probe position"."""
        if len(self.kinds) == 1:
            return tuple(names)
        return tuple(f"{name} {kind}" for kind in self.kinds for name in names)

    def units(self, channels: int, unit: str = "") -> tuple[str, ...]:
        """Return the unit of each row: radians for orientations, the given one for everything else."""
        return tuple("rad" if kind == "orientation" else unit for kind in self.rows(channels))

    @abstractmethod
    def begin(self, channels: int) -> Any:
        """Return the chart of a signal of which nothing is known yet."""

    @abstractmethod
    def to_coordinates(self, chart: Any, sample: Floats) -> Floats:
        """Return the coordinates (rows, d) of a sample (channels, k), with NaN where it is missing or not valid."""

    @abstractmethod
    def accept(self, chart: Any, sample: Floats, coordinates: Floats, accepted: Bools) -> None:
        """Continue from a sample.

        Parameters
        ----------
        chart
            The chart, which changes.
        sample, coordinates
            The sample and what `to_coordinates` returned for it.
        accepted
            (rows,): which rows are measurements to continue from. Rows without finite coordinates never are.
        """

    @abstractmethod
    def from_coordinates(self, chart: Any, coordinates: Floats, seconds: ArrayLike = 0.0) -> Floats:
        """Return points (…, channels, k) of the space, the inverse of `to_coordinates`.

        Parameters
        ----------
        chart
            The chart after the newest sample.
        coordinates
            Coordinates (…, rows, d), usually of forecasts.
        seconds
            (…) or anything that broadcasts to it: how long after the newest sample.
        """

    @abstractmethod
    def distance(self, a: Floats, b: Floats) -> Floats:
        """Return the distances (…, rows) between points (…, channels, k): Euclidean distances, angles in radians."""


class Vector(Space):
    """Vectors of any dimension. Coordinates are the vectors themselves.

    Examples
    --------
    >>> space = Vector(rate=10.0)
    >>> space.to_coordinates(space.begin(1), np.array([[1.0, 2.0, 3.0, 4.0]]))
    array([[1., 2., 3., 4.]])
    """

    name, kinds = "vector", ("vector",)
    components: ClassVar[int | None] = None

    def begin(self, channels: int) -> Chart:
        """Return the chart, which remembers nothing."""
        return Chart(channels)

    def to_coordinates(self, chart: Chart, sample: Floats) -> Floats:
        """Return the sample; a channel of which one number is not finite is NaN."""
        finite = np.isfinite(sample)
        return sample if finite.all() else np.where(finite.all(axis=-1, keepdims=True), sample, np.nan)

    def accept(self, chart: Chart, sample: Floats, coordinates: Floats, accepted: Bools) -> None:
        """Do nothing: the coordinates of a vector do not depend on earlier ones."""

    def from_coordinates(self, chart: Chart, coordinates: Floats, seconds: ArrayLike = 0.0) -> Floats:
        """Return the coordinates."""
        return coordinates

    def distance(self, a: Floats, b: Floats) -> Floats:
        """Return Euclidean distances (…, channels)."""
        return np.asarray(np.sqrt(np.sum((a - b) ** 2, axis=-1)))


class Position(Vector):
    """Positions, x, y, z in R³ as a rule; points of any other R^n are accepted as well.

    Examples
    --------
    >>> Position(rate=10.0).distance(np.array([[3.0, 0.0, 0.0]]), np.array([[0.0, 4.0, 0.0]]))
    array([5.])
    """

    name, kinds = "position", ("position",)
