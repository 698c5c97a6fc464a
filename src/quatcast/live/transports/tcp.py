"""TCP: lines of text over connections that are accepted (`?listen`) or kept open to a server.

Each line is one message (see `quatcast.live.messages`). A line that a connection leaves unfinished when it ends is
refused: the rest of a number may be missing. If the listener has a token, a client's first line is ``token TOKEN``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from urllib.parse import SplitResult

from quatcast.live.frames import ForecastFrame
from quatcast.live.messages import forecast_message
from quatcast.live.transports.base import register_transport
from quatcast.live.transports.endpoint import Endpoint, parse_endpoint
from quatcast.live.transports.lines import LINE_OPTIONS
from quatcast.live.transports.links import LineSource
from quatcast.live.transports.tcp_links import TcpLinks, TcpLinkSink


class TcpSource(LineSource):
    """Samples in lines.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    stream
        Name of the stream.
    """

    def __init__(self, endpoint: Endpoint, stream: str) -> None:
        super().__init__(endpoint, stream)
        self._links = TcpLinks(endpoint, self._receive, self.refused)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._take(self._lines(reader))

    async def _lines(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        while True:
            try:
                yield await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                if end.partial.strip():
                    self.refused["incomplete"] += 1
                return
            except asyncio.LimitOverrunError:
                self.refused["size"] += 1
                return


class TcpSink(TcpLinkSink):
    """Forecasts in lines of JSON.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    """

    def _message(self, forecast: ForecastFrame) -> bytes:
        return forecast_message(forecast) + b"\n"


def _source(parts: SplitResult, stream: str) -> TcpSource:
    return TcpSource(parse_endpoint(parts, LINE_OPTIONS), stream)


def _sink(parts: SplitResult, stream: str) -> TcpSink:
    return TcpSink(parse_endpoint(parts))


register_transport("tcp", _source, _sink)
