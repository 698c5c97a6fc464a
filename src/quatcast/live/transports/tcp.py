"""TCP: lines of text over connections that are accepted (`?listen`) or kept open to a server.

Each line is one message (see `quatcast.live.messages`). A line that a connection leaves unfinished when it ends is
refused: the rest of a number may be missing. If the listener has a token, a client's first line is ``token TOKEN``.
"""

from __future__ import annotations

import asyncio
from functools import partial
from urllib.parse import SplitResult

from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame
from quatcast.live.messages import forecast_message
from quatcast.live.transports.base import register_transport
from quatcast.live.transports.endpoint import Endpoint, parse_endpoint
from quatcast.live.transports.limits import RateLimit
from quatcast.live.transports.lines import LINE_OPTIONS, add_checksum, line_reader, stream_name
from quatcast.live.transports.linked import LinkSink, LinkSource, feed_stream
from quatcast.live.transports.links import Links


class TcpSource(LinkSource):
    """Samples in lines.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    stream
        Name of the stream.
    """

    def __init__(self, endpoint: Endpoint, stream: str) -> None:
        super().__init__(endpoint)
        self._links = Links(endpoint, self._receive, self.refused)
        self._stream = stream_name(endpoint, stream)
        line_reader(
            endpoint, self._stream, self.refused
        )  # an invalid option is an error now, not with the first client

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        lines, limit = line_reader(self.endpoint, self._stream, self.refused), RateLimit()
        while True:
            try:
                line = await reader.readuntil(b"\n")
            except asyncio.IncompleteReadError as end:
                if end.partial.strip():
                    self.refused["incomplete"] += 1
                return
            except asyncio.LimitOverrunError:
                self.refused["size"] += 1
                return
            received = now()
            await limit.passes()
            frame = lines.read(line, received)
            if frame is not None:
                await self._inbox.put(frame)


class TcpSink(LinkSink):
    """Forecasts in lines of JSON.

    Parameters
    ----------
    endpoint
        Where to listen or connect.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        super().__init__(endpoint)
        self._links = Links(endpoint, partial(feed_stream, self), self.refused)

    def _message(self, forecast: ForecastFrame) -> bytes:
        message = forecast_message(forecast)
        return (add_checksum(message) if "checksum" in self.endpoint.options else message) + b"\n"


def _source(parts: SplitResult, stream: str) -> TcpSource:
    return TcpSource(parse_endpoint(parts, LINE_OPTIONS), stream)


def _sink(parts: SplitResult, stream: str) -> TcpSink:
    return TcpSink(parse_endpoint(parts, ("checksum",)))


register_transport("tcp", _source, _sink)
