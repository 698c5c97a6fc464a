"""XDF files of the lab streaming layer (LSL), read by pyxdf (extra `xdf`)."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from quatcast.basics.optional import require
from quatcast.data.contents import Contents, Track
from quatcast.data.headers import find_groups
from quatcast.data.options import Options
from quatcast.data.rotations import are_unit
from quatcast.data.text import clean
from quatcast.data.units import LENGTH_WORDS, split_unit

TYPES = {
    "positionx": "x", "positiony": "y", "positionz": "z", "orientationw": "qw", "orientationa": "qw",
    "orientationx": "qx", "orientationb": "qx", "orientationy": "qy", "orientationc": "qy", "orientationz": "qz",
    "orientationd": "qz",
}  # fmt: skip
"""Types of channels in the motion capture convention of LSL → ends of column names."""
MAX_COMPLAINTS = 5
"""Most warnings of pyxdf that become notes."""
UNITS = LENGTH_WORDS | {"normalized": "", "quaternion": ""}
"""Names of units in that convention → units."""


def recognises(head: bytes) -> bool:
    """Tell whether a file begins with the letters of XDF."""
    return head.startswith(b"XDF:")


def read(path: Path, options: Options) -> Contents:
    """Read the stream of an XDF file that has coordinates."""
    pyxdf = require("pyxdf", "quatcast[xdf]", f"{path}: ")
    complaints: list[str] = []
    try:
        with _listening(complaints):
            streams, _ = pyxdf.load_xdf(str(path))
    except Exception as error:
        raise ValueError(
            f"{path}: expected an XDF file, got one that pyxdf cannot read ({clean(str(error))})"
        ) from None
    found = {name: contents for stream in streams for name, contents in _stream(path, stream)}
    if not found:
        raise ValueError(f"{path}: expected a stream with channels named x, y, z, got none")
    if options.channels:
        wanted = {
            name: one for name, one in found.items() if {track.name for track in one.tracks} & set(options.channels)
        }
        found = wanted or found
    if len(found) > 1:
        listed = "; ".join(f"{name} ({', '.join(t.name for t in one.tracks)})" for name, one in found.items())
        raise ValueError(
            f"{path}: expected one stream with coordinates, got {listed}; name its channels (--channels …)"
        )
    contents = next(iter(found.values()))
    contents.notes.extend(complaints[:MAX_COMPLAINTS])
    return contents


@contextmanager
def _listening(complaints: list[str]) -> Iterator[None]:
    """Collect the warnings of pyxdf about damaged files, which it would print otherwise."""

    class Collector(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            complaints.append(f"pyxdf: {clean(record.getMessage())}")

    logger, collector = logging.getLogger("pyxdf"), Collector(logging.WARNING)
    before = logger.propagate
    logger.addHandler(collector)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(collector)
        logger.propagate = before


def _stream(path: Path, stream: dict[str, Any]) -> list[tuple[str, Contents]]:
    """Return name and contents of a stream, if it has coordinates."""
    info, values = stream["info"], np.asarray(stream["time_series"])
    if values.ndim != 2 or values.dtype.kind not in "fiu" or not len(values):
        return []
    names, units = _channels(info)
    if len(names) != values.shape[1]:
        return []
    tracks = []
    for group in find_groups(names):
        block = values[:, group.at].astype(float)
        is_turn = len(group.at) == 4 and are_unit(block)
        space = "orientation" if is_turn else "vector" if len(group.at) == 4 or group.secondary else "position"
        columns = tuple(names[i] for i in group.at)
        unit = "" if is_turn else units[group.at[0]]
        tracks.append(Track(group.name, space, block, columns, group.at, unit, group.part, group.secondary))
    if not tracks:
        return []
    name = clean(str(info["name"][0]))
    nominal = float(info["nominal_srate"][0])
    times = np.asarray(stream["time_stamps"], dtype=float)
    notes = [f"stream {name!r}; times from the clock of LSL"]
    return [(name, Contents(path, tracks, times - times[0], [], rate=nominal or None, notes=notes))]


def _channels(info: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Return names and units of the channels of a stream."""
    try:
        channels = info["desc"][0]["channels"][0]["channel"]
    except (KeyError, IndexError, TypeError):
        return [], []
    names, units = [], []
    for channel in channels:
        label, kind, unit, marker = (
            str((channel.get(key) or [""])[0] or "") for key in ("label", "type", "unit", "marker")
        )
        end = TYPES.get(kind.replace("_", "").lower())
        stem, bracket = split_unit(clean(label))
        names.append(f"{clean(marker) or _stem(stem)}.{end}" if end else clean(label))
        units.append(UNITS.get(unit.lower(), unit) or bracket)
    return names, units


def _stem(label: str) -> str:
    """Return a label without the axis at its end: `Hand_X` and `Hand_qX` are Hand."""
    for end in ("x", "y", "z", "w"):
        if label.lower().endswith(end):
            return label[:-1].rstrip(" ._:-").removesuffix("_q").removesuffix(".q") or label
    return label
