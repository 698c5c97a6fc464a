"""TRC files of Cortex, OpenSim and Vicon: rate and unit, names of the markers, and one row per frame."""

from __future__ import annotations

from itertools import islice
from pathlib import Path

from quatcast.data.contents import Contents, Track
from quatcast.data.formats.sections import numbers, rate_in, tab_separated
from quatcast.data.options import Options
from quatcast.data.text import clean


def recognises(head: bytes) -> bool:
    """Tell whether a file begins as a TRC file does."""
    return head.removeprefix(b"\xef\xbb\xbf").startswith(b"PathFileType")


def read(path: Path, options: Options) -> Contents:
    """Read the markers of a TRC file."""
    rows = tab_separated(path, options.encoding)
    head = list(islice(rows, 5))
    if len(head) < 5:
        raise ValueError(f"{path}: expected rate, unit, names and columns in a header of five lines, got fewer lines")
    _, (_, keys), (_, values), (line, names), (_, axes) = head
    about = dict(zip(map(str.strip, keys), map(str.strip, values), strict=False))
    rate = rate_in(path, about.get("DataRate", ""), "below DataRate")
    if [name.strip().lower() for name in names[:2]] != ["frame#", "time"]:
        raise ValueError(f"{path}, line {line}: expected the columns Frame# and Time, got {names[:2]}")
    markers = [(i, clean(name)) for i, name in enumerate(names) if i > 1 and name.strip()]
    width = max([2, *(i + 3 for i, _ in markers)])
    columns = [axis.strip() or f"number {i + 1}" for i, axis in enumerate([*axes, *[""] * width][:width])]
    table, lines = numbers(path, rows, columns)
    tracks = []
    for i, name in markers:
        at = (i, i + 1, i + 2)
        coordinates = tuple(f"{name}.{axis}" for axis in "xyz")
        tracks.append(Track(name, "position", table[:, at], coordinates, at, clean(about.get("Units", ""))))
    return Contents(path, tracks, table[:, 1], lines, "column 2 (Time)", rate=rate)
