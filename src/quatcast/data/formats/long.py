"""Long tables, which have one row per time and marker; readers need one row per time."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.formats.cells import Rows, texts_of

REPEATED = 0.1
"""Share of rows that repeat a time from which a table may be long."""
MOST = 0.25
"""Largest number of markers per row of the table."""


def refuse_long(path: Path, table: Rows, times: Floats, time: int, others: list[int]) -> None:
    """Refuse a table in which each time has one row per value of another column.

    Parameters
    ----------
    path, table
        The file, and its rows.
    times
        Times of the rows, or numbers that count samples.
    time, others
        Number of their column, and numbers of the columns that may name the markers.
    """
    if len(times) - len(np.unique(times)) <= REPEATED * len(times):
        return
    for at in others:
        texts = texts_of(path, table, at)
        values = list(dict.fromkeys(texts))
        pairs = set(zip(times.tolist(), texts, strict=True))
        if 2 <= len(values) <= max(MOST * len(times), 2) and len(pairs) == len(times):
            name, key = table.names[at] or str(at + 1), table.names[time]
            first, second = values[0], values[1]
            raise ValueError(
                f"{path}: expected one row per time, got one for each value of the column {name!r} "
                f"({', '.join(values[:4])}{', …' if len(values) > 4 else ''}): a long table; reshape it to one row per "
                f"time with the columns {first}.x, {first}.y, {first}.z, {second}.x, …, for example with pandas: "
                f"table.pivot(index={key!r}, columns={name!r})"
            )
