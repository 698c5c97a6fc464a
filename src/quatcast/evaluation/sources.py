"""The recordings that settings ask for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quatcast.data import Recording, extmarker, read_csv, simulated


def load(
    data: str | Sequence[str] = "simulated",
    *,
    data_dir: str | None = None,
    seconds: float = 0.0,
    progress: bool = False,
) -> list[Recording]:
    """Recordings of a data set or of files.

    Parameters
    ----------
    data
        "simulated", "extmarker", or files for `read_csv`.
    data_dir
        Folder of the ExtMarker files; None for the cache, and the download.
    seconds
        Length that longer recordings are cut to; 0 leaves them whole.
    progress
        Show a download on standard error.

    Examples
    --------
    >>> [len(recording) for recording in load(seconds=80.0)]
    [800, 800, 800, 800, 800, 800, 730, 800, 800]
    """
    if data == "simulated":
        recordings = simulated()
    elif data == "extmarker":
        recordings = extmarker(data_dir, progress=progress)
    else:
        recordings = [_read(file) for file in ([data] if isinstance(data, str) else data)]
    names = [recording.name for recording in recordings]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"data: two recordings are called {name!r}; give the files different names")
    return [_cut(recording, seconds) for recording in recordings]


def _read(file: str) -> Recording:
    if not Path(file).is_file():
        raise ValueError(f'data: "simulated", "extmarker" or a file expected, but there is no file {file!r}')
    return read_csv(file)


def _cut(recording: Recording, seconds: float) -> Recording:
    if not seconds:
        return recording
    count = round(seconds * recording.rate)
    return replace(recording, positions=recording.positions[:count], times=recording.times[:count])
