"""BROAD: a board moved by hand, its position and orientation tracked optically, in 39 trials."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from quatcast.basics.annotations import check_whole
from quatcast.data.download import cache_folder
from quatcast.data.matlab import read_matlab
from quatcast.data.recording import Recording
from quatcast.data.registry import Source, register_source

BROAD_CITATION = (
    "D. Laidig, M. Caruso, A. Cereatti and T. Seel (2021), BROAD – A Benchmark for Robust Inertial Orientation "
    "Estimation, Data 6(7), 72 (doi 10.3390/data6070072), under CC BY 4.0"
)
"""Reference to cite when the BROAD recordings are used."""

BROAD_URL = "https://github.com/dlaidig/broad/tree/afbaa4d75c4cd7c8ca76b8145b1812312d87fb7f/data_mat"
"""Where the files are, at the commit that the loader was written for."""

RATE = 2000.0 / 7.0
"""Sampling rate of the files in Hz."""

TRIALS = "[0-3][0-9]_*disturbed_*.mat"
"""Names of the files of the 39 trials, from 01_undisturbed_slow_rotation_A.mat to 39_disturbed_mixed.mat."""


def broad(path: str | os.PathLike[str] | None = None, *, every: int = 5) -> list[Recording]:
    """Load the BROAD recordings from their MATLAB files: poses of a board, in metres and unit quaternions.

    The files are not downloaded, because their checksums are not known to this version; every file is checked for what
    it must contain instead. Copy them from `BROAD_URL` into a folder. Samples in which the board was not tracked are
    missing (NaN).

    Parameters
    ----------
    path
        Folder of the files, or its parent with the folder `data_mat`; by default `broad` in the cache folder. Trials
        whose file is not there are left out.
    every
        Keep every n-th sample. The files have 285.7 Hz; the default of 5 gives 57.1 Hz.

    Raises
    ------
    FileNotFoundError
        If there is no file of any trial.
    ValueError
        If a file is malformed; the message names the file.

    References
    ----------
    See `BROAD_CITATION`. The recordings are published under CC BY 4.0.

    Examples
    --------
    >>> broad("path/to/folder")
    Traceback (most recent call last):
    FileNotFoundError: path/to/folder: expected files of BROAD such as 01_undisturbed_slow_rotation_A.mat; get them ...
    """
    check_whole(every=every)
    folder = cache_folder() / "broad" if path is None else Path(path)
    files = _files(folder) or _files(folder / "data_mat")
    if not files:
        raise FileNotFoundError(
            f"{folder}: expected files of BROAD such as 01_undisturbed_slow_rotation_A.mat; get them from {BROAD_URL}"
        )
    return [_trial(file, int(every)) for file in files]


def _files(folder: Path) -> list[Path]:
    """Return the files of trials in a folder."""
    return sorted(folder.glob(TRIALS))


def _trial(file: Path, every: int) -> Recording:
    """Read one trial and check its arrays."""
    arrays = read_matlab(file)
    found = {name: arrays[name].shape for name in ("opt_pos", "opt_quat", "sampling_rate") if name in arrays}
    samples = found.get("opt_pos", (0,))[0]
    expected = {"opt_pos": (samples, 3), "opt_quat": (samples, 4), "sampling_rate": (1, 1)}
    if found != expected or samples < 2:
        raise ValueError(f"{file}: expected opt_pos (n, 3), opt_quat (n, 4) and sampling_rate (1, 1), got {found}")
    rate = float(arrays["sampling_rate"][0, 0])
    if abs(rate / RATE - 1) > 1e-3:
        raise ValueError(f"{file}: expected a sampling rate of {RATE:.2f} Hz, got {rate:g}")
    norms = np.linalg.norm(arrays["opt_quat"], axis=1)
    wrong = np.flatnonzero(np.abs(norms - 1) > 1e-3)
    if len(wrong):
        raise ValueError(f"{file}: expected unit quaternions, got the norm {norms[wrong[0]]:g} at sample {wrong[0]}")
    poses = np.concatenate([arrays["opt_pos"], arrays["opt_quat"]], axis=1)[::every, None]
    return Recording(
        name=f"broad-{file.stem}",
        positions=poses,
        times=np.arange(len(poses)) * every / RATE,
        rate=RATE / every,
        group="disturbed" if "_disturbed_" in file.stem else "undisturbed",
        channels=("board",),
        units=("m",),
        space="pose",
    )


register_source(
    Source(
        name="broad",
        title="39 recordings of the pose of a board moved by hand, 57 Hz; needs --data-dir",
        load=lambda *, data_dir=None, progress=False: broad(data_dir),
        citation=BROAD_CITATION,
        needs_copy=lambda: not _files(cache_folder() / "broad") and not _files(cache_folder() / "broad" / "data_mat"),
    )
)
