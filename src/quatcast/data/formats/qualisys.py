"""TSV exports of Qualisys Track Manager: lines with a key and values, then one row per frame.

A 3D export has the markers; markers that were not seen are empty or exactly zero. A 6DOF export has rigid bodies with
position, Euler angles, residual and the nine elements of the rotation matrix, of which position and matrix are read.
The angles tell whether the matrix is stored by columns or by rows. Qualisys exports millimetres.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.contents import Contents, Track
from quatcast.data.formats.cells import Row
from quatcast.data.formats.sections import numbers, rate_in, tab_separated
from quatcast.data.options import Options
from quatcast.data.rotations import quaternions
from quatcast.data.text import as_number, clean
from quatcast.data.wording import counted

BODY = 16
"""Columns of a rigid body: X Y Z, three angles, residual, nine elements of the matrix."""
ANGLES_AGREE = 0.02
"""Largest mean difference between the elements of the matrix and those computed from the angles."""


def recognises(head: bytes) -> bool:
    """Tell whether a file begins with the keys of Qualisys."""
    return head.removeprefix(b"\xef\xbb\xbf").startswith((b"NO_OF_FRAMES", b"FILE_VERSION"))


def read(path: Path, options: Options) -> Contents:
    """Read a TSV export of Qualisys Track Manager."""
    rows = tab_separated(path, options.encoding)
    keys, first = _keys(rows)
    if first is None:
        raise ValueError(f"{path}: expected at least one row of numbers, got none")
    bodies = [clean(name) for name in keys.get("BODY_NAMES", []) if name.strip()]
    markers = [clean(name) for name in keys.get("MARKER_NAMES", []) if name.strip()]
    names, width = (bodies, BODY) if bodies else (markers, 3)
    columns = names and [f"{name} {i}" for name in names for i in range(width)]
    if as_number(first[1][0]) is None:
        extra = [cell.strip() for cell in first[1] if cell.strip() in ("Frame", "Time")]
    else:
        filled = len(first[1]) - (not first[1][-1].strip())
        extra = ["Frame", "Time"] if filled == len(columns) + 2 else []
        rows = chain([first], rows)
    values, lines = numbers(path, rows, [*extra, *columns])
    rate = rate_in(path, (keys.get("FREQUENCY") or [""])[0], "after FREQUENCY")
    times = values[:, extra.index("Time")] if "Time" in extra else np.arange(len(values)) / rate
    notes = ["Qualisys exports millimetres"]
    start = len(extra)
    blocks = [
        (name, start + i * width, values[:, start + i * width : start + (i + 1) * width])
        for i, name in enumerate(names)
    ]
    tracks = [
        _body(name, at, block, notes) if bodies else _marker(name, at, block, notes) for name, at, block in blocks
    ]
    if bodies:
        notes.append(
            "orientations are converted from the rotation matrices to quaternions; angles and residuals are ignored"
        )
    return Contents(path, tracks, times, lines, rate=rate, notes=notes)


def _keys(rows: Iterator[Row]) -> tuple[dict[str, list[str]], Row | None]:
    """Return the lines with keys, and the first line after them: names of the columns, or numbers."""
    keys: dict[str, list[str]] = {}
    for row in rows:
        key = row[1][0].strip()
        if not (key.isupper() and key.replace("_", "").isalpha()):
            return keys, row
        keys[key] = [cell.strip() for cell in row[1][1:]]
    return keys, None


def _marker(name: str, at: int, values: Floats, notes: list[str]) -> Track:
    lost = (values == 0.0).all(axis=1)
    if lost.any():
        notes.append(f"{name}: {counted(int(lost.sum()), 'row')} of zeros read as missing")
        values = np.where(lost[:, None], np.nan, values)
    return Track(name, "position", values, tuple(f"{name} {axis}" for axis in "XYZ"), (at, at + 1, at + 2), "mm")


def _body(name: str, at: int, values: Floats, notes: list[str]) -> Track:
    lost = (values[:, :3] == 0.0).all(axis=1) | np.isnan(values[:, 7:]).any(axis=1)
    matrices = values[:, 7:].reshape(-1, 3, 3)
    if _by_columns(name, values[~lost], notes):
        matrices = matrices.swapaxes(1, 2)
    poses = np.hstack([values[:, :3], quaternions(matrices)])
    poses[lost] = np.nan
    return Track(name, "pose", poses, (), tuple(range(at, at + 7)), "mm")


def _by_columns(name: str, values: Floats, notes: list[str]) -> bool:
    """Tell whether a rotation matrix is stored column by column, by the angles beside it.

    In the standard definition, R = Rx(roll) Ry(pitch) Rz(yaw), whose first row ends with
    -cos(pitch) sin(yaw), sin(pitch).
    """
    pitch, yaw = np.radians(values[:, 4]), np.radians(values[:, 5])
    expected = np.stack([-np.cos(pitch) * np.sin(yaw), np.sin(pitch)], axis=1)
    columns, rows = (
        float(np.abs(values[:, at] - expected).mean()) if len(values) else 0.0 for at in ([10, 13], [8, 9])
    )
    if min(columns, rows) > ANGLES_AGREE or abs(columns - rows) < ANGLES_AGREE:
        notes.append(f"{name}: the angles do not tell how the rotation matrix is stored; read column by column")
        return True
    return columns < rows
