"""Forecasts as points of a space whose coordinates are not its points, such as orientations.

Rotations about different axes do not commute, so that the distance of two orientations is not that of their
coordinates: forecasts of a body that turns fast may be exact in coordinates and far from the true orientation. The
radius is that of points, and so are the errors that it is computed from. Moments between horizons are interpolated in
coordinates, which count full turns, and not between quaternions, which do not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from quatcast.basics.typing import Counts, Floats
from quatcast.checkpoint import State
from quatcast.forecasting.charts import Chart, Space
from quatcast.safety.between import interpolate


def snapshot(chart: Chart) -> Chart:
    """Return a chart as it is now, for use after it has changed: its arrays are replaced, not written into."""
    inner: dict[str, Any] = {name: snapshot(value) for name, value in vars(chart).items() if isinstance(value, Chart)}
    return replace(chart, **inner)


@dataclass(frozen=True)
class Curve:
    """A path in coordinates, from which a point of the space follows for any moment.

    Attributes
    ----------
    space, chart
        The space, and where its coordinates have arrived. The chart is not changed.
    seconds, coordinates
        (n,) from 0 on, and (n, rows, dimensions).

    Examples
    --------
    A body turns by two and a half turns in a second:

    >>> from quatcast.forecasting.orientation import Orientation
    >>> from quatcast.algebra.quaternion import rotation_vector
    >>> space = Orientation(rate=10.0)
    >>> turns = np.array([[[0.0, 0.0, 0.0]], [[0.0, 0.0, 5 * np.pi]]])
    >>> curve = Curve(space, space.begin(1), np.array([0.0, 1.0]), turns)
    >>> np.degrees(rotation_vector(curve.at(np.array([0.1, 0.5])))).round(6)[:, 0, 2]
    array([90., 90.])
    """

    space: Space
    chart: Chart
    seconds: Floats
    coordinates: Floats

    def at(self, seconds: Floats) -> Floats:
        """Return points (n, channels, k) at n moments, in seconds from now."""
        return self.space.from_coordinates(self.chart, interpolate(self.seconds, self.coordinates, seconds), seconds)


@dataclass
class Points(State):
    """What is needed to compare forecasts with later samples as points of the space.

    Attributes
    ----------
    knots
        0 and the horizons in samples.
    recent
        Of each of the last samples, the sample (channels, k), the offset of the gate, where the coordinates had
        arrived, and the coordinates of the sample and of its forecasts (1 + horizons, rows, dimensions).
    """

    knots: tuple[int, ...]
    recent: deque[tuple[Floats, Floats, Chart, Floats]]

    @classmethod
    def begin(cls, horizons: Sequence[int]) -> Points:
        """Return the state before the first sample."""
        return cls((0, *horizons), deque(maxlen=horizons[-1] + 1))

    def see(self, point: Floats, offset: Floats, chart: Chart, coordinates: Floats) -> None:
        """Take in a sample (channels, k), the offset of the gate, the chart, and the coordinates of the sample."""
        self.recent.append((point.copy(), offset, snapshot(chart), coordinates[None]))

    def take(self, path: Floats) -> None:
        """Take in the coordinates (horizons, rows, dimensions) of the forecasts made at the newest sample."""
        point, offset, chart, coordinates = self.recent.pop()
        self.recent.append((point, offset, chart, np.concatenate([coordinates, path])))

    def curve(self, space: Space, ago: int = 0) -> Curve:
        """Return the path that was forecast some samples ago."""
        _, _, chart, coordinates = self.recent[-1 - ago]
        return Curve(space, chart, np.array(self.knots) / space.rate, coordinates.copy())

    def distances(self, space: Space, errors: Floats, ago: int, ahead: Counts) -> Floats:
        """Return the distances (n, rows) of forecasts from the points that were seen later.

        A channel that has been shifted since then is compared in coordinates, without its offset.

        Parameters
        ----------
        space
            The space.
        errors
            (n, rows), distances in coordinates.
        ago, ahead
            How many samples ago the forecasts were made, and (n,) for how many samples ahead.
        """
        offset, there = self.recent[-1 - ago][1], [self.recent[int(m) - ago - 1] for m in ahead]
        same = np.stack([(now == offset).all(axis=-1) for _, now, *_ in there])
        seen = np.stack([point for point, *_ in there])
        found = space.distance(self.curve(space, ago).at(ahead / space.rate), seen)
        # Equal coordinates are the same point; rounding must not make a body that rests seem to move.
        return np.where(same & (errors > 0) & np.isfinite(found), found, errors)
