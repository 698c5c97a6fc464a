"""Output on a terminal: lines, tables, and progress with the remaining time."""

from __future__ import annotations

import io
import logging
import os
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from contextvars import ContextVar
from datetime import timedelta
from typing import Literal, Self

from rich.cells import cell_len
from rich.console import Console
from rich.measure import Measurement
from rich.progress import BarColumn, Progress, TaskID, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table
from rich.text import Text

from quatcast.basics.escaping import one_line, printable

EVERY = 10.0
"""Seconds between lines of progress where no bar can be drawn."""

AS_RECORDS: ContextVar[bool] = ContextVar("AS_RECORDS", default=False)
"""Whether messages are records of the log, so that they have its form: JSON, or the name of the stream in front."""


class Interrupted(Exception):  # noqa: N818
    """The user pressed Ctrl-C; the message says where finished work is stored."""


class Output(Console):
    """Standard output or error. If the reader goes away, as `head` does, nothing more is shown; the command goes on."""

    def on_broken_pipe(self) -> None:
        """Send what follows nowhere."""
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), self.file.fileno())


class LossyText(io.TextIOWrapper):
    """Standard error whose write errors are ignored: a full disk under a log must not end a command.

    Logs, progress bars and the interpreter itself, when it exits, write to it as well as `tell`.
    """

    def write(self, text: str) -> int:
        """Write text, unless it cannot be written."""
        try:
            return super().write(text)
        except OSError:
            return len(text)

    def flush(self) -> None:
        """Write what waits, unless it cannot be written."""
        with suppress(OSError):
            super().flush()


def prepare_streams() -> None:
    """Let neither a character that the encoding lacks nor a full disk under standard error end the command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors in ("strict", "surrogateescape"):
            stream.reconfigure(errors="replace")
    # Not the stream of a program that has put its own in the place of standard error.
    if type(old := sys.stderr) is io.TextIOWrapper:
        encoding, errors, settings = old.encoding, old.errors, (old.line_buffering, old.write_through)
        sys.stderr = LossyText(old.detach(), encoding, errors, None, *settings)


def say(text: str) -> None:
    """Print a line of text without formatting."""
    Output(soft_wrap=True).print(Text(printable(text)))


def tell(text: str, kind: str = "message", level: int = logging.INFO) -> None:
    """Print a line for people on standard error, because standard output may carry results; or log it.

    Nothing happens if standard error is closed (`print` would take standard output instead) or cannot be written.

    Parameters
    ----------
    text
        The line.
    kind, level
        Kind and level of the record, if it is logged; a warning or an error that is printed names the program.
    """
    if AS_RECORDS.get():
        logging.getLogger("quatcast.live").log(level, "%s", printable(text), extra={"kind": kind})
    elif sys.stderr is not None:
        name = "quatcast: " if level >= logging.WARNING else ""
        with suppress(OSError):
            print(name + printable(text), file=sys.stderr, flush=True)


def warn(text: str, kind: str = "warning", level: int = logging.WARNING) -> None:
    """Print a warning or an error as one line on standard error."""
    tell(one_line(text), kind, level)


def print_table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], words: int = 1) -> None:
    """Print a table whose first `words` columns hold words and the others hold numbers.

    On a terminal that is too narrow for it, every cell has a line of its own.
    """
    grid = Table()
    heads, cells = [one_line(column) for column in columns], [[one_line(cell) for cell in row] for row in rows]
    for i, head in enumerate(heads):
        # Names and numbers are not broken.
        widest = max((cell_len(row[i]) for row in cells), default=0) if i == 0 or i >= words else None
        justify: Literal["left", "right"] = "left" if i < words else "right"
        grid.add_column(Text(head), justify=justify, no_wrap=i == 0, min_width=widest)
    for row in cells:
        grid.add_row(*map(Text, row))
    # Written to a file, a table is not limited to the width of a terminal.
    console = Output(highlight=False)
    console = console if console.is_terminal else Output(highlight=False, width=160)
    # As a title of the table it would be broken at the width of the table.
    console.print(Text(one_line(title), style="bold"))
    if Measurement.get(console, console.options.update(width=10_000), grid).minimum <= console.width:
        console.print(grid)
        return
    for name, *others in cells:
        say(name)
        for head, cell in zip(heads[1:], others, strict=True):
            if cell:
                say(f"  {head}: {cell}")


class ProgressDisplay:
    """The progress of named stages on standard error: bars on a terminal, otherwise a line every few seconds."""

    def __init__(self) -> None:
        console = Output(stderr=True)
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
