"""OpenIGTLink: poses of tools and markers from trackers, and forecasts for programs such as 3D Slicer.

``igtl://HOST:18944`` connects to a server, such as PLUS; ``igtl://HOST:18944?listen`` is a server. The protocol has no
token: a listener that other machines can reach requires the addresses of its clients (``allow=``), and nothing is
encrypted.
"""

from __future__ import annotations

import asyncio
from urllib.parse import SplitResult

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.live.clock import now
from quatcast.live.frames import UNUSABLE, ChecksumError, ForecastFrame, FrameError
from quatcast.live.transports.base import register_transport
from quatcast.live.transports.endpoint import Endpoint, parse_endpoint
from quatcast.live.transports.igtl_codec import (
    HEADER,
    KINDS,
    PORT,
    STATUS_NOT_READY,
    STATUS_OK,
    Header,
    Status,
    pack,
    pack_status,
    parse_body,
    parse_header,
)
from quatcast.live.transports.igtl_poses import position_content, quaternion_tool, read_poses, transform_content
from quatcast.live.transports.igtl_tools import ToolFrames
from quatcast.live.transports.limits import STALL_SECONDS, RateLimit
from quatcast.live.transports.links import LinkSource
from quatcast.live.transports.tcp_links import TcpLinks, TcpLinkSink

PATIENCE = 0.05
"""Seconds without a message after which a frame in which tools are missing is closed."""
CHUNK = 4096
"""Bytes that are skipped at once, and that count as one message for the rate."""


class IgtlSource(LinkSource):
    """Poses of tools, one frame per time of the tracker.

    Parameters
    ----------
    endpoint
        Where to listen or connect. Options: `tools` (names separated by commas, the channels), `pose` (seven numbers
        per channel, instead of the position only), `gather` (seconds within which poses belong together) and `request`
        (type of data, QTDATA or TDATA, to ask the server for).
    stream
        Name of the stream.
    """

    def __init__(self, endpoint: Endpoint, stream: str) -> None:
        super().__init__(endpoint)
        self._links = TcpLinks(endpoint, self._receive, self.refused)
        tools = tuple(tool.strip() for tool in endpoint.options.get("tools", "").split(",") if tool.strip())
        if len(set(tools)) < len(tools):
            raise ValueError(f"igtl, tools: expected different names, got {', '.join(tools)}")
        self._request = endpoint.options.get("request", "").upper()
        if self._request not in ("", "QTDATA", "TDATA"):
            raise ValueError(f"igtl, request: expected QTDATA or TDATA, got {self._request!r}")
        self._oriented = "pose" in endpoint.options
        gather = endpoint.number("gather", 0.005, 0.0, 1.0)
        self._tools = ToolFrames(stream, tools, 7 if self._oriented else 3, gather)
        self._timer: asyncio.TimerHandle | None = None

    async def __aexit__(self, *exception: object) -> None:
        """End all connections."""
        if self._timer is not None:
            self._timer.cancel()
        await super().__aexit__(*exception)

    async def _receive(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        limit = RateLimit()
        if self._request:
            writer.write(pack(f"STT_{self._request}", "", now(), bytes(36), version=1))
        try:
            while True:
                header = parse_header(await reader.readexactly(HEADER.size))
                received = now()
                for _ in range(1 + header.size // CHUNK):
                    await limit.passes()
                body = await read_known(reader, header)
                if body is None:
                    self.refused["type"] += 1
                else:
                    await self._take(header, body, received)
        except asyncio.IncompleteReadError as end:
            if end.partial:
                self.refused["incomplete"] += 1
        except TimeoutError:
            self.refused["incomplete"] += 1
        except FrameError:  # without a valid header nobody knows where the next message begins
            self.refused["header"] += 1

    async def _take(self, header: Header, body: bytes, received: float) -> None:
        """Put the frames that a message completes into the inbox."""
        try:
            poses = read_poses(header, parse_body(header, body), self._oriented)
        except ChecksumError:
            self.refused["checksum"] += 1
            return
        except FrameError:
            self.refused["malformed"] += 1
            return
        for tool, pose in poses:
            for frame in self._tools.add(tool, pose, header.time, received):
                await self._inbox.put(frame)
        if self._tools.unknown:
            self.refused["tool"] = self._tools.unknown
        self._close_later()

    def _close_later(self) -> None:
        """Close a frame in which tools are missing if no further message comes."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._tools.waiting:
            self._timer = asyncio.get_running_loop().call_later(PATIENCE, self._close_now)

    def _close_now(self) -> None:
        for frame in self._tools.flush():
            self._inbox.offer(frame)


async def read_known(reader: asyncio.StreamReader, header: Header) -> bytes | None:
    """Return the body of a message, or skip it piece by piece and return None if its type is not one of `KINDS`.

    A sender that stops in the middle of a body is given up after `STALL_SECONDS`.
    """
    if header.kind in KINDS:
        async with asyncio.timeout(STALL_SECONDS):
            return await reader.readexactly(header.size)
    left = header.size
    while left:
        async with asyncio.timeout(STALL_SECONDS):
            left -= len(await reader.readexactly(min(left, CHUNK)))
    return None


class IgtlSink(TcpLinkSink):
    """Forecasts as TRANSFORM, POSITION or QTDATA messages, one device per channel.

    The time of a message is the time that the forecast is for. If the status is "hold" or "warming up", no pose is
    sent, because receivers take a pose without a status for a valid one; a STATUS message says why.

    Parameters
    ----------
    endpoint
        Where to listen or connect. Options: `message` (the type, TRANSFORM by default), `suffix` (end of the names of
        devices, "Forecast" by default) and `version` (1 for receivers that know neither metadata nor version 3).
    stream
        Name of the stream.
    """

    def __init__(self, endpoint: Endpoint, stream: str) -> None:
        super().__init__(endpoint)
        self.stream = stream
        self._kind = endpoint.options.get("message", "TRANSFORM").upper()
        if self._kind not in ("TRANSFORM", "POSITION", "QTDATA"):
            raise ValueError(f"igtl, message: expected TRANSFORM, POSITION or QTDATA, got {self._kind!r}")
        self._suffix = endpoint.options.get("suffix", "Forecast")
        if len(self._suffix) > 12 or not (self._suffix.isascii() and self._suffix.isprintable()):
            raise ValueError(f"igtl, suffix: expected at most 12 ASCII characters, got {self._suffix!r}")
        self._version = 1 if endpoint.number("version", 3, 1, 3) < 3 else 2
        self._status = ""

    def _message(self, forecast: ForecastFrame) -> bytes:
        poses = {} if forecast.status in UNUSABLE else self._poses(forecast)
        code = STATUS_OK if poses else STATUS_NOT_READY
        said, self._status = self._status, f"{forecast.status}: {forecast.reason}"
        message = b"" if poses and said == self._status else self._state(forecast, code)
        try:
            return message + self._pack(forecast, poses)
        except OverflowError:  # a position beyond single precision
            return self._state(forecast, STATUS_NOT_READY)

    def _poses(self, forecast: ForecastFrame) -> dict[int, Floats]:
        """Return the poses (7,) of the channels that have a forecast; NaN orientations for 3-D positions."""
        poses = {}
        for channel, position in enumerate(forecast.position):
            pose = np.full(7, np.nan)
            pose[: len(position)] = position[:7]
            if np.isfinite(position).all() and len(position) in (3, 7):
                poses[channel] = pose
        return poses

    def _state(self, forecast: ForecastFrame, code: int) -> bytes:
        status = Status(code, 0, forecast.status, forecast.reason)
        return pack_status(self.stream, forecast.sent_time, status, self._version)

    def _pack(self, forecast: ForecastFrame, poses: dict[int, Floats]) -> bytes:
        names = device_names(forecast.names, len(forecast.position), self._suffix)
        if not poses:
            return b""
        if self._kind == "QTDATA":
            content = b"".join(quaternion_tool(names[at].encode(), pose) for at, pose in poses.items())
            metadata = self._metadata(forecast, None)
            return pack(self._kind, self.stream, forecast.target_time, content, metadata, self._version)
        write = transform_content if self._kind == "TRANSFORM" else position_content
        return b"".join(
            pack(self._kind, names[at], forecast.target_time, write(pose), self._metadata(forecast, at), self._version)
            for at, pose in poses.items()
        )

    def _metadata(self, forecast: ForecastFrame, channel: int | None) -> dict[str, str]:
        """Return what a pose cannot say: status, radii, and the times of the sample and of the message."""
        metadata = {
            "TransformStatus": "OK",
            "ForecastStatus": forecast.status,
            "SampleTime": repr(forecast.time),
            "SentTime": repr(forecast.sent_time),
        }
        if channel is None:
            return metadata
        for key, radius in (("ForecastRadius", forecast.radius), ("ForecastAngleRadius", forecast.angle_radius)):
            if radius is not None and np.isfinite(radius[channel]):
                metadata[key] = repr(float(radius[channel]))
        return metadata


def device_names(names: tuple[str, ...], channels: int, suffix: str) -> list[str]:
    """Return different names of at most 20 ASCII characters for the channels.

    Examples
    --------
    >>> device_names(("Chest", "AbdomenLeftUpperMarker"), 2, "Forecast")
    ['ChestForecast', 'AbdomenLef~2Forecast']
    >>> device_names((), 2, "")
    ['Channel1', 'Channel2']
    """
    taken: list[str] = []
    for number, name in enumerate(names or [f"Channel{number}" for number in range(1, channels + 1)], start=1):
        plain = "".join(letter if " " <= letter <= "~" else "_" for letter in name)
        device = plain + suffix
        if len(device) > 20 or device in taken:
            end = f"~{number}{suffix}"
            device = plain[: 20 - len(end)] + end
        taken.append(device)
    return taken


def _source(parts: SplitResult, stream: str) -> IgtlSource:
    options = ("tools", "pose", "gather", "request")
    return IgtlSource(parse_endpoint(parts, options, port=PORT, carries_token=False), stream)


def _sink(parts: SplitResult, stream: str) -> IgtlSink:
    options = ("message", "suffix", "version")
    return IgtlSink(parse_endpoint(parts, options, port=PORT, carries_token=False), stream)


register_transport("igtl", _source, _sink)
