"""Lab Streaming Layer: one vector of numbers per sample, with the channel metadata of motion capture.

``lsl://NAME`` as a source reads the stream of that name; as a sink it offers a stream of that name. The package pylsl
comes with the extra `lsl`. liblsl listens on all network interfaces, whatever its settings, and has no authentication:
everybody in the same network can read the forecasts, and offer samples under the same name. A warning says so.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any, Self
from urllib.parse import SplitResult, unquote

import numpy as np

from quatcast.basics.optional import require
from quatcast.basics.typing import Floats
from quatcast.live.clock import now
from quatcast.live.fields import MAX_TIME
from quatcast.live.frames import STATUSES, UNUSABLE, ForecastFrame, Frame, FrameError
from quatcast.live.transports.base import Sink, Source, register_transport
from quatcast.live.transports.limits import Backoff, Inbox, RateLimit
from quatcast.live.transports.lsl_layout import Layout, forecast_layout, read_layout
from quatcast.live.transports.options import parse_options

log = logging.getLogger("quatcast.live")

BUFFER = 60
"""Seconds of samples that liblsl keeps while the service computes, or hundreds of samples of an irregular stream."""
LSL_BURST = 1024
"""Samples that may arrive at once before the rate counts."""
WARNING = (
    "lsl: Lab Streaming Layer listens on all network interfaces and has no authentication; "
    "use it only in a network in which you trust everybody"
)


def _pylsl() -> Any:
    """Return the package pylsl, or say what is missing."""
    try:
        return require("pylsl", "quatcast[lsl]")
    except RuntimeError as error:  # the package is installed without the library that it loads
        raise ImportError(f"lsl: liblsl cannot be loaded; install it ({str(error).splitlines()[0]})") from None


def _epoch_offset(pylsl: Any) -> float:
    """Return what to add to the clock of LSL on this machine to get seconds since 1970."""
    before, lsl, after = now(), pylsl.local_clock(), now()
    return float((before + after) / 2 - lsl)


class LslSource(Source):
    """Samples of an LSL stream.

    A thread waits for samples, because liblsl blocks. Timestamps are taken as they were sent (no post-processing), and
    are moved to the clock of this machine by one measurement of the difference of the clocks per connection.

    Parameters
    ----------
    name
        Name of the LSL stream.
    stream
        Name of the stream for the service.
    dimensions
        Numbers per marker of a stream without metadata.
    """

    def __init__(self, name: str, stream: str, dimensions: int = 3) -> None:
        self.name, self.stream, self.dimensions = name, stream, dimensions
        self.refused = Counter[str]()
        self._limit = RateLimit(burst=LSL_BURST)
        self._pylsl = _pylsl()
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    async def __aenter__(self) -> Self:
        """Begin to look for the stream."""
        log.warning(WARNING)
        self._inbox, self._loop = Inbox(self.refused), asyncio.get_running_loop()
        self._ended.clear()
        self._thread = threading.Thread(target=self._run, name=f"lsl {self.name}", daemon=True)
        self._thread.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Leave the stream."""
        self._ended.set()
        if self._thread is not None:
            await asyncio.to_thread(self._thread.join)
        self._inbox.close()

    def frames(self) -> AsyncIterator[Frame]:
        """Yield the samples as they arrive."""
        return self._inbox.frames()

    def _run(self) -> None:
        """Look for the stream, read it until it is lost, and begin again."""
        backoff = Backoff()
        while not self._ended.is_set():
            found = self._pylsl.resolve_byprop("name", self.name, 1, 0.5)
            if not found:
                continue
            began = time.monotonic()
            try:
                self._read(found[0])
            except Exception as error:  # whatever a stream contains, the next attempt must come
                self._ended.wait(backoff.after(f"lsl://{self.name}", error, time.monotonic() - began))

    def _read(self, info: Any) -> None:
        """Read one stream until it is lost."""
        inlet = self._pylsl.StreamInlet(info, max_buflen=BUFFER, recover=False, processing_flags=0)
        try:
            layout = read_layout(inlet.info(5.0), self.dimensions)
            offset = inlet.time_correction(5.0) + _epoch_offset(self._pylsl)
            log.info("lsl://%s: connected to %d channels", self.name, len(layout.names) or info.channel_count())
            inlet.open_stream(5.0)
            while not self._ended.is_set():
                values, stamp = inlet.pull_sample(0.2)
                if stamp is not None:
                    self._give(layout, values, stamp + offset, now())
        finally:
            inlet.close_stream()

    def _give(self, layout: Layout, values: list[float], device_time: float, received: float) -> None:
        """Hand a sample to the event loop."""
        if self._limit.wait(time.monotonic()):
            self.refused["rate"] += 1
            return
        try:
            if not abs(device_time) <= MAX_TIME:
                raise FrameError(f"timestamp: expected seconds, got {device_time}")
            frame = Frame(self.stream, None, device_time, received, layout.split(values), layout.names, layout.unit)
        except FrameError:
            self.refused["malformed"] += 1
            return
        if not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._inbox.offer, frame)


class LslSink(Sink):
    """Forecasts as an LSL stream.

    Each sample holds the positions of all channels, their radii, the status (0 warming up, 1 ok, 2 degraded, 3 hold)
    and the seconds from sending to the time that the forecast is for. That time is the timestamp. Forecasts of poses
    have the radii of the orientations after those of the positions. Positions are NaN while the status is "hold" or
    "warming up". The stream appears with the first forecast, when the number of channels is known.

    Parameters
    ----------
    name
        Name of the LSL stream.
    stream
        Name of the stream of the service, which becomes the source identifier.
    """

    def __init__(self, name: str, stream: str) -> None:
        self.name, self.stream, self.dropped = name, stream, 0
        self._pylsl = _pylsl()
        self._outlet: Any = None
        self._shape: tuple[int, ...] = ()  # channels, coordinates and radii per channel

    async def __aenter__(self) -> Self:
        """Warn; the stream is opened by the first forecast."""
        log.warning(WARNING)
        self._offset = _epoch_offset(self._pylsl)
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Close the stream."""
        self._outlet = None

    @property
    def receivers(self) -> int:
        """1 if somebody reads the stream, else 0."""
        return int(self._outlet is not None and self._outlet.have_consumers())

    def send(self, forecast: ForecastFrame) -> None:
        """Push a forecast; liblsl queues it for every receiver, for at most 10 s."""
        shape = (*forecast.position.shape, 1 if forecast.angle_radius is None else 2)
        if self._outlet is None or self._shape != shape:
            self._shape = shape
            info = forecast_layout(self._pylsl, self.name, self.stream, forecast)
            self._outlet = self._pylsl.StreamOutlet(info, max_buffered=10)
        self._outlet.push_sample(_vector(forecast), forecast.target_time - self._offset)


def _vector(forecast: ForecastFrame) -> list[float]:
    """Return the numbers of a forecast in the order of the channels of the stream."""
    silent = forecast.status in UNUSABLE
    position: Floats = np.full(forecast.position.shape, np.nan) if silent else forecast.position
    status = STATUSES.index(forecast.status) if forecast.status in STATUSES else -1
    ahead = forecast.target_time - forecast.sent_time
    angles = [] if forecast.angle_radius is None else forecast.angle_radius.tolist()
    return [*position.ravel().tolist(), *forecast.radius.tolist(), *angles, float(status), ahead]


def _name(parts: SplitResult) -> str:
    name = unquote(parts.netloc + parts.path).strip("/")
    if not name or "'" in name:
        raise ValueError(f"lsl: expected the name of a stream, such as lsl://Tracker, got {name!r}")
    return name


def _source(parts: SplitResult, stream: str) -> LslSource:
    return LslSource(_name(parts), stream, int(parse_options(parts, dimensions=3)["dimensions"]))


def _sink(parts: SplitResult, stream: str) -> LslSink:
    if parts.query:
        raise ValueError(f"lsl: expected no options, got {parts.query!r}")
    return LslSink(_name(parts), stream)


register_transport("lsl", _source, _sink)
