"""Output on a terminal: lines, tables, and progress with the remaining time."""

from __future__ import annotations

import time
from collections.abc import Sequence
from datetime import timedelta
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from quatcast.basics.escaping import one_line, printable

EVERY = 10.0
"""Seconds between lines of progress where no bar can be drawn."""


class Interrupted(Exception):  # noqa: N818
    """The user pressed Ctrl-C; the message says where finished work is stored."""


def say(text: str) -> None:
    """Print a line of text without formatting."""
    Console(soft_wrap=True).print(Text(printable(text)))


def warn(text: str) -> None:
    """Print a line on standard error, as errors and warnings are printed."""
    Console(soft_wrap=True, stderr=True).print(Text(f"quatcast: {one_line(text)}"))


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> None:
    """Print a table whose first `words` columns hold words and the others hold numbers."""
    grid = Table()
    for i, column in enumerate(columns):
        grid.add_column(Text(one_line(column)), justify="left" if i < words else "right", no_wrap=i == 0)
    for row in rows:
        grid.add_row(*(Text(one_line(cell)) for cell in row))
    # Written to a file, a table is not limited to the width of a terminal.
    console = Console(highlight=False)
    console = console if console.is_terminal else Console(highlight=False, width=160)
    # As a title of the table it would be broken at the width of the table.
    console.print(Text(one_line(title), style="bold"))
    console.print(grid)


class ProgressDisplay:
    """The progress of named stages on standard error: bars on a terminal, otherwise a line every few seconds."""

    def __init__(self) -> None:
        console = Console(stderr=True)
        columns = (
            TextColumn("{task.description:<12}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
            TextColumn("left"),
        )
        self._bars = Progress(*columns, console=console) if console.is_terminal else None
        self._console = console
        self._tasks: dict[str, TaskID] = {}
        self._began: dict[str, tuple[float, float]] = {}
        self._printed = time.monotonic()

    def __enter__(self) -> Self:
        if self._bars:
            self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bars:
            self._bars.stop()

    def update(self, stage: str, done: float, total: float) -> None:
        """Show how much of a stage is done."""
        if self._bars:
            if stage not in self._tasks:
                self._tasks[stage] = self._bars.add_task(stage, total=total)
            self._bars.update(self._tasks[stage], completed=done, total=total)
            return
        now = time.monotonic()
        began, before = self._began.setdefault(stage, (now, done))
        if now - self._printed >= EVERY and done > before:
            left = timedelta(seconds=round((now - began) * (total - done) / (done - before)))
            self._printed = now
            self._console.print(f"{stage}: {done / total:.0%}, about {left} left", highlight=False, markup=False)
