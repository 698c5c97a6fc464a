"""What runs beside the samples: holds for silence, counters once per second, and checkpoints."""

import asyncio
from typing import Any

import pytest
from streams import Given, Kept, build_cheap, frame

from quatcast.live.pipeline import Pipeline
from quatcast.live.service import Service
from quatcast.live.settings import LiveSettings

SETTINGS = LiveSettings(stream="chest", horizon=(0.5,), rate=20.0)


def service(source: Given, sinks: list[Any], **more: Any) -> Service:
    return Service(Pipeline(SETTINGS, build_cheap), source, sinks, **more)


def test_repeated_holds_are_for_one_horizon_after_the_present() -> None:
    """However long the silence lasts, a hold is for the moment that a forecast sent now would be for."""
    kept = Kept()
    asyncio.run(service(Given([frame(0, rate=20.0), 1.7]), [kept]).run())
    forecast, holds = kept.sent[0], [one for one in kept.sent if "no sample" in one.reason]
    assert len(holds) >= 2
    assert {one.time for one in holds} == {forecast.time}
    assert [one.target_time - one.sent_time for one in holds] == pytest.approx([0.5] * len(holds))
