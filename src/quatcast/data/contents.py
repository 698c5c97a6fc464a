"""The contents of a file before they become a recording: tracks, times, and what the reader had to assume."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.recording import AXES
from quatcast.data.style import FileStyle


@dataclass(frozen=True, eq=False)
class Track:
    """One channel of a file: a position, a vector, an orientation or a pose over time.

    Attributes
    ----------
    name
        Name of the channel.
    space
        A key of `quatcast.data.recording.SPACES`.
    values
        Array (rows, coordinates), in the order in which recordings store coordinates: quaternions scalar first.
    columns
        Names of the columns in that order; empty for the usual names.
    places
        Numbers of the columns in the file, in the same order.
    unit
        Unit of the coordinates; empty if it is unknown.
    part
        The name without the word for position or orientation, by which both parts of a pose find each other.
    secondary
        Whether the channel is read only if it is asked for: sensor readings beside positions, markers of a rigid body.
    """

    name: str
    space: str
    values: Floats
    columns: tuple[str, ...] = ()
    places: tuple[int, ...] = ()
    unit: str = ""
    part: str | None = None
    secondary: bool = False

    def with_default_columns(self) -> Track:
        """Return the track with column names, if it has none."""
        if self.columns:
            return self
        names = tuple(f"{self.name}.{axis}" for axis in AXES[self.values.shape[1]])
        return replace(self, columns=names)


@dataclass(frozen=True, eq=False)
class Contents:
    """What a reader found in a file.

    Attributes
    ----------
    path
        Path of the file.
    tracks
        The channels.
    times
        Times of the rows in seconds, or None.
    lines, time_column
        For messages about times: the line number of each row, and number and name of the column.
    rate
        Sampling rate according to the file, or None.
    counted
        Whether the times are numbers of samples divided by a rate that was given, so that they do not measure it.
    time_like
        Columns that may be times although they were not read as such, with their units or "".
    style
        Separators, and the column of times.
    notes
        What was assumed, ignored or converted.
    """

    path: Path
    tracks: list[Track]
    times: Floats | None = None
    lines: list[int] = field(default_factory=list)
    time_column: str = ""
    rate: float | None = None
    style: FileStyle = field(default_factory=FileStyle)
    notes: list[str] = field(default_factory=list)
    counted: bool = False
    time_like: list[tuple[str, str]] = field(default_factory=list)


def join_poses(tracks: list[Track], notes: list[str]) -> list[Track]:
    """Join each position with the orientation that belongs to it to a pose.

    They belong together if their names without the words for position and orientation are equal.
    """
    joined: list[Track] = []
    orientations = {track.part: track for track in tracks if track.space == "orientation" and track.part is not None}
    used: set[int] = set()
    for track in tracks:
        other = orientations.get(track.part) if track.part is not None else None
        is_first = track.space == "position" and track.values.shape[1] == 3 and not track.secondary
        if other is not None and is_first and id(other) not in used:
            used |= {id(track), id(other)}
            joined.append(_pose(track, other))
            notes.append(f"{track.name} and {other.name} are read as position and orientation of one pose")
        else:
            joined.append(track)
    return [track for track in joined if id(track) not in used]


def _pose(position: Track, orientation: Track) -> Track:
    position, orientation = position.with_default_columns(), orientation.with_default_columns()
    return Track(
        name=position.part or "pose",
        space="pose",
        values=np.hstack([position.values, orientation.values]),
        columns=position.columns + orientation.columns,
        places=position.places + orientation.places,
        unit=position.unit,
    )
