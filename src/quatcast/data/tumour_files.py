"""Traces of a lung and of liver tumours, recorded during treatments and replayed by robots to test tracking systems."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.download import cache_folder, download
from quatcast.data.recording import Recording
from quatcast.data.registry import Source, register_source

TUMOUR_CITATION = (
    "Image X Institute, KIM-QA-Analysis: motion traces for the quality assurance of kilovoltage intrafraction "
    "monitoring, https://github.com/Image-X-Institute/KIM-QA-Analysis, under the MIT licence"
)
"""Reference to cite when the traces of tumours are used."""

TUMOUR_URL = quote(
    "https://raw.githubusercontent.com/Image-X-Institute/KIM-QA-Analysis/"
    "bc4a7177b5443dbdd34f6c00c04cc5a13313bbad/Robot traces/",
    safe=":/",
)
"""Address of the folder of the files, at the commit to which the checksums of their numbers belong."""


class Trace(NamedTuple):
    """One file: which of its rows are used, and the sha256 of their numbers in millionths of a millimetre."""

    name: str
    file: str
    rate: float
    columns: slice
    rows: slice
    samples: int
    checksum: str


_LIVER, _FROM_THIRD = slice(1, 4), slice(2, None)
TRACES = (
    Trace("lung-tumour", "Hexa_TypicalLung_Tx.txt", 10.0, slice(0, 3), slice(1, None, 5), 2990,
          "18ccf0efbc1ad2a2da1ed97073f80e7184fc09b556839ae40990c4678d05aa8f"),
    Trace("liver-tumour-regular", "LiverTraj_RegularBreathing70s_robot.txt", 5.0, _LIVER, _FROM_THIRD, 670,
          "d5be1702b9c0d2bccaa8898cb23175dfeec08156053cfa9256cb55df491cdbc4"),
    Trace("liver-tumour-baseline-wander", "LiverTraj_BaselineWanderWithCardiac70s_robot.txt", 5.0, _LIVER, _FROM_THIRD,
          1010, "8d20c134092b6722b62fdc9816ec8f0c19c3e9010f85eecd5ad6304efcf89723"),
    Trace("liver-tumour-large", "LiverTraj_LargeSIandAP70s_robot.txt", 5.0, _LIVER, _FROM_THIRD, 668,
          "2d92da7c1c56b8eaff7f7117b8899ab3f8718e15bae8903bd288bfc53372f98c"),
    Trace("liver-tumour-breath-hold", "LiverTraj_LargeSIandAPWithBreathHold_robot.txt", 5.0, _LIVER, _FROM_THIRD, 1773,
          "9d3479b36e244869f942e97c1461433bbb53b79bd93bc385e8ff518827cb762f"),
)  # fmt: skip
"""The traces. Their first rows lead from rest to the motion and are left out; the lung is stored at 50 Hz."""


def tumours(
    path: str | os.PathLike[str] | None = None, *, progress: bool = False, base_url: str = TUMOUR_URL
) -> list[Recording]:
    """Load the traces of a lung tumour (10 Hz) and of four liver tumours (5 Hz), in mm.

    The axes are left-right, superior-inferior and anterior-posterior. The sha256 of the numbers of each file is
    checked. The files of the liver repeat one stretch of motion several times.

    Parameters
    ----------
    path
        Folder of the files, or its parent with the folder `Robot traces`. By default the files are read from the folder
        `tumours` in the cache, into which they are downloaded if they are missing.
    progress
        Show the progress of a download on standard error.
    base_url
        Address of a mirror.

    Raises
    ------
    FileNotFoundError
        If a file is missing in `path`.
    ConnectionError
        If the download failed, or brought other numbers. Files that have arrived are kept.
    ValueError
        If a file does not contain the published numbers; the message names the file.

    References
    ----------
    See `TUMOUR_CITATION`. The traces are published under the MIT licence.

    Examples
    --------
    >>> tumours("path/to/folder")
    Traceback (most recent call last):
    FileNotFoundError: path/to/folder: expected Hexa_TypicalLung_Tx.txt; get it from https://...
    """
    folder = cached(progress=progress, base_url=base_url) if path is None else Path(path)
    if (folder / "Robot traces").is_dir():
        folder = folder / "Robot traces"
    if missing := _missing(folder):
        raise FileNotFoundError(f"{folder}: expected {missing[0]}; get it from {TUMOUR_URL}{quote(missing[0])}")
    return [_recording(folder / trace.file, trace) for trace in TRACES]


def cached(*, progress: bool = False, base_url: str = TUMOUR_URL, retries: int = 3) -> Path:
    """Return the folder of the files in the cache, into which missing files are downloaded.

    The parameters and errors are those of `tumours`; `retries` is the number of further attempts per file.
    """
    folder, by_file = cache_folder() / "tumours", {trace.file: trace for trace in TRACES}

    def is_published(name: str, path: Path) -> bool:
        try:
            return checksum_of(_numbers(path, by_file[name])) == by_file[name].checksum
        except ValueError:
            return False

    missing = dict.fromkeys(_missing(folder))
    if missing:
        download(missing, base_url, folder, is_published=is_published, progress=progress, retries=retries)
    return folder


def _missing(folder: Path) -> list[str]:
    return [trace.file for trace in TRACES if not (folder / trace.file).is_file()]


def _recording(file: Path, trace: Trace) -> Recording:
    positions = _numbers(file, trace)
    if checksum_of(positions) != trace.checksum:
        raise ValueError(f"{file}: expected the published numbers, got others; get the file from {TUMOUR_URL} again")
    return Recording(
        name=trace.name,
        positions=positions[:, None],
        times=np.arange(len(positions)) / trace.rate,
        rate=trace.rate,
        group="tumour",
        channels=("tumour",),
        units=("mm",),
    )


def _numbers(file: Path, trace: Trace) -> Floats:
    """Return the positions (samples, 3) of the rows that are used."""
    lines = file.read_text(encoding="ascii", errors="replace").split("\n")
    rows = []
    for number, line in list(enumerate(lines, start=1))[trace.rows][: trace.samples]:
        try:
            x, y, z = map(float, line.split()[trace.columns])
        except ValueError:
            raise ValueError(f"{file}, line {number}: expected numbers separated by spaces, got {line!r}") from None
        rows.append((x, y, z))
    return np.array(rows).reshape(-1, 3)


def checksum_of(positions: Floats) -> str:
    """Return the sha256 of positions in millionths, as little-endian 64-bit numbers.

    Examples
    --------
    >>> checksum_of(np.zeros((1, 3)))[:8]
    '9d908ecf'
    """
    return hashlib.sha256(np.round(positions * 1e6).astype("<i8").tobytes()).hexdigest()


register_source(
    Source(
        name="tumours",
        title="positions of a lung tumour and of four liver tumours, 10 and 5 Hz",
        load=lambda *, data_dir=None, progress=False: tumours(data_dir, progress=progress),
        citation=TUMOUR_CITATION,
        needs_download=lambda: bool(_missing(cache_folder() / "tumours")),
    )
)
