"""Rows of docs/live-failures.md that concern the service as a whole; the parts have tests of their own."""

import asyncio
import os
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import POSITIONS, Given, Kept, build_cheap, frame

from quatcast.cli import run
from quatcast.live.frames import ForecastFrame
from quatcast.live.messages import sample_message
from quatcast.live.metrics import Metrics
from quatcast.live.pipeline import Pipeline
from quatcast.live.service import Service
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings
from quatcast.live.transports import open_source
from quatcast.safety.guard import Guarded

SETTINGS = LiveSettings(stream="chest", horizon=(0.5,), rate=10.0)


def forecasts(entries: list[Any], build: Any = build_cheap, **more: Any) -> list[ForecastFrame]:
    kept = Kept()
    asyncio.run(Service(Pipeline(SETTINGS, build), Given(entries, realtime=False), [kept], **more).run())
    return kept.sent


def test_a_feed_that_freezes_is_held_by_the_guard() -> None:
    frozen = [frame(i, values=POSITIONS[min(i, 150)]) for i in range(180)]
    sent = forecasts(frozen)
    assert sent[149].status == "ok"
    assert sent[-1].status == "hold"
    assert "frozen" in sent[-1].reason


def test_a_forecaster_that_raises_an_error_is_held_and_goes_on_as_before() -> None:
    """The forecasts after the sample at fault are those of a stream in which the error did not happen at all."""

    def build(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str) -> Guarded:
        guard = build_cheap(horizons, rate, names)
        forecast, calls = guard.forecaster.forecast, iter(range(10**6))

        def sometimes(*given: Any) -> Any:
            if next(calls) == 120:
                raise FloatingPointError("a member diverges")
            return forecast(*given)

        guard.forecaster.forecast = sometimes  # type: ignore[method-assign]
        return guard

    sent = forecasts([frame(i) for i in range(200)], build)
    assert len(sent) == 200
    assert (sent[119].status, sent[120].status, sent[-1].status) == ("ok", "hold", "ok")
    assert "a member diverges" in sent[120].reason
    assert np.isfinite(sent[-1].position).all()


def test_readiness_follows_silence() -> None:
    metrics, seen = Metrics(), list[tuple[bool, str]]()

    def look() -> None:
        seen.append((metrics.is_ready, metrics.why))

    steady: list[Any] = [entry for i in range(5) for entry in (frame(i), 0.05)]
    entries = [0.05, look, *steady, look, 0.8, look, frame(14), 0.02, look]
    asyncio.run(Service(Pipeline(SETTINGS, build_cheap), Given(entries), metrics=metrics).run())
    look()
    assert seen == [
        (False, "waiting for the first sample"),
        (True, ""),
        (False, "no samples arrive"),
        (True, ""),
        (False, "stopped"),
    ]


@pytest.mark.parametrize("shift", [-7200.0, 7200.0])
def test_a_change_of_the_clock_of_this_machine_changes_nothing(
    shift: float, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Over UDP, whose times of arrival come from the clock of the system."""
    system = time.time

    async def scenario() -> tuple[list[ForecastFrame], dict[str, int]]:
        source: Any = open_source("udp://127.0.0.1:0", "chest")
        kept = Kept()
        service = Service(Pipeline(replace(SETTINGS, rate=20.0), build_cheap), source, [kept])
        running = asyncio.create_task(service.run())
        while source.address[1] == 0:
            await asyncio.sleep(0.01)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for i in range(40):
                if i == 20:
                    monkeypatch.setattr("time.time", lambda: system() + shift)
                sender.sendto(sample_message(frame(i, rate=20.0)), source.address)
                await asyncio.sleep(0.05)
        service.stop()
        await running
        return kept.sent, service.pipeline.counts

    sent, counts = asyncio.run(scenario())
    assert counts.get("steps", 0) == 0
    assert not [line for line in caplog.messages if line.startswith("time")]
    times = np.array([one.time for one in sent])
    assert np.all(np.abs(np.diff(times)) < 1.0)
    assert abs(sent[-1].sent_time - system()) < 60
    assert not any("late" in one.reason for one in sent)


def test_the_journal_is_flushed_to_the_disk_about_once_per_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a power failure costs."""
    flushed, fsync = list[float](), os.fsync

    def noted(descriptor: int) -> None:
        if ".jsonl" in os.readlink(f"/proc/self/fd/{descriptor}"):
            flushed.append(time.monotonic())
        fsync(descriptor)

    session = Session(tmp_path, SETTINGS, print)
    monkeypatch.setattr("os.fsync", noted)
    began = time.monotonic()
    forecasts([entry for i in range(26) for entry in (frame(i), 0.1)], session=session)
    steps = np.diff([began, *(moment for moment in flushed if moment < began + 2.5)])
    assert len(steps) >= 2
    assert steps.max() < 1.8


def test_a_folder_in_use_is_waited_for_by_the_supervisor(tmp_path: Path) -> None:
    """Exit code 2 would make the supervisor give the stream up."""
    settings = LiveSettings(stream="stream", horizon=(0.5,), rate=10.0)
    session = Session(tmp_path, settings, print)
    command = ["live", "simulated:?speed=0&seconds=1", "--rate", "10", "--record", str(tmp_path)]
    try:
        assert run(["--worker", *command]) == 1
        assert run(command) == 2
    finally:
        session.close()
