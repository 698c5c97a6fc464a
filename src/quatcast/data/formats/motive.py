"""CSV exports of OptiTrack Motive: a line of settings, five lines of header, then one row per frame.

Rigid bodies and bones are poses. Quaternions are exported as X, Y, Z, W.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from quatcast.data.contents import Contents, Track
from quatcast.data.formats.cells import split_line
from quatcast.data.formats.sections import numbers
from quatcast.data.options import Options
from quatcast.data.text import as_number, clean, lines_of
from quatcast.data.units import LENGTH_WORDS

PARTS_OF_BODIES = ("Rigid Body Marker", "Bone Marker")
"""Types of markers that belong to a rigid body or a bone; they are read only if they are asked for."""


def recognises(head: bytes) -> bool:
    """Tell whether a file begins with the settings of Motive."""
    return head.removeprefix(b"\xef\xbb\xbf").lstrip(b'"').startswith(b"Format Version")


def read(path: Path, options: Options) -> Contents:
    """Read a CSV export of Motive."""
    rows = _rows(path, options)
    _, first = next(rows)
    settings = dict(zip(first[::2], first[1::2], strict=False))
    header: dict[str, list[str]] = {}
    for _, cells in rows:
        if cells[0].strip() == "Frame":
            header["axis"] = cells
            break
        if len(cells) > 1:
            header[cells[1].strip() or "property"] = cells
    if not {"Type", "Name", "property", "axis"} <= header.keys() or len(header["axis"]) < 2:
        raise ValueError(f"{path}: expected the header of Motive with Type, Name, Frame and Time, got {sorted(header)}")
    names = [
        " ".join(part) for part in zip(*(_padded(header, key) for key in ("Name", "property", "axis")), strict=True)
    ]
    values, lines = numbers(path, rows, names)
    notes: list[str] = []
    rate = as_number(settings.get("Export Frame Rate") or settings.get("Capture Frame Rate") or "")
    unit = LENGTH_WORDS.get(settings.get("Length Units", "").strip().lower(), "")
    groups = _groups(header, settings.get("Rotation Type", "Quaternion"), notes)
    tracks = []
    for (kind, name, prop), axes in groups.items():
        turns = prop == "Rotation"
        order = "wxyz" if turns else "xyz"
        places = tuple(axes[axis] for axis in order)
        tracks.append(
            Track(
                name=f"{name} rotation" if turns else name,
                space="orientation" if turns else "position",
                values=values[:, places],
                columns=tuple(f"{name}.{'q' * turns}{axis}" for axis in order),
                places=places,
                unit="" if turns else unit,
                part=name,
                secondary=kind in PARTS_OF_BODIES,
            )
        )
    return Contents(path, tracks, values[:, 1], lines, rate=rate, notes=notes)


def _rows(path: Path, options: Options) -> Iterator[tuple[int, list[str]]]:
    for number, line in lines_of(path, options.encoding):
        if line.strip(', "'):
            yield number, split_line(path, number, line, ",")


def _padded(header: dict[str, list[str]], key: str) -> list[str]:
    width = len(header["axis"])
    return [clean(cell) for cell in (header[key] + [""] * width)[:width]]


def _groups(
    header: dict[str, list[str]], rotation: str, notes: list[str]
) -> dict[tuple[str, str, str], dict[str, int]]:
    """Return type, name and property → axis → number of the column, for complete positions and rotations."""
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    others: dict[str, None] = {}
    columns = zip(*(_padded(header, key) for key in ("Type", "Name", "property", "axis")), strict=True)
    for i, (kind, name, prop, axis) in enumerate(columns):
        if prop in ("Position", "Rotation") and axis.lower() in ("x", "y", "z", "w"):
            found.setdefault((kind, name, prop), {})[axis.lower()] = i
        elif i > 1 and (prop or axis):
            others[prop or axis] = None
    angles = [key for key, axes in found.items() if key[2] == "Rotation" and len(axes) != 4]
    for key in angles:
        del found[key]
    if angles:
        notes.append(f"ignored rotations in {rotation or 'Euler'} angles; export them as quaternions to read poses")
    if others:
        notes.append(f"ignored columns: {', '.join(others)}")
    return {key: axes for key, axes in found.items() if {"x", "y", "z"} <= axes.keys()}
