"""The header above lines of numbers: what it says about their columns."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass

from quatcast.data.headers import NOT_COORDINATES, find_groups, last_word
from quatcast.data.recording import AXES
from quatcast.data.text import as_number
from quatcast.data.times import time_unit
from quatcast.data.units import split_unit
from quatcast.live.fields import MAX_NAME, is_name, usable_names
from quatcast.live.messages import delimiter_of

SHOWN = 80
"""Largest number of characters of a header that an error shows."""


@dataclass(frozen=True)
class Header:
    """What a header says about the lines of numbers below it.

    Attributes
    ----------
    names
        Names of the channels; empty if there are none.
    unit
        Unit of the coordinates; empty if there is none, or more than one.
    time_unit
        Unit of the times in the first column.
    fault
        Why the lines below it cannot be read; empty if they can.
    names_columns
        Whether it names coordinates, unlike a comment or a line of units.
    """

    names: tuple[str, ...] = ()
    unit: str = ""
    time_unit: str = "s"
    fault: str = ""
    names_columns: bool = False


def read_header(text: str, dimensions: int) -> Header | None:
    r"""Return what a header says, or None if the line is none: if a cell is a number, or no cell has a letter.

    Cells may be in quotes, and the line may begin with a number sign.

    Examples
    --------
    >>> header = read_header('#"time [ms]"\t"chest.x [mm]"\t"chest.y [mm]"\t"chest.z [mm]"', 3)
    >>> header.names, header.unit, header.time_unit
    (('chest',), 'mm', 'ms')
    >>> read_header("time,z,y,x", 3).fault
    'header: expected the time or nothing, then x, y, z per channel, got time,z,y,x; send the columns ...'
    >>> read_header("0.1,1,2,three", 3) is None
    True
    """
    cells = _header_cells(text)
    if any(as_number(cell) is not None for cell in cells) or not any(map(str.isalpha, "".join(cells))):
        return None
    names = header_names(cells, dimensions)
    return Header(
        names=names,
        unit=_unit(cells, dimensions),
        time_unit=(_has_time(cells, dimensions) and time_unit(cells[0])) or "s",
        fault=_fault(cells, text.strip()[:SHOWN], dimensions),
        names_columns=bool(names) or bool(_groups(cells)),
    )


def _header_cells(text: str) -> list[str]:
    """Split a line at the delimiter of its cells, which may be in quotes; return nothing if it cannot be a header."""
    text = text.removeprefix("\ufeff").strip()
    if text.startswith("{") or not text.replace("\t", " ").isprintable():
        return []
    text = text.lstrip("#% ")
    cells = next(csv.reader([text], delimiter=delimiter_of(text), skipinitialspace=True), [])
    return [cell.strip().strip("'").strip() for cell in cells]


def _fault(cells: Sequence[str], text: str, dimensions: int) -> str:
    """Return why lines below a header cannot be read, or an empty text if they can."""
    if not header_is_ordered(cells, dimensions):
        order = ", ".join(AXES.get(dimensions, ("all coordinates",)))
        return (
            f"header: expected the time or nothing, then {order} per channel, got {text}; send the columns in "
            "this order, or JSON"
        )
    is_time = time_unit(cells[0]) is not None
    if is_time and not _has_time(cells, dimensions) and len(cells) > 1:
        return (
            f"header: expected {dimensions} coordinates per channel after the time, got {text}; give their number "
            "(?dimensions=2), or send JSON"
        )
    if _has_time(cells, dimensions) and not is_time and _is_no_time(cells[0]):
        return (
            f"header: expected the time in column 1, because there is one column more than the {dimensions} "
            f"coordinates per channel, got {text}; send the time in its place, leave the column out, or send JSON"
        )
    return ""


def _is_no_time(name: str) -> bool:
    """Tell whether the name of a column says that it holds something else than times, such as numbers of frames."""
    label = split_unit(name)[0].lower().replace("_", " ")
    return label in NOT_COORDINATES or last_word(split_unit(name)[0]) in NOT_COORDINATES


def _unit(cells: Sequence[str], dimensions: int) -> str:
    """Return the unit of the positions that a header names; empty if it names none or several."""
    columns = cells[_has_time(cells, dimensions) :]
    # Of poses only the positions have a unit.
    found = {split_unit(name)[1] for i, name in enumerate(columns) if dimensions != 7 or i % 7 < 3}
    unit = found.pop() if len(found) == 1 else ""
    return unit if is_name(unit) else ""


def header_names(cells: Sequence[str], dimensions: int) -> tuple[str, ...]:
    """Return the names of the channels from a header such as `time,chest.x,chest.y,chest.z`; empty if there are none.

    Examples
    --------
    >>> header_names(["time", "chest.x", "chest.y", "chest.z"], 3)
    ('chest',)
    """
    columns = [split_unit(name)[0] for name in cells[_has_time(cells, dimensions) :]]
    groups = [columns[at : at + dimensions] for at in range(0, len(columns), dimensions)]
    names = []
    for group in groups:
        if dimensions == 7:  # tool.qw is a coordinate of tool
            group = [re.sub(r"([._ ])q(?=[wxyz]$)", r"\1", column) for column in group]
        prefixes = {column[:-2] if column[-2:-1] in "._ " else "" for column in group}
        names.append(prefixes.pop() if len(prefixes) == 1 else "")
    return usable_names(names)


def header_is_ordered(cells: Sequence[str], dimensions: int) -> bool:
    """Tell whether the coordinates that a header names are where lines of numbers have them.

    Examples
    --------
    >>> header_is_ordered(["time", "x", "y", "z"], 3), header_is_ordered(["x", "y", "z", "time"], 3)
    (True, False)
    >>> header_is_ordered(["time", "x", "y", "z", "qx", "qy", "qz", "qw"], 7)
    False
    """
    for at in _groups(cells) if dimensions >= 3 else []:
        start = 3 if dimensions == 7 and len(at) == 4 else 0
        if at != tuple(range(at[0], at[0] + len(at))) or (at[0] - _has_time(cells, dimensions)) % dimensions != start:
            return False
    return True


def _has_time(cells: Sequence[str], dimensions: int) -> bool:
    """Tell whether lines with as many columns as a header begin with a time."""
    return dimensions > 1 and len(cells) % dimensions == 1


def _groups(cells: Sequence[str]) -> list[tuple[int, ...]]:
    """Return the places of the coordinates of each channel that a header names."""
    names = [cell if len(cell) <= MAX_NAME else "" for cell in cells]  # a long name of blanks would take seconds
    return [group.at for group in find_groups(names)]
