"""The appearance of a file: separators, and the name and the unit of its column of times."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TIME_UNITS = {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}
"""Unit of a column of times → its length in seconds."""


@dataclass(frozen=True)
class FileStyle:
    """How a table is written: separators and the column of times.

    A recording keeps the style of the file that it was read from, and `write_csv` uses it again.

    Parameters
    ----------
    delimiter
        Character between two cells.
    decimal
        Decimal mark, "." or ",".
    time
        Name of the column of times.
    time_unit
        "s", "ms", "us", "ns", "min", "h", or "iso" for dates and times of day.
    time_origin
        The time in the file at which the times of the recording are zero: a whole number of units, or a date. It
        is subtracted when a file is read, because the nanoseconds since 1970 do not fit into a float.
    time_decimals
        Decimals of a time in the file at least; None for as many as are needed.
    header
        Whether the file has a line with the names of the columns; "comment" if this line begins with a number sign.
    time_unit_below
        If the units are in a line below the header, the unit of the times there; None if there is no such line.

    Examples
    --------
    >>> FileStyle(delimiter=";", decimal=",").time
    'time'
    """

    delimiter: str = ","
    decimal: str = "."
    time: str = "time"
    time_unit: str = "s"
    time_origin: str = ""
    time_decimals: int | None = None
    header: Literal["yes", "comment", "no"] = "yes"
    time_unit_below: str | None = None

    def __post_init__(self) -> None:
        if self.time_unit not in (*TIME_UNITS, "iso"):
            raise ValueError(f"time_unit: expected one of {', '.join(TIME_UNITS)} or iso, got {self.time_unit!r}")
        if len(self.delimiter) != 1 or self.decimal not in (".", ",") or self.decimal == self.delimiter:
            raise ValueError(
                "delimiter, decimal: expected one character and another one that is a point or a comma, got "
                f"{self.delimiter!r} and {self.decimal!r}"
            )
