"""CSV exports of Vicon Nexus: sections of which "Trajectories" holds the markers.

A section has its name, the sampling rate, the names of the markers and of the columns, the units, and the rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from quatcast.data.contents import Contents, Track
from quatcast.data.formats.cells import Row, split_line
from quatcast.data.formats.sections import numbers, rate_in
from quatcast.data.options import Options
from quatcast.data.text import clean, lines_of

SECTIONS = ("Trajectories", "Devices", "Model Outputs", "Segments", "Joints", "Events")


def recognises(head: bytes) -> bool:
    """Tell whether a file begins with a section of Vicon Nexus, followed by a rate."""
    text = head[:4096].removeprefix(b"\xef\xbb\xbf").decode("utf-8", "replace")
    first, _, rest = text.partition("\n")
    return first.strip(' ,;\t\r"') in SECTIONS and bool(re.match(r'[\s"]*\d+(\.\d+)?[\s,;"]*(\n|$)', rest))


def read(path: Path, options: Options) -> Contents:
    """Read the trajectories of a CSV export of Vicon Nexus."""
    sections = _sections(path, options)
    notes: list[str] = []
    for title, rows in sections:
        if title == "Trajectories":
            break
        notes.append(f"ignored section: {title}")
        for _ in rows:
            pass
    else:
        raise ValueError(f"{path}: expected the section Trajectories, got {', '.join(notes) or 'none'}")
    head = [next(rows, None) for _ in range(4)]
    if any(row is None for row in head):
        raise ValueError(
            f"{path}: expected rate, names, columns and units in the section Trajectories, got fewer lines"
        )
    (_, rate), (_, markers), (line, axes), (_, units) = (row for row in head if row is not None)
    frequency = rate_in(path, rate[0], "below Trajectories")
    if [axis.strip().lower() for axis in axes[:2]] != ["frame", "sub frame"]:
        raise ValueError(f"{path}, line {line}: expected the columns Frame and Sub Frame, got {axes[:2]}")
    places = [i for i, name in enumerate(markers) if name.strip()]
    values, lines = numbers(path, rows, [axis.strip() or f"number {i + 1}" for i, axis in enumerate(axes)])
    tracks = []
    for i in places:
        if [axis.strip().lower() for axis in axes[i : i + 3]] != ["x", "y", "z"]:
            notes.append(f"ignored {clean(markers[i])}, which has no X, Y, Z")
            continue
        unit = units[i].strip() if i < len(units) else ""
        at = (i, i + 1, i + 2)
        name = clean(markers[i])
        tracks.append(Track(name, "position", values[:, at], tuple(f"{name}.{a}" for a in "xyz"), at, unit))
    notes.append(f"times are counted from the frames at {frequency:g} Hz")
    times = (values[:, 0] - values[0, 0]) / frequency
    return Contents(path, tracks, times, lines, rate=frequency, notes=notes, counted=True)


def _sections(path: Path, options: Options) -> Iterator[tuple[str, Iterator[Row]]]:
    """Yield the title and the rows of each section; the rows of one must be used before the next."""
    lines = lines_of(path, options.encoding)
    for _, line in lines:
        title = line.strip(' ,;\t"')
        if title in SECTIONS:
            yield title, _rows(path, lines)


def _rows(path: Path, lines: Iterator[tuple[int, str]]) -> Iterator[Row]:
    """Yield the rows of a section, which ends with a blank line."""
    for number, line in lines:
        if not line.strip(" ,;\t"):
            return
        yield number, split_line(path, number, line, "\t" if "\t" in line else ",")
