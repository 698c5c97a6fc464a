"""C3D files of motion capture systems, read by ezc3d (extra `c3d`)."""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any

import numpy as np

from quatcast.basics.optional import require
from quatcast.data.contents import Contents, Track
from quatcast.data.options import Options
from quatcast.data.text import clean


def recognises(head: bytes) -> bool:
    """Tell whether a file begins with the header of a C3D file: block of the parameters, then 0x50."""
    return len(head) >= 512 and head[1] == 0x50 and 1 < head[0] < 64


def read(path: Path, options: Options) -> Contents:
    """Read the markers of a C3D file."""
    _check_size(path)
    ezc3d = require("ezc3d", "quatcast[c3d]", f"{path}: ")
    try:
        file: Any = ezc3d.c3d(str(path))
        about = file["parameters"]["POINT"]
        points = np.asarray(file["data"]["points"], dtype=float)
        rate = float(about["RATE"]["value"][0])
        labels = [clean(str(name)) for name in about["LABELS"]["value"]]
        unit = (about.get("UNITS", {}).get("value") or [""])[0].strip()
    except (OSError, RuntimeError, KeyError, IndexError, ValueError) as error:
        raise ValueError(
            f"{path}: expected a C3D file with markers, got one that ezc3d cannot read ({error})"
        ) from None
    count = points.shape[1]
    if not count or not points.shape[2]:
        raise ValueError(f"{path}: expected markers in the C3D file, got none")
    names = [labels[i] if i < len(labels) and labels[i] else f"marker {i + 1}" for i in range(count)]
    tracks = [
        Track(name, "position", points[:3, i].T, (), (3 * i, 3 * i + 1, 3 * i + 2), unit)
        for i, name in enumerate(names)
    ]
    return Contents(path, tracks, None, [], rate=rate, notes=[f"times are counted from the frames at {rate:g} Hz"])


def _check_size(path: Path) -> None:
    """Refuse a header that announces more frames than the file can hold, before memory is allocated for them."""
    with path.open("rb") as file:
        head = file.read(12)
    points, _, first, last = struct.unpack("<HHHH", head[2:10])
    size = path.stat().st_size
    # 8 bytes per marker and frame is the least: four numbers of two bytes. 65535 stands for a longer recording.
    if last >= first and last != 65535 and points * (last - first + 1) * 8 > size:
        raise ValueError(
            f"{path}: expected {points} markers in {last - first + 1} frames, as the header says, got a file of "
            f"{size} bytes"
        )
