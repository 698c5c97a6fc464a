"""Sequence files of 3D Slicer and PLUS (.mha, .mhd, .igs.mha, .nrrd): transforms in the text header, frame by frame.

Only the header is read, not the images. A line is `Seq_Frame0012_ProbeToTrackerTransform = ` and the 16 numbers of a
4x4 matrix row by row; `…TransformStatus = INVALID` marks a lost tool, and `…Timestamp` is in seconds.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quatcast.data.contents import Contents, Track
from quatcast.data.options import Options
from quatcast.data.rotations import quaternions
from quatcast.data.text import MAX_LINE, clean
from quatcast.data.wording import counted

FIELD = re.compile(r"Seq_Frame(\d+)_(\w+?)\s*:?=\s*(.*)")
MAX_FRAMES = 1_000_000
"""Most frames of a sequence."""


def recognises(head: bytes) -> bool:
    """Tell whether a file is a MetaImage or NRRD header."""
    return (
        head.startswith(b"NRRD00") or bool(re.match(rb"\s*ObjectType\s*=\s*Image", head)) or b"Seq_Frame" in head[:4096]
    )


def read(path: Path, options: Options) -> Contents:
    """Read the transforms of a sequence file."""
    transforms: dict[str, dict[int, np.ndarray]] = defaultdict(dict)
    lost: dict[str, set[int]] = defaultdict(set)
    stamps: dict[int, float] = {}
    for number, line in _header(path):
        if not (match := FIELD.match(line)):
            continue
        frame, key, text = int(match[1]), match[2], match[3].strip()
        if frame >= MAX_FRAMES:
            raise ValueError(f"{path}, line {number}: expected at most {MAX_FRAMES:,} frames, got frame {frame}")
        if key == "Timestamp":
            stamps[frame] = _numbers(path, number, text, 1)[0]
        elif key.endswith("TransformStatus"):
            if text.upper() != "OK":
                lost[key.removesuffix("TransformStatus")].add(frame)
        elif key.endswith("Transform"):
            transforms[clean(key.removesuffix("Transform"))][frame] = _numbers(path, number, text, 16).reshape(4, 4)
    if not transforms:
        raise ValueError(
            f"{path}: expected transforms such as Seq_Frame0000_ProbeToTrackerTransform in the header, got none"
        )
    frames = sorted({frame for found in transforms.values() for frame in found})
    tracks = [_track(name, found, lost[name], frames) for name, found in transforms.items()]
    missing = {track.name: int(np.isnan(track.values).any(axis=1).sum()) for track in tracks}
    notes = ["PLUS and 3D Slicer store millimetres"]
    notes += [
        f"{name}: {counted(count, 'frame')} with another status than OK read as missing"
        for name, count in missing.items()
        if count
    ]
    times = np.array([stamps[frame] for frame in frames]) if all(frame in stamps for frame in frames) else None
    return Contents(path, tracks, times, [], rate=None, notes=notes)


def _track(name: str, found: dict[int, np.ndarray], lost: set[int], frames: list[int]) -> Track:
    empty = np.full((4, 4), np.nan)
    matrices = np.stack([empty if frame in lost else found.get(frame, empty) for frame in frames])
    poses = np.hstack([matrices[:, :3, 3], quaternions(matrices[:, :3, :3])])
    return Track(name, "pose", poses, unit="mm")


def _header(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of the header, which ends with `ElementDataFile`, or in NRRD with a blank line."""
    with path.open("rb") as file:
        number = 0
        while True:
            number += 1
            raw = file.readline(MAX_LINE + 1)
            if len(raw) > MAX_LINE:
                raise ValueError(
                    f"{path}, line {number}: expected a header with lines of at most {MAX_LINE:,} characters"
                )
            if not raw.strip():
                return
            yield number, raw.decode("utf-8", "replace").strip()
            if raw.startswith(b"ElementDataFile"):
                return


def _numbers(path: Path, number: int, text: str, count: int) -> np.ndarray:
    try:
        values = np.array([float(word) for word in text.split()])
    except ValueError:
        values = np.zeros(0)
    if values.shape != (count,) or not np.isfinite(values).all():
        raise ValueError(f"{path}, line {number}: expected {count} finite numbers, got {clean(text)[:40]!r}")
    return values
