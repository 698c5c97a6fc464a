"""Channel metadata of LSL streams: which number is which coordinate of which marker.

By the convention for motion capture, the description of a stream has one element `channel` per number, with the
elements `label`, `marker`, `type` (PositionX, …) and `unit`. Streams without it are read as `dimensions` numbers per
marker.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.live.fields import MAX_CHANNELS, MAX_DIMENSIONS, MAX_NAME, usable_names
from quatcast.live.frames import ForecastFrame, FrameError

UNITS = {"millimeters": "mm", "millimetres": "mm", "meters": "m", "metres": "m", "centimeters": "cm"}
"""Names of units that the convention uses, and the usual symbols."""
POSITIONS = ("PositionX", "PositionY", "PositionZ")
ORIENTATIONS = ("OrientationW", "OrientationX", "OrientationY", "OrientationZ")


@dataclass(frozen=True)
class Layout:
    """Which numbers of a sample are the coordinates of which marker.

    Attributes
    ----------
    indices
        For each marker, the indices of its coordinates.
    names
        Names of the markers; empty if the stream does not say.
    unit
        Unit of the coordinates; empty if the stream does not say.
    count
        Numbers per sample.

    Examples
    --------
    >>> Layout(((2, 1, 0),), ("chest",), "mm", 4).split([1.0, 2.0, 3.0, 0.5])
    array([[3., 2., 1.]])
    """

    indices: tuple[tuple[int, ...], ...]
    names: tuple[str, ...]
    unit: str
    count: int

    def split(self, values: list[float]) -> Floats:
        """Return the values (markers, dimensions) of a sample; NaN is a missing value."""
        if len(values) != self.count or any(math.isinf(value) for value in values):
            raise FrameError(f"sample: expected {self.count} finite numbers or NaN, got {values[:8]}")
        numbers: Floats = np.array(values, dtype=float)
        selected: Floats = numbers[np.array(self.indices)]
        return selected


def read_layout(info: Any, width: int = 3) -> Layout:
    """Return the layout of a stream from its description, or with `width` numbers per marker if it has none.

    Raises
    ------
    FrameError
        If the stream holds text, or numbers that are not a whole number of markers.
    """
    count = int(info.channel_count())
    if info.channel_format() == 3:  # strings
        raise FrameError(f"{info.name()}: expected a stream of numbers, got text")
    channels = _described(info)
    if len(channels) == count:
        layout = _by_markers(channels)
        if layout is not None:
            return layout
    if count % width or not 1 <= count // width <= MAX_CHANNELS:
        raise FrameError(f"{info.name()}: expected {width} numbers per marker, got {count}; add ?dimensions=…")
    indices = tuple(tuple(range(at, at + width)) for at in range(0, count, width))
    return Layout(indices, (), _unit(channels), count)


def _described(info: Any) -> list[tuple[str, str, str]]:
    """Return marker, type and unit of the channels that the description of a stream lists."""
    channels: list[tuple[str, str, str]] = []
    element = info.desc().child("channels").child("channel")
    while not element.empty() and len(channels) < MAX_CHANNELS * MAX_DIMENSIONS:
        marker, kind, unit = (element.child_value(name) for name in ("marker", "type", "unit"))
        channels.append((marker or element.child_value("object"), kind, unit))
        element = element.next_sibling("channel")
    return channels


def _by_markers(channels: list[tuple[str, str, str]]) -> Layout | None:
    """Return the layout that the types of the channels describe; None if they are not of the convention."""
    indices, names = [], []
    numbered = list(enumerate(channels))
    for marker, group in groupby(numbered, key=lambda item: item[1][0]):
        at = {kind: index for index, (_, kind, _) in group}
        if not set(POSITIONS) <= set(at):
            continue
        wanted = POSITIONS + ORIENTATIONS if set(ORIENTATIONS) <= set(at) else POSITIONS
        indices.append(tuple(at[kind] for kind in wanted))
        names.append(marker)
    if not indices or len({len(row) for row in indices}) > 1 or len(indices) > MAX_CHANNELS:
        return None
    unit = _unit([channels[indices[0][0]]])
    return Layout(tuple(indices), usable_names(names), unit, len(channels))


def _unit(channels: list[tuple[str, str, str]]) -> str:
    unit = channels[0][2] if channels else ""
    short = UNITS.get(unit.lower(), unit)
    return short if len(short) <= MAX_NAME and short.isprintable() else ""


def forecast_layout(pylsl: Any, name: str, stream: str, forecast: ForecastFrame) -> Any:
    """Return the description of a stream of forecasts: positions, radii, status, and how far ahead they are."""
    channels, dimensions = forecast.position.shape
    kinds = {3: POSITIONS, 7: POSITIONS + ORIENTATIONS}.get(dimensions, tuple(f"Value{n}" for n in range(dimensions)))
    names = forecast.names or tuple(f"Channel{number}" for number in range(1, channels + 1))
    rows = [(f"{marker}_{kind}", marker, kind, forecast.unit) for marker in names for kind in kinds]
    rows += [(f"{marker}_Radius", marker, "Radius", forecast.unit) for marker in names]
    if forecast.angle_radius is not None:
        rows += [(f"{marker}_AngleRadius", marker, "AngleRadius", "radians") for marker in names]
    rows += [("Status", "", "Status", ""), ("Ahead", "", "Ahead", "seconds")]
    info = pylsl.StreamInfo(name, "MoCap", len(rows), pylsl.IRREGULAR_RATE, pylsl.cf_double64, f"quatcast-{stream}")
    listed = info.desc().append_child("channels")
    for label, marker, kind, unit in rows:
        channel = listed.append_child("channel")
        for key, value in (("label", label), ("marker", marker), ("type", kind), ("unit", unit)):
            channel.append_child_value(key, value)
    return info
