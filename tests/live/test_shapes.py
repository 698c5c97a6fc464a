"""Samples of several shapes: the usual one counts, at the start of a stream and as long as nothing can be acted on."""

import asyncio
import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streams import POSITIONS, Given, Kept, build_cheap, frame
from test_clock_choice import assert_interruptions_change_nothing, run

from quatcast.live.export import export_session
from quatcast.live.frames import Frame
from quatcast.live.pipeline import Pipeline
from quatcast.live.replay import replay_session
from quatcast.live.service import Service
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings
from quatcast.live.shapes import usual_shape
from quatcast.live.summary import summarise

DETECTED, GIVEN = LiveSettings(stream="chest", horizon=(0.3,)), LiveSettings(stream="chest", horizon=(0.3,), rate=10.0)


def odd(number: int, channels: int = 2) -> Frame:
    """A frame of a tracker that sees fewer markers."""
    return replace(frame(number, values=POSITIONS[number][:channels]), names=("lower", "upper")[:channels])


def stream(is_odd: Callable[[int], bool], count: int = 120) -> list[Frame]:
    return [odd(i) if is_odd(i) else frame(i) for i in range(count)]


BEGINNINGS: dict[str, Callable[[int], bool]] = {
    "one odd frame": lambda i: i == 0,
    "three odd seconds": lambda i: i < 30,
    "one odd frame and every fourth later": lambda i: i % 4 == 0,
}


@pytest.mark.parametrize("settings", [DETECTED, GIVEN])
@pytest.mark.parametrize("beginning", BEGINNINGS)
def test_the_usual_shape_counts_however_the_stream_begins(settings: LiveSettings, beginning: str) -> None:
    frames = stream(BEGINNINGS[beginning])
    pipeline = Pipeline(settings, build_cheap)
    run(pipeline, frames)
    assert pipeline.shape == (3, 3)
    assert (pipeline.names, pipeline.rate) == (("lower", "upper", "chest"), 10.0)
    assert pipeline.counts["frames"] == 120
    assert len(frames) - pipeline.counts["seen"] - pipeline.counts["shape"] == 0


@pytest.mark.parametrize("settings", [DETECTED, GIVEN])
def test_a_few_odd_frames_change_nothing(settings: LiveSettings) -> None:
    pipeline = Pipeline(settings, build_cheap)
    run(pipeline, stream(lambda i: 5 <= i < 12))
    assert (pipeline.shape, pipeline.beginnings, pipeline.counts["shape"]) == ((3, 3), 1, 7)


def test_as_many_frames_of_one_shape_as_of_another_do_not_begin_again_and_again() -> None:
    pipeline = Pipeline(GIVEN, build_cheap)
    run(pipeline, stream(lambda i: i % 2 == 0))
    assert pipeline.beginnings == 1


@pytest.mark.parametrize("settings", [DETECTED, GIVEN])
def test_a_stream_that_has_been_forecast_keeps_its_channels(settings: LiveSettings) -> None:
    """Receivers that know channels by their order never act on others; when the shape is back, so are forecasts."""
    pipeline = Pipeline(settings, build_cheap)
    made, _ = run(pipeline, stream(lambda i: 150 <= i < 250, count=300))
    assert any(b"1" in one[-1:] for one in made[:150])
    assert (pipeline.shape, pipeline.beginnings, pipeline.counts["shape"]) == ((3, 3), 1, 100)


@pytest.mark.parametrize("beginning", BEGINNINGS)
@pytest.mark.parametrize("settings", [DETECTED, GIVEN])
@pytest.mark.parametrize("cut", [1, 15, 40, 58])
def test_interrupted_equals_undisturbed(settings: LiveSettings, cut: int, beginning: str, tmp_path: Path) -> None:
    """With and without a checkpoint between the odd frames and the new beginning."""
    frames = stream(BEGINNINGS[beginning], 90)
    assert_interruptions_change_nothing(settings, frames, cut, tmp_path)


def test_names_say_how_many_channels_there_are() -> None:
    """Frames with another number do not end the service, unless there are no others."""
    named = replace(GIVEN, names=("a", "b", "c"))
    pipeline = Pipeline(named, build_cheap)
    run(pipeline, stream(lambda i: i % 4 != 3))
    assert (pipeline.shape, pipeline.counts["seen"]) == ((3, 3), 30)
    for count in (3, 60):
        service = Service(Pipeline(named, build_cheap), Given(stream(lambda i: True, count), realtime=False))
        with pytest.raises(ValueError, match="names: expected 2 names for as many channels, got 3"):
            asyncio.run(service.run())


@pytest.mark.parametrize("settings", [DETECTED, GIVEN])
def test_frames_without_anything_measured_do_not_say_how_many_coordinates_there_are(settings: LiveSettings) -> None:
    """A message in which all channels are null is read as one of three coordinates."""
    nothing = [frame(i, values=np.full((3, 3), np.nan)) for i in range(120)]
    flat = [frame(i, values=POSITIONS[i][:, :2]) for i in range(120)]
    frames = [*nothing[:15], *flat[15:60], *nothing[60:62], *flat[62:]]
    pipeline = Pipeline(settings, build_cheap)
    run(pipeline, frames)
    assert pipeline.shape == (3, 2)
    assert pipeline.counts["seen"] + pipeline.counts.get("shape", 0) == 120
    assert usual_shape(nothing[:3]) == (3, 3)
    assert pipeline.take(replace(nothing[0], device_time=12.0, sequence=120, received=frame(120).received)).samples


def test_service_tells_of_the_new_beginning_and_replay_export_and_report_follow(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    kept, session = Kept(), Session(tmp_path / "session", GIVEN, print)
    source = Given(stream(lambda i: i < 3), realtime=False)
    asyncio.run(Service(Pipeline(GIVEN, build_cheap), source, [kept], session=session).run())
    started = [line for line in caplog.messages if line.startswith("started")]
    assert started == [
        "started: 10 Hz, 2 channels, forecasts 0.3 s ahead",
        "started: anew, because most samples have another shape than the first: "
        "10 Hz, 3 channels, forecasts 0.3 s ahead",
    ]
    assert [one.sequence for one in kept.sent] == list(range(len(kept.sent)))
    assert [len(one.names) for one in kept.sent[:4]] == [2, 2, 2, 3]
    replayed = replay_session(tmp_path / "session", build_cheap)
    assert (replayed.different, replayed.unrecorded, replayed.equal) == ([], 0, len(kept.sent))
    for form in ("csv", "xdf"):
        paths = export_session(tmp_path / "session", form, tmp_path)
    samples = list(csv.reader((tmp_path / "chest-samples.csv").read_text().splitlines()))
    assert paths[0].stat().st_size > 1000
    assert samples[0][1] == "lower.x [mm]"
    assert {len(row) for row in samples} == {10}
    assert samples[1][1:] == [""] * 9
    assert float(samples[-1][1]) == POSITIONS[119][0, 0]
    summary = summarise(tmp_path / "session")
    assert summary.names == ("lower", "upper", "chest")
    assert summary.scores[0].errors.shape == (len(kept.sent) - 3 - 3, 3)
