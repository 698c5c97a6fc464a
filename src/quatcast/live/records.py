"""Records of the journal: frames, forecasts and events as JSON, and back."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.journal import Reading, encode_line, end_line, journal_files, read_file, read_journal
from quatcast.live.messages import forecast_text, read_forecast, sample_text

T = TypeVar("T")


def frame_line(frame: Frame, number: int, *, names: bool) -> bytes:
    r"""Return the line of a frame: its message, its number and the time of arrival.

    Examples
    --------
    >>> frame_line(Frame("chest", 3, 0.25, 7.5, np.ones((1, 3))), 4, names=False)
    b'{"v":1,"type":"sample","stream":"chest","seq":3,"t":0.25,"p":[[1.0,1.0,1.0]],"n":4,"received":7.5,"crc":"efe3460b"}\n'
    """
    message = sample_text(frame if names else replace(frame, names=(), unit=""))
    return end_line(b'%b,"n":%d,"received":%b}' % (message[:-1], number, repr(float(frame.received)).encode()))


def forecast_line(forecast: ForecastFrame, number: int, limit: int | None = None, **marks: bool) -> bytes:
    """Return the line of a forecast, with the number of the frame that led to it.

    Marks that are true are written: "late", "unsent" if a newer forecast was sent instead, "unlearnt" if nothing was
    learnt from the sample, and "recovered" if it was computed again after a restart. So is the limit on the samples
    that were learnt from after the forecast, if there was one.
    """
    message = forecast_text(replace(forecast, names=(), unit=""))
    words = "".join(f',"{name}":true' for name, given in marks.items() if given)
    words += "" if limit is None else f',"limit":{limit}'
    return end_line(b'%b,"n":%d%b}' % (message[:-1], number, words.encode()))


def event_line(kind: str, text: str, time: float, number: int, **more: Any) -> bytes:
    """Return the line of an event."""
    return encode_line({"type": "event", "kind": kind, "text": text, "t": time, "n": number, **more})


def _matrix(rows: list[list[float | None] | None]) -> Floats:
    """Return rows of numbers as an array, NaN for null."""
    width = max((len(row) for row in rows if row is not None), default=3)
    filled = [[math.nan] * width if row is None else [math.nan if x is None else x for x in row] for row in rows]
    return np.array(filled, dtype=float)


def read_frames(records: Iterable[dict[str, Any]]) -> Iterator[tuple[int, Frame]]:
    """Yield the number and the frame of every record that holds one, with the names that were given last.

    Examples
    --------
    >>> from quatcast.live.journal import decode_line
    >>> line = frame_line(Frame("chest", 3, 0.25, 7.5, np.ones((1, 3)), ("marker",)), 4, names=True)
    >>> [(number, frame.names, frame.received) for number, frame in read_frames([decode_line(line)])]
    [(4, ('marker',), 7.5)]
    """
    names: tuple[str, ...] = ()
    unit = ""
    for record in records:
        if record.get("type") != "sample":
            continue
        names = tuple(record.get("names", names))
        unit = record.get("unit", unit)
        values = _matrix(record["p"])
        named = names if len(names) == len(values) else ()
        yield (
            record["n"],
            Frame(record["stream"], record.get("seq"), record.get("t"), record["received"], values, named, unit),
        )


MARKS = ("late", "unsent", "unlearnt", "recovered")
"""What may be said of a forecast; see `ForecastRecord`."""


@dataclass(frozen=True)
class ForecastRecord:
    """A forecast as the journal holds it.

    Attributes
    ----------
    forecast
        The forecast; its names and unit are empty.
    frame
        Number of the frame that led to it.
    late, unsent, unlearnt, recovered
        Whether it was too late, was replaced by a newer one, came from a sample from which nothing was learnt, or was
        computed again after a restart.
    limit
        Limit on the samples that were learnt from after it, or None.
    """

    forecast: ForecastFrame
    frame: int
    late: bool = False
    unsent: bool = False
    unlearnt: bool = False
    recovered: bool = False
    limit: int | None = None


def read_forecasts(records: Iterable[dict[str, Any]]) -> Iterator[ForecastRecord]:
    """Yield the forecasts among records."""
    for record in records:
        if record.get("type") == "forecast":
            marks = {name: record.get(name, False) for name in MARKS}
            yield ForecastRecord(read_forecast(record), record["n"], limit=record.get("limit"), **marks)


def newest(folder: Path, find: Callable[[Iterable[dict[str, Any]]], Iterator[T]]) -> T | None:
    """Return the last that `find` yields of the records of a journal, whose newest files may hold none."""
    for _, path in reversed(journal_files(folder)):
        last = deque(find(read_file(path, Reading())), maxlen=1)
        if last:
            return last[0]
    return None


def usual_frame(folder: Path) -> Frame:
    """Return the first frame of a session with the shape that its forecasts have in the end.

    Frames before it may have another shape, and so may forecasts, as long as they were those of a stream warming up.

    Raises
    ------
    ValueError
        If the session has no frames.
    """
    last = newest(folder, lambda records: (one for one in records if one.get("type") == "forecast"))
    shape = None if last is None else read_forecast(last).sample.shape
    frames = (frame for _, frame in read_frames(read_journal(folder)))
    first = next(frames, None)
    if first is None:
        raise ValueError(f"{folder}: the session holds no samples yet")
    if shape in (None, first.values.shape):
        return first
    return next((frame for frame in frames if frame.values.shape == shape), first)
