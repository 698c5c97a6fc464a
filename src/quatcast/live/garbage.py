"""Garbage collection between two samples.

A collection of all objects takes milliseconds and comes at any time, also between a sample and its answer. While a
service runs, the interpreter collects young objects only, which takes microseconds, and the service collects the others
itself once per minute, after it has learnt. While it has nothing to learn, it collects them all the same: each
connection that ends leaves objects that refer to each other, whether it has brought samples or not.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

EVERY = 60.0
"""Seconds between collections of all objects."""
OVERDUE = 10.0
"""Seconds for which a collection that is due waits until the service has learnt."""
NEVER = 1_000_000_000


class Garbage:
    """Collects all garbage once per minute, if `only_young` has taken that from the interpreter.

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
