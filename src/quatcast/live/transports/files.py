"""Recordings as sources: CSV files, journals and whole sessions, at any speed.

``file:walk.csv`` plays a recording in real time, ``file:walk.csv?speed=10`` ten times as fast, and
``file:walk.csv?speed=0`` as fast as samples are taken. Only at speed 1 is it played in real time: at other speeds the
times of arrival are those at which the samples would have arrived. Files that are not clear by themselves take the
reading options of ``quatcast forecast``: ``file:walk.csv?encoding=latin-1&time-unit=ms``.
"""

from __future__ import annotations

import asyncio
import json
import re
import time
from abc import abstractmethod
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult, parse_qsl, unquote

from quatcast.data import Recording, read
from quatcast.live.clock import now
from quatcast.live.fields import MAX_DIMENSIONS
from quatcast.live.frames import Frame
from quatcast.live.journal import Reading, journal_files, read_file, read_journal
from quatcast.live.records import read_frames
from quatcast.live.transports.base import Source, register_transport
from quatcast.live.transports.continuation import Continuation
from quatcast.live.transports.options import read_number

SPACES = {
    "position": ("position", "vector"),
    "vector": ("vector", "position"),
    "orientation": ("orientation", "vector"),
    "pose": ("pose",),
}
"""Space of a recording → the spaces in which its samples can be forecast."""


LISTS = ("channels", "columns", "ignore")
"""Reading options with several values: `columns` is repeated, the others are separated by commas."""
READING = (*LISTS, "time", "time-unit", "unit", "space", "encoding", "rate", "dimensions")
"""Options of `quatcast.data.read` in a URL, under the names that they have on the command line."""
_ON_COMMAND_LINE = re.compile(rf"--({'|'.join(READING)}) (?:'([^']*)'|(?=\S))")


class PlayedSource(Source):
    """Frames that are known beforehand, played at some speed.

    Parameters
    ----------
    speed
        1 for real time; 0 to yield frames as fast as they are taken.
    """

    ordered: bool = False
    """Whether all frames have numbers that increase, so that the search for one ends even if the frames do not."""

    def __init__(self, speed: float) -> None:
        self.speed, self.refused = speed, {}
        self.realtime = speed == 1
        self._last: Frame | None = None

    async def __aenter__(self) -> Self:
        """Open the recording."""
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the recording."""

    def resume(self, last: Frame) -> None:
        """Continue after a frame; if the recording does not hold it, `frames` raises ValueError."""
        self._last = last

    @abstractmethod
    def recorded(self) -> Iterator[Frame]:
        """Yield the frames; the time of arrival is the one of the recording."""

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield frames at the speed that was asked for."""
        began, start, first = time.monotonic(), now(), None
        for number, frame in self._rest():
            first = frame.received if first is None else first
            due = (frame.received - first) / self.speed if self.speed else 0.0
            wait = began + due - time.monotonic() if self.speed else 0.0
            await asyncio.sleep(max(0.0, wait))
            if self.realtime:
                # A device whose clock is set like ours: after a restart its time has gone on. Only the number then
                # tells where the recording has to continue.
                yield replace(frame, sequence=number, received=now(), device_time=start + due)
            else:
                yield frame

    def _rest(self) -> Iterator[tuple[int, Frame]]:
        """Yield the frames after the one that was last taken, with their numbers or else their places.

        Raises
        ------
        ValueError
            If the recording does not hold the frame that was last taken.
        """
        rest = Continuation(self._last)
        for place, frame in enumerate(self.recorded()):
            number = place if frame.sequence is None else frame.sequence
            if rest.is_new(frame, self._is_last(frame, number)):
                yield number, frame
            elif rest.missing and self._is_past(number):
                break
        rest.finish()

    def _is_last(self, frame: Frame, number: int) -> bool:
        """Tell whether a recorded frame has the number of the one that was last taken, or else its times."""
        if self._last is None:
            return False
        if self._last.sequence is not None:
            return number == self._last.sequence
        return (frame.device_time, frame.received) == (self._last.device_time, self._last.received)

    def _is_past(self, number: int) -> bool:
        """Tell whether no later frame can be the one that was last taken."""
        last = self._last
        return self.ordered and last is not None and (last.sequence is None or number > last.sequence)


class FileSource(PlayedSource):
    """The frames of a CSV file, of a file of a journal, or of a session folder.

    Parameters
    ----------
    path
        The file or folder.
    stream
        Name of the stream.
    speed
        1 for real time; 0 to yield frames as fast as they are taken.
    reading
        Arguments of `quatcast.data.read`, for a file that is not clear by itself.

    Raises
    ------
    ValueError
        If the file is malformed.
    FileNotFoundError
        If it does not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> from quatcast.data import simulated, write_csv
    >>> async def count(path):
    ...     async with FileSource(path, "chest", speed=0) as source:
    ...         return len([frame async for frame in source.frames()])
    >>> with TemporaryDirectory() as folder:
    ...     write_csv(simulated(seconds=5)[0], f"{folder}/chest.csv")
    ...     asyncio.run(count(Path(folder) / "chest.csv"))
    50
    """

    def __init__(self, path: Path, stream: str, speed: float = 1.0, **reading: Any) -> None:
        super().__init__(speed)
        self.path, self.stream = path, stream
        if not path.exists():
            raise FileNotFoundError(2, "there is no such file", str(path))
        self._recording: Recording | None = None
        if path.is_dir() or path.suffix == ".jsonl":
            if reading:
                raise ValueError(
                    f"file: expected only the option speed for a session, got {', '.join(sorted(reading))}"
                )
            if path.is_dir() and not journal_files(path):
                raise ValueError(f"{path}: expected the folder of a live session; there is no journal in it")
            self.spaces = _session_spaces(path if path.is_dir() else path.parent)
        else:
            try:
                self._recording = read(path, **reading)
            except ValueError as error:
                raise ValueError(_in_url(str(error))) from None
            self.spaces = _recording_spaces(self._recording)

    def recorded(self) -> Iterator[Frame]:
        """Yield the frames of the file."""
        if self._recording is not None:
            yield from recorded_frames(self._recording, self.stream)
        else:
            found = Reading()
            records = read_journal(self.path, found=found) if self.path.is_dir() else read_file(self.path, found)
            for _, frame in read_frames(records):
                self._count(found)
                yield replace(frame, stream=self.stream)
            self._count(found)

    def _count(self, found: Reading) -> None:
        """Count the lines that could not be read as refused."""
        if unread := len(found.damaged) + found.torn:
            self.refused["damaged"] = unread


def _recording_spaces(recording: Recording) -> tuple[str, ...]:
    """Return the spaces in which a recording can be forecast; four numbers without a meaning may be orientations."""
    unnamed = recording.space in ("position", "vector") and recording.dimensions == 4
    return SPACES[recording.space] + (("orientation",) if unnamed else ())


def _session_spaces(folder: Path) -> tuple[str, ...]:
    """Return the space of the session in a folder; nothing if it does not hold its description."""
    try:
        space = json.loads((folder / "session.json").read_text(encoding="utf-8"))["settings"]["space"]
    except (OSError, ValueError, KeyError, TypeError):
        return ()
    return SPACES.get(space, ()) if isinstance(space, str) else ()


def recorded_frames(recording: Recording, stream: str) -> Iterator[Frame]:
    """Yield the samples of a recording as frames that arrive when they were measured."""
    unit = recording.units[0] if len(set(recording.units)) == 1 else ""
    for i, (at, values) in enumerate(zip(recording.times.tolist(), recording.positions, strict=True)):
        yield Frame(stream, i, at, at, values, recording.channels, unit)


def _source(parts: SplitResult, stream: str) -> FileSource:
    path = unquote(parts.netloc + parts.path)
    if not path:
        raise ValueError("file: expected a path, as in file:walk.csv?speed=1")
    reading: dict[str, Any] = {"speed": 1.0}
    for name, value in parse_qsl(parts.query, keep_blank_values=True):
        if name not in ("speed", *READING):
            raise ValueError(f"file: expected the options speed, {', '.join(READING)}, got {name!r}")
        if name in LISTS:
            reading.setdefault(name, []).extend([value] if name == "columns" else value.split(","))
        elif name == "dimensions":
            reading[name] = int(read_number("file, dimensions", value, 1, MAX_DIMENSIONS, whole=True))
        else:
            number = name in ("speed", "rate")
            reading[name.replace("-", "_")] = read_number(f"file, {name}", value, 0) if number else value
    return FileSource(Path(path), stream, **reading)


def _in_url(message: str) -> str:
    """Return an error of the reader with options in the form that they have in a URL.

    Examples
    --------
    >>> _in_url("time_unit='ms' (--time-unit ms), or ignore the column (--ignore 'stamp')")
    "time_unit='ms' (?time-unit=ms), or ignore the column (?ignore=stamp)"
    """
    return _ON_COMMAND_LINE.sub(lambda found: f"?{found[1]}={found[2] or ''}", message)


register_transport("file", _source)
