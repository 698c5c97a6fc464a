"""Loading the recordings that settings name: a registered source, or files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from quatcast.data import Recording, find_source, read_csv, sources


def load(
    data: str | Sequence[str] = "simulated",
    *,
    data_dir: str | None = None,
    seconds: float = 0.0,
    progress: bool = False,
) -> list[Recording]:
    """Load the recordings of a registered source or of files.

    Parameters
    ----------
    data
        Name of a source, such as "simulated" or "extmarker", or files for `read_csv`.
    data_dir
        Folder of the files of a source; None for its default place, such as the cache of downloads.
    seconds
        Length to which longer recordings are cut; 0 keeps them whole.
    progress
        Whether to show the progress of a download on standard error.

    Examples
    --------
    >>> [len(recording) for recording in load(seconds=80.0)]
    [800, 800, 800, 800, 800, 800, 730, 800, 800]
    """
    if isinstance(data, str) and is_source(data):
        recordings = find_source(data).load(data_dir=data_dir, progress=progress)
    else:
        recordings = [_read(file) for file in ([data] if isinstance(data, str) else data)]
    names = [recording.name for recording in recordings]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"data: expected recordings with different names, got two called {name!r}; rename a file")
    return [_cut(recording, seconds) for recording in recordings]


def is_source(name: str) -> bool:
    """Tell whether a data source of the given name is registered."""
    return name in {source.name for source in sources()}


def _read(file: str) -> Recording:
    if not Path(file).is_file():
        names = ", ".join(source.name for source in sources())
        raise ValueError(f"data: expected a source ({names}) or a file; there is no file {file!r}")
    return read_csv(file)


def _cut(recording: Recording, seconds: float) -> Recording:
    if not seconds:
        return recording
    count = round(seconds * recording.rate)
    return replace(recording, positions=recording.positions[:count], times=recording.times[:count])
