"""Tools of the tests over real sockets on this machine."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np

from quatcast.live.frames import ForecastFrame, Frame, PathPoint
from quatcast.live.transports import Source

TOKEN = "a-token-of-20-letters"


def run(coroutine: Coroutine[Any, Any, Any], seconds: float = 30.0) -> Any:
    """Run a coroutine that must end in time."""
    return asyncio.run(asyncio.wait_for(coroutine, seconds))


async def collect(source: Source, count: int) -> list[Frame]:
    """Return the next frames of a source."""
    frames = source.frames()
    return [await anext(frames) for _ in range(count)]


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds; the test's own limit ends a condition that never does."""
    while not condition():
        await asyncio.sleep(0.005)


def free_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def made_forecast(status: str = "ok", reason: str = "", channels: int = 2, dimensions: int = 3) -> ForecastFrame:
    """Return a forecast with numbers that need all of their bits."""
    rng = np.random.default_rng(7)
    shape = (channels, dimensions)
    position = rng.normal(size=shape) * 100
    if dimensions == 7:
        position[:, 3:] /= np.linalg.norm(position[:, 3:], axis=1, keepdims=True)
    return ForecastFrame(
        stream="chest",
        sequence=812,
        time=1763226000.12,
        target_time=1763226000.62,
        sent_time=1763226000.1234567,
        position=position,
        radius=rng.uniform(size=channels),
        status=status,
        reason=reason,
        filled=np.array([False, True, False][:channels]),
        sample=rng.normal(size=shape),
        names=("Chest", "Abdomen", "Neck")[:channels],
        unit="mm",
        path=(PathPoint(1763226001.12, rng.normal(size=shape), rng.uniform(size=channels), "ok"),),
    )


def same(one: object, other: object) -> None:
    """Assert that two frames are equal to the last bit."""
    assert type(one) is type(other)
    for name, value in vars(one).items():
        against = getattr(other, name)
        if isinstance(value, np.ndarray):
            np.testing.assert_array_equal(value, against, strict=True)
        elif name == "path":
            assert len(value) == len(against)
            for point, point_against in zip(value, against, strict=True):
                same(point, point_against)
        else:
            assert value == against, name


def datagrams(address: tuple[str, int], *messages: bytes) -> None:
    """Send messages over UDP."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for message in messages:
            sender.sendto(message, address)
