"""The cells of a text table: separators, header, units, and numbers, read line by line."""

from __future__ import annotations

import csv
import math
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.style import FileStyle
from quatcast.data.text import MAX_COLUMNS, MAX_NUMBERS, Line, as_number, clean, lines_of, unescape_cell
from quatcast.data.times import UNIT_WORDS, is_time_cell
from quatcast.data.units import ANGLES, LENGTHS, plain_unit
from quatcast.data.wording import counted

COMMENTS = ("#", "%", "//")
MISSING = frozenset({"", "nan", "na", "n/a", "null", "none", "-", "--", "#n/a"})
"""Cells without a value, in lower case."""
OTHER_UNITS = ("", "-", "–", "none", "m/s", "m/s²", "m/s^2", "rad/s", "deg/s", "ut", "µt", "g")
UNITS = frozenset({*UNIT_WORDS, *LENGTHS, *ANGLES, *OTHER_UNITS})
"""Cells of a line of units below the header, in lower case."""
COMMA_DECIMAL = r"[+-]?\d+(,\d+)?([eE][+-]?\d+)?"
THOUSANDS = r"[+-]?[1-9]\d{0,2},\d{3}"
"""A number in which a comma may stand after the thousands."""
SAMPLE = 200
"""Number of lines by which separators and the header are recognised."""
Row = tuple[int, list[str]]
"""Number of a line, counted from 1, and its cells."""
Header = tuple[list[str], list[str], Literal["yes", "comment", "no"]]
"""Names of the columns, their units, and where the names are."""


@dataclass(eq=False)
class Rows:
    """A text table, first its header, then its numbers.

    Attributes
    ----------
    names
        Names of the columns; numbers from 1 if there is no header.
    units
        Units in a line below the header; otherwise empty.
    has_header
        Whether the file has a header.
    first
        Cells of the first row.
    style
        Separators.
    start
        Line number of the first row.
    values, lines, times
        Numbers of the columns that were asked for, line number of each row, and cells of the column of times.
    """

    names: list[str]
    units: list[str]
    has_header: bool
    first: list[str]
    style: FileStyle
    start: int
    encoding: str | None = None
    notes: list[str] = field(default_factory=list)
    values: Floats = field(default_factory=lambda: np.zeros((0, 0)))
    lines: list[int] = field(default_factory=list)
    times: list[str] = field(default_factory=list)


def open_table(path: Path, encoding: str | None = None) -> Rows:
    """Find separators, header and units of a text table."""
    sample = _sample(path, encoding)
    texts = [line for _, line in sample]
    style = _separators(texts)
    _refuse_thousands(path, texts, style)
    header, width = _header_line(path, sample, style)
    above: list[Row] = []
    comment: Line | None = None
    for number, line in lines_of(path, encoding):
        if _is_comment(line):
            comment = (number, line.strip())
            continue
        if not line.strip():
            continue
        cells = split_line(path, number, line, style.delimiter)
        if len(cells) > MAX_COLUMNS:
            raise ValueError(f"{path}, line {number}: expected at most {MAX_COLUMNS} columns, got {len(cells)}")
        # A word and a number, such as Rate,10, are no row of numbers if names of columns follow.
        filled = sum(map(bool, map(str.strip, cells)))
        is_setting = number < header and filled < width and not _is_data(cells[:1], style)
        if _is_data(cells, style) and not is_setting:
            table = _begin(path, (number, cells), above, comment, style)
            table.encoding = encoding
            return table
        above.append((number, cells))
    found = ""
    if len(above) > 1:
        number, cells = above[1]
        shown = ", ".join(repr(clean(cell)[:60]) for cell in cells[:4])
        found = f"; line {number} has {shown}, while numbers are separated by commas, semicolons, tabs or blanks"
    raise ValueError(f"{path}: expected at least one row of numbers, got none{found}")


def read_rows(path: Path, table: Rows, wanted: list[int], time: int | None) -> Rows:
    """Read the numbers of some columns, and the cells of the column of times."""
    width, comma = len(table.names), table.style.decimal == ","
    numbers = array("d")
    cells: list[str] = []
    for number, cells in _cells(path, table):
        if len(cells) == width + 1 and not cells[-1].strip():
            cells.pop()
        if len(cells) != width:
            raise ValueError(f"{path}, line {number}: expected {width} columns, got {len(cells)}")
        if not any(map(str.strip, cells)):
            continue
        chosen = [cells[i] for i in wanted]
        try:
            row = [float(cell.replace(",", ".") if comma else cell) for cell in chosen]
        except ValueError:
            row = [math.nan]
        if not all(map(math.isfinite, row)) or "_" in "".join(chosen):
            names = table.names if table.has_header else [""] * width
            row = [number_in(path, number, i, cells[i], names[i], comma=comma) for i in wanted]
        numbers.extend(row)
        table.lines.append(number)
        if time is not None:
            table.times.append(cells[time])
        if len(numbers) > MAX_NUMBERS:
            raise ValueError(f"{path}, line {number}: expected at most {MAX_NUMBERS:,} numbers; split the file")
    table.values = (
        np.frombuffer(numbers, dtype=float).reshape(len(table.lines), len(wanted)) if wanted else np.zeros((0, 0))
    )
    return table


def texts_of(path: Path, table: Rows, at: int) -> list[str]:
    """Return the texts of one column, for the rows that `read_rows` has read."""
    return [cells[at].strip() for _, cells in _cells(path, table) if any(map(str.strip, cells))]


def number_in(path: Path, line: int, at: int, cell: str, name: str = "", *, comma: bool = False) -> float:
    """Return the number in the cell of a line and column, NaN if it is missing."""
    value = as_number(cell.replace(",", ".") if comma else cell)
    if value is None:
        if cell.strip().lower() in MISSING:
            return math.nan
        value = math.inf
    if math.isinf(value):
        where = f"{path}, line {line}, column {at + 1}" + (f" ({name})" if name else "")
        raise ValueError(f"{where}: expected a finite number or an empty cell, got {clean(cell.strip())[:40]!r}")
    return value


def _begin(path: Path, row: Row, above: list[Row], comment: Line | None, style: FileStyle) -> Rows:
    """Return the table that begins with a row of numbers, below the given lines."""
    number, cells = row
    width = len(cells) - (1 if cells and not cells[-1].strip() and above and len(above[-1][1]) == len(cells) - 1 else 0)
    names, units, kind = _header(path, number, width, above, comment, style)
    notes = []
    lines = len(above) - (kind == "yes") - bool(any(units))
    if lines > 0:
        notes.append(f"{counted(lines, 'line')} above the header ignored")
    names = [clean(unescape_cell(name.strip())) for name in names]
    style = replace(style, header=kind)
    has_header = kind != "no"
    names = names if has_header else [str(i + 1) for i in range(width)]
    return Rows(names, units, has_header, cells[:width], style, number, notes=notes)


def _header(path: Path, number: int, width: int, above: list[Row], comment: Line | None, style: FileStyle) -> Header:
    """Return the names of the columns, their units, and whether they are in a header, in a comment or nowhere."""
    units = [""] * width
    if len(above) > 1 and len(above[-1][1]) == width and _are_units(above[-1][1]):
        units = [plain_unit(cell.strip().strip("[]()")) for cell in above[-1][1]]
        above = above[:-1]
    if above:
        line, cells = above[-1]
        if len(cells) == width + 1 and not cells[-1].strip():
            cells = cells[:-1]
        if len(cells) == width:
            _refuse_sample(path, above, style)
            return cells, units, "yes"
        if len(cells) > 1:
            raise ValueError(f"{path}, line {number}: expected {len(cells)} columns as in line {line}, got {width}")
    if comment is not None:
        text = comment[1]
        cells = split_line(path, comment[0], text, style.delimiter)
        if len(cells) == width and style.delimiter != " ":
            return cells, units, "yes"
        cells = split_line(path, comment[0], text.lstrip("#%/ "), style.delimiter)
        if len(cells) == width:
            return cells, units, "comment"
    return [], units, "no"


def _refuse_sample(path: Path, above: list[Row], style: FileStyle) -> None:
    """Refuse a last line above the numbers that is a sample with words, below a header as wide as itself."""
    line, cells = above[-1]
    names = next((header for _, header in above[:-1] if len(header) == len(cells)), None)
    if names is None or not _is_data(cells[:1], style) or any(_is_data([name], style) for name in names):
        return
    for i, cell in enumerate(cells[1:], start=1):
        number_in(path, line, i, cell, clean(names[i].strip()), comma=style.decimal == ",")


def _are_units(cells: list[str]) -> bool:
    return all(cell.strip().strip("[]()").lower() in UNITS for cell in cells) and any(cell.strip() for cell in cells)


def _is_data(cells: list[str], style: FileStyle) -> bool:
    """Tell whether at least half of the cells of a line that are not missing are numbers or times."""
    filled = [cell.strip() for cell in cells if cell.strip().lower() not in MISSING]
    if not filled:  # dashes may also be units, or a line below the header
        return any(cell.strip().lower() not in (*OTHER_UNITS, "--") for cell in cells)
    plain = [cell.replace(",", ".") if style.decimal == "," else cell for cell in filled]
    good = sum(is_time_cell(cell) or as_number(number) is not None for cell, number in zip(filled, plain, strict=True))
    return 2 * good >= len(filled)


def _is_comment(line: str) -> bool:
    """Tell whether a line is a comment; one that begins with #N/A, a missing value, is not."""
    text = line.lstrip()
    return text.startswith(COMMENTS) and not text.lower().startswith("#n/a")


def _header_line(path: Path, sample: list[Line], style: FileStyle) -> tuple[int, int]:
    """Return the number of the last line that can be names of columns, and how many names it has; zeros without one."""
    for number, line in reversed(sample):
        cells = [cell for cell in split_line(path, number, line, style.delimiter) if cell.strip()]
        if len(cells) >= 3 and not any(_is_data([cell], style) for cell in cells):
            return number, len(cells)
    return 0, 0


def _sample(path: Path, encoding: str | None) -> list[Line]:
    """Return the first lines that are neither blank nor comments."""
    found: list[Line] = []
    for number, line in lines_of(path, encoding):
        if line.strip() and not _is_comment(line):
            found.append((number, line))
            if len(found) == SAMPLE:
                break
    return found


def _separators(sample: list[str]) -> FileStyle:
    """Find the separators by the last line of a sample: unlike a header, it consists of numbers."""
    last = sample[-1] if sample else ""
    delimiter = next((mark for mark in ";\t," if mark in last), "")
    if delimiter == "," and len(words := last.split()) > 1 and all(re.fullmatch(COMMA_DECIMAL, word) for word in words):
        delimiter = " "
    if not delimiter:
        delimiter = " " if len(last.split()) > 1 else ","
    cells = _plain_cells(sample, delimiter)
    comma = delimiter != "," and any("," in cell and re.fullmatch(COMMA_DECIMAL, cell) for cell in cells)
    return FileStyle(delimiter, "," if comma else ".")


def _plain_cells(sample: list[str], delimiter: str) -> Iterator[str]:
    """Yield the cells of a sample without quotes."""
    for line in sample:
        yield from (cell.strip(' "') for cell in line.split(delimiter))


def _refuse_thousands(path: Path, sample: list[str], style: FileStyle) -> None:
    """Refuse a table in which a comma may be a decimal mark or stand after thousands: 0.1;1,250."""
    if style.decimal != ",":
        return
    cells = list(_plain_cells(sample, style.delimiter))
    marked = [cell for cell in cells if re.fullmatch(r"[+-]?\d+,\d+", cell)]
    points = any(re.fullmatch(r"[+-]?\d*\.\d+", cell) for cell in cells)
    if points and marked and all(re.fullmatch(THOUSANDS, cell) for cell in marked):
        raise ValueError(
            f"{path}: expected one decimal mark, got decimal points and commas that may stand after thousands, such as "
            f"{marked[0]!r}; write the numbers without commas, or with the same mark in all columns"
        )


def split_line(path: Path, number: int, line: str, delimiter: str) -> list[str]:
    """Return the cells of one line; in a table, where quotes may span lines, use `read_rows`."""
    if delimiter == " ":
        return line.split()
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error as error:
        raise ValueError(f"{path}, line {number}: {error}") from None


def _cells(path: Path, table: Rows) -> Iterator[Row]:
    """Yield the line number and the cells of every row of numbers; blank lines and comments are skipped."""

    def rows() -> Iterator[Line]:
        for number, line in lines_of(path, table.encoding):
            if number >= table.start and line.strip() and not _is_comment(line):
                last[0] = number
                yield number, line

    last = [table.start]
    if table.style.delimiter == " ":
        for number, line in rows():
            yield number, line.split()
        return
    reader = csv.reader((line + "\n" for _, line in rows()), delimiter=table.style.delimiter)
    try:
        for cells in reader:
            yield last[0], cells
    except csv.Error as error:
        raise ValueError(f"{path}, line {last[0]}: {error}") from None
