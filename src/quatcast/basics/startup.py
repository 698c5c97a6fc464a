"""Ctrl-C while the command `quatcast` starts: the process ends at once, without a traceback.

Importing NumPy and the rest of the library takes a moment, in which no code of the command line can catch an interrupt
yet. During this time the signal has its default effect, which is to end the process.
"""

from __future__ import annotations

import signal
import sys
from pathlib import PurePath


def is_command(arguments: list[str]) -> bool:
    """Tell whether a process was started as `quatcast …` or `python -m quatcast …`.

    Examples
    --------
    >>> is_command(["python3", "-m", "quatcast", "compare"]), is_command(["python3", "/usr/bin/quatcast"])
    (True, True)
    >>> is_command(["python3", "-m", "pytest", "quatcast"]), is_command(["python3"])
    (False, False)
    """
    if "-m" in arguments[1:]:
        at = arguments.index("-m", 1)
        return arguments[at + 1 : at + 2] == ["quatcast"]
    scripts = [argument for argument in arguments[1:] if not argument.startswith("-")]
    return bool(scripts) and PurePath(scripts[0]).stem == "quatcast"


def begin() -> None:
    """Give interrupts their default effect if this process is the command."""
    if is_command(sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)


def end() -> None:
    """Let interrupts raise a KeyboardInterrupt again; the command line catches it."""
    if is_command(sys.orig_argv) and signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)


begin()
