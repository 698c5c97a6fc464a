"""Export of a session as tables, in CSV or Parquet, or as an XDF file."""

from __future__ import annotations

import csv
import logging
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from quatcast.data.recording import AXES
from quatcast.escaping import csv_cell
from quatcast.live.journal import Reading, read_journal
from quatcast.live.records import read_forecasts, read_frames
from quatcast.live.session import read_settings
from quatcast.live.xdf import XdfStream, write_xdf
from quatcast.safety.status import Status
from quatcast.typing import Floats

log = logging.getLogger("quatcast.live")

BATCH = 10_000
"""Rows that are written at a time."""
FORMATS = ("csv", "parquet", "xdf")


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
    read_settings(folder)
    first = next(read_frames(read_journal(folder)), None)
    if first is None:
        raise ValueError(f"{folder}: the session holds no samples yet")
    channels, dimensions = first[1].values.shape
    names = first[1].names or tuple(f"channel{i + 1}" for i in range(channels))
    axes = AXES.get(dimensions) or [f"c{i + 1}" for i in range(dimensions)]
    places = [f"{name}.{axis}" for name in names for axis in axes]
    radii, filled = [f"{name} radius" for name in names], [f"{name} filled" for name in names]
    before = [
        "number",
        "time",
        "target_time",
        "sent_time",
        "status",
        "reason",
        "late",
        "unsent",
        "unlearnt",
        "recovered",
    ]
    samples, frames, forecasts = read_journal(folder), read_journal(folder, found=found), read_journal(folder)
    return [
        SessionTable("samples", ["time", *places], _sample_rows(samples)),
        SessionTable("frames", ["n", "sequence", "device_time", "received", *places], _frame_rows(frames)),
        SessionTable("forecasts", [*before, *places, *radii, *filled], _forecast_rows(forecasts)),
    ]


def _numbers(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.ravel().tolist()]


def _sample_rows(records: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    for one in read_forecasts(records):
        yield [one.forecast.time, *_numbers(one.forecast.sample)]


def _frame_rows(records: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    for number, frame in read_frames(records):
        yield [number, frame.sequence, frame.device_time, frame.received, *_numbers(frame.values)]


def _forecast_rows(records: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    for one in read_forecasts(records):
        made = one.forecast
        times = [made.sequence, made.time, made.target_time, made.sent_time]
        marks = [one.late, one.unsent, one.unlearnt, one.recovered]
        numbers = [*_numbers(made.position), *_numbers(made.radius)]
        yield [*times, made.status, made.reason, *marks, *numbers, *made.filled.tolist()]


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
    stem = read_settings(folder).stream
    out.mkdir(parents=True, exist_ok=True)
    if form == "xdf":
        paths = [out / f"{stem}.xdf"]
        write_xdf(paths[0], _xdf_streams(stem, tables))
    else:
        write = _write_csv if form == "csv" else _write_parquet
        paths = [out / f"{stem}-{table.name}.{form}" for table in tables]
        for table, path in zip(tables, paths, strict=True):
            write(table, path)
    if found.damaged:
        shown = ", ".join(found.damaged[:3]) + (", …" if len(found.damaged) > 3 else "")
        log.warning("%s: %d lines of the journal are damaged and left out (%s)", folder, len(found.damaged), shown)
    return paths


def _write_csv(table: SessionTable, path: Path) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
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
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise ImportError("--to parquet needs the package pyarrow: pip install pyarrow") from None
    kinds = {
        "status": pa.string(),
        "reason": pa.string(),
        "number": pa.int64(),
        "n": pa.int64(),
        "sequence": pa.int64(),
    }
    flags = {"late", "unsent", "unlearnt", "recovered"}
    fields = [
        (name, pa.bool_() if name in flags or name.endswith(" filled") else kinds.get(name, pa.float64()))
        for name in table.columns
    ]
    schema = pa.schema(fields)
    with pq.ParquetWriter(path, schema) as writer:
        while rows := list(islice(table.rows, BATCH)):
            columns = [
                pa.array(column, kind) for column, (_, kind) in zip(zip(*rows, strict=True), fields, strict=True)
            ]
            writer.write_table(pa.Table.from_arrays(columns, schema=schema))


def _xdf_streams(stem: str, tables: Sequence[SessionTable]) -> list[XdfStream]:
    """Return the frames and the forecasts as streams of numbers; the status is a number, and reasons are markers."""
    by_name = {table.name: table for table in tables}
    frames, forecasts = by_name["frames"], by_name["forecasts"]
    places = frames.columns[4:]
    numeric = [name for name in forecasts.columns[10:] if not name.endswith(" filled")]
    status = {one.label: float(one) for one in Status}

    def frame_samples() -> Iterator[tuple[float, list[float]]]:
        for row in frames.rows:
            yield row[3], _filled(row[4:])

    def forecast_samples() -> Iterator[tuple[float, list[float]]]:
        for row in forecasts.rows:
            yield row[3], [status[row[4]], row[1], row[2], *_filled(row[10 : 10 + len(numeric)])]

    return [
        XdfStream(f"{stem} samples", "MoCap", places, frame_samples()),
        XdfStream(f"{stem} forecasts", "MoCap", ["status", "time", "target_time", *numeric], forecast_samples()),
    ]


def _filled(cells: Iterable[float | None]) -> list[float]:
    return [math.nan if cell is None else cell for cell in cells]
