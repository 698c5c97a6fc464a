"""Clocks in a wrong unit, numbers that do not count samples, and trackers that pause are told once."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streams import build_cheap, build_repeating, frame
from test_clock_choice import DETECTED, GIVEN, assert_interruptions_change_nothing, run

from quatcast.live.frames import Frame
from quatcast.live.grid import Grid
from quatcast.live.pipeline import Pipeline
from quatcast.live.settings import LiveSettings


def scaled(
    factor: float, *, count: int = 150, rate: float = 10.0, numbered: bool = True, stride: int = 1
) -> list[Frame]:
    """Frames of a device whose clock has another unit, or whose numbers grow by more than one."""
    rng = np.random.default_rng(5)
    frames = [frame(i, rate=rate, delay=float(rng.exponential(0.03 / rate))) for i in range(count)]
    return [
        replace(
            one,
            device_time=one.device_time * factor if factor and one.device_time is not None else None,
            sequence=stride * i if numbered else None,
        )
        for i, one in enumerate(frames)
    ]


FAST = (
    "the device time advances 1,000 times too fast, perhaps because it is in milliseconds and not in seconds, "
    "so that times of arrival are used instead"
)


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "milliseconds"), (1e6, "microseconds"), (1e8, "")])
@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_a_clock_in_a_wrong_unit_is_told_once(factor: float, unit: str, numbered: bool, rate: float) -> None:
    """It was a step of the clock, and a line in the log, for every sample."""
    pipeline = Pipeline(replace(GIVEN, rate=rate), build_cheap)
    made, told = run(pipeline, scaled(factor, numbered=numbered, rate=rate))
    assert len(told) == 3
    assert all("the clock went forward by" in event for event in told[:2])
    assert f"the device time advances {factor:,.0f} times too fast" in told[2]
    assert (f"it is in {unit} and" in told[2]) == bool(unit)
    assert ("sequence numbers are used" if numbered else "times of arrival are used") in told[2]
    assert pipeline.counts["steps"] == 3
    assert pipeline.counts["seen"] >= 140
    assert [one.split(b" ")[-1] for one in made[-5:]] != [b"3"] * 5


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("rate", [10.0, 100.0])
def test_a_clock_in_a_wrong_unit_does_not_hide_the_rate(numbered: bool, rate: float) -> None:
    """The service ended, because milliseconds show a rate of 0.01 Hz."""
    pipeline = Pipeline(DETECTED, build_repeating)
    _, told = run(pipeline, scaled(1e3, numbered=numbered, rate=rate, count=400))
    assert pipeline.rate == pytest.approx(rate, rel=0.02)
    assert len(told) == 1
    assert "times too fast, perhaps because it is in milliseconds" in told[0]


@pytest.mark.parametrize("stride", [2, 3, 100, 10**7])
@pytest.mark.parametrize("rate", [10.0, 100.0])
@pytest.mark.parametrize("settings", [GIVEN, DETECTED])
def test_numbers_that_grow_by_more_than_one_are_told_once(settings: LiveSettings, rate: float, stride: int) -> None:
    pipeline = Pipeline(replace(settings, rate=settings.rate and rate), build_repeating)
    _, told = run(pipeline, scaled(0.0, stride=stride, rate=rate, count=800))
    grows = (
        f"the sequence number grows by {stride:,.3g} per sample and not by 1, so that times of arrival are used instead"
    )
    assert told[-1].startswith(grows)
    # Small strides are no steps of a clock that could be noticed; they gave the grid too many points.
    small = settings.rate and (stride - 1) / rate <= 0.5
    assert len(told) == (1 if small or not settings.rate else 3)
    made_up = pipeline.counts.get("interpolated", 0) + pipeline.counts.get("missing", 0)
    assert made_up <= 3 * rate + (stride * 4.5 * rate if small else 0)
    assert pipeline.counts["seen"] >= 600


def test_a_clock_in_milliseconds_with_numbers_that_do_not_count() -> None:
    pipeline = Pipeline(GIVEN, build_repeating)
    _, told = run(pipeline, scaled(1e3, stride=50))
    assert FAST in told[-1]
    assert len(told) == 3


def test_a_recording_that_arrives_at_once_keeps_its_clock() -> None:
    """Its times are those of samples; they only come early."""
    for settings in (GIVEN, DETECTED):
        pipeline = Pipeline(settings, build_repeating)
        frames = [replace(frame(i), received=1.7e9 + i * 1e-4) for i in range(100)]
        _, told = run(pipeline, frames)
        assert pipeline.rate == 10.0
        assert not any("too fast" in event for event in told)


@pytest.mark.parametrize("cut", [1, 2, 3, 20])
def test_interrupted_with_a_wrong_clock_equals_undisturbed(cut: int, tmp_path: Path) -> None:
    frames = scaled(1e3, count=60)
    assert_interruptions_change_nothing(GIVEN, frames, cut, tmp_path)


def delays(grid: Grid, frames: list[Frame]) -> tuple[list[float], list[str]]:
    """How late samples are when their frame arrives, and what was told."""
    late, told = [], []
    for one in frames:
        taken = grid.take(one)
        told += [taken.event] * bool(taken.event)
        late += [one.received - sample.time for sample in taken.samples[-1:]]
    return late, told


@pytest.mark.parametrize("rate", [2.0, 10.0, 100.0])
@pytest.mark.parametrize("pause", [30.0, 600.0])
def test_a_tracker_that_pauses_and_goes_on_with_its_numbers_is_late_for_a_second(rate: float, pause: float) -> None:
    """It was late for two minutes, as if the network had held its samples up."""
    frames = [replace(frame(i, rate=rate), device_time=None) for i in range(800)]
    frames[100:] = [replace(one, received=one.received + pause) for one in frames[100:]]
    late, told = delays(Grid(1 / rate, "sequence"), frames)
    assert told == [f"the sequence number stood still for {pause:g} s: a new segment begins"]
    on_time = 100 + max(round(rate), 5) + 1
    assert max(late[:100]) < 0.1
    assert late[100] == pytest.approx(pause)
    assert max(late[on_time:]) < 0.1


@pytest.mark.parametrize("faster", [1.2, 3.0, 100.0])
def test_samples_that_were_held_up_are_late_until_they_have_caught_up(faster: float) -> None:
    """They arrive faster than they were sent, so that their delay becomes smaller: nothing begins anew."""
    frames = [replace(frame(i), device_time=None) for i in range(1000)]
    held_up = frames[100].received + 20.0
    for i in range(100, 1000):
        frames[i] = replace(frames[i], received=max(frames[i].received, held_up + (i - 100) / 10 / faster))
    grid = Grid(0.1, "sequence")
    late, told = delays(grid, frames)
    assert told == []
    assert late[100] == pytest.approx(20.0, abs=0.1)
    assert grid.counts == {"frames": 1000, "seen": 1000}


def test_after_a_pause_samples_are_put_in_order_as_before() -> None:
    order = [*range(30), 31, 30, *range(32, 60), *(n for i in range(60, 120, 2) for n in (i + 1, i)), *range(120, 150)]
    frames = [replace(frame(n), device_time=None) for n in order]
    frames = [replace(one, received=frame(at).received + 30 * (at >= 60)) for at, one in enumerate(frames)]
    grid = Grid(0.1, "sequence")
    _, told = delays(grid, frames)
    assert told == ["the sequence number stood still for 30 s: a new segment begins"]
    assert grid.counts["late"] <= 3


def test_a_time_of_the_device_is_believed_after_a_pause() -> None:
    """A clock says that samples are old, and then they may be."""
    frames = [frame(i) for i in range(300)]
    frames[100:] = [replace(one, received=one.received + 30.0) for one in frames[100:]]
    late, told = delays(Grid(0.1, "device"), frames)
    assert told == []
    assert min(late[100:]) > 29
