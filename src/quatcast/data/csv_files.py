"""Recordings in CSV files: one row per sample, 3 or 4 columns per channel, and an optional column of times."""

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

from quatcast.data.recording import Recording
from quatcast.data.units import split_unit
from quatcast.escaping import csv_cell
from quatcast.typing import Floats

TIME_NAMES = frozenset({"time", "times", "t", "time (s)", "time [s]"})
"""Names of the column of times, in lower case."""
MAX_FILL_FACTOR = 2
"""Limit for the number of samples of a recording per row of its file; if more are missing, the times are wrong."""


def write_csv(recording: Recording, path: str | os.PathLike[str]) -> None:
    """Write a recording to a CSV file, from which `read_csv` reads exactly the same numbers.

    The columns are `time` in seconds and, for each channel, `CHANNEL.x`, `CHANNEL.y` and `CHANNEL.z`, preceded by
    `CHANNEL.w` in 4-D. The cell of a missing value is empty.

    Parameters
    ----------
    recording
        Recording to write.
    path
        Path of the file. An existing file is replaced.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> recording = Recording("walk", np.zeros((2, 1, 3)), [0.0, 0.1], rate=10.0, channels=["hip"])
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "walk.csv"
    ...     write_csv(recording, file)
    ...     file.read_text().splitlines()
    ['time,hip.x,hip.y,hip.z', '0.0,0.0,0.0,0.0', '0.1,0.0,0.0,0.0']
    """
    columns = [csv_cell(recording.columns[at]) for at in recording.order]
    values = recording.positions.reshape(len(recording), -1)[:, recording.order]
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
    r"""Read a recording from a CSV file.

    The columns are separated by commas, semicolons or tabs. In files with semicolons or tabs the decimal mark can be a
    comma. An empty cell or `nan` is a missing value. The header line is optional. If there is one, a column named
    `time`, `times` or `t` contains the times in seconds, and the names `chest.x`, `chest.y`, `chest.z` (or `chest_x`,
    `chest x`, …) give the channels their names. If the times skip one or more samples, the recording has missing
    samples (NaN) in their place.

    Parameters
    ----------
    path
        Path of the file.
    dimensions
        Number of columns per channel, 3 or 4. By default it is the number of columns with the same channel name in the
        header, or 3.
    rate
        Sampling rate in Hz. By default it is computed from the median time step, which needs a column of times.
    name
        Name of the recording; by default the name of the file without its suffix.
    group
        Group of the recording.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is malformed; the message names the file, the line and the column.

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
        raise ValueError(f"rate: expected a positive number of Hz, got {rate}")
    table = _read(path)
    times, columns, values = table.split_time(path)
    labels = [split_unit(column) for column in columns]
    dimensions, channels = _layout(path, [label for label, _ in labels], values.shape[1], dimensions)
    units = tuple(unit for _, unit in labels[::dimensions]) if channels else ()
    if rate is None:
        if times is None or len(times) < 2:
            raise ValueError(
                f"{path}: expected a column of times with two or more rows to compute the rate; add a column named "
                "`time`, or give the rate in Hz (read_csv(…, rate=…) or quatcast forecast --rate …)"
            )
        rate = float(1.0 / np.median(np.diff(times)))
    if times is not None:
        times, values = _insert_missing(path, times, values)
    return Recording(
        name=path.stem if name is None else name,
        positions=values.reshape(len(values), -1, dimensions),
        times=np.arange(len(values)) / rate if times is None else times,
        rate=rate,
        group=group,
        channels=channels,
        units=units,
        columns=tuple(columns),
    )


def _insert_missing(path: Path, times: Floats, values: Floats) -> tuple[Floats, Floats]:
    """Insert rows of NaN where the times skip one or more samples."""
    if len(times) < 2:
        return times, values
    gaps = np.diff(times)
    steps = np.maximum(np.rint(gaps / np.median(gaps)), 1.0)
    if steps.sum() >= MAX_FILL_FACTOR * len(times):
        at = int(np.argmax(steps))
        raise ValueError(
            f"{path}: expected times that skip fewer samples than the file has, got {steps[at] - 1:.0f} missing "
            f"between {times[at]:g} and {times[at + 1]:g} s; split the file there"
        )
    index = np.concatenate([[0], np.cumsum(steps)]).astype(int)
    positions = np.full((index[-1] + 1, values.shape[1]), np.nan)
    positions[index] = values
    return np.interp(np.arange(len(positions)), index, times), positions


class _Table(NamedTuple):
    """The contents of a file: the names of the columns (empty without a header), the rows, and their line numbers."""

    columns: list[str]
    values: Floats
    lines: list[int]

    def split_time(self, path: Path) -> tuple[Floats | None, list[str], Floats]:
        """Return the times (None without a column of times), and the names and values of the other columns."""
        at = next((i for i, column in enumerate(self.columns) if column.lower() in TIME_NAMES), None)
        if at is None:
            return None, self.columns, self.values
        times = self.values[:, at]
        wrong = np.flatnonzero(~(np.diff(times, prepend=-np.inf) > 0))
        if len(wrong):
            where = _where(path, self.lines[wrong[0]], at, self.columns)
            raise ValueError(f"{where}: expected increasing times, got {times[wrong[0]]}")
        return times, self.columns[:at] + self.columns[at + 1 :], np.delete(self.values, at, axis=1)


def _read(path: Path) -> _Table:
    """Read the header and the numbers of a file."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: expected UTF-8 text; save the file with this encoding") from None
    # The last line shows the delimiter: unlike a header it consists of numbers, without semicolons or tabs.
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
        raise ValueError(f"{path}: expected at least one row of numbers, got none")
    return _Table(columns, np.array(rows), lines)


def _cells(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the line number and the cells of every line that is not blank."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        for cells in reader:
            if cells:
                yield reader.line_num, cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None


def _number(cell: str, delimiter: str) -> float | None:
    """Return the value of a cell: NaN if it is empty, None if it is not a number."""
    cell = cell.strip() if delimiter == "," else cell.strip().replace(",", ".")
    try:
        return float(cell) if cell else math.nan
    except ValueError:
        return None


def _where(path: Path, line: int, at: int, columns: list[str]) -> str:
    return f"{path}, line {line}, column {at + 1}" + (f" ({columns[at]})" if columns else "")


def _layout(path: Path, columns: list[str], width: int, dimensions: int | None) -> tuple[int, tuple[str, ...]]:
    """Return the number of coordinates per channel, and the names of the channels if the header has them."""
    if dimensions not in (None, 3, 4):
        raise ValueError(f"dimensions: expected 3 or 4, got {dimensions}")
    prefixes = (re.sub(r"(?i)(?<=.)[._ ][wxyz]$", "", column) for column in columns)
    runs = [(prefix, len(list(same))) for prefix, same in groupby(prefixes)]
    sizes = {size for _, size in runs}
    if sizes in ({3}, {4}) and dimensions in (None, *sizes):
        return sizes.pop(), tuple(prefix for prefix, _ in runs)
    dimensions = dimensions or 3
    if width == 0 or width % dimensions:
        raise ValueError(
            f"{path}: expected {dimensions} columns of positions per channel, got {width} columns in all; "
            "give the number of dimensions, 3 or 4, or name the columns CHANNEL.x, CHANNEL.y, …"
        )
    return dimensions, ()
