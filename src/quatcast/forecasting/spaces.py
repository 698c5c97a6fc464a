"""Spaces by name: what the numbers of a sample mean."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.charts import Chart, Position, Space, Vector
from quatcast.forecasting.orientation import Development, Orientation

__all__ = [
    "SPACES",
    "Chart",
    "Development",
    "Orientation",
    "Pose",
    "PoseChart",
    "Position",
    "Space",
    "Vector",
    "find_space",
]


@dataclass
class PoseChart(Chart):
    """Chart of poses: the development of their orientations."""

    orientations: Development


class Pose(Space):
    """Poses: a position x, y, z and an orientation w, x, y, z, seven numbers per channel.

    Coordinates have two rows per channel: first the positions of all channels, then all orientations. Each row is
    missing, judged and accepted on its own.

    Examples
    --------
    >>> space = Pose(rate=50.0)
    >>> chart = space.begin(1)
    >>> pose = np.array([[10.0, 20.0, 30.0, 1.0, 0.0, 0.0, 0.0]])
    >>> y = space.to_coordinates(chart, pose)
    >>> y
    array([[10., 20., 30.],
           [ 0.,  0.,  0.]])
    >>> space.accept(chart, pose, y, accepted=np.array([True, True]))
    >>> space.from_coordinates(chart, y + 1e-9).round(6)
    array([[10., 20., 30.,  1.,  0.,  0.,  0.]])
    """

    name, components, kinds = "pose", 7, ("position", "orientation")

    def __init__(self, rate: float) -> None:
        super().__init__(rate)
        self._position, self._orientation = Position(rate), Orientation(rate)

    def begin(self, channels: int) -> PoseChart:
        """Return a chart in which no channel has been seen."""
        return PoseChart(channels, self._orientation.begin(channels))

    def to_coordinates(self, chart: PoseChart, sample: Floats) -> Floats:
        """Return the coordinates (2 · channels, 3): the positions, then the orientations."""
        positions = self._position.to_coordinates(chart, sample[:, :3])
        return np.concatenate([positions, self._orientation.to_coordinates(chart.orientations, sample[:, 3:])])

    def accept(self, chart: PoseChart, sample: Floats, coordinates: Floats, accepted: Bools) -> None:
        """Move the references of accepted orientations; positions need none."""
        n = chart.channels
        self._orientation.accept(chart.orientations, sample[:, 3:], coordinates[n:], accepted[n:])

    def from_coordinates(self, chart: PoseChart, coordinates: Floats, seconds: ArrayLike = 0.0) -> Floats:
        """Return poses (…, channels, 7)."""
        n = chart.channels
        turned = self._orientation.from_coordinates(chart.orientations, coordinates[..., n:, :], seconds)
        return np.concatenate([coordinates[..., :n, :], turned], axis=-1)

    def distance(self, a: Floats, b: Floats) -> Floats:
        """Return the distances (…, 2 · channels): Euclidean ones of the positions, then angles in radians."""
        return np.concatenate(
            [self._position.distance(a[..., :3], b[..., :3]), self._orientation.distance(a[..., 3:], b[..., 3:])], -1
        )


SPACES: dict[str, type[Space]] = {kind.name: kind for kind in (Position, Vector, Orientation, Pose)}
"""The spaces by name."""


def find_space(name: str, rate: float) -> Space:
    """Return the space of a name, "position", "vector", "orientation" or "pose", for a sampling rate in Hz.

    Examples
    --------
    >>> space = find_space("pose", rate=57.0)
    >>> space.rows(2)
    ('position', 'position', 'orientation', 'orientation')
    >>> space.names(["probe"]), space.units(1, "mm")
    (('probe position', 'probe orientation'), ('mm', 'rad'))
    """
    if name not in SPACES:
        raise ValueError(f"space: expected one of {', '.join(map(repr, SPACES))}, got {name!r}")
    return SPACES[name](rate)
