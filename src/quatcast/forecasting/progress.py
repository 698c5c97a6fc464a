"""Progress of a run: how many samples it has processed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from quatcast.basics.typing import Floats

_watcher: ContextVar[Callable[[int], None] | None] = ContextVar("_watcher", default=None)


@contextmanager
def watched(report: Callable[[int], None]) -> Iterator[None]:
    """Call `report` with the number of samples after each sample of every `run` within the block.

    Examples
    --------
    >>> import numpy as np
    >>> from quatcast import ConstantVelocity
    >>> seen = []
    >>> with watched(seen.append):
    ...     forecasts = ConstantVelocity(5).run(np.zeros((40, 1, 3)))
    >>> seen[-1]
    40
    """
    token = _watcher.set(report)
    try:
        yield
    finally:
        _watcher.reset(token)


def counted(rows: Floats) -> Iterator[Floats]:
    """Yield the samples of a recording, and report each one when the next is asked for."""
    report = _watcher.get()
    for done, row in enumerate(rows, start=1):
        yield row
        if report is not None:
            report(done)
