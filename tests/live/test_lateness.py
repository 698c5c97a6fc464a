"""Late samples and forecasts: what is a hold, what is not learnt from, and which horizons are refused."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from streams import Given, Kept, build_cheap, frame

from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.pipeline import Pipeline
from quatcast.live.service import Service
from quatcast.live.settings import LiveSettings
from quatcast.live.totals import Summary
from quatcast.live.transports import Source

SETTINGS = LiveSettings(stream="chest", horizon=(0.5,), rate=10.0)


def serve(source: Source, settings: LiveSettings = SETTINGS) -> tuple[Summary, list[ForecastFrame]]:
    kept = Kept()
    return asyncio.run(Service(Pipeline(settings, build_cheap), source, [kept]).run()), kept.sent


def test_late_forecast_is_a_hold() -> None:
    """Samples that come 0.8 s after they were measured cannot be forecast 0.5 s ahead in time."""
    started = now()

    def measured(i: int, delay: float) -> list[Any]:
        due = started + 0.2 + i / 10 + delay
        return [lambda: time.sleep(max(0.0, due - now())), frame(i)]

    entries: list[Any] = [entry for i in range(4) for entry in measured(i, 0.0)]
    entries += [entry for i in range(4, 8) for entry in measured(i, 0.8)]
    _, sent = serve(Given(entries))
    by_number = {one.sequence: one for one in sent if "no sample" not in one.reason}
    assert all("late" not in by_number[i].reason for i in range(4))
    for i in range(5, 8):
        assert (by_number[i].status, by_number[i].reason[:8]) == ("hold", "late by ")
        assert by_number[i].sent_time > by_number[i].target_time


def test_latency_to_act_counts_as_lateness_and_sets_the_horizon() -> None:
    settings = LiveSettings(stream="chest", horizon=(), rate=10.0, act_latency=0.25)
    _, sent = serve(Given([frame(i) for i in range(60)], realtime=False), settings)
    assert sent[-1].target_time - sent[-1].time == pytest.approx(0.3)  # 0.25 s and computing, in whole samples
    _, sent = serve(Given([frame(0), 0.25, frame(1)]), replace(SETTINGS, act_latency=0.4))
    assert (sent[-1].sequence, sent[-1].status, sent[-1].reason[:8]) == (1, "hold", "late by ")


@pytest.mark.parametrize("horizons", [(0.3,), (0.2, 0.5)])
def test_horizons_that_are_always_late_are_refused(horizons: tuple[float, ...]) -> None:
    with pytest.raises(ValueError, match="horizon: expected more than act_latency and input_age together"):
        LiveSettings(horizon=horizons, act_latency=0.2, input_age=0.1)
    for others in ((), (0.5, 0.2)):
        assert LiveSettings(horizon=others, act_latency=0.2, input_age=0.1).horizon == others


def test_horizons_for_which_a_forecast_is_late_are_holds() -> None:
    settings = LiveSettings(stream="chest", horizon=(5.0, 0.1, 10.0), rate=10.0, act_latency=0.2)
    kept = Kept()
    service = Service(Pipeline(settings), Given([frame(i) for i in range(3)]), [kept])
    asyncio.run(service.run())
    assert [(one.status, [point.status for point in one.path]) for one in kept.sent] == [
        ("warming up", ["hold", "warming up"])
    ] * 3


def test_samples_that_have_waited_are_not_learnt_from() -> None:
    class Old(Given):
        async def frames(self) -> AsyncIterator[Frame]:
            async for one in super().frames():
                yield replace(one, received=one.received - 0.3)

    summary, _ = serve(Old([frame(i) for i in range(5)]))
    assert summary.unlearnt == 5
    summary, _ = serve(Given([frame(i) for i in range(5)], realtime=False))
    assert summary.unlearnt == 0
