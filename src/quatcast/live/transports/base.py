"""The two protocols of a transport, the registry of URL schemes, and packages that only some transports need."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable
from typing import Self
from urllib.parse import SplitResult, urlsplit

from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.settings import LiveSettings


class Source(ABC):
    """Where samples come from: an asynchronous context manager that yields frames.

    Entering opens sockets and files, leaving closes them. Messages that are not valid samples are counted in
    `refused` by kind and skipped; they never end the iteration. The iteration ends when the source has ended for good,
    for example at the end of a file.

    Examples
    --------
    A tracker that is asked for its position ten times:

    >>> import asyncio
    >>> import numpy as np
    >>> from quatcast.live import now
    >>> class Polled(Source):
    ...     def __init__(self):
    ...         self.refused = {}
    ...     async def __aenter__(self):
    ...         return self
    ...     async def __aexit__(self, *exception):
    ...         pass
    ...     async def frames(self):
    ...         for i in range(10):
    ...             await asyncio.sleep(0.001)
    ...             yield Frame("tool", i, None, now(), np.zeros((1, 3)))
    >>> async def count(source):
    ...     async with source:
    ...         return len([frame async for frame in source.frames()])
    >>> asyncio.run(count(Polled()))
    10
    """

    refused: dict[str, int]
    unchecked: int = 0
    """Number of samples that came as text without a checksum, in which a digit that was changed is not noticed."""
    realtime: bool = True
    """Whether samples arrive in real time. If not, times of arrival are made up, and nothing is silent or late."""
    spaces: tuple[str, ...] = ()
    """Spaces that the samples may be in, the recognised one first; empty if the source does not know."""

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Open the source."""

    @abstractmethod
    async def __aexit__(self, *exception: object) -> None:
        """Close the source."""

    @abstractmethod
    def frames(self) -> AsyncIterator[Frame]:
        """Yield the samples as they arrive."""

    def fit(self, settings: LiveSettings) -> None:  # noqa: B027
        """Read samples as the settings of the stream ask for; called before it is entered. By default it does nothing.

        Raises
        ------
        ValueError
            If the settings contradict the URL.
        """

    def resume(self, last: Frame) -> None:  # noqa: B027
        """Continue after a sample, if the source can; called before it is entered. By default it does nothing."""


class Sink(ABC):
    """Where forecasts go: an asynchronous context manager with a `send` that never waits for a receiver.

    A sink whose receivers are slow drops the oldest forecasts and counts them in `dropped`.

    Examples
    --------
    >>> class Printed(Sink):
    ...     dropped = 0
    ...     async def __aenter__(self):
    ...         return self
    ...     async def __aexit__(self, *exception):
    ...         pass
    ...     def send(self, forecast):
    ...         print(forecast.sequence, forecast.status)
    >>> import asyncio
    >>> from quatcast.live import LiveSettings, Pipeline, Service
    >>> source = open_source("simulated:?speed=0&seconds=0.2", "chest")
    >>> _ = asyncio.run(Service(Pipeline(LiveSettings(rate=10.0)), source, [Printed()]).run())
    0 warming up
    1 warming up
    """

    dropped: int

    @abstractmethod
    async def __aenter__(self) -> Self:
        """Open the sink."""

    @abstractmethod
    async def __aexit__(self, *exception: object) -> None:
        """Close the sink."""

    @abstractmethod
    def send(self, forecast: ForecastFrame) -> None:
        """Send a forecast, or queue it; return at once."""


SourceFactory = Callable[[SplitResult, str], Source]
"""Makes a source from a split URL and the name of the stream."""
SinkFactory = Callable[[SplitResult, str], Sink]
"""Makes a sink from a split URL and the name of the stream."""

_SOURCES: dict[str, SourceFactory] = {}
_SINKS: dict[str, SinkFactory] = {}


def register_transport(scheme: str, source: SourceFactory | None = None, sink: SinkFactory | None = None) -> None:
    """Add the source, the sink or both of a URL scheme."""
    if source is not None:
        _SOURCES[scheme] = source
    if sink is not None:
        _SINKS[scheme] = sink


def open_source(url: str, stream: str) -> Source:
    """Return the source of a URL; entering it opens it."""
    parts = urlsplit(url)
    if parts.scheme not in _SOURCES:
        recording = f"; for this recording give file:{url}" if os.path.exists(url) else ""
        raise ValueError(f"source: expected a URL with one of {', '.join(sorted(_SOURCES))}, got {url!r}{recording}")
    return _SOURCES[parts.scheme](parts, stream)


def open_sink(url: str, stream: str) -> Sink:
    """Return the sink of a URL; entering it opens it."""
    parts = urlsplit(url)
    if parts.scheme not in _SINKS:
        raise ValueError(f"sink: expected a URL with one of {', '.join(sorted(_SINKS))}, got {url!r}")
    return _SINKS[parts.scheme](parts, stream)
