"""The service over real sockets: what is sent when, and what happens when samples stop, come late or cannot be kept."""

import asyncio
import json
import shutil
import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streams import POSITIONS, Given, Kept, build_cheap, frame

from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.journal import read_journal
from quatcast.live.messages import parse_forecast, sample_message, sample_text
from quatcast.live.metrics import Metrics
from quatcast.live.pipeline import Pipeline
from quatcast.live.records import read_forecasts
from quatcast.live.replay import replay_session
from quatcast.live.run import StreamPlan
from quatcast.live.run import serve as serve_plan
from quatcast.live.service import Service
from quatcast.live.session import Session, checkpoints
from quatcast.live.settings import LiveSettings
from quatcast.live.summary import summarise
from quatcast.live.totals import Summary
from quatcast.live.transports import Source, open_sink, open_source
from quatcast.live.view.feed import ViewFeed
from quatcast.safety.guard import Guarded

SETTINGS = LiveSettings(stream="chest", horizon=(0.5,), rate=10.0)


def serve(source: Source, settings: LiveSettings = SETTINGS, **more: Any) -> tuple[Summary, list[ForecastFrame]]:
    kept = Kept()
    service = Service(Pipeline(settings, build_cheap), source, [kept], **more)
    return asyncio.run(service.run()), kept.sent


def test_the_forecast_has_left_this_machine_before_learning_begins() -> None:
    """Over UDP and TCP: when `learn` is called, the forecast of that sample can be read from the receivers' sockets."""
    udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    udp.bind(("127.0.0.1", 0))
    udp.settimeout(5)
    listener = socket.create_server(("127.0.0.1", 0))
    received: list[tuple[int, int]] = []
    accepted: list[socket.socket] = []

    class Watched(Guarded):
        def learn(self) -> None:
            seen = json.loads(udp.recv(65536))["seq"]
            line = b""
            while accepted and not line.endswith(b"\n"):
                line += accepted[0].recv(65536)
            received.append((seen, json.loads(line.splitlines()[-1])["seq"] if line else -1))
            super().learn()

    def build(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str) -> Guarded:
        cheap = build_cheap(horizons, rate, names)
        return Watched(cheap.forecaster, rate=rate, names=names)

    def accept() -> None:
        accepted.append(listener.accept()[0])
        accepted[0].settimeout(5)

    sinks = [
        open_sink(f"udp://127.0.0.1:{udp.getsockname()[1]}", "chest"),
        open_sink(f"tcp://127.0.0.1:{listener.getsockname()[1]}", "chest"),
    ]
    entries: list[Any] = [0.3, accept, 0.1, *(frame(i) for i in range(20))]
    service = Service(Pipeline(SETTINGS, build), Given(entries, realtime=False), sinks)
    asyncio.run(service.run())
    for one in (udp, listener, *accepted):
        one.close()
    assert received == [(i, i) for i in range(20)]


def test_silence_becomes_hold_by_the_clock_of_the_service_over_udp() -> None:
    """A sender stops; after 3 periods a hold without positions arrives; when it goes on, so do forecasts."""

    async def scenario() -> tuple[list[tuple[float, ForecastFrame]], list[float], Metrics]:
        source = open_source("udp://127.0.0.1:0", "chest")
        loop = asyncio.get_running_loop()
        arrived: list[tuple[float, ForecastFrame]] = []

        class Receiver(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, address: object) -> None:
                arrived.append((time.monotonic(), parse_forecast(data)))

        receiver, _ = await loop.create_datagram_endpoint(Receiver, local_addr=("127.0.0.1", 0))
        sink = open_sink(f"udp://127.0.0.1:{receiver.get_extra_info('sockname')[1]}", "chest")
        metrics = Metrics()
        service = Service(Pipeline(replace(SETTINGS, rate=20.0), build_cheap), source, [sink], metrics=metrics)
        running = asyncio.create_task(service.run())
        await asyncio.sleep(0.1)
        sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        stops = []
        for i in [*range(10), None, *range(30, 36)]:
            if i is None:
                stops.append(time.monotonic())
                await asyncio.sleep(1.0)
                stops.append(time.monotonic())
                continue
            sender.sendto(sample_message(frame(i, rate=20.0)), source.address)  # type: ignore[attr-defined]
            await asyncio.sleep(0.05)
        service.stop()
        await running
        sender.close()
        receiver.close()
        return arrived, stops, metrics

    arrived, (stopped, resumed), metrics = asyncio.run(scenario())
    holds = [(at, one) for at, one in arrived if one.status == "hold" and "no sample for" in one.reason]
    assert holds
    assert 0.08 <= holds[0][0] - stopped <= 0.6
    assert all(np.isnan(one.position).all() and one.filled.all() for _, one in holds)
    assert [one.status for at, one in arrived if at > resumed + 0.2][-1] != "hold"
    assert metrics.value("events", kind="silence", stream="chest") >= 2


def test_samples_of_another_shape_are_silence_that_says_what_arrives(caplog: pytest.LogCaptureFixture) -> None:
    """A permanent change of the number of channels: hold by the clock of the service, and one line in the log."""
    double = [frame(i, values=np.vstack([POSITIONS[i], POSITIONS[i]])) for i in range(10, 30)]
    usual: list[Any] = [entry for i in range(10) for entry in (frame(i), 0.05)]
    _, sent = serve(Given([*usual, *(entry for one in double for entry in (one, 0.05))]), replace(SETTINGS, rate=20.0))
    words = "samples have 6 channels with 3 coordinates, expected 3 channels with 3"
    holds = [one.reason for one in sent if one.status == "hold" and "no sample for" in one.reason]
    assert len(holds) >= 2
    assert all(words in reason for reason in holds)
    assert [record.getMessage() for record in caplog.records if record.getMessage().startswith("dropped")] == [
        f"dropped: {words}; such samples are dropped and counted"
    ]
    assert any("silence" in line and words in line for line in caplog.messages)


def test_samples_that_repeat_their_number_for_good_are_silence() -> None:
    usual: list[Any] = [entry for i in range(10) for entry in (frame(i), 0.05)]
    _, sent = serve(Given([*usual, *[frame(9), 0.05] * 15]), replace(SETTINGS, rate=20.0))
    assert (sent[-1].status, "samples are dropped (duplicate)" in sent[-1].reason) == ("hold", True)
    _, sent = serve(Given([*usual, frame(9), 0.6]), replace(SETTINGS, rate=20.0))
    assert sent[-1].status == "hold"
    assert "dropped" not in sent[-1].reason


def test_no_silence_where_time_is_made_up() -> None:
    frames = [frame(i) for i in range(10)]
    _, sent = serve(Given([*frames[:5], 0.5, *frames[5:]], realtime=False))
    assert len(sent) == 10
    assert all("no sample" not in one.reason for one in sent)


def test_machine_that_cannot_keep_up_forecasts_instead_of_learning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Samples that have waited are answered and not learnt from, and recovery and replay know which they were."""
    monkeypatch.setattr(Service, "_is_behind", lambda self, one: 40 <= one.sequence < 70)
    session = Session(tmp_path, SETTINGS, print)
    source = Given([frame(i) for i in range(100)], realtime=False)
    service = Service(Pipeline(SETTINGS, build_cheap), source, session=session)
    summary = asyncio.run(service.run())
    assert summary.unlearnt == 30
    for path in tmp_path.glob("checkpoint-*"):
        path.unlink()
    again, pipeline = Session(tmp_path, SETTINGS, print), Pipeline(SETTINGS, build_cheap)
    assert again.recover(pipeline).replayed == 100
    again.close()
    assert replay_session(tmp_path, build_cheap).different == []
    mine, theirs = (one.forecaster.forecast(POSITIONS[100]) for one in (service.pipeline, pipeline))
    assert np.isfinite(mine.position).all()
    assert np.array_equal(mine.position, theirs.position)


@pytest.mark.parametrize("later", [7200.0, 0.0], ids=["step of the clock", "none"])
def test_a_machine_that_is_busy_is_not_told_that_samples_come_too_fast(
    later: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Service, "_is_behind", lambda self, one: True)
    frames = [replace(frame(i), device_time=i / 10 + later * (i >= 20)) for i in range(40)]
    summary, _ = serve(Given(frames, realtime=False))
    assert (summary.unlearnt >= 40, summary.hurried) == (True, False)


def test_a_burst_when_a_service_is_started_is_no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples that have waited while the session was recovered arrive at once; the others arrive in time."""
    monkeypatch.setattr(Service, "_is_behind", lambda self, one: one.sequence < 10)
    entries: list[Any] = [replace(frame(i), received=frame(max(i, 10)).received) for i in range(30)]
    for frames in (entries[:12], entries):
        summary, _ = serve(Given(frames, realtime=False))
        assert (summary.unlearnt, summary.hurried) == (10, False)


@pytest.mark.parametrize(
    ("kind", "other", "words"),
    [
        ("names", {"names": ("chest", "upper", "lower")}, "channels chest, upper, lower, expected lower, upper, chest"),
        ("unit", {"unit": "m"}, "samples are in m, expected mm"),
    ],
)
def test_samples_with_other_labels_than_before_are_refused(
    kind: str, other: dict[str, Any], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Receivers would take the markers for each other, or metres for millimetres."""
    monkeypatch.setattr(Pipeline, "settled", property(lambda self: self.frames >= 20))
    frames = [replace(frame(i), **other) if i >= 30 else frame(i) for i in range(40)]
    frames += [replace(frame(i), names=(), unit="") for i in range(40, 45)]
    session = Session(tmp_path, SETTINGS, print)
    service = Service(Pipeline(SETTINGS, build_cheap), Given(frames, realtime=False), session=session)
    summary = asyncio.run(service.run())
    assert (summary.frames, summary.refused) == (35, {kind: 10})
    (event,) = [one["text"] for one in read_journal(tmp_path) if one.get("kind") == "refused"]
    assert words in event
    assert replay_session(tmp_path, build_cheap).different == []
    session = Session(tmp_path, SETTINGS, print)
    service = Service(Pipeline(SETTINGS, build_cheap), Given(frames[30:40], realtime=False), session=session)
    assert asyncio.run(service.run()).refused == {kind: 10}, "after a restart as well"
    named = replace(SETTINGS, names=("a", "b", "c"), unit="cm")
    assert serve(Given(frames, realtime=False), named)[0].refused == {}


def test_refusals_of_the_source_and_of_the_service_are_added() -> None:
    odd = replace(frame(20), values=np.zeros((3, 5)))
    source = Given([*(frame(i) for i in range(20)), odd], realtime=False)
    source.refused = {"coordinates": 2, "line": 1}
    summary, _ = serve(source)
    assert summary.refused == {"coordinates": 3, "line": 1}


def test_checkpoints_are_written_while_the_stream_goes_on(tmp_path: Path) -> None:
    session = Session(tmp_path, SETTINGS, print)
    entries: list[Any] = [entry for i in range(40) for entry in (frame(i), 0.01)]
    summary, sent = serve(Given(entries, realtime=False), session=session, checkpoint=0.1)
    numbers = [frames for frames, _ in checkpoints(tmp_path)]
    assert numbers[0] == 40
    assert len(numbers) == 2
    assert [one.sequence for one in sent] == list(range(40))
    assert summary.frames == 40
    assert replay_session(tmp_path, build_cheap).equal == 40


def test_stream_goes_on_when_the_folder_disappears(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing raises; the folder is made again with a checkpoint, from which the session can be continued."""
    monkeypatch.setattr("quatcast.live.service.TENDED", 0.1)
    folder, told = tmp_path / "session", list[str]()
    session = Session(folder, SETTINGS, told.append)
    entries: list[Any] = [*(frame(i) for i in range(20)), lambda: shutil.rmtree(folder), 0.1]
    entries += [entry for i in range(20, 40) for entry in (frame(i), 0.02)]
    _, sent = serve(Given(entries, realtime=False), session=session, checkpoint=1000.0)
    assert len(sent) == 40
    assert any("is gone" in text for text in told)
    again, pipeline = Session(folder, SETTINGS, told.append), Pipeline(SETTINGS, build_cheap)
    again.recover(pipeline)
    again.close()
    assert pipeline.frames == 40


def test_stop_ends_after_a_whole_sample_with_a_checkpoint(tmp_path: Path) -> None:
    session = Session(tmp_path, SETTINGS, print)
    source = Given([frame(i) for i in range(10)])
    source.entries.append(lambda: service.stop())
    source.entries += [frame(10), 30.0]
    service = Service(Pipeline(SETTINGS, build_cheap), source, session=session)
    began = time.monotonic()
    summary = asyncio.run(service.run())
    assert time.monotonic() - began < 10
    assert checkpoints(tmp_path)[0][0] == summary.frames


def test_failure_within_a_sample_leaves_the_last_good_checkpoint(tmp_path: Path) -> None:
    class Broken(Guarded):
        def learn(self) -> None:
            if self.gate.state.shape and len(made) == 12:
                raise KeyboardInterrupt
            made.append(1)
            super().learn()

    made: list[int] = []
    session = Session(tmp_path, SETTINGS, print)
    cheap = build_cheap((0.5,), 10.0, ("lower", "upper", "chest"))
    build = lambda *_: Broken(cheap.forecaster, rate=10.0)  # noqa: E731
    service = Service(Pipeline(SETTINGS, build), Given([frame(i) for i in range(20)], realtime=False), session=session)
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(service.run())
    assert checkpoints(tmp_path) == []
    assert len(replay_session(tmp_path, build_cheap).different) == 0


def test_the_view_and_the_metrics_are_told(tmp_path: Path) -> None:
    feed, metrics = ViewFeed(), Metrics()
    frames = [frame(i) for i in (0, 1, 2, 2, 4, 5)]
    serve(Given(frames, realtime=False), feed=feed, metrics=metrics)
    assert metrics.value("samples", stream="chest") == 6
    assert metrics.value("samples_dropped", stream="chest", why="duplicate") == 1
    assert metrics.histogram("latency", stream="chest").count == 5
    with feed.viewer() as viewer:
        assert "warming up" in "".join(str(viewer.take()) for _ in range(3))


def test_a_session_that_is_continued_is_ready_again(tmp_path: Path) -> None:
    ready: list[bool] = []
    for first in (0, 20):
        metrics = Metrics()
        entries = [*(frame(i) for i in range(first, first + 20)), lambda told=metrics: ready.append(told.is_ready)]
        serve(Given(entries, realtime=False), session=Session(tmp_path, SETTINGS, print), metrics=metrics)
        assert metrics.value("rate_hz", stream="chest") == 10.0
    assert ready == [True, True]


def test_failure_of_a_recovery_releases_the_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(Given([frame(0)], realtime=False), session=Session(tmp_path, SETTINGS, print))
    before = checkpoints(tmp_path)

    def fail(*_: object) -> None:
        raise ValueError("names: expected 3 names")

    monkeypatch.setattr(Session, "recover", fail)
    with pytest.raises(ValueError, match="expected 3 names"):
        serve(Given([]), session=Session(tmp_path, SETTINGS, print))
    assert checkpoints(tmp_path) == before
    Session(tmp_path, SETTINGS, print).close()


def test_a_plan_that_cannot_be_carried_out_releases_the_folder(tmp_path: Path) -> None:
    settings = LiveSettings(space="pose")
    plan = StreamPlan(settings, "udp://127.0.0.1:0?dimensions=3", record=tmp_path)
    with pytest.raises(ValueError, match="expected 7 coordinates"):
        asyncio.run(serve_plan(plan))
    Session(tmp_path, settings, print).close()


def test_several_horizons_and_poses_with_the_recommended_forecaster(tmp_path: Path) -> None:
    """The path has one point per further horizon; lost poses are interpolated to unit quaternions; replay is exact."""
    settings = LiveSettings(stream="tool", horizon=(0.25, 0.1, 0.5), rate=10.0, space="pose")
    angles = np.linspace(0.0, 6.0, 60)
    turns = np.stack([np.cos(angles / 2), 0 * angles, 0 * angles, np.sin(angles / 2)], axis=-1)
    turns[::3] *= -1  # the same orientations
    poses = np.concatenate([POSITIONS[:60, 0], turns], axis=-1)[:, None]
    frames = [frame(i, values=poses[i]) for i in range(60) if i != 30]
    frames = [replace(one, names=("tool",)) for one in frames]
    kept = Kept()
    service = Service(
        Pipeline(settings), Given(frames, realtime=False), [kept], session=Session(tmp_path, settings, print)
    )
    asyncio.run(service.run())
    last = kept.sent[-1]
    times = [last.target_time, *(point.target_time for point in last.path)]
    assert np.allclose(np.array(times) - last.time, [0.25, 0.1, 0.5])
    assert last.position.shape == (1, 7)
    assert last.radius.shape == (1,)
    assert np.linalg.norm(last.position[0, 3:]) == pytest.approx(1.0)
    filled = next(one for one in read_forecasts(read_journal(tmp_path)) if one.forecast.sequence == 30).forecast
    assert np.linalg.norm(filled.sample[0, 3:]) == pytest.approx(1.0)
    assert abs(filled.sample[0, 3:] @ turns[30]) == pytest.approx(1.0, abs=1e-3)
    assert replay_session(tmp_path).equal == 60
    assert [one.errors.shape for one in summarise(tmp_path).scores] == [(57, 1)] * 2


def test_rate_is_detected_and_forecasts_begin(tmp_path: Path) -> None:
    settings = LiveSettings(stream="chest", horizon=(0.5,))
    frames = [frame(i, rate=50.0, values=POSITIONS[i]) for i in range(200)]
    summary, sent = serve(Given(frames, realtime=False), settings)
    assert summary.frames == 200
    assert sent[0].sequence == 100  # those before were waiting
    assert sent[-1].target_time - sent[-1].time == pytest.approx(0.5)


def test_a_stream_of_one_channel_is_told_in_the_singular(caplog: pytest.LogCaptureFixture) -> None:
    serve(Given([replace(frame(0, values=POSITIONS[0, :1]), names=())], realtime=False))
    assert "started: 10 Hz, 1 channel, forecasts 0.5 s ahead" in caplog.messages


def test_samples_without_a_checksum_are_counted_in_the_metrics(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not once more whenever the counters are published."""
    monkeypatch.setattr("quatcast.live.service.TENDED", 0.1)

    async def main() -> float:
        source: Any = open_source("udp://127.0.0.1:0", "chest")
        service = Service(Pipeline(SETTINGS, build_cheap), source)
        running = asyncio.create_task(service.run())
        first = Frame("chest", 0, 0.0, 0.0, np.ones((1, 3)))
        second = replace(first, sequence=1, device_time=0.1)
        async with asyncio.timeout(20):
            while source.address[1] == 0:
                await asyncio.sleep(0.01)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                for message in (sample_message(first), sample_text(second)):
                    sender.sendto(message, source.address)
            while service.pipeline.frames < 2 or "unchecked" not in service.metrics.text():
                await asyncio.sleep(0.02)
            await asyncio.sleep(0.25)
        service.stop()
        await running
        return service.metrics.value("samples_unchecked", stream="chest")

    assert asyncio.run(main()) == 1
