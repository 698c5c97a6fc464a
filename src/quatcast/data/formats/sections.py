"""Rows of numbers in the exports of motion capture software, which have their own headers."""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.formats.cells import Row, number_in
from quatcast.data.text import MAX_COLUMNS, MAX_NUMBERS, as_number, clean, lines_of


def tab_separated(path: Path, encoding: str | None) -> Iterator[Row]:
    """Yield the cells of the lines that are not blank."""
    return ((number, line.split("\t")) for number, line in lines_of(path, encoding) if line.strip())


def numbers(path: Path, rows: Iterable[tuple[int, Sequence[str]]], names: Sequence[str]) -> tuple[Floats, list[int]]:
    """Read rows of numbers, one per name, and their line numbers; missing cells, also at the end of a row, are NaN."""
    width = len(names)
    if width > MAX_COLUMNS:
        raise ValueError(f"{path}: expected at most {MAX_COLUMNS} columns, got {width}")
    values = array("d")
    lines: list[int] = []
    for line, cells in rows:
        filled = len(cells)
        while filled > width and not cells[filled - 1].strip():
            filled -= 1
        if filled > width:
            raise ValueError(f"{path}, line {line}: expected {width} columns, got {filled}")
        values.extend(number_in(path, line, i, cells[i], names[i]) if i < filled else math.nan for i in range(width))
        lines.append(line)
        if len(values) > MAX_NUMBERS:
            raise ValueError(f"{path}, line {line}: expected at most {MAX_NUMBERS:,} numbers; split the file")
    if not lines:
        raise ValueError(f"{path}: expected at least one row of numbers, got none")
    return np.frombuffer(values, dtype=float).reshape(len(lines), width), lines


def rate_in(path: Path, cell: str, place: str) -> float:
    """Return the sampling rate in a cell at some place of a header."""
    rate = as_number(cell) or 0.0
    if not 0 < rate < math.inf:
        raise ValueError(f"{path}: expected the sampling rate {place}, got {clean(cell.strip())[:40]!r}")
    return rate
