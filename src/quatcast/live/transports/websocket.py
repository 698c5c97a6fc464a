"""WebSocket: messages of text over connections that are accepted (`?listen`) or kept open to a server.

A message holds one or more lines, each as described in `quatcast.live.messages`. Clients give a token in the header
``Authorization: Bearer TOKEN`` or, as browsers cannot set headers, at the end of the address, ``?token=TOKEN``. The
headers Host and Origin are checked, so that a page of another site that is open in a browser on this machine cannot
connect.
"""

from __future__ import annotations

import asyncio
import http
import logging
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any
from urllib.parse import SplitResult, parse_qsl, urlsplit

from quatcast.basics.optional import require
from quatcast.live.addresses import bearer_token, is_own_name, naming
from quatcast.live.frames import ForecastFrame
from quatcast.live.messages import MAX_MESSAGE, forecast_message
from quatcast.live.transports.base import register_transport
from quatcast.live.transports.endpoint import Endpoint, parse_endpoint
from quatcast.live.transports.limits import MAX_CLIENTS, STALL_SECONDS
from quatcast.live.transports.lines import LINE_OPTIONS
from quatcast.live.transports.links import LineSource, LinkSink, keep_connected

if TYPE_CHECKING:
    from websockets.asyncio.connection import Connection
    from websockets.asyncio.server import Server, ServerConnection
    from websockets.http11 import Request, Response

CLOSE_SECONDS = 1.0
"""Time for the closing handshake."""
REFUSALS = {1002: "malformed", 1007: "malformed", 1009: "size"}
"""Reasons for which a connection is closed by this side, as codes of the protocol."""

Handler = Callable[["Connection"], Awaitable[None]]
"""Serves one connection until it ends."""

# Failed handshakes and lost connections are normal for a server; the package logs them with tracebacks.
_quiet = logging.getLogger("quatcast.live.websockets")
_quiet.setLevel(logging.CRITICAL)


MAX_OPENED = 4 * MAX_CLIENTS
"""Number of connections, also of those that have not asked for anything yet; each takes a file descriptor."""


class WebSocketLinks:
    """The connections of a WebSocket transport, each served by a handler.

    Parameters
    ----------
    endpoint
        Where to listen or connect. Options: `hosts` and `origins` (further names of this machine, and further origins
        of pages, that are accepted, separated by commas).
    path
        Path of the address of the server to connect to.
    handler
        Serves one connection.
    refused
        Number of refused connections by kind.
    """

    def __init__(self, endpoint: Endpoint, path: str, handler: Handler, refused: Counter[str]) -> None:
        if endpoint.listen and endpoint.scheme == "wss":
            raise ValueError("wss: expected ws with the option listen; for TLS put a reverse proxy in front of it")
        self.endpoint, self.path, self.handler, self.refused = endpoint, path or "/", handler, refused
        self.address = (endpoint.host, endpoint.port)
        self._server: Server | None = None
        self._clients = self._opened = 0
        self._task: asyncio.Task[None] | None = None
        self._errors = require("websockets.exceptions", "quatcast[live]")
        self._settings: dict[str, Any] = {
            "max_size": MAX_MESSAGE,
            "compression": None,
            "open_timeout": STALL_SECONDS,
            "close_timeout": CLOSE_SECONDS,
            "logger": _quiet,
        }

    async def open(self) -> None:
        """Begin to listen, or to connect."""
        if self.endpoint.listen:
            library = require("websockets.asyncio.server", "quatcast[live]")
            settings = self._settings | {"create_connection": self._bounded(library.ServerConnection)}
            with naming(self.endpoint):
                server = await library.serve(self._serve, *self.address, process_request=self._check, **settings)
            self._server, self.address = server, next(iter(server.sockets)).getsockname()[:2]
        else:
            self._task = asyncio.create_task(keep_connected(str(self.endpoint), self._connect))

    def _bounded(self, kind: Any) -> Any:
        """Return a class of connections that are cut if there are too many, before they have said anything."""
        links = self

        class Bounded(kind):  # type: ignore[misc]
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                links._opened += 1
                super().connection_made(transport)
                if links._opened > MAX_OPENED:
                    links.refused["clients"] += 1
                    self.transport.abort()

            def connection_lost(self, exc: Exception | None) -> None:
                links._opened -= 1
                super().connection_lost(exc)

        return Bounded

    async def close(self) -> None:
        """End all connections."""
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _connect(self) -> None:
        """Connect and serve the connection until it ends."""
        connect = require("websockets.asyncio.client", "quatcast[live]").connect
        token = self.endpoint.token
        headers = {"Authorization": f"Bearer {token}"} if token else None
        url = f"{self.endpoint}{self.path}"
        try:
            async with connect(url, additional_headers=headers, proxy=None, **self._settings) as connection:
                await self._serve(connection)
        except self._errors.WebSocketException as error:
            raise ConnectionError(str(error)) from error

    async def _serve(self, connection: Connection) -> None:
        if self._clients >= MAX_CLIENTS:  # more handshakes at the same time than places
            self.refused["clients"] += 1
            await connection.close(1013)
            return
        self._clients += 1
        try:
            await self.handler(connection)
        except self._errors.ConnectionClosed as error:
            reason = REFUSALS.get(error.sent.code) if error.sent is not None and not error.rcvd_then_sent else None
            if reason:
                self.refused[reason] += 1
        except TimeoutError:  # a receiver that takes nothing
            connection.transport.abort()
        finally:
            self._clients -= 1

    def _check(self, connection: ServerConnection, request: Request) -> Response | None:
        """Refuse a client before the handshake, or return None."""
        peer = connection.remote_address or ("",)
        kind = self._objection(str(peer[0]), request)
        if kind is None:
            return None
        self.refused[kind] += 1
        status = http.HTTPStatus.SERVICE_UNAVAILABLE if kind == "clients" else http.HTTPStatus.FORBIDDEN
        return connection.respond(status, f"refused: {kind}\n")

    def _objection(self, peer: str, request: Request) -> str | None:
        """Return why a client is refused, or None."""
        host, origins = request.headers.get_all("Host"), request.headers.get_all("Origin")
        if not self.endpoint.admits(peer):
            return "address"
        if self._clients >= MAX_CLIENTS:
            return "clients"
        if len(host) != 1 or not is_own_name(host[0], self.endpoint.host, self._listed("hosts")):
            return "host"
        if not all(origin in (f"http://{host[0]}", *self._listed("origins")) for origin in origins):
            return "origin"
        return None if self.endpoint.accepts(given_token(request)) else "token"

    def _listed(self, option: str) -> list[str]:
        return [item.strip().lower() for item in self.endpoint.options.get(option, "").split(",") if item.strip()]


def given_token(request: Request) -> str:
    """Return the token of a request, from its header or its address; empty if it has none."""
    token = bearer_token(next(iter(request.headers.get_all("Authorization")), ""))
    return token or str(dict(parse_qsl(urlsplit(request.path).query)).get("token", ""))


class WebSocketSource(LineSource):
    """Samples in messages of text.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    stream
        Name of the stream.
    path
        Path of the address of the server to connect to.
    """

    def __init__(self, endpoint: Endpoint, stream: str, path: str = "/") -> None:
        super().__init__(endpoint, stream)
        self._links = WebSocketLinks(endpoint, path, self._receive, self.refused)

    async def _receive(self, connection: Connection) -> None:
        await self._take(
            message.encode(errors="replace") if isinstance(message, str) else message async for message in connection
        )


class WebSocketSink(LinkSink):
    """Forecasts in messages of JSON.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    path
        Path of the address of the server to connect to.
    """

    def __init__(self, endpoint: Endpoint, path: str = "/") -> None:
        super().__init__(endpoint)
        self._links = WebSocketLinks(endpoint, path, self._receiver, self.refused)

    def _message(self, forecast: ForecastFrame) -> bytes:
        return forecast_message(forecast)

    async def _receiver(self, connection: Connection) -> None:
        async def write(message: bytes) -> None:
            await connection.send(message.decode())

        async def discard() -> None:
            async for _ in connection:
                await asyncio.sleep(0.01)

        await self._feed(write, discard)


def _source(parts: SplitResult, stream: str) -> WebSocketSource:
    return WebSocketSource(parse_endpoint(parts, (*LINE_OPTIONS, "hosts", "origins")), stream, parts.path)


def _sink(parts: SplitResult, stream: str) -> WebSocketSink:
    return WebSocketSink(parse_endpoint(parts, ("hosts", "origins")), parts.path)


register_transport("ws", _source, _sink)
register_transport("wss", _source, _sink)
