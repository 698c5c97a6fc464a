"""UDP: a source that binds a port, and a sink that sends datagrams to an address.

A datagram holds one or more lines, each a sample (see `quatcast.live.messages`). If the source has a token, every
datagram begins with the line ``token TOKEN``.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from typing import Any, Self
from urllib.parse import SplitResult

from quatcast.live.addresses import naming
from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.messages import MAX_MESSAGE, forecast_message
from quatcast.live.transports.base import Sink, register_transport
from quatcast.live.transports.endpoint import Endpoint, parse_endpoint
from quatcast.live.transports.limits import Inbox, RateLimit
from quatcast.live.transports.lines import LINE_OPTIONS, LineReader, TextSource, line_rules, read_token

MAX_DATAGRAM = 65507
"""Largest payload of a datagram over IPv4."""
RECEIVE_BUFFER = 2**20
"""Bytes that the system is asked to keep while the service computes; it may grant less."""
UDP_BURST = 1024
"""Datagrams that may arrive at once before the rate counts."""
AT_ONCE = 256
"""Datagrams that are read before other work gets its turn."""
TIMESTAMPS = 35
"""Option of a socket of Linux, and kind of message, for times of arrival in nanoseconds."""
LONGEST_WAIT = 60.0
"""Seconds for which a datagram may have waited; a longer time means that the clock of the system was changed."""
_TIMESPEC = struct.Struct("@qq")


class UdpSource(TextSource):
    """Samples in datagrams.

    The time of arrival is the one at which the system received the datagram, where the system reports it. So it
    contains what a sample waits while the service computes. Everything that has arrived is read at once.

    Parameters
    ----------
    endpoint
        Address to bind.
    stream
        Name of the stream.
    """

    def __init__(self, endpoint: Endpoint, stream: str) -> None:
        self.endpoint, self.refused = endpoint, Counter[str]()
        self.address = (endpoint.host, endpoint.port)
        self._rules = line_rules(endpoint, stream, self.refused)
        self._reader = LineReader(self._rules)
        self._limit = RateLimit(burst=UDP_BURST)
        self._socket: socket.socket | None = None

    async def __aenter__(self) -> Self:
        """Bind the port."""
        self._inbox = Inbox(self.refused)
        loop = asyncio.get_running_loop()
        with naming(self.endpoint):
            found = await loop.getaddrinfo(*self.address, type=socket.SOCK_DGRAM)
            self._socket = _bound(found[0][0], found[0][4])
        self.address = self._socket.getsockname()[:2]
        loop.add_reader(self._socket, self._read, self._socket)
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the port."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket)
            self._socket.close()
        self._inbox.close()

    def _read(self, opened: socket.socket) -> None:
        """Read what has arrived."""
        for _ in range(AT_ONCE):
            try:
                data, ancillary, _, address = opened.recvmsg(MAX_DATAGRAM + 1, 64)
            except OSError:  # nothing more, or an error that concerns an earlier datagram
                return
            self.datagram_received(data, address, arrival(ancillary))

    def frames(self) -> AsyncIterator[Frame]:
        """Yield the samples as they arrive."""
        return self._inbox.frames()

    def datagram_received(self, data: bytes, address: tuple[str | int, ...], received: float) -> None:
        """Take the samples of a datagram."""
        if not self.endpoint.admits(str(address[0])):
            self.refused["address"] += 1
        elif self._limit.wait(asyncio.get_running_loop().time()):
            self.refused["rate"] += 1
        elif len(data) > MAX_MESSAGE:
            self.refused["size"] += 1
        else:
            self._take(data, received)

    def _take(self, data: bytes, received: float) -> None:
        """Read the lines of a datagram after checking its token."""
        if self.endpoint.token:
            first, _, data = data.partition(b"\n")
            if not self.endpoint.accepts(read_token(first)):
                self.refused["token"] += 1
                return
        for line in data.split(b"\n"):
            frame = self._reader.read(line, received)
            if frame is not None:
                self._inbox.offer(frame)


def _bound(family: int, address: Any) -> socket.socket:
    """Return a socket that is bound to an address and tells times of arrival."""
    opened = socket.socket(family, socket.SOCK_DGRAM)
    try:
        opened.setblocking(False)
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        if sys.platform == "linux":
            opened.setsockopt(socket.SOL_SOCKET, TIMESTAMPS, 1)
        opened.bind(address)
    except BaseException:
        opened.close()
        raise
    return opened


def arrival(ancillary: Sequence[tuple[int, int, bytes]]) -> float:
    """Return the time at which the system received a datagram, or the present time if the system does not report it.

    Examples
    --------
    >>> waited = 0.25
    >>> since_1970 = time.time() - waited
    >>> stamp = _TIMESPEC.pack(int(since_1970), int(since_1970 % 1 * 1e9))
    >>> round(now() - arrival([(socket.SOL_SOCKET, TIMESTAMPS, stamp)]), 2)
    0.25
    """
    for level, kind, content in ancillary:
        if (level, kind, len(content)) == (socket.SOL_SOCKET, TIMESTAMPS, _TIMESPEC.size):
            seconds, nanoseconds = _TIMESPEC.unpack(content)
            waited = time.time() - seconds - nanoseconds / 1e9
            return now() - waited if 0 < waited < LONGEST_WAIT else now()
    return now()


class UdpSink(Sink, asyncio.DatagramProtocol):
    """Forecasts in datagrams, one JSON message each.

    A forecast that does not fit into a datagram, or for which the system has no room, is dropped and counted.

    Parameters
    ----------
    endpoint
        Address to send to.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self.endpoint, self.dropped, self._paused = endpoint, 0, False
        self._transport: asyncio.DatagramTransport | None = None

    async def __aenter__(self) -> Self:
        """Open a socket."""
        loop = asyncio.get_running_loop()
        remote = (self.endpoint.host, self.endpoint.port)
        with naming(self.endpoint):
            self._transport, _ = await loop.create_datagram_endpoint(lambda: self, remote_addr=remote)
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the socket."""
        if self._transport is not None:
            self._transport.close()

    def send(self, forecast: ForecastFrame) -> None:
        """Send a forecast."""
        message = forecast_message(forecast)
        transport = self._transport
        if transport is None or len(message) > MAX_DATAGRAM or self._paused:
            self.dropped += 1
        else:
            transport.sendto(message)

    def pause_writing(self) -> None:
        """Drop forecasts while the system takes none."""
        self._paused = True

    def resume_writing(self) -> None:
        """Send again."""
        self._paused = False

    def error_received(self, error: Exception) -> None:
        """Count a forecast for which nobody listened, and go on."""
        self.dropped += 1


def _source(parts: SplitResult, stream: str) -> UdpSource:
    return UdpSource(parse_endpoint(parts, LINE_OPTIONS, listen=True), stream)


def _sink(parts: SplitResult, stream: str) -> UdpSink:
    endpoint = parse_endpoint(parts, listen=False)
    if endpoint.token or endpoint.allow:
        raise ValueError(f"{endpoint}: expected neither token nor allow, because nobody connects to a sink over UDP")
    return UdpSink(endpoint)


register_transport("udp", _source, _sink)
