"""What runs beside the samples: holds for silence, counters once per second, and checkpoints."""

import asyncio
import gc
import threading
import time
import weakref
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from streams import Given, Kept, build_cheap, frame

from quatcast.live.frames import ForecastFrame
from quatcast.live.latency import Garbage, only_young
from quatcast.live.pipeline import Pipeline
from quatcast.live.service import Service
from quatcast.live.session import Session, checkpoints
from quatcast.live.settings import LiveSettings

SETTINGS = LiveSettings(stream="chest", horizon=(0.5,), rate=20.0)


def service(source: Given, sinks: list[Any], **more: Any) -> Service:
    return Service(Pipeline(SETTINGS, build_cheap), source, sinks, **more)


def test_repeated_holds_are_for_one_horizon_after_the_present(monkeypatch: pytest.MonkeyPatch) -> None:
    """However long the silence lasts, a hold is for the moment that a forecast sent now would be for."""
    monkeypatch.setattr("quatcast.live.service.REPEATED", 0.1)
    kept = Kept()
    asyncio.run(service(Given([frame(0, rate=20.0), 0.7]), [kept]).run())
    forecast, holds = kept.sent[0], [one for one in kept.sent if "no sample" in one.reason]
    assert len(holds) >= 2
    assert {one.time for one in holds} == {forecast.time}
    assert [one.target_time - one.sent_time for one in holds] == pytest.approx([0.5] * len(holds))


def test_service_that_is_cancelled_from_outside_is_cancelled(tmp_path: Path) -> None:
    """A program that gives up a service, for example after a time limit, does not take its end for a regular one."""
    session = Session(tmp_path, SETTINGS, print)

    async def give_up() -> None:
        async with asyncio.timeout(0.3):
            await service(Given([frame(0, rate=20.0), 8.0]), [], session=session).run()

    with pytest.raises(TimeoutError):
        asyncio.run(give_up())
    assert checkpoints(tmp_path)[0][0] == 1


def test_service_that_is_stopped_ends_regularly() -> None:
    running = service(Given([frame(0, rate=20.0), lambda: running.stop(), 8.0]), [])
    assert asyncio.run(running.run()).frames == 1


def test_error_of_the_source_is_that_of_the_service() -> None:
    def fail() -> None:
        raise OSError("the device is gone")

    with pytest.raises(OSError, match="the device is gone"):
        asyncio.run(service(Given([frame(0, rate=20.0), fail]), []).run())


def test_sink_that_fails_during_silence_ends_the_service_with_a_checkpoint(tmp_path: Path) -> None:
    """Without its watch a service would be silent instead of sending hold: it ends with an error, and continues."""

    class Broken(Kept):
        def send(self, forecast: ForecastFrame) -> None:
            if "no sample" in forecast.reason:
                raise ValueError("the receiver is odd")
            super().send(forecast)

    session = Session(tmp_path, SETTINGS, print)
    running = service(Given([frame(0, rate=20.0), 8.0]), [Broken()], session=session)
    with pytest.raises(RuntimeError, match=r"the watch for silence failed: ValueError\('the receiver is odd'\)"):
        asyncio.run(running.run())
    assert checkpoints(tmp_path)[0][0] == 1


def test_thread_that_counts_a_new_kind_does_not_disturb_the_counters(monkeypatch: pytest.MonkeyPatch) -> None:
    """A source that reads in a thread adds kinds of refused messages at any time, also while they are counted."""
    monkeypatch.setattr("quatcast.live.service.TENDED", 0.1)

    class Growing(dict[str, int]):
        def items(self) -> Any:
            for item in super().items():
                self["malformed"] = 1
                yield item

    source = Given([frame(0, rate=20.0), 0.25])
    source.refused = Growing(checksum=1)
    running = service(source, [])
    asyncio.run(running.run())
    assert running.metrics.value("messages_refused", kind="checksum", stream="chest") == 1
    assert "samples_unchecked" in running.metrics.text()  # comes after them


@pytest.mark.parametrize("realtime", [True, False])
def test_garbage_is_collected_while_no_samples_come(monkeypatch: pytest.MonkeyPatch, realtime: bool) -> None:
    """Connections that bring no sample leave objects that refer to each other; they must not collect for weeks."""
    monkeypatch.setattr("quatcast.live.service.TENDED", 0.05)
    monkeypatch.setattr("quatcast.live.service.OVERDUE", 0.0)

    class Connection:
        def __init__(self) -> None:
            self.itself = self

    left: list[weakref.ref[Connection]] = []

    def connect() -> None:
        left.append(weakref.ref(connection := Connection()))
        gc.collect(1)  # as if it had lasted for a while: now it is old
        del connection

    running = service(Given([connect, 0.3, lambda: left.append(left[0])], realtime=realtime), [])
    running._garbage = Garbage(every=0.1)
    with only_young():
        asyncio.run(running.run())
    assert len(left) == 2
    assert left[0]() is None


def test_failed_checkpoint_is_told_in_the_thread_of_the_service(tmp_path: Path) -> None:
    """The view and the journal may only be used there; the file itself is written in another thread."""
    told: list[tuple[str, threading.Thread]] = []
    session = Session(tmp_path, SETTINGS, lambda text: told.append((text[:24], threading.current_thread())))
    for frames in range(1, 6):
        (tmp_path / f"checkpoint-{frames:012d}.quatcast").mkdir()  # cannot be replaced by a file
    entries: list[Any] = [entry for i in range(5) for entry in (frame(i, rate=20.0), 0.02)]
    asyncio.run(service(Given(entries, realtime=False), [], session=session, checkpoint=0.0).run())
    assert told == [("no checkpoint can be wri", threading.main_thread())]


@pytest.mark.parametrize("lost", [False, True])
def test_failed_checkpoint_is_tried_again_after_a_pause(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lost: bool
) -> None:
    """If lines of the journal were lost, one checkpoint per second is tried; otherwise the next when it is due."""
    pause = 0.4
    monkeypatch.setattr("quatcast.live.checkpointing.AGAIN", pause)
    attempts: list[float] = []

    def fail(self: Session, snapshot: object, frames: int) -> OSError:
        attempts.append(time.monotonic())
        return OSError("no space left on device")

    monkeypatch.setattr(Session, "_write", fail)
    session = Session(tmp_path, SETTINGS, print)
    begin: list[Any] = [frame(0, rate=20.0), lambda: setattr(session.journal, "interrupted", lost)]
    entries: list[Any] = [entry for i in range(1, 30) for entry in (frame(i, rate=20.0), 0.02)]
    running = service(Given(begin + entries, realtime=False), [], session=session, checkpoint=1000.0)
    if not lost:
        running._checkpoints.expire()
    asyncio.run(running.run())
    while_running = attempts[:-1]  # without the one at the end
    assert session.journal.interrupted == lost
    assert len(while_running) >= 2 if lost else len(while_running) == 1
    assert all(later - earlier >= 0.9 * pause for earlier, later in pairwise(while_running))
