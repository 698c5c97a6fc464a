"""The tables of a store, and the conversion of files of earlier formats."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

VERSION = 4
"""Format of the tables below. Files of earlier formats are converted; others are refused."""

TABLES = """
CREATE TABLE results (
    stage TEXT NOT NULL, labels TEXT NOT NULL, horizon REAL NOT NULL, predictor TEXT NOT NULL,
    configuration TEXT NOT NULL, recording TEXT NOT NULL, seed INTEGER NOT NULL,
    "group" TEXT NOT NULL, rmse REAL, nrmse REAL, mae REAL, jitter REAL, max REAL,
    diverged INTEGER NOT NULL, seconds_per_step REAL NOT NULL, origin INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (stage, labels, horizon, predictor, configuration, recording, seed)
) WITHOUT ROWID;
CREATE TABLE origins (id INTEGER PRIMARY KEY, version TEXT NOT NULL, code TEXT NOT NULL, UNIQUE (version, code));
CREATE TABLE traces (
    labels TEXT NOT NULL, horizon REAL NOT NULL, predictor TEXT NOT NULL, recording TEXT NOT NULL,
    configuration TEXT NOT NULL, seed INTEGER NOT NULL, arrays BLOB NOT NULL,
    PRIMARY KEY (labels, horizon, predictor, recording)
);
CREATE TABLE recordings (
    name TEXT PRIMARY KEY, "group" TEXT NOT NULL, rate REAL NOT NULL, channels TEXT NOT NULL,
    fingerprint TEXT NOT NULL, arrays BLOB NOT NULL, about TEXT NOT NULL DEFAULT '{}'
);
CREATE TABLE timings (
    predictor TEXT NOT NULL, configuration TEXT NOT NULL, milliseconds REAL NOT NULL,
    PRIMARY KEY (predictor, configuration)
);
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
"""


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """Store everything or nothing; a writer waits for another one."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def create(db: sqlite3.Connection) -> None:
    """Create the tables, unless there are some."""
    with transaction(db):
        if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            for statement in filter(str.strip, TABLES.split(";")):
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {VERSION}")


def version_of(db: sqlite3.Connection) -> int:
    """Return the format of a file."""
    return int(db.execute("PRAGMA user_version").fetchone()[0])


def convert(db: sqlite3.Connection) -> None:
    """Convert a file of an earlier format, one format at a time, and raise a ValueError for other formats."""
    for old, conversion in CONVERSIONS.items():
        if version_of(db) == old:
            with transaction(db):
                if version_of(db) == old:  # otherwise another process has converted it meanwhile
                    conversion(db)
                    db.execute(f"PRAGMA user_version = {old + 1}")
    if (version := version_of(db)) != VERSION:
        advice = "a newer version of quatcast can perhaps open it" if version else "it is empty or of another program"
        raise ValueError(f"expected a store of format 1 to {VERSION}, got format {version}; {advice}")
    present = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    for name in re.findall(r"CREATE TABLE (\w+)", TABLES):
        if name not in present:
            raise ValueError(f"expected a store of quatcast (there is no table {name})")


def _rename_learning_rates(db: sqlite3.Connection) -> None:
    """Convert format 1, in which predictors' learning rates are called "rate"."""
    # The order of keys in the text of a configuration does not change, so equal settings still have equal text.
    names = ("'\"rate\":'", "'\"learning_rate\":'")
    for table in ("results", "traces", "timings"):
        db.execute(f"UPDATE {table} SET configuration = replace(configuration, {names[0]}, {names[1]})")
    lines = "char(10) || 'rate = ', char(10) || 'learning_rate = '"
    db.execute(f"UPDATE meta SET value = replace(value, {lines}) WHERE key = 'settings'")


def _describe_recordings(db: sqlite3.Connection) -> None:
    """Convert format 2, in which recordings have neither units nor names of columns."""
    db.execute("ALTER TABLE recordings ADD COLUMN about TEXT NOT NULL DEFAULT '{}'")
    # The recordings of these sources have always been in mm.
    known = "EXISTS (SELECT * FROM meta WHERE key = 'data' AND value IN ('simulated', 'extmarker'))"
    db.execute(f"""UPDATE recordings SET about = '{{"unit": "mm"}}' WHERE {known}""")


def _add_origins(db: sqlite3.Connection) -> None:
    """Convert format 3, which keeps the version of quatcast for the whole store only."""
    db.execute("ALTER TABLE results ADD COLUMN origin INTEGER NOT NULL DEFAULT 0")
    db.execute(
        "CREATE TABLE origins (id INTEGER PRIMARY KEY, version TEXT NOT NULL, code TEXT NOT NULL, "
        "UNIQUE (version, code))"
    )
    known = db.execute("SELECT value FROM meta WHERE key = 'version'").fetchone()
    db.execute("INSERT INTO origins VALUES (0, ?, '')", known or ("unknown",))


CONVERSIONS: dict[int, Callable[[sqlite3.Connection], None]] = {
    1: _rename_learning_rates,
    2: _describe_recordings,
    3: _add_origins,
}
"""Earlier format → conversion to the next one."""
