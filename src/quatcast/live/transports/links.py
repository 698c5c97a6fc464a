"""Sources and sinks over connections: what TCP, WebSocket and OpenIGTLink have in common.

They differ in how a connection is made (`Connections`), and in the format of the messages (the derived classes).
"""

from __future__ import annotations

import asyncio
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from typing import Any, Protocol, Self

from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.transports.base import Sink, Source
from quatcast.live.transports.endpoint import Endpoint
from quatcast.live.transports.limits import Backoff, Inbox, Outbox, RateLimit
from quatcast.live.transports.lines import LineReader, TextSource, line_rules


class Connections(Protocol):
    """The connections of a transport, which a handler serves."""

    address: tuple[str, int]

    async def open(self) -> None:
        """Begin to listen, or to connect."""

    async def close(self) -> None:
        """End all connections."""


class Linked:
    """What sources and sinks over connections have in common.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    """

    _links: Connections

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.refused = endpoint, Counter[str]()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; a port that the system has chosen is known once the transport has been entered."""
        return self._links.address


class LinkSource(Linked, Source):
    """A source over connections; derived classes put the frames of each connection into the inbox."""

    refused: Counter[str]

    async def __aenter__(self) -> Self:
        """Listen or connect."""
        self._inbox = Inbox(self.refused)
        await self._links.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """End all connections."""
        await self._links.close()
        self._inbox.close()

    def frames(self) -> AsyncIterator[Frame]:
        """Yield the samples as they arrive."""
        return self._inbox.frames()


class LineSource(LinkSource, TextSource):
    """Samples in lines; derived classes yield the messages of a connection.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    stream
        Name of the stream.
    """

    def __init__(self, endpoint: Endpoint, stream: str) -> None:
        super().__init__(endpoint)
        self._rules = line_rules(endpoint, stream, self.refused)

    async def _take(self, messages: AsyncIterator[bytes]) -> None:
        """Take the samples of one connection, each message with one or more lines."""
        lines, limit = LineReader(self._rules), RateLimit()
        async for message in messages:
            received = now()
            for line in message.rstrip(b"\n").split(b"\n"):
                await limit.passes()
                frame = lines.read(line, received)
                if frame is not None:
                    await self._inbox.put(frame)


class LinkSink(Linked, Sink):
    """A sink over connections; derived classes write the messages."""

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self.dropped = 0
        self._outboxes: set[Outbox] = set()

    @property
    def receivers(self) -> int:
        """Number of receivers that are connected."""
        return len(self._outboxes)

    async def __aenter__(self) -> Self:
        """Listen or connect."""
        await self._links.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """End all connections."""
        await self._links.close()

    def send(self, forecast: ForecastFrame) -> None:
        """Queue a forecast for every receiver; without a connection to its server, drop it."""
        if not self._outboxes:
            self.dropped += not self.endpoint.listen
            return
        message = self._message(forecast)
        for outbox in self._outboxes:
            self.dropped += outbox.put(message)

    @abstractmethod
    def _message(self, forecast: ForecastFrame) -> bytes:
        """Return the bytes of a forecast."""

    async def _feed(
        self, write: Callable[[bytes], Awaitable[None]], discard: Callable[[], Coroutine[Any, Any, None]]
    ) -> None:
        """Write forecasts to one receiver, and discard what it says, until it goes or stalls."""
        outbox = Outbox(write)
        self._outboxes.add(outbox)
        tasks = [asyncio.create_task(outbox.run()), asyncio.create_task(discard())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._outboxes.discard(outbox)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)


async def keep_connected(url: str, connect: Callable[[], Awaitable[None]]) -> None:
    """Call `connect`, which ends with the connection, again and again, with growing delays while it fails."""
    backoff = Backoff()
    while True:
        began = time.monotonic()
        reason: str | Exception = "the connection has ended"
        try:
            await connect()
        except Exception as error:  # whatever a server sends, the next attempt must come
            reason = error
        await asyncio.sleep(backoff.after(url, reason, time.monotonic() - began))
