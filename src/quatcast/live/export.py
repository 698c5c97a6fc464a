"""Export of a session as tables, in CSV or Parquet, or as an XDF file."""

from __future__ import annotations

import csv
import logging
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Self

import numpy as np

from quatcast.basics.escaping import csv_cell, file_name
from quatcast.basics.files import new_file
from quatcast.basics.optional import require
from quatcast.basics.typing import Floats
from quatcast.data.recording import AXES
from quatcast.data.wording import with_unit
from quatcast.live.frames import ForecastFrame, Frame, PathPoint, radii_by_kind
from quatcast.live.journal import Reading, read_journal
from quatcast.live.records import MARKS, ForecastRecord, read_forecasts, read_frames, usual_frame
from quatcast.live.session import read_settings
from quatcast.live.settings import LiveSettings
from quatcast.live.xdf import XdfStream, write_xdf
from quatcast.safety.status import UNIT_QUATERNIONS, Status

log = logging.getLogger("quatcast.live")

BATCH = 10_000
"""Rows that are written at a time."""
FORMATS = ("csv", "parquet", "xdf")
ABOUT = ["number", "time", "target_time", "sent_time", "status", "reason", *MARKS]
"""Columns of the table of forecasts before the numbers."""


@dataclass(frozen=True)
class SessionTable:
    """One table of a session.

    Attributes
    ----------
    name
        "samples" (on the grid, as they were given to the forecaster), "frames" (as they arrived) or "forecasts".
    columns
        Names of the columns.
    rows
        The rows, read from the journal while they are written; None for a missing value.
    """

    name: str
    columns: list[str]
    rows: Iterator[list[Any]]


def session_tables(folder: Path, found: Reading) -> list[SessionTable]:
    """Return the tables of a session: samples, frames and forecasts.

    Lines of the journal that cannot be read are counted in `found` while the frames are read.

    Raises
    ------
    ValueError
        If the folder holds no session, or a session without samples.
    """
    columns = _Columns.of(read_settings(folder), usual_frame(folder))
    places = columns.places()
    samples = (one.forecast for one in read_forecasts(read_journal(folder)))
    frames = read_frames(read_journal(folder, found=found))
    return [
        SessionTable("samples", ["time", *places], ([one.time, *columns.values(one.sample)] for one in samples)),
        SessionTable(
            "frames",
            ["n", "sequence", "device_time", "received", *places],
            ([n, one.sequence, one.device_time, one.received, *columns.values(one.values)] for n, one in frames),
        ),
        SessionTable("forecasts", columns.forecasts(), _forecast_rows(read_forecasts(read_journal(folder)), columns)),
    ]


@dataclass(frozen=True)
class _Columns:
    """Names of the columns of a session.

    Attributes
    ----------
    names, axes
        Names of the channels and of their coordinates.
    unit, space
        Unit of the values, empty if unknown, and space of the channels.
    further
        Horizons in seconds after the first, in the order of the path.
    """

    names: tuple[str, ...]
    axes: Sequence[str]
    unit: str
    space: str
    further: tuple[float, ...]

    @classmethod
    def of(cls, settings: LiveSettings, usual: Frame) -> Self:
        """Return the columns of a session from its settings and a frame of the usual shape."""
        channels, dimensions = usual.values.shape
        names = settings.names or usual.names or tuple(f"channel{i + 1}" for i in range(channels))
        axes = AXES.get(dimensions) or [f"c{i + 1}" for i in range(dimensions)]
        return cls(names, axes, settings.unit or usual.unit, settings.space, tuple(sorted(settings.horizon[1:])))

    def values(self, values: Floats) -> list[float | None]:
        """Return the cells of coordinates, empty for values of another shape.

        These are frames that the grid drops, and samples and forecasts from the start of a stream.
        """
        shape = (len(self.names), len(self.axes))
        return _numbers(values if values.shape == shape else np.full(shape, np.nan))

    def places(self, when: str = "") -> list[str]:
        """Return the names of the coordinates; those of quaternions have no unit."""
        turned = UNIT_QUATERNIONS.get(self.space)
        plain = set(range(len(self.axes))[turned]) if turned is not None else set()
        return [
            with_unit(f"{name}.{axis}{when}", "" if at in plain else self.unit)
            for name in self.names
            for at, axis in enumerate(self.axes)
        ]

    def radii(self, when: str = "") -> list[str]:
        """Return the names of the radii; that of an orientation is an angle, and poses have both."""
        unit = "rad" if self.space == "orientation" else self.unit
        angles = [f"{name} angle radius{when} [rad]" for name in self.names if self.space == "pose"]
        return [*(with_unit(f"{name} radius{when}", unit) for name in self.names), *angles]

    def forecasts(self) -> list[str]:
        """Return the columns of the table of forecasts: the first horizon, then the others."""
        columns = [*ABOUT, *self.places(), *self.radii(), *(f"{name} filled" for name in self.names)]
        for horizon in self.further:
            when = f" at {horizon:g} s"
            columns += [f"target_time{when}", f"status{when}", *self.places(when), *self.radii(when)]
        return columns


def _numbers(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.ravel().tolist()]


def _forecast_rows(forecasts: Iterable[ForecastRecord], columns: _Columns) -> Iterator[list[Any]]:
    for one in forecasts:
        forecast = one.forecast
        times = [forecast.sequence, forecast.time, forecast.target_time, forecast.sent_time]
        marks = [getattr(one, name) for name in MARKS]
        numbers = [*columns.values(forecast.position), *_radii(forecast, columns)]
        filled = forecast.filled.tolist() if len(forecast.filled) == len(columns.names) else [True] * len(columns.names)
        row = [*times, forecast.status, forecast.reason, *marks, *numbers, *filled]
        for point in forecast.path[: len(columns.further)]:
            row += [point.target_time, point.status, *columns.values(point.position), *_radii(point, columns)]
        yield row


def _radii(forecast: ForecastFrame | PathPoint, columns: _Columns) -> list[float | None]:
    kinds = 2 if columns.space == "pose" else 1
    if len(forecast.radius) != len(columns.names):
        return [None] * (kinds * len(columns.names))
    return _numbers(radii_by_kind(forecast, kinds))


def export_session(folder: Path, form: str, out: Path) -> list[Path]:
    """Write a session in another format and return the files; damaged lines of the journal are left out and logged.

    Parameters
    ----------
    folder
        The session.
    form
        "csv" and "parquet" write three tables, "xdf" one file.
    out
        Folder for the files.

    Raises
    ------
    ValueError
        If the format is not known or the session is empty.
    ImportError
        If the format needs a package that is not installed.
    """
    if form not in FORMATS:
        raise ValueError(f"--to: expected one of {', '.join(FORMATS)}, got {form!r}")
    found = Reading()
    tables = session_tables(folder, found)
    stream = read_settings(folder).stream
    stem = file_name(stream)
    out.mkdir(parents=True, exist_ok=True)
    if form == "xdf":
        paths = [out / f"{stem}.xdf"]
        write_xdf(paths[0], _xdf_streams(stream, tables))
    else:
        write = _write_csv if form == "csv" else _write_parquet
        paths = [out / f"{stem}-{table.name}.{form}" for table in tables]
        for table, path in zip(tables, paths, strict=True):
            write(table, path)
    if found.damaged:
        damaged = len(found.damaged)
        log.warning("%s: %d lines of the journal are damaged and left out (%s)", folder, damaged, found.shown())
    return paths


def _write_csv(table: SessionTable, path: Path) -> None:
    with new_file(path) as file:
        writer = csv.writer(file)
        writer.writerow([csv_cell(name) for name in table.columns])
        for row in table.rows:
            writer.writerow([_cell(value) for value in row])


def _cell(value: Any) -> Any:
    """Return what is written into a cell; a spreadsheet must not take a reason for a formula."""
    if isinstance(value, bool):
        return int(value)
    return csv_cell(value) if isinstance(value, str) else value


def _write_parquet(table: SessionTable, path: Path) -> None:
    pa, pq = (require(name, "it with pip", "--to parquet: ") for name in ("pyarrow", "pyarrow.parquet"))

    def kind_of(name: str) -> Any:
        if name in MARKS or name.endswith(" filled"):
            return pa.bool_()
        if name == "reason" or _is_status(name):
            return pa.string()
        return pa.int64() if name in ("number", "n", "sequence") else pa.float64()

    fields = [(name, kind_of(name)) for name in table.columns]
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema) as writer:
        while rows := list(islice(table.rows, BATCH)):
            columns = [
                pa.array(column, kind) for column, (_, kind) in zip(zip(*rows, strict=True), fields, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _xdf_streams(stem: str, tables: Sequence[SessionTable]) -> list[XdfStream]:
    """Return the frames and the forecasts as streams of numbers; the status is a number, and reasons are left out."""
    by_name = {table.name: table for table in tables}
    frames, forecasts = by_name["frames"], by_name["forecasts"]
    places, columns = frames.columns[4:], forecasts.columns
    numeric = [at for at in range(len(ABOUT), len(columns)) if not columns[at].endswith(" filled")]
    status = {one.label: float(one) for one in Status}
    chosen = [4, 1, 2, *numeric]

    def frame_samples() -> Iterator[tuple[float, list[float]]]:
        for row in frames.rows:
            yield row[3], _filled(row[4:])

    def forecast_samples() -> Iterator[tuple[float, list[float]]]:
        for row in forecasts.rows:
            yield row[3], _filled(status[row[at]] if _is_status(columns[at]) else row[at] for at in chosen)

    return [
        XdfStream(f"{stem} samples", "MoCap", places, frame_samples()),
        XdfStream(f"{stem} forecasts", "MoCap", [columns[at] for at in chosen], forecast_samples()),
    ]


def _is_status(column: str) -> bool:
    # Columns of a channel end with an axis or with "radius".
    return re.fullmatch(r"status( at \S+ s)?", column) is not None


def _filled(cells: Iterable[float | None]) -> list[float]:
    return [math.nan if cell is None else cell for cell in cells]
