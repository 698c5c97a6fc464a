"""Bounds on what a transport accepts and keeps: rates, clients, queues of samples and of forecasts."""

from __future__ import annotations

import asyncio
import logging
import random
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable

from quatcast.live.frames import Frame

log = logging.getLogger("quatcast.live")

MAX_CLIENTS = 16
"""Clients that one listener serves at a time."""
MAX_RATE = 5000.0
"""Messages per second that one connection may send."""
BURST = 256
"""Messages that may arrive at once before the rate counts."""
MAX_WAITING_FRAMES = 1024
"""Samples that wait for the service."""
MAX_WAITING_FORECASTS = 64
"""Forecasts that wait for one receiver; the oldest are dropped."""
FIRST_DELAY, LONGEST_DELAY = 0.2, 5.0
"""Seconds between attempts to connect, at most: after the first failure, and after many."""
STALL_SECONDS = 5.0
"""Time after which a receiver that takes nothing is disconnected, and a client that gives no token."""


class RateLimit:
    """Bound on a rate of messages: a bucket that holds `burst` messages and is refilled at `rate` per second.

    Examples
    --------
    >>> limit = RateLimit(rate=10.0, burst=2)
    >>> [limit.wait(now=0.0) for _ in range(3)]
    [0.0, 0.0, 0.1]
    """

    def __init__(self, rate: float = MAX_RATE, burst: float = BURST) -> None:
        self.rate, self.burst = rate, burst
        self._level, self._time = float(burst), float("-inf")

    def wait(self, now: float) -> float:
        """Return the seconds until the next message may pass; 0 if it passes now, which takes it from the bucket."""
        self._level = min(self.burst, self._level + max(0.0, now - self._time) * self.rate)
        self._time = now
        if self._level < 1:
            return (1 - self._level) / self.rate
        self._level -= 1
        return 0.0

    async def passes(self) -> None:
        """Wait until the next message may pass."""
        loop = asyncio.get_running_loop()
        while delay := self.wait(loop.time()):
            await asyncio.sleep(max(delay, 0.001))


class Inbox:
    """Frames that have arrived and wait for the service, at most `MAX_WAITING_FRAMES`.

    Parameters
    ----------
    refused
        Number of refused samples by kind, in which those that were dropped are counted.
    """

    def __init__(self, refused: dict[str, int]) -> None:
        self._refused = refused
        self._queue: asyncio.Queue[Frame | None] = asyncio.Queue(MAX_WAITING_FRAMES)

    async def put(self, frame: Frame) -> None:
        """Add a frame; wait while the inbox is full, so that the sender of a stream has to wait, too."""
        await self._queue.put(frame)

    def offer(self, frame: Frame) -> None:
        """Add a frame; drop and count the oldest if the inbox is full."""
        if self._queue.full():
            self._queue.get_nowait()
            self._refused["overflow"] = self._refused.get("overflow", 0) + 1
        self._queue.put_nowait(frame)

    def close(self) -> None:
        """End the iteration over frames."""
        if self._queue.full():
            self._queue.get_nowait()
        self._queue.put_nowait(None)

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield frames until the inbox is closed."""
        while (frame := await self._queue.get()) is not None:
            yield frame


class Outbox:
    """Messages that wait for one receiver, at most `MAX_WAITING_FORECASTS`; the oldest are dropped.

    Parameters
    ----------
    write
        Writes one message and waits until the receiver can take more.
    """

    def __init__(self, write: Callable[[bytes], Awaitable[None]]) -> None:
        self._write = write
        self._waiting: deque[bytes] = deque(maxlen=MAX_WAITING_FORECASTS)
        self._filled = asyncio.Event()

    def put(self, message: bytes) -> int:
        """Add a message and return how many were dropped for it."""
        dropped = int(len(self._waiting) == MAX_WAITING_FORECASTS)
        self._waiting.append(message)
        self._filled.set()
        return dropped

    async def run(self) -> None:
        """Write messages; end with `TimeoutError` if the receiver takes nothing for `STALL_SECONDS`."""
        while True:
            await self._filled.wait()
            while self._waiting:
                async with asyncio.timeout(STALL_SECONDS):
                    await self._write(self._waiting.popleft())
            self._filled.clear()


class Backoff:
    """Growing random delays between attempts to connect, from 0.1 to 5 s.

    Examples
    --------
    >>> backoff = Backoff()
    >>> 0.1 <= backoff.next() <= 0.2
    True
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Begin again with the shortest delay, after a connection that worked."""
        self._delay = FIRST_DELAY

    def after(self, url: str, reason: str | Exception, lasted: float) -> float:
        """Return the delay after a connection that lasted some seconds, and log it with the reason."""
        if lasted > LONGEST_DELAY:
            self.reset()
        delay = self.next()
        log.warning("%s: %s; next attempt in %.1f s", url, str(reason) or type(reason).__name__, delay)
        return delay

    def next(self) -> float:
        """Return the next delay in seconds."""
        delay = self._delay * random.uniform(0.5, 1.0)
        self._delay = min(2 * self._delay, LONGEST_DELAY)
        return delay
