"""Progress of a run: how many samples it has processed, for a display in another thread."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from quatcast.basics.typing import Floats


class Progress:
    """Progress of a run in one thread, which other threads may read and stop at any time.

    Attributes
    ----------
    samples
        Number of samples that have been forecast and learnt from.
    stopped
        Whether the run is to end after the present sample, with a `KeyboardInterrupt`.
    """

    samples = 0
    stopped = False


_watched: ContextVar[Progress | None] = ContextVar("_watched", default=None)


@contextmanager
def watched(progress: Progress) -> Iterator[None]:
    """Count into `progress` the samples of every `run` within the block, in this thread.

    Examples
    --------
    >>> import numpy as np
    >>> from quatcast import ConstantVelocity
    >>> progress = Progress()
    >>> with watched(progress):
    ...     forecasts = ConstantVelocity(5).run(np.zeros((40, 1, 3)))
    >>> progress.samples
    40
    """
    token = _watched.set(progress)
    try:
        yield
    finally:
        _watched.reset(token)


def counted(rows: Floats) -> Iterator[Floats]:
    """Yield the samples of a recording, and count each one when the next is asked for, until the run is stopped."""
    progress = _watched.get() or Progress()
    for row in rows:
        yield row
        progress.samples += 1
        if progress.stopped:
            raise KeyboardInterrupt
