"""What a service does between two samples, so that the next answer comes soon.

A garbage collection of all objects takes milliseconds and comes at any time, also between a sample and its answer.
While a service runs, the interpreter collects young objects only, which takes microseconds, and the service collects
the others itself once per minute, after it has learnt. While it has nothing to learn, it collects them all the same:
each connection that ends leaves objects that refer to each other, whether it has brought samples or not.

Between two samples a service sleeps, and other programs use the core. What an answer needs has then to be fetched from
memory, which takes a quarter of its time. A tracker is punctual: shortly before its next sample the forecaster reads
what it needs, which changes nothing that it remembers.

Threads that write files give the interpreter back to the loop sooner than Python's default of 5 ms.
"""

from __future__ import annotations

import asyncio
import gc
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

EVERY = 60.0
"""Seconds between collections of all objects."""
OVERDUE = 10.0
"""Seconds for which a collection that is due waits until the service has learnt."""
NEVER = 1_000_000_000
SWITCH = 0.0005
"""Seconds for which a thread that writes files may keep the interpreter from the loop."""
AHEAD = 0.003
"""Seconds before the next sample is due at which to get ready; this takes about one millisecond."""
SHORTEST = 0.015
"""Seconds between samples below which what was needed for the last one is still at hand."""


class Garbage:
    """Collect all garbage once per minute, if `only_young` has taken that from the interpreter.

    Examples
    --------
    >>> garbage = Garbage(every=0.0)
    >>> with only_young():
    ...     garbage.collect_if_due()
    """

    def __init__(self, every: float = EVERY) -> None:
        self.every, self._collected = every, time.monotonic()

    def collect_if_due(self, after: float = 0.0) -> None:
        """Collect if it has been due for some seconds; called when there is nothing to answer."""
        if time.monotonic() - self._collected >= self.every + after and gc.get_threshold()[2] == NEVER:
            gc.collect()
            self._collected = time.monotonic()


@contextmanager
def only_young() -> Iterator[None]:
    """Return a context in which the interpreter collects young objects only.

    Objects that exist already stay: no later collection looks at them.
    """
    thresholds = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(*thresholds[:2], NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()


@contextmanager
def quick_switches() -> Iterator[None]:
    """Return a context in which other threads keep the interpreter for a short time only."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class Readiness:
    """Call a function shortly before the next sample is due.

    Parameters
    ----------
    get_ready
        What to call.

    Examples
    --------
    >>> async def wait():
    ...     readiness = Readiness(lambda: print("ready"))
    ...     readiness.expect(period=0.02, passed=0.001)
    ...     await asyncio.sleep(0.03)
    >>> asyncio.run(wait())
    ready
    """

    def __init__(self, get_ready: Callable[[], None]) -> None:
        self._get_ready = get_ready
        self._planned: asyncio.TimerHandle | None = None

    def expect(self, period: float, passed: float) -> None:
        """Plan to get ready for the sample that comes a period after the last one, which came `passed` seconds ago."""
        self.cancel()
        left = period - passed - AHEAD
        if period >= SHORTEST and left > 0:
            self._planned = asyncio.get_running_loop().call_later(left, self._get_ready)

    def cancel(self) -> None:
        """Give up the plan, because the sample has come or will not come."""
        if self._planned is not None:
            self._planned.cancel()
            self._planned = None
