"""Samples that come faster than this machine can forecast: what is told, and that this is no silence."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from streams import Given, Kept, build_cheap, frame

from quatcast.live.clock import now
from quatcast.live.frames import Frame
from quatcast.live.pipeline import Pipeline
from quatcast.live.service import Service
from quatcast.live.settings import LiveSettings
from quatcast.live.transports.limits import Inbox
from quatcast.safety.guard import Guarded

RATE = 100.0
REMEDY = "overload: samples come faster than this machine can forecast; give a --rate below 100 Hz"


class Slow(Guarded):
    """Needs twice the time between two samples for each answer."""

    def forecast(self, *sample: Any) -> Any:
        time.sleep(2 / RATE)
        return super().forecast(*sample)


def build_slow(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str) -> Guarded:
    return Slow(build_cheap(horizons, rate, names).forecaster, rate=rate, names=names)


class Fast(Given):
    """Offers frames to an inbox at their rate or all at once, however fast they are taken."""

    def __init__(self, numbers: list[int], *, at_once: bool) -> None:
        super().__init__([])
        self.numbers, self.at_once = numbers, at_once

    async def frames(self) -> AsyncIterator[Frame]:
        inbox, began = Inbox(self.refused), now()
        sending = asyncio.create_task(self._send(inbox, began))
        async for one in inbox.frames():
            yield one
        await sending

    async def _send(self, inbox: Inbox, began: float) -> None:
        for i in self.numbers:
            if not self.at_once:
                await asyncio.sleep(max(0.0, began + i / RATE - now()))
            inbox.offer(Frame("chest", i, began + i / RATE, now(), frame(i).values))
        await asyncio.sleep(1.0)
        inbox.close()


def told(source: Fast, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr("quatcast.live.service.TENDED", 0.1)
    settings = LiveSettings(stream="chest", horizon=(0.2,), rate=RATE)
    asyncio.run(Service(Pipeline(settings, build_slow), source, [Kept()]).run())
    return caplog.messages


def test_the_remedy_is_told_once_when_forecasts_stay_late(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert told(Fast(list(range(180)), at_once=False), caplog, monkeypatch).count(REMEDY) == 1


def test_the_remedy_is_told_once_when_samples_are_dropped(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quatcast.live.transports.limits.MAX_WAITING_FRAMES", 20)
    source = Fast(list(range(40)), at_once=True)
    assert told(source, caplog, monkeypatch).count(REMEDY) == 1
    assert source.refused["overflow"] > 0


def test_samples_that_wait_are_not_silence(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """Lost samples are computed before the one that has arrived, which takes longer than a silence; others wait."""
    kept = Kept()
    settings = LiveSettings(stream="chest", horizon=(0.2,), rate=RATE)
    service = Service(Pipeline(settings, build_slow), Fast([0, 1, 40, 41, 42], at_once=True), [kept])
    monkeypatch.setattr("quatcast.live.service.REPEATED", 0.05)

    async def run() -> None:
        running = asyncio.create_task(service.run())
        await asyncio.sleep(0.9)
        service.stop()
        await running

    asyncio.run(run())
    holds = {one.reason for one in kept.sent if one.status == "hold" and not one.reason.startswith("late by")}
    assert holds == {"samples wait, because this machine is too slow"}
    assert not any("silence" in text for text in caplog.messages)
