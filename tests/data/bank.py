"""Files as people have them, in the style of each tool, and what must come out.

All of them hold the same motion, so that each expectation is one line: at time t in seconds, channel c (from 0) is at
(1 + t + 10 c, 2 + 2 t + 10 c, 3 - t + 10 c), and has turned by t radians about the z axis. The numbers come from
`position` and `quaternion` below, which share no code with the readers.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

ROWS = 40
RATE = 10.0


def position(t: float, channel: int = 0) -> tuple[float, float, float]:
    return 1 + t + 10 * channel, 2 + 2 * t + 10 * channel, 3 - t + 10 * channel


def quaternion(t: float) -> tuple[float, float, float, float]:
    """The quaternion (w, x, y, z) of a turn by t about z."""
    return math.cos(t / 2), 0.0, 0.0, math.sin(t / 2)


def matrix(t: float) -> list[list[float]]:
    c, s = math.cos(t), math.sin(t)
    return [[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]]


def times(rate: float = RATE, rows: int = ROWS) -> list[float]:
    return [k / rate for k in range(rows)]


def table(header: str, row: Callable[[float], Any], separator: str = ",", decimal: str = ".", end: str = "\n") -> str:
    """Return a table of `header` and one row per time."""
    lines = [header] if header else []
    for t in times():
        cells = [cell if isinstance(cell, str) else f"{cell:.12g}".replace(".", decimal) for cell in row(t)]
        lines.append(separator.join(cells))
    return end.join(lines) + end


@dataclass(frozen=True)
class Case:
    """A file, how it is read, and what comes out.

    `notes` are words that the notes must contain; where it is empty, there must be none.
    """

    name: str
    content: str | bytes
    suffix: str = "csv"
    options: dict[str, Any] = field(default_factory=dict)
    channels: tuple[str, ...] = ("channel1",)
    units: tuple[str, ...] = ("",)
    space: str = "position"
    columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    needs: str = ""

    @property
    def data(self) -> bytes:
        return self.content.encode() if isinstance(self.content, str) else self.content


@dataclass(frozen=True)
class Unclear:
    """A file that must be refused, and words of the message, among them the option to give."""

    name: str
    content: str | bytes
    words: tuple[str, ...]
    suffix: str = "csv"
    options: dict[str, Any] = field(default_factory=dict)

    @property
    def data(self) -> bytes:
        return self.content.encode() if isinstance(self.content, str) else self.content
