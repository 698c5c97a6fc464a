"""A tracker whose clock stands still: the service goes on with sequence numbers or times of arrival, and says so."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streams import build_cheap, build_repeating, frame

from quatcast.live.clock_choice import base_of, times_of
from quatcast.live.frames import Frame
from quatcast.live.pipeline import Pipeline
from quatcast.live.session import Session
from quatcast.live.settings import LiveSettings

NUMBERS = "the device time does not advance, so that sequence numbers are used instead"
ARRIVAL = "the device time does not advance, so that times of arrival are used instead"
ANEW = ": a new segment begins"

DETECTED, GIVEN = LiveSettings(stream="chest", horizon=(0.3,)), LiveSettings(stream="chest", horizon=(0.3,), rate=10.0)


def standing(count: int = 150, *, number: int | None = -1, time: float | None = 7.0) -> list[Frame]:
    """Frames of a clock that stands still; numbered from 0 on, or all with the same number, or with none."""
    rng = np.random.default_rng(3)
    frames = [frame(i, delay=float(rng.exponential(0.005))) for i in range(count)]
    return [
        replace(one, device_time=time, sequence=one.sequence if number == -1 else number, values=one.values.copy())
        for one in frames
    ]


def run(pipeline: Pipeline, frames: list[Frame], session: Session | None = None) -> tuple[list[bytes], list[str]]:
    """The bits of every forecast, and what was told."""
    made, told = [], []
    for one in frames:
        if session is not None:
            session.record_frame(one, pipeline.frames + 1)
        taken = pipeline.take(one)
        told += [taken.event] * bool(taken.event)
        for sample in taken.samples:
            forecast = pipeline.forecast(sample)
            pipeline.learn()
            made.append(forecast.position.tobytes() + f"{sample.number} {sample.time!r} {forecast.status}".encode())
    return made, told


def assert_interruptions_change_nothing(settings: LiveSettings, frames: list[Frame], cut: int, folder: Path) -> None:
    """Stop after `cut` frames without a checkpoint, and nine frames later with one."""
    undisturbed, _ = run(Pipeline(settings, build_cheap), frames)
    made: list[bytes] = []
    for part in (frames[:cut], frames[cut : cut + 9], frames[cut + 9 :]):
        session, pipeline = Session(folder, settings, lambda text: None), Pipeline(settings, build_cheap)
        session.recover(pipeline)
        made += run(pipeline, part, session)[0]
        if len(part) == 9:
            session.checkpoint(pipeline)
        session.close()
    assert made == undisturbed


CASES = [
    (DETECTED, -1, 7.0, NUMBERS),
    (DETECTED, None, 7.0, ARRIVAL),
    (DETECTED, 5, 7.0, ARRIVAL),
    (DETECTED, 5, None, ARRIVAL.replace("device time", "sequence number")),
    (GIVEN, -1, 7.0, NUMBERS + ANEW),
    (GIVEN, None, 7.0, ARRIVAL + ANEW),
    (GIVEN, 5, None, ARRIVAL.replace("device time", "sequence number") + ANEW),
]


@pytest.mark.parametrize(("settings", "number", "time", "event"), CASES)
def test_stream_goes_on_without_a_clock(
    settings: LiveSettings, number: int | None, time: float | None, event: str
) -> None:
    pipeline = Pipeline(settings, build_repeating)
    made, told = run(pipeline, standing(number=number, time=time))
    assert told == [event]
    assert pipeline.rate == pytest.approx(10.0, rel=0.01)
    assert 120 <= len(made) <= 155
    assert pipeline.counts["seen"] >= 120


@pytest.mark.parametrize("settings", [DETECTED, GIVEN])
@pytest.mark.parametrize("cut", [1, 10, 21, 60])
def test_interrupted_without_a_clock_equals_undisturbed(settings: LiveSettings, cut: int, tmp_path: Path) -> None:
    frames = standing(90, number=None)
    assert_interruptions_change_nothing(settings, frames, cut, tmp_path)


def test_coarse_clock_is_followed_if_it_advances() -> None:
    """At 100 Hz a clock that ticks every 50 ms shows the same time for the first frames."""
    settings = replace(GIVEN, rate=20.0)
    frames = [replace(frame(i, rate=100.0), device_time=i // 5 / 20, sequence=None) for i in range(400)]
    made, told = run(Pipeline(settings, build_repeating), frames)
    assert told == []
    assert len(made) == 80


def test_frames_of_another_shape_say_nothing_about_the_clock() -> None:
    frames = standing(60, number=None)
    frames[1:50:2] = [replace(one, values=one.values[:2]) for one in frames[1:50:2]]
    pipeline = Pipeline(GIVEN, build_cheap)
    _, told = run(pipeline, frames)
    assert told == [ARRIVAL + ANEW]
    assert pipeline.counts["shape"] == 25


def test_rate_is_detected_from_the_frames_that_are_numbered() -> None:
    frames = standing(40)
    frames[20] = replace(frames[20], sequence=None)
    assert base_of(frames) == "sequence"
    assert np.diff(times_of(frames, "sequence"))[0] == pytest.approx(0.1, rel=0.01)


@pytest.mark.parametrize("rate", [None, 10.0])
@pytest.mark.parametrize("first", [0, 1_763_226_000_120_000_000, 2**63 - 100])
def test_numbers_that_are_no_counts_do_not_stop_the_grid(rate: float | None, first: int) -> None:
    """Beside 2⁶⁰ a period is nothing, and a grid that followed such numbers would never arrive."""
    pipeline = Pipeline(LiveSettings(stream="chest", horizon=(0.5,), rate=rate), build_cheap)
    taken = [pipeline.take(replace(frame(i), device_time=None, sequence=first + i)) for i in range(40)]
    dropped = [pipeline.take(replace(frame(40), device_time=None, sequence=2**63 - 1)).dropped for _ in range(3)]
    assert sum(len(one.samples) for one in taken) == 40
    events = [one.event for one in taken if one.event]
    too_large = ["the sequence number is too large, so that times of arrival are used instead"]
    assert (events, dropped[0]) == (([], "untimed") if first == 0 else (too_large, ""))
