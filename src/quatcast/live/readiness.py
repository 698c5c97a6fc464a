"""Getting ready for the next sample just before it is due, so that its answer comes sooner.

Between two samples a service sleeps, and other programs use the core. What an answer needs has then to be fetched from
memory, which takes a quarter of its time. A tracker is punctual: shortly before its next sample the forecaster reads
what it needs, which changes nothing that it remembers.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

AHEAD = 0.003
"""Seconds before the next sample is due at which to get ready; this takes about one millisecond."""
SHORTEST = 0.015
"""Seconds between samples below which what was needed for the last one is still at hand."""


class Readiness:
    """Calls a function shortly before the next sample is due.

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
