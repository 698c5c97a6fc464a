"""Connections over TCP: accepted from clients, or kept open to a server, whatever is sent over them."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections import Counter
from collections.abc import Awaitable, Callable

from quatcast.live.addresses import naming
from quatcast.live.messages import MAX_MESSAGE
from quatcast.live.transports.endpoint import Endpoint
from quatcast.live.transports.limits import MAX_CLIENTS, STALL_SECONDS
from quatcast.live.transports.lines import read_token, token_line
from quatcast.live.transports.links import LinkSink, keep_connected

log = logging.getLogger("quatcast.live")

Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Serves one connection until it ends."""
PROBES = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}
"""Seconds of silence after which the system asks whether the other end is still there, seconds between such questions,
and number of unanswered ones that end the connection."""


class TcpLinks:
    """The connections of a transport over TCP, each served by a handler.

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
            with naming(self.endpoint):
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
            log.info("%s: a client has gone: %s", self.endpoint, str(error) or type(error).__name__)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        _notice_the_end(writer.get_extra_info("socket"))
        try:
            await self.handler(reader, writer)
        finally:
            writer.transport.abort()


def _notice_the_end(connection: socket.socket) -> None:
    """Let a connection end soon after its other end has lost power or network, which says no farewell."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for name, value in PROBES.items():
        if hasattr(socket, name):  # not on every system
            connection.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)


class TcpLinkSink(LinkSink):
    """A sink over TCP; derived classes write the messages.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._links = TcpLinks(endpoint, self._serve_receiver, self.refused)

    async def _serve_receiver(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async def write(message: bytes) -> None:
            writer.write(message)
            await writer.drain()

        async def discard() -> None:
            while await reader.read(4096):
                await asyncio.sleep(0.01)

        await self._feed(write, discard)
