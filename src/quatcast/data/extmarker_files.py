"""The ExtMarker recordings: nine recordings of three markers on chest and abdomen, downloaded at first use."""

from __future__ import annotations

import logging
import os
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.download import cache_folder, download, is_complete
from quatcast.data.recording import Recording
from quatcast.data.registry import Source, register_source

logger = logging.getLogger(__name__)

CITATION = (
    "T. Krilavicius, I. Zliobaite, A. Vidugiriene, H. Simonavicius and L. Jarusevicius (2013), Predicting "
    "Respiratory Motion for Controlling Radiotherapy Treatment: an algorithmic approach, Baltic Institute of "
    "Advanced Technologies; distributed by M. Pohl et al. (doi 10.1016/j.cmpb.2022.106908) under CC BY 4.0"
)
"""Reference to cite when the recordings are used."""

BASE_URL = quote(
    "https://raw.githubusercontent.com/"
    "pohl-michel/time-series-forecasting-with-UORO-RTRL-LMS-and-linear-regression/"
    "051dc384964ede156128cb6127c4fe9a75b85d79/"
    "Original data/",
    safe=":/",
)
"""Address of the folder of the files, at the commit to which the checksums belong."""

CHECKSUMS = {
    "201205101519-LAC-1-T-222-6.csv": "fbab2db89dfabbb92dc6b9c597023baee0a453a3bef9bec74cccc21da930b6eb",
    "201205101519-UAC-1-T-222-6.csv": "9fc33f2140039345b34d21a79145df958c158a70832f1a43a2ba16f85b3aeebb",
    "201205101519-UCC-1-T-222-6.csv": "ed680038a33b8169c09e7f1adac476468617b2a74d176249b64029ef6405f693",
    "201205101522-LAC-1-N-138-6.csv": "4272c024a35fc76ed0314aa8113dfb3b26acf955f9b369c368a0ae85b635db9f",
    "201205101522-UAC-1-N-138-6.csv": "c59ff6aab7677d84966cafca71efeccafd8c153f64618b79201eafab513d148b",
    "201205101522-UCC-1-N-138-6.csv": "3be5a3eeaa4b8ee87b9e1ab2248a6a157d9f8d1fcf9b51057e8940a88743b3e8",
    "201205101534-LAC-1-NO-130-6.csv": "ea93a1ad2030f6a3800084f3f9d1d7da897eb3262b72b5a4cbed31d34131bd6f",
    "201205101534-UAC-1-NO-130-6.csv": "6790646edddb913361b49a9b316a0b752749dbcc95080e536d0bdb8e9e33a0b7",
    "201205101534-UCC-1-NO-130-6.csv": "c9b5be0b88d0411e12c8c6aa06ab3f848087ff3795b882f75c3023aa68687bac",
    "201205101536-LAC-1-LT-142-6.csv": "3e56a39f1a56833556e0d51f61fd380329468dd01ee66b196f37fe2fc80ef77d",
    "201205101536-UAC-1-LT-142-6.csv": "ab5af30bbf376900ab539326d25129c3ccf305f1b5b55dad3c8a47a7415d34fa",
    "201205101536-UCC-1-LT-142-6.csv": "e5cf15f6508bba210b214ac5fa7703f9d25d3faae0a5290ad26c7fe5324cdd5e",
    "201205101541-LAC-1-N-130-6.csv": "223ce51ae50527472b99db781e17cd7aa3f985c667277eeb5e4fee5c7c5d3fe4",
    "201205101541-UAC-1-N-130-6.csv": "12f1437fa81c4251b475ca3231a08229092a2339cba0d46bd29a52f52939993a",
    "201205101541-UCC-1-N-130-6.csv": "d0bc01d347fe709dd56b554653f7e41d6d4a1e033f627c677001bdc645888511",
    "201205111055-LAC-1-N-117-6.csv": "efb82b866b198ec74f809eef8ce67e54938833396b2319199d1ae3d6b027873c",
    "201205111055-LAR-1-N-117-6.csv": "7947652e39b54700fc1bf447614058ea88f2391b5ee395c70afb448a75342f7c",
    "201205111055-UAR-1-N-117-6.csv": "629eadfaf4859852ad80a69f570799dae2a2165c5adbbb8f89ab8632c9b1b96c",
    "201205111057-LAC-1-O-72-6.csv": "4f35adaf2498a7895587f302663fa3992fc18a50fffb9174ce1836251c462b5c",
    "201205111057-LAR-1-O-72-6.csv": "c13545be30be7a08b0765cc26827dbce1635300c5f8a2981f53168ef6732e6ce",
    "201205111057-UAR-1-O-72-6.csv": "9b48036bd27769b5c33c3c4172ff7fdbae4957b845096f5ad2d6e775fe9edc0e",
    "201205181211-LAC-1-N-320-6.csv": "8bf621f603f5fc6a59d80d43fbe1748d166de32c956f00cc658324e9646502b5",
    "201205181211-UAC-1-N-320-6.csv": "c0a055b5c02a68176d5fcbe5645dd8be2a6500f3338a836d64884f335031bf31",
    "201205181211-UCC-1-N-320-6.csv": "63ffe330ff251dd40170c1180529ccaa6fb07105a1b0a9c6907b633fc7a187b0",
    "201205181220-LAC-1-N-306-6.csv": "af81f470e89cc52e61dc1f67559ce6ef3f9da3f3eb2975ce6d77e19537d3a91d",
    "201205181220-UAC-1-N-306-6.csv": "741e46edb37c430126db26c59fb82be928994daa7d2034670ba1710f2793bb1d",
    "201205181220-UCC-1-N-306-6.csv": "e0bbbd53239b6d6c2210e3ea94fddce6cafde0b0b4ba277ff5fba99d94b526a2",
}
"""File name → sha256. The first twelve characters of a name identify the recording, the next word the marker."""

FRAMES_PER_SECOND = 60.0
"""Rate of the frame counter of the camera. Samples are six frames apart, occasionally seven."""
RATE = 10.0
"""Nominal sampling rate in Hz."""


def extmarker(
    path: str | os.PathLike[str] | None = None, *, progress: bool = False, base_url: str | None = None
) -> list[Recording]:
    """Load the nine ExtMarker recordings, preprocessed as in the published work.

    The time is the frame counter of the camera divided by 60, because the time stamps of interpolated rows are wrong.
    The last row of every file is dropped, because five recordings end with a row of zeros. The first sample is
    subtracted. The axes are superior-inferior, left-right and antero-posterior, in mm. Recordings 2, 5, 6, 8 and 9 are
    regular.

    Parameters
    ----------
    path
        Folder that contains the 27 files. By default the files are read from the cache (the folder in the environment
        variable QUATCAST_CACHE, or the cache of the user), into which they are downloaded if they are missing.
    progress
        Show the progress of a download, and the reference to cite, on standard error.
    base_url
        Address of a mirror. The environment variable QUATCAST_EXTMARKER_URL has the same effect.

    Raises
    ------
    FileNotFoundError
        If a file is missing in `path`.
    ConnectionError
        If the download failed. Files that have arrived are kept, and the next call downloads the others.
    ValueError
        If a file is malformed; the message names the file and the line.

    References
    ----------
    See `CITATION`. The recordings are published under CC BY 4.0.

    Examples
    --------
    >>> extmarker("path/to/folder")
    Traceback (most recent call last):
    FileNotFoundError: path/to/folder: expected the 27 ExtMarker files, but ... and 26 more files not found there
    """
    folder = cached(progress=progress, base_url=base_url) if path is None else Path(path)
    missing = [name for name in CHECKSUMS if not (folder / name).is_file()]
    if missing:
        more = f" and {len(missing) - 1} more files" if len(missing) > 1 else ""
        raise FileNotFoundError(f"{folder}: expected the 27 ExtMarker files, but {missing[0]}{more} not found there")
    sequences = groupby(sorted(CHECKSUMS), key=lambda name: name[:12])
    return [_sequence(i, [folder / name for name in names]) for i, (_, names) in enumerate(sequences, start=1)]


def cached(*, progress: bool = False, base_url: str | None = None, retries: int = 3) -> Path:
    """Return the folder of the 27 files in the cache, into which missing files are downloaded.

    The parameters and errors are those of `extmarker`; `retries` is the number of further attempts per file.

    Examples
    --------
    >>> from unittest.mock import patch
    >>> with patch(f"{cached.__module__}.is_complete", return_value=True):  # as if all files were in the cache
    ...     cached().name
    'extmarker'
    """
    folder = cache_folder() / "extmarker"
    if is_complete(folder, CHECKSUMS):
        return folder
    url = base_url or os.environ.get("QUATCAST_EXTMARKER_URL") or BASE_URL
    try:
        download(CHECKSUMS, url, folder, progress=progress, retries=retries)
    except ConnectionError as error:
        raise ConnectionError(
            f"{error}; try again to download the remaining files, or give the folder of a copy of the files"
        ) from error
    notice = f"If you use the ExtMarker recordings, please cite: {CITATION}"
    logger.info(notice)
    if progress:
        from rich.console import Console

        Console(stderr=True, highlight=False).print(notice)
    return folder


def _sequence(number: int, paths: list[Path]) -> Recording:
    """Read the files of one recording, one per marker."""
    tag = paths[0].name.split("-")[3]
    tables = [_table(path) for path in paths]
    frames = tables[0][:, 0]
    for path, table in zip(paths, tables, strict=True):
        if not np.array_equal(table[:, 0], frames):
            raise ValueError(f"{path}: expected the frames of {paths[0].name}, got others; both are one recording")
    positions = np.stack([table[:, 1:] for table in tables], axis=1)
    return Recording(
        name=f"extmarker-{number}-{tag}",
        positions=positions - positions[0],
        times=frames / FRAMES_PER_SECOND,
        rate=RATE,
        group="regular" if tag == "N" else "irregular",
        channels=tuple(path.name.split("-")[1] for path in paths),
        units=("mm",) * len(paths),
    )


def _table(path: Path) -> Floats:
    """Read the columns frame, x, y and z of all rows except the last."""
    header, *lines = path.read_text(encoding="utf-8", errors="replace").splitlines() or [""]
    if header.replace('"', "").split(";") != ["Frame", "Timestamp", "x", "y", "z"]:
        raise ValueError(f'{path}, line 1: expected the header "Frame";"Timestamp";"x";"y";"z", got {header!r}')
    if len(lines) < 2:
        raise ValueError(f"{path}: expected at least two rows of numbers, got {len(lines)}")
    rows = []
    for number, line in enumerate(lines[:-1], start=2):
        try:
            frame, _, x, y, z = line.replace(",", ".").split(";")
            rows.append([float(frame), float(x), float(y), float(z)])
        except ValueError:
            raise ValueError(f"{path}, line {number}: expected Frame;Timestamp;x;y;z, got {line!r}") from None
        if not np.isfinite(rows[-1]).all() or (len(rows) > 1 and rows[-1][0] <= rows[-2][0]):
            raise ValueError(f"{path}, line {number}: expected increasing frames and finite numbers, got {line!r}")
    return np.array(rows)


register_source(
    Source(
        name="extmarker",
        title="nine recordings of three markers on chest and abdomen, 10 Hz",
        load=lambda *, data_dir=None, progress=False: extmarker(data_dir, progress=progress),
        citation=CITATION,
        needs_download=lambda: not is_complete(cache_folder() / "extmarker", CHECKSUMS),
    )
)
