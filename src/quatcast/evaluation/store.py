"""The store of an experiment: one SQLite file, written by one process, consistent after a kill at any moment.

Every batch of rows is one transaction, so it is stored completely or not at all. Rows have a key: a result is never
stored twice, and an experiment that was interrupted resumes where it stopped.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from types import MappingProxyType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from quatcast.basics.escaping import one_line
from quatcast.data.recording import Recording
from quatcast.evaluation import schema
from quatcast.evaluation.metrics import error_unit
from quatcast.evaluation.provenance import Origin
from quatcast.evaluation.provenance import origin as this_origin
from quatcast.evaluation.records import NewTrace, Result, Stage, Timing, Trace, Unseeded, ValidationResult, canonical
from quatcast.forecasting.contract import Labels


def fingerprint(recording: Recording) -> str:
    """Return a checksum of a recording's numbers, which distinguishes recordings of the same name."""
    digest = hashlib.sha256(f"{recording.positions.shape} {recording.rate!r} {recording.group}".encode())
    digest.update(recording.times.tobytes())
    digest.update(recording.positions.tobytes())
    return digest.hexdigest()


class Store:
    """The results of an experiment in an SQLite file.

    Parameters
    ----------
    path
        Path of the file.
    create
        Whether to create a missing file; otherwise a missing file is an error.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> row = Result("test", "causal", 2.0, "LMS", {"lags": 5}, "sim-1", 0, "", 1.0, 0.5, 0.8, 0.1, 3.0, False, 0.001)
    >>> with TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite", create=True) as store:
    ...     store.add([row])
    ...     store.add([row])
    ...     [(result.predictor, result.rmse) for result in store.results("test")]
    [('LMS', 1.0)]
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = False) -> None:
        self.path = Path(path)
        if not create and not self.path.is_file():
            raise FileNotFoundError(f"{self.path}: there is no such file; `quatcast compare` writes one")
        if create:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        self._db = self._connect(create)
        try:
            self._open(create)
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise ValueError(f"{self.path}: expected a store of quatcast ({error})") from error
        except ValueError as error:
            self._db.close()
            raise ValueError(f"{self.path}: {error}") from error

    def _connect(self, create: bool) -> sqlite3.Connection:
        """Open the file; where it cannot be written, for reading only."""
        if create or (os.access(self.path, os.W_OK) and os.access(self.path.parent, os.W_OK)):
            return sqlite3.connect(self.path, timeout=60.0, isolation_level=None)
        log = self.path.with_name(f"{self.path.name}-wal")
        if log.is_file() and log.stat().st_size:
            raise ValueError(
                f"{self.path}: cannot be written, and its last results are still in {log.name}; copy both files to a "
                "folder that can be written"
            )
        # Without write access SQLite cannot lock the file, and reads it only if told that it does not change.
        return sqlite3.connect(f"{self.path.resolve().as_uri()}?immutable=1", uri=True, isolation_level=None)

    def _open(self, create: bool) -> None:
        if create:
            # Readers and the writer then do not wait for each other; a file system without support ignores this.
            self._db.execute("PRAGMA journal_mode = WAL")
            self._db.execute("PRAGMA synchronous = NORMAL")
            schema.create(self._db)
        (found,) = self._db.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise ValueError(
                f"damaged ({found}); its results cannot be relied on. Use a copy of the file, or compute them anew in "
                "another folder"
            )
        if schema.version_of(self._db) < schema.VERSION and not os.access(self.path, os.W_OK):
            copied = sqlite3.connect(":memory:", isolation_level=None)
            self._db.backup(copied)
            self._db.close()
            self._db = copied
        schema.convert(self._db)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self, what: str) -> Iterator[None]:
        """Turn whatever damaged contents cause into one error that names the file."""
        try:
            yield
        except Exception as fault:
            raise ValueError(f"{self.path}: damaged, the {what} cannot be read ({_reason(fault)})") from fault

    def add(self, results: Iterable[Result], traces: Iterable[NewTrace] = (), origin: Origin | None = None) -> None:
        """Store results and traces in one transaction; results that are stored already do not change.

        Parameters
        ----------
        results, traces
            What to store.
        origin
            The code that computed them; that of this process by default.
        """
        rows = [(*result.key, result.group, *_scores(result), result.seconds_per_step) for result in results]
        with schema.transaction(self._db):
            place = self._place(origin or this_origin())
            values = ", ".join("?" * 15)
            self._db.executemany(f"INSERT OR IGNORE INTO results VALUES ({values}, {place})", rows)
            for trace in traces:
                text = canonical(trace.configuration)
                where = (trace.labels, trace.horizon, trace.predictor, trace.recording)
                arrays = _pack({name: np.asarray(a, dtype=np.float32) for name, a in trace.arrays.items()})
                row = (*where, text, trace.seed, arrays)
                self._db.execute("INSERT OR REPLACE INTO traces VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def _place(self, origin: Origin) -> int:
        """Return the number of an origin, which is added if it is new."""
        self._db.execute("INSERT OR IGNORE INTO origins (version, code) VALUES (?, ?)", origin)
        found = self._db.execute("SELECT id FROM origins WHERE version = ? AND code = ?", origin).fetchone()
        return int(found[0])

    def origins(self) -> dict[Origin, int]:
        """Return the number of results that each code has computed.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder, Store(Path(folder) / "results.sqlite", create=True) as store:
        ...     store.origins()
        {}
        """
        columns = "coalesce(version, 'unknown'), coalesce(code, ''), count(*)"
        rows = self._db.execute(
            f"SELECT {columns} FROM results LEFT JOIN origins ON origin = id GROUP BY origin ORDER BY origin"
        )
        return {Origin(version, code): count for version, code, count in rows}

    def add_recordings(self, recordings: Iterable[Recording]) -> None:
        """Store the recordings of the experiment; a stored recording of the same name must have the same numbers."""
        with schema.transaction(self._db):
            known = dict(self._db.execute("SELECT name, fingerprint FROM recordings"))
            for recording in recordings:
                mark = fingerprint(recording)
                if known.setdefault(recording.name, mark) != mark:
                    raise ValueError(
                        f"{self.path}: holds results of another recording that is also called {recording.name!r}; "
                        "use another folder"
                    )
                arrays = _pack({"times": recording.times, "positions": recording.positions})
                channels = json.dumps(recording.channels)
                about = json.dumps({name: getattr(recording, name) for name in ABOUT})
                row = (recording.name, recording.group, recording.rate, channels, mark, arrays, about)
                self._db.execute("INSERT OR IGNORE INTO recordings VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def add_timing(self, timing: Timing) -> None:
        """Store a timing; it replaces an earlier one."""
        row = (timing.predictor, canonical(timing.configuration), timing.milliseconds)
        with schema.transaction(self._db):
            self._db.execute("INSERT OR REPLACE INTO timings VALUES (?, ?, ?)", row)

    def add_meta(self, **values: str) -> None:
        """Store facts about the experiment by key; they replace earlier ones."""
        with schema.transaction(self._db):
            self._db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(values.items()))

    def count(self, stage: Stage) -> int:
        """Return the number of results of a stage."""
        (number,) = self._db.execute("SELECT count(*) FROM results WHERE stage = ?", [stage]).fetchone()
        return int(number)

    def seeds(self, stage: Stage) -> dict[Unseeded, set[int]]:
        """Return the seeds of the results of a stage, by the rest of their keys."""
        columns = "stage, labels, horizon, predictor, configuration, recording"
        rows = self._db.execute(
            f"SELECT {columns}, group_concat(seed) FROM results WHERE stage = ? GROUP BY {columns}", [stage]
        )
        return {tuple(rest): {int(seed) for seed in seeds.split(",")} for *rest, seeds in rows}

    def tried(
        self, *, labels: Labels | None = None, horizon: float | None = None, predictor: str | None = None
    ) -> list[ValidationResult]:
        """Return the mean score of each configuration that the validation tried, for each recording.

        The database computes the means, because an experiment may have a million runs.
        """
        where, values = _where(stage="validation", labels=labels, horizon=horizon, predictor=predictor)
        columns = "labels, horizon, predictor, configuration, recording"
        rows = self._db.execute(
            f"SELECT {columns}, avg(rmse), count(*), sum(diverged) FROM results {where} GROUP BY {columns}", values
        )
        with self._reading("validation"):
            return [
                ValidationResult(
                    *(rule, ahead, name, json.loads(text), recording), math.nan if rmse is None else rmse, runs, lost
                )
                for rule, ahead, name, text, recording, rmse, runs, lost in rows
            ]

    def results(
        self,
        stage: Stage | None = None,
        *,
        labels: Labels | None = None,
        horizon: float | None = None,
        predictor: str | None = None,
        recording: str | None = None,
    ) -> list[Result]:
        """Return the results that match all given values, in the order of their keys."""
        where, values = _where(stage=stage, labels=labels, horizon=horizon, predictor=predictor, recording=recording)
        names = [f.name for f in fields(Result)]
        columns = ", ".join(f'"{name}"' for name in names)
        order = "stage, labels, horizon, predictor, recording, configuration, seed"
        rows = self._db.execute(f"SELECT {columns} FROM results {where} ORDER BY {order}", values)
        with self._reading("results"):
            return [_result(dict(zip(names, row, strict=True))) for row in rows]

    def recordings(self) -> list[Recording]:
        """Return the recordings of the experiment, in the order in which they were added."""
        rows = self._db.execute('SELECT name, "group", rate, channels, arrays, about FROM recordings ORDER BY rowid')
        with self._reading("recordings"):
            return [_recording(*row) for row in rows]

    def traces(
        self,
        *,
        labels: Labels | None = None,
        horizon: float | None = None,
        predictor: str | None = None,
        recording: str | None = None,
    ) -> list[Trace]:
        """Return the traces that match all given values; each takes some hundred kilobytes."""
        where, values = _where(labels=labels, horizon=horizon, predictor=predictor, recording=recording)
        columns = "labels, horizon, predictor, recording, configuration, seed, arrays"
        order = "labels, horizon, predictor, recording"
        rows = self._db.execute(f"SELECT {columns} FROM traces {where} ORDER BY {order}", values).fetchall()
        about = {recording.name: recording for recording in self.recordings()} if rows else {}
        with self._reading("traces"):
            return [_trace(about[row[3]], *row) for row in rows]

    def timings(self) -> list[Timing]:
        """Return the timings, in the order in which they were measured."""
        rows = self._db.execute("SELECT predictor, configuration, milliseconds FROM timings ORDER BY rowid")
        with self._reading("timings"):
            return [Timing(predictor, json.loads(text), milliseconds) for predictor, text, milliseconds in rows]

    def meta(self) -> dict[str, str]:
        """Return facts about the experiment by key.

        `settings` is the TOML text that reproduces it; `version` the versions of quatcast that computed it; `data` the
        data source or the files; `started` and `finished` the times in ISO 8601; `machine` a description of cores,
        device and software; `elapsed` the seconds of computation in all sessions. `finished` is empty while runs are
        missing.
        """
        return dict(self._db.execute("SELECT key, value FROM meta ORDER BY key"))


ABOUT = ("units", "space", "columns", "order", "notes")
"""Fields of a recording that the column `about` of the table of recordings holds."""


def _recording(name: str, group: str, rate: float, channels: str, arrays: bytes, about: str) -> Recording:
    names = tuple(json.loads(channels))
    stored = json.loads(about)
    given: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in stored.items()}
    if "unit" in given:
        given["units"] = (given.pop("unit"),) * len(names)
    return Recording(name, **_unpack(arrays), rate=rate, group=group, channels=names, **given)


SCORES = ("rmse", "nrmse", "mae", "jitter", "max")


def _scores(result: Result) -> tuple[float | int | None, ...]:
    values = (getattr(result, name) for name in SCORES)
    return (*(None if math.isnan(value) else float(value) for value in values), int(result.diverged))


def _result(row: dict[str, Any]) -> Result:
    for name in SCORES:
        row[name] = math.nan if row[name] is None else row[name]
    return Result(**row | {"configuration": json.loads(row["configuration"]), "diverged": bool(row["diverged"])})


def _trace(about: Recording, *row: Any) -> Trace:
    labels, horizon, predictor, _, configuration, seed, packed = row
    arrays = _unpack(packed)
    return Trace(
        labels=labels,
        horizon=horizon,
        predictor=predictor,
        configuration=json.loads(configuration),
        seed=seed,
        recording=about.name,
        group=about.group,
        sampling_rate=about.rate,
        channels=about.channels,
        unit=error_unit(about),
        space=about.space,
        times=about.times,
        actual=about.positions,
        forecast=arrays.pop("forecast"),
        weight=arrays.pop("weight"),
        extra=MappingProxyType(arrays),
    )


def _reason(error: BaseException) -> str:
    if isinstance(error, KeyError):
        return f"{error.args[0]!r} is missing"
    return one_line(str(error)) or type(error).__name__


def _where(**values: Any) -> tuple[str, list[Any]]:
    given = {name: value for name, value in values.items() if value is not None}
    clause = " AND ".join(f"{name} = ?" for name in given)
    return (f"WHERE {clause}" if given else ""), list(given.values())


def _pack(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    file = io.BytesIO()
    np.savez_compressed(file, **dict(arrays))  # type: ignore[arg-type]
    return file.getvalue()


def _unpack(packed: bytes) -> dict[str, Any]:
    with np.load(io.BytesIO(packed), allow_pickle=False) as arrays:
        return dict(arrays)
