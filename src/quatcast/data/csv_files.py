"""Recordings as text tables: one row a sample, 3 or 4 columns a channel, an optional column of times."""

from __future__ import annotations

import csv
import io
import math
import os
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from quatcast.data.recording import Recording

TIME_NAMES = frozenset({"time", "times", "t", "time (s)", "time [s]"})
MOST_FILLED = 2
"""Samples in a recording for each one in its file, at most: beyond that the times cannot be right."""
AXES = {3: "xyz", 4: "wxyz"}


def write_csv(recording: Recording, path: str | os.PathLike[str]) -> None:
    """Write a recording so that `read_csv` gives back the very same numbers.

    The columns are `time` in seconds and then `CHANNEL.x, CHANNEL.y, CHANNEL.z` (with `CHANNEL.w` first in 4-D);
    a missing value is an empty cell.

    Parameters
    ----------
    recording
        What to write.
    path
        The file; one that is there is replaced.
    """
    columns = [f"{channel}.{axis}" for channel in recording.channels for axis in AXES[recording.dimensions]]
    values = recording.positions.reshape(len(recording), -1)
    with open(path, "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["time", *columns])
        for time, row in zip(recording.times.tolist(), values.tolist(), strict=True):
            writer.writerow([time, *("" if math.isnan(value) else value for value in row)])


def read_csv(
    path: str | os.PathLike[str],
    *,
    dimensions: int | None = None,
    rate: float | None = None,
    name: str | None = None,
    group: str = "",
) -> Recording:
    r"""Read a recording from a table of text.

    The columns may be separated by commas, semicolons or tabs; with the latter two a decimal comma is understood.
    An empty or `nan` cell is a missing value. The header line may be left out. With one, a column named `time`,
    `times` or `t` holds seconds, and names such as `chest.x, chest.y, chest.z` (or `chest_x`, `chest x`) name the
    channels.

    Parameters
    ----------
    path
        The file.
    dimensions
        Columns a channel, 3 or 4; left out, as many as share a channel's name in the header, or else 3.
    rate
        Samples a second; needed when there is no column of times, and otherwise taken from its median step. Where
        the times leave out a sample, one that is missing (NaN) is put.
    name
        Name of the recording; the file's own when left out.
    group
        Group of the recording.

    Raises
    ------
    ValueError
        When something is not as it should be; names the file, the line and the column.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "walk.csv"
    ...     _ = file.write_text("t;hip.x;hip.y;hip.z\n0;1,5;0;2\n0,1;1,75;;2\n")
    ...     recording = read_csv(file)
    >>> recording, recording.channels
    (Recording('walk', 2 samples, 1 channels, 3-D, 10 Hz), ('hip',))
    >>> recording.positions[:, 0]
    array([[1.5 , 0.  , 2.  ],
           [1.75,  nan, 2.  ]])
    """
    path = Path(path)
    if rate is not None and not 0 < rate < math.inf:
        raise ValueError(f"rate must be a positive number of Hz, got {rate}")
    table = _read(path)
    times, columns, values = table.split_time(path)
    dimensions, channels = _layout(path, columns, values.shape[1], dimensions)
    if rate is None:
        if times is None or len(times) < 2:
            raise ValueError(
                f"{path}: has no column of times to take the rate from; add one named `time`, or give the rate in Hz "
                "where that can be done (read_csv(…, rate=…), quatcast forecast --rate …)"
            )
        rate = float(1.0 / np.median(np.diff(times)))
    if times is not None:
        times, values = _filled(path, times, values)
    return Recording(
        name=path.stem if name is None else name,
        positions=values.reshape(len(values), -1, dimensions),
        times=np.arange(len(values)) / rate if times is None else times,
        rate=rate,
        group=group,
        channels=channels,
    )


def _filled(
    path: Path, times: NDArray[np.float64], values: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Put missing samples where the times leave out one or more."""
    if len(times) < 2:
        return times, values
    gaps = np.diff(times)
    steps = np.maximum(np.rint(gaps / np.median(gaps)), 1.0)
    if steps.sum() >= MOST_FILLED * len(times):
        at = int(np.argmax(steps))
        raise ValueError(
            f"{path}: its times leave out more samples than it has, {steps[at] - 1:.0f} of them between {times[at]:g} "
            f"and {times[at + 1]:g} s; split it there"
        )
    index = np.concatenate([[0], np.cumsum(steps)]).astype(int)
    positions = np.full((index[-1] + 1, values.shape[1]), np.nan)
    positions[index] = values
    return np.interp(np.arange(len(positions)), index, times), positions


class _Table(NamedTuple):
    """Numbers of a file, the names of its columns (empty without a header) and the line that each row was on."""

    columns: list[str]
    values: NDArray[np.float64]
    lines: list[int]

    def split_time(self, path: Path) -> tuple[NDArray[np.float64] | None, list[str], NDArray[np.float64]]:
        """Take the column of times out: times or None, other columns' names, their values."""
        found = [i for i, column in enumerate(self.columns) if column.lower() in TIME_NAMES]
        if not found:
            return None, self.columns, self.values
        at = found[0]
        times = self.values[:, at]
        wrong = np.flatnonzero(~(np.diff(times, prepend=-np.inf) > 0))
        if len(wrong):
            where = _where(path, self.lines[wrong[0]], at, self.columns)
            raise ValueError(f"{where}: times must be given and increase, got {times[wrong[0]]}")
        return times, self.columns[:at] + self.columns[at + 1 :], np.delete(self.values, at, axis=1)


def _read(path: Path) -> _Table:
    """Split a file into its header and its numbers."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not UTF-8 text; save it as such") from None
    # The last line tells: unlike a header, it holds numbers, and none of them a semicolon or a tab.
    last = text.rstrip("\r\n").rpartition("\n")[2]
    delimiter = next((mark for mark in ";\t" if mark in last), ",")
    columns: list[str] = []
    rows: list[list[float]] = []
    lines: list[int] = []
    width = 0
    for line, cells in _cells(path, text, delimiter):
        if not width:
            width = len(cells)
            if any(_number(cell, delimiter) is None for cell in cells):
                columns = [cell.strip() for cell in cells]
                continue
        if len(cells) != width:
            raise ValueError(f"{path}, line {line}: expected {width} columns, got {len(cells)}")
        row = []
        for at, cell in enumerate(cells):
            value = _number(cell, delimiter)
            if value is None or math.isinf(value):
                where = _where(path, line, at, columns)
                raise ValueError(f"{where}: expected a finite number or an empty cell, got {cell.strip()!r}")
            row.append(value)
        rows.append(row)
        lines.append(line)
    if not rows:
        raise ValueError(f"{path}: holds no samples")
    return _Table(columns, np.array(rows), lines)


def _cells(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number and the cells of every line that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None


def _number(cell: str, delimiter: str) -> float | None:
    """Value of a cell, NaN when it is empty, None when it is not a number."""
    cell = cell.strip() if delimiter == "," else cell.strip().replace(",", ".")
    try:
        return float(cell) if cell else math.nan
    except ValueError:
        return None


def _where(path: Path, line: int, at: int, columns: list[str]) -> str:
    return f"{path}, line {line}, column {at + 1}" + (f" ({columns[at]})" if columns else "")


def _layout(path: Path, columns: list[str], width: int, dimensions: int | None) -> tuple[int, tuple[str, ...]]:
    """Coordinates a channel, and the channels' names where the header gives them."""
    if dimensions not in (None, 3, 4):
        raise ValueError(f"dimensions must be 3 or 4, got {dimensions}")
    prefixes = (re.sub(r"(?i)(?<=.)[._ ][wxyz]$", "", column) for column in columns)
    runs = [(prefix, len(list(same))) for prefix, same in groupby(prefixes)]
    sizes = {size for _, size in runs}
    if sizes in ({3}, {4}) and dimensions in (None, *sizes):
        return sizes.pop(), tuple(prefix for prefix, _ in runs)
    dimensions = dimensions or 3
    if width == 0 or width % dimensions:
        raise ValueError(
            f"{path}: {width} columns of positions do not divide into channels of {dimensions}; "
            "give the number of dimensions, 3 or 4, or name the columns CHANNEL.x, CHANNEL.y, …"
        )
    return dimensions, ()
