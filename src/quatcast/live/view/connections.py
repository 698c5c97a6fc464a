"""Connections to the server of the view: how many there may be, and how long their requests may take.

Every connection takes a file descriptor from the service, which also needs some to record. The bounds hold for clients
that never send a request as well, and therefore before anything is known about them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator
from typing import Any

import uvicorn
from starlette.datastructures import Address
from uvicorn.protocols.http.h11_impl import H11Protocol

MAX_CONNECTIONS = 64
"""Number of connections; requests of further ones are answered by 503."""
MAX_SOCKETS = 80
"""Number of connections from which on further ones are cut without an answer."""
LONGEST_REQUESTS = 30.0
"""Longest time for all requests of a connection that does not become a WebSocket, in seconds."""
CLOSING = 2.0
"""Longest time that a viewer may take to agree to the end of its connection, in seconds."""


class BoundedProtocol(H11Protocol):
    """HTTP of a connection that is cut if there are too many, or if its requests take too long."""

    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Accept a connection, or cut it."""
        super().connection_made(transport)
        if len(self.connections) > MAX_SOCKETS:
            transport.abort()
        else:
            self._deadline = self.loop.call_later(LONGEST_REQUESTS, self._end)

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection at once, so that many short ones leave nothing behind."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()

    def _end(self) -> None:
        # A connection that has become a WebSocket is no longer one of these.
        if self in self.connections:
            self.transport.abort()


class LoopServer(uvicorn.Server):
    """A server within the loop of the service, to which it leaves signals."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Catch no signals."""
        yield

    def abort(self, client: Address | None, after: float = 0.0) -> None:
        """Cut the connection to an address. An orderly end would wait until the other side has read everything."""
        for connection in list(self.server_state.connections):
            if getattr(connection, "client", None) == client:
                asyncio.get_running_loop().call_later(after, connection.transport.abort)
