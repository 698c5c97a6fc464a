"""Frames, a source, a sink and a cheap forecaster for tests of the live service."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, Self

import numpy as np

from quatcast.data import simulated
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import RLS
from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.transports import Sink, Source
from quatcast.safety.guard import Guarded
from quatcast.safety.status import Status

POSITIONS = simulated(seconds=120)[1].positions
EPOCH = 1.7e9
"""A time of arrival, as large as real ones, so that rounding is real as well."""


def build_cheap(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str = "position") -> Guarded:
    """A forecaster that answers in a tenth of the time of the recommended one."""
    return Guarded(Forecaster(RLS(), horizon=round(horizons[0] * rate), lags=6, train=40), rate=rate, names=names)


class Repeating:
    """Forecasts the newest sample and learns nothing, where only times and counts are judged."""

    def forecast(self, values: np.ndarray) -> Any:
        return SimpleNamespace(position=values, status=Status.OK, statuses=(Status.OK,))

    def learn(self) -> None:
        pass


def build_repeating(*settings: Any) -> Any:
    """A forecaster that costs nothing."""
    return Repeating()


def frame(number: int, *, rate: float = 10.0, delay: float = 0.004, values: np.ndarray | None = None) -> Frame:
    """Frame `number` of a tracker that started when our clock showed `EPOCH`."""
    time = number / rate
    position = POSITIONS[number % len(POSITIONS)] if values is None else values
    return Frame("chest", number, time, EPOCH + time + delay, position, ("lower", "upper", "chest"), "mm")


class Given(Source):
    """Frames of a list, some of them after a pause; an entry may also be something to do."""

    def __init__(self, entries: list[Frame | float | Callable[[], Any]], *, realtime: bool = True) -> None:
        self.entries, self.realtime, self.refused = entries, realtime, {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    async def frames(self) -> AsyncIterator[Frame]:
        for entry in self.entries:
            if isinstance(entry, float):
                await asyncio.sleep(entry)
            elif isinstance(entry, Frame):
                yield replace(entry, received=now()) if self.realtime else entry
            else:
                entry()


class Kept(Sink):
    """A sink that keeps what it is sent."""

    def __init__(self) -> None:
        self.dropped, self.sent = 0, list[ForecastFrame]()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    def send(self, forecast: ForecastFrame) -> None:
        self.sent.append(forecast)
