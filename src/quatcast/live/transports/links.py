"""Connections over TCP: accepted from clients, or kept open to a server, whatever is sent over them.

`StreamSource` and `StreamSink` are the common part of the transports that use such connections; they differ only in the
format of the messages.
"""

from __future__ import annotations

import asyncio
import logging
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Self

from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.messages import MAX_MESSAGE
from quatcast.live.transports.base import Sink, Source
from quatcast.live.transports.endpoint import Endpoint
from quatcast.live.transports.limits import MAX_CLIENTS, STALL_SECONDS, Backoff, Inbox, Outbox
from quatcast.live.transports.lines import read_token, token_line

log = logging.getLogger("quatcast.live")

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection until it ends."""


async def keep_connected(url: str, connect: Callable[[], Awaitable[None]]) -> None:
    """Call `connect`, which ends with the connection, again and again, with growing delays while it fails."""
    backoff = Backoff()
    while True:
        began = asyncio.get_running_loop().time()
        try:
            await connect()
            reason = "the connection has ended"
        except (OSError, EOFError, TimeoutError) as error:
            reason = str(error) or type(error).__name__
        if asyncio.get_running_loop().time() - began > backoff.longest:
            backoff.reset()
        delay = backoff.next()
        log.warning("%s: %s; next attempt in %.1f s", url, reason, delay)
        await asyncio.sleep(delay)


class Links:
    """The connections of a transport, each served by a handler.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    handler
        Serves one connection.
    refused
        Number of refused connections by kind.
    """

    def __init__(self, endpoint: Endpoint, handler: Handler, refused: Counter[str]) -> None:
        self.endpoint, self.handler, self.refused = endpoint, handler, refused
        self.address = (endpoint.host, endpoint.port)
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        """Begin to listen, or to connect."""
        if self.endpoint.listen:
            self._server = await asyncio.start_server(self._accept, *self.address, limit=MAX_MESSAGE)
            self.address = self._server.sockets[0].getsockname()[:2]
        else:
            self._tasks.add(asyncio.create_task(keep_connected(str(self.endpoint), self._connect)))

    async def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connect(self) -> None:
        host, port = self.address
        async with asyncio.timeout(STALL_SECONDS):
            reader, writer = await asyncio.open_connection(host, port, limit=MAX_MESSAGE)
        log.info("%s: connected", self.endpoint)
        if self.endpoint.token:
            writer.write(token_line(self.endpoint.token))
        await self._serve(reader, writer)

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client in a task, unless there are too many or its address is not allowed."""
        peer = writer.get_extra_info("peername") or ("",)
        if not self.endpoint.admits(str(peer[0])):
            self.refused["address"] += 1
        elif len(self._tasks) >= MAX_CLIENTS:
            self.refused["clients"] += 1
        else:
            task = asyncio.create_task(self._welcome(reader, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            return
        writer.transport.abort()

    async def _welcome(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serve a client that gives the right token."""
        try:
            if self.endpoint.token:
                async with asyncio.timeout(STALL_SECONDS):
                    token = read_token(await reader.readuntil(b"\n"))
                if not self.endpoint.accepts(token):
                    raise EOFError
        except (OSError, EOFError, TimeoutError, asyncio.LimitOverrunError):
            self.refused["token"] += 1
            writer.transport.abort()
            return
        try:
            await self._serve(reader, writer)
        except (OSError, EOFError, TimeoutError) as error:
            log.info("%s: a client has gone: %s", self.endpoint, error or type(error).__name__)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.handler(reader, writer)
        finally:
            writer.transport.abort()


class StreamSource(Source):
    """A source over TCP connections; derived classes read the messages.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    """

    refused: Counter[str]

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.refused = endpoint, Counter[str]()
        self._links = Links(endpoint, self._receive, self.refused)

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; a port that the system has chosen is known once the source has been entered."""
        return self._links.address

    async def __aenter__(self) -> Self:
        """Listen or connect."""
        self._inbox = Inbox()
        await self._links.open()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """End all connections."""
        await self._links.close()
        self._inbox.close()

    def frames(self) -> AsyncIterator[Frame]:
        """Yield the samples as they arrive."""
        return self._inbox.frames()

    @abstractmethod
    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Put the samples of one connection into the inbox until it ends."""


class StreamSink(Sink):
    """A sink over TCP connections; derived classes write the messages.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.dropped, self.refused = endpoint, 0, Counter[str]()
        self._links = Links(endpoint, self._receiver, self.refused)
        self._outboxes: set[Outbox] = set()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port; a port that the system has chosen is known once the sink has been entered."""
        return self._links.address

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

    async def _listen_to(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Discard what a receiver says until it ends the connection."""
        while await reader.read(4096):
            await asyncio.sleep(0.01)

    async def _receiver(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Write forecasts to one receiver until it goes or stalls."""

        async def write(message: bytes) -> None:
            writer.write(message)
            await writer.drain()

        outbox = Outbox(write)
        self._outboxes.add(outbox)
        tasks = [asyncio.create_task(outbox.run()), asyncio.create_task(self._listen_to(reader, writer))]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            self._outboxes.discard(outbox)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
