"""A source over connections whose messages are lines of text: what TCP and WebSocket have in common."""

from __future__ import annotations

from collections.abc import AsyncIterator

from quatcast.live.clock import now
from quatcast.live.transports.endpoint import Endpoint
from quatcast.live.transports.limits import RateLimit
from quatcast.live.transports.lines import LineReader, line_rules
from quatcast.live.transports.linked import LinkSource


class LineSource(LinkSource):
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

    @property
    def unchecked(self) -> int:  # type: ignore[override]
        """Number of samples that were taken without a checksum."""
        return self._rules.unchecked

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
