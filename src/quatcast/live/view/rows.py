"""Forecasts as binary rows of fixed size, the form in which they travel to browsers.

A forecast of three markers with five horizons has 69 numbers. As 32-bit floats they take a third of the space of JSON,
NaN needs no special case, and neither side spends time on parsing: a snapshot of five minutes is read by a browser in a
few milliseconds. Everything that is not a row (layout, status, events, statistics) is JSON, because it is rare.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quatcast.forecasting.spaces import SPACES
from quatcast.live.frames import STATUSES, ForecastFrame, PathPoint
from quatcast.safety.status import SEVERITY, Status

VERSION = 1
"""Version of the messages."""
SERIOUSNESS = tuple(status.label for status in SEVERITY)
"""Labels of the status, the most serious last; any other label is sent as hold."""
MAX_CHANNELS = 64
"""Largest number of channels that the view shows; further channels are left out."""
MAX_HORIZONS = 16
MAX_NAME = 80
"""Longest name in characters; the rest is cut off."""
SAME_TIME = 1e-5
"""Two times that differ by less are the same, in seconds. Doubles resolve 2.4e-7 s at the present date."""


@dataclass(frozen=True)
class RowLayout:
    """What all rows of a stream have in common: names, unit and the shape of the arrays.

    Attributes
    ----------
    stream
        Name of the stream.
    names
        Names of the channels; "channel 1" and so on if the stream gives none.
    unit
        Unit of positions and radii; empty for orientations, whose radii are in radians.
    dimensions, horizons
        Numbers per channel, and the number of horizons.
    space
        What the numbers mean: "position", "vector", "orientation" or "pose".

    Examples
    --------
    >>> RowLayout("chest", ("a", "b"), "mm", dimensions=3, horizons=1).row.itemsize
    76
    """

    stream: str
    names: tuple[str, ...]
    unit: str
    dimensions: int
    horizons: int
    space: str = "position"

    @staticmethod
    def of(frame: ForecastFrame, space: str = "position") -> RowLayout:
        """Return the layout of the rows of a forecast in a space; seven numbers per channel are always poses."""
        channels, dimensions = frame.sample[:MAX_CHANNELS].shape
        given = frame.names[:channels]
        names = tuple(given[c][:MAX_NAME] if c < len(given) else f"channel {c + 1}" for c in range(channels))
        space = "pose" if dimensions == SPACES["pose"].components else space
        unit = "" if space == "orientation" else frame.unit[:MAX_NAME]
        return RowLayout(frame.stream[:MAX_NAME], names, unit, dimensions, len(horizons(frame)), space)

    @cached_property
    def row(self) -> np.dtype[np.void]:
        """Type of a row, packed and little-endian."""
        H, C, D = self.horizons, len(self.names), self.dimensions
        angles = [("angle_radius", "<f4", (H, C))] if self.space == "pose" else []
        return np.dtype(
            [
                ("time", "<f8"),  # of the newest sample
                ("age", "<f4"),  # seconds from then until the forecast left
                ("main", "u1"),  # index of the horizon of the service
                ("status", "u1", (H,)),  # index into STATUSES; the worse of the horizon's and the service's
                ("filled", "u1", (C,)),  # 1 where the sample was missing or rejected
                ("sample", "<f4", (C, D)),
                ("ahead", "<f4", (H,)),  # seconds from `time` to the time that the forecast is for
                ("position", "<f4", (H, C, D)),
                ("radius", "<f4", (H, C)),
                *angles,  # radii of the orientations, in radians
            ]
        )

    def message(self, generation: int) -> dict[str, Any]:
        """Return the JSON message that precedes the rows of this layout."""
        return {
            "type": "layout",
            "generation": generation,
            "stream": self.stream,
            "names": self.names,
            "unit": self.unit,
            "dimensions": self.dimensions,
            "horizons": self.horizons,
            "space": self.space,
            "statuses": STATUSES,
        }


def horizons(frame: ForecastFrame) -> list[PathPoint]:
    """Return the forecasts of a frame for all horizons, in order of time, each horizon once."""
    main = PathPoint(frame.target_time, frame.position, frame.radius, frame.status, frame.angle_radius)
    others = [point for point in frame.path if abs(point.target_time - main.target_time) > SAME_TIME]
    return sorted([main, *others[: MAX_HORIZONS - 1]], key=lambda point: point.target_time)


def pack_row(layout: RowLayout, frame: ForecastFrame) -> bytes:
    """Return a forecast as one row.

    Examples
    --------
    >>> frame = ForecastFrame("chest", 7, 100.0, 100.5, 100.01, np.ones((1, 3)), np.ones(1), "ok", "",
    ...                       np.array([False]), np.zeros((1, 3)))
    >>> layout = RowLayout.of(frame)
    >>> row = unpack_rows(layout, pack_row(layout, frame))[0]
    >>> row["time"], row["ahead"], row["position"].shape
    (np.float64(100.0), array([0.5], dtype=float32), (1, 1, 3))
    """
    row = np.zeros((), layout.row)
    points = horizons(frame)
    channels = len(layout.names)
    row["time"], row["age"] = frame.time, frame.sent_time - frame.time
    row["main"] = next(i for i, point in enumerate(points) if point.target_time == frame.target_time)
    row["filled"], row["sample"] = frame.filled[:channels], frame.sample[:channels]
    for index, point in enumerate(points):
        row["status"][index] = STATUSES.index(worse(point.status, frame.status))
        row["ahead"][index] = point.target_time - frame.time
        row["position"][index] = point.position[:channels]
        row["radius"][index] = point.radius[:channels]
        if layout.space == "pose":
            row["angle_radius"][index] = np.nan if point.angle_radius is None else point.angle_radius[:channels]
    return row.tobytes()


def worse(one: str, other: str) -> str:
    """Return the more serious of two statuses; an unknown one is a hold.

    A forecast that the service holds because it is late is held for every horizon.

    Examples
    --------
    >>> worse("ok", "warming up"), worse("degraded", "ok"), worse("ok", "splendid")
    ('warming up', 'degraded', 'hold')
    """
    return max(one, other, key=SERIOUSNESS.index) if {one, other} <= {*STATUSES} else Status.HOLD.label


HEADER = np.dtype([("version", "<u4"), ("generation", "<u4")])
"""What precedes the rows in a binary message: the version, and the number of the layout that the rows have."""


def rows_message(generation: int, rows: list[bytes]) -> bytes:
    """Return the binary message of some rows."""
    return np.array((VERSION, generation), HEADER).tobytes() + b"".join(rows)


def unpack_rows(layout: RowLayout, rows: bytes) -> NDArray[np.void]:
    """Return rows as a structured array with the fields of `RowLayout.row`."""
    return np.frombuffer(rows, layout.row)
