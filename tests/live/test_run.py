"""One stream from its description: when it says that it is ready, and how signals end it."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, Self
from urllib.parse import SplitResult

import pytest
from streams import Given, frame

from quatcast.live.frames import Frame
from quatcast.live.run import StreamPlan, serve
from quatcast.live.session import checkpoints
from quatcast.live.settings import LiveSettings
from quatcast.live.transports import base

SETTINGS = LiveSettings(stream="chest", rate=10.0)


class Told(Given):
    """A source that notes when it is opened and read; a path in its URL is why it cannot be opened."""

    def __init__(self, parts: SplitResult, told: list[str]) -> None:
        super().__init__([frame(0)])
        self.why, self.told = parts.path, told

    async def __aenter__(self) -> Self:
        await asyncio.sleep(0.01)
        if self.why:
            raise OSError(self.why)
        self.told.append("open")
        return self

    async def frames(self) -> AsyncIterator[Frame]:
        self.told.append("read")
        async for one in super().frames():
            yield one


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What happens, in order: what the source does, and what systemd is told."""
    events: list[str] = []
    monkeypatch.setitem(base._SOURCES, "told", lambda parts, stream: Told(parts, events))
    monkeypatch.setattr("quatcast.live.systemd.notify", lambda text: not events.append(text))
    return events


def test_systemd_is_told_ready_when_samples_can_arrive(told: list[str]) -> None:
    asyncio.run(serve(StreamPlan(SETTINGS, "told:"), lambda text: told.append(text[:7])))
    assert told == ["open", "Waiting", "READY=1", "read", "STOPPING=1"]


def test_systemd_is_not_told_ready_if_the_source_cannot_be_opened(told: list[str]) -> None:
    with pytest.raises(OSError, match="in use"):
        asyncio.run(serve(StreamPlan(SETTINGS, "told:in use"), lambda text: told.append(text[:7])))
    assert told == ["STOPPING=1"]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs signals of Unix")
@pytest.mark.parametrize("has_handlers", [True, False])
def test_interrupt_ends_the_stream_with_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, has_handlers: bool
) -> None:
    """Also where the loop has no handlers of signals, as on Windows."""

    def refuse(*_: Any) -> None:
        raise NotImplementedError

    async def run() -> int:
        if not has_handlers:
            monkeypatch.setattr(asyncio.get_running_loop(), "add_signal_handler", refuse)
        plan = StreamPlan(SETTINGS, "interrupted:", record=tmp_path)
        return (await asyncio.wait_for(serve(plan), 30)).frames

    entries = [*map(frame, range(5)), lambda: os.kill(os.getpid(), signal.SIGINT), 30.0]
    monkeypatch.setitem(base._SOURCES, "interrupted", lambda parts, stream: Given(entries))
    before = signal.getsignal(signal.SIGTERM)
    assert asyncio.run(run()) == 5
    assert checkpoints(tmp_path)[0][0] == 5
    assert signal.getsignal(signal.SIGTERM) == before
