"""Made-up breathing and forecasts of it, at any time and rate, for the view without a service."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.live.frames import ForecastFrame, PathPoint
from quatcast.live.view.feed import ViewFeed

PLACES = np.array([[0.0, -40.0, 5.0], [15.0, 60.0, 22.0], [-10.0, 190.0, 40.0]])
"""Positions of the markers on the body in mm."""
MOTION = np.array([[2.6, 1.0, 11.0], [3.4, 0.8, 7.0], [2.4, 0.7, 3.2]])
NAMES = ("lower abdomen", "upper abdomen", "chest")
OVERSHOOT = 0.1
"""Error of the forecasts relative to the motion until their target time."""


@dataclass(frozen=True)
class Breathing:
    """Frames of breathing, with forecasts that go too far by a tenth of the motion ahead."""

    horizons: tuple[float, ...] = (0.5,)
    names: tuple[str, ...] = NAMES
    stream: str = "breathing"
    unit: str = "mm"

    def position(self, t: float) -> Floats:
        """Return the true positions (3, 3) at a time."""
        phase = 2 * np.pi * t / 4.6 + 0.35 * np.sin(t / 7.0)
        shape = np.sin(phase - np.array([0.0, 0.25, 0.5])) + 0.3 * np.cos(2 * phase)
        depth = 1 + 0.2 * np.sin(t / 11.0)
        drift = 0.8 * np.sin(t / 37.0 + np.arange(3.0))
        moved: Floats = PLACES + MOTION * (depth * shape + drift)[:, None]
        return moved

    def frame(
        self, number: int, t: float, status: str = "ok", reason: str = "", lost: int | None = None
    ) -> ForecastFrame:
        """Return the forecast frame of the sample at a time; `lost` is a channel that was not seen."""
        now = self.position(t)
        usable = status in ("ok", "degraded")
        points = []
        for horizon in self.horizons:
            then = self.position(t + horizon)
            position = then + OVERSHOOT * (then - now) if usable else np.full((3, 3), np.nan)
            points.append(PathPoint(t + horizon, position, np.full(3, 0.4 + 1.6 * horizon), status))
        main = points[len(points) // 2]
        filled = np.arange(3) == (-1 if lost is None else lost)
        sample = np.where(filled[:, None], np.nan, now)
        path = tuple(points) if len(points) > 1 else ()
        return ForecastFrame(
            stream=self.stream,
            sequence=number,
            time=t,
            target_time=main.target_time,
            sent_time=t + 0.004 + 0.002 * np.sin(number) ** 2,
            position=main.position,
            radius=main.radius,
            status=status,
            reason=reason,
            filled=filled,
            sample=sample,
            names=self.names,
            unit=self.unit,
            path=path,
        )

    def past(self, seconds: float, rate: float, now: float) -> Iterator[ForecastFrame]:
        """Yield the frames of the last seconds, with a few troubles: warming up, a lost marker and a hold."""
        for number in range(round(seconds * rate)):
            t = now - seconds + number / rate
            along = number / rate / seconds
            if along < 0.12:
                yield self.frame(number, t, "warming up", "12 of 30 errors known that a radius needs")
            elif 0.55 < along < 0.58:
                yield self.frame(number, t, "degraded", "channel 2 lost", lost=1)
            elif 0.58 <= along < 0.6:
                yield self.frame(number, t, "hold", "channel 2 lost for 1.3 s", lost=1)
            else:
                yield self.frame(number, t)


async def feed_live(feed: ViewFeed, breathing: Breathing, rate: float, seconds: float = 1e9) -> int:
    """Publish frames in real time, and return their number."""
    begun, number = time.time(), 0
    while number < seconds * rate:
        number += 1
        await asyncio.sleep(max(0.0, begun + number / rate - time.time()))
        feed.publish(breathing.frame(number, begun + number / rate))
    return number
