"""The grid: a straight line, which interpolation cannot change, and streams with known faults are the oracles."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from streams import EPOCH, frame

from quatcast.live.frames import Frame
from quatcast.live.grid import FILLED, Grid, GridSample, Taken


def run(grid: Grid, frames: list[Frame]) -> list[GridSample]:
    return [sample for one in frames for sample in grid.take(one).samples]


def on_line(time: float, *, delay: float = 0.0, number: int | None = None) -> Frame:
    """A sample whose value is its time."""
    return Frame("line", number, time, EPOCH + time + delay, np.full((1, 3), time))


def test_regular_stream_passes_unchanged() -> None:
    frames = [frame(i) for i in range(500)]
    grid = Grid(0.1, "device")
    samples = run(grid, frames)
    assert [sample.number for sample in samples] == list(range(500))
    assert all(sample.values is one.values for sample, one in zip(samples, frames, strict=True))
    assert grid.counts == {"frames": 500, "seen": 500}


@settings(max_examples=60, deadline=None)
@given(data=st.data(), rate=st.floats(9.0, 11.0), start=st.floats(-1e6, 1e6))
def test_irregular_samples_of_a_line_stay_on_it(data: st.DataObject, rate: float, start: float) -> None:
    """Whatever the jitter, the loss and the rate, a point of the grid lies on the line or is missing."""
    steps = data.draw(st.lists(st.tuples(st.floats(-0.3, 0.3), st.booleans()), min_size=5, max_size=60))
    grid = Grid(0.1, "device")
    times = [start + (i + jitter) / rate for i, (jitter, kept) in enumerate(steps) if kept or i == 0]
    numbers = []
    previous = -np.inf
    for time in times:
        # A frame near a point is taken as it is: near is a twentieth of a period, or a quarter after a gap.
        near = (0.05 if time - previous <= 2.25 * 0.1 else 0.25) * 0.1 + 1e-6 + 1e-9 * abs(start)
        previous = time
        for sample in grid.take(on_line(time)).samples:
            numbers.append(sample.number)
            if sample.kind != "missing":
                assert abs(sample.values[0, 0] - (sample.time - EPOCH)) <= near
    assert numbers == list(range(len(numbers)))


@settings(max_examples=40, deadline=None)
@given(st.lists(st.sampled_from(["ok", "lost", "twice", "swapped", "late"]), min_size=4, max_size=80))
def test_every_frame_is_used_or_counted(faults: list[str]) -> None:
    """Each frame leads to a sample that was seen, or is counted as dropped; numbers have no gaps and no repetitions."""
    frames: list[Frame] = []
    waiting: list[Frame] = []
    for i, fault in enumerate(faults):
        one = frame(i)
        if fault == "swapped":
            waiting.append(one)
            continue
        if fault != "lost":
            frames.append(one)
        if fault == "twice":
            frames.append(one)
        if fault == "late" and i > 20:
            frames.append(replace(frame(i - 15), received=one.received))
        frames += [replace(late, received=one.received) for late in waiting]
        waiting.clear()
    grid = Grid(0.1, "device")
    samples = run(grid, frames)
    assert [sample.number for sample in samples] == list(range(len(samples)))
    counts = grid.counts
    dropped = counts.get("duplicate", 0) + counts.get("late", 0)
    assert counts.get("frames", 0) == len(frames)
    assert counts.get("seen", 0) + dropped + len(grid.held) == len(frames)
    for sample in samples:
        if sample.kind == "seen":
            assert any(sample.values is one.values for one in frames)


def test_same_frames_give_the_same_samples() -> None:
    rng = np.random.default_rng(3)
    frames = [frame(int(i), delay=float(rng.exponential(0.05))) for i in range(300) if rng.random() > 0.1]
    first, second = Grid(0.1, "device"), Grid(0.1, "device")
    for i, one in enumerate(frames):
        mine = first.take(one).samples
        if i == 150:
            second = copy.deepcopy(second)
        theirs = second.take(one).samples
        assert [(s.number, s.time, s.kind) for s in mine] == [(s.number, s.time, s.kind) for s in theirs]
        assert all(np.array_equal(a.values, b.values, equal_nan=True) for a, b in zip(mine, theirs, strict=True))


def test_lost_sample_is_interpolated_and_two_are_missing() -> None:
    grid = Grid(0.1, "device")
    samples = run(grid, [on_line(i / 10) for i in (0, 1, 3, 4, 7)])
    assert [sample.kind for sample in samples] == [
        *["seen"] * 2,
        "interpolated",
        *["seen"] * 2,
        *["missing"] * 2,
        "seen",
    ]
    assert samples[2].values[0, 0] == pytest.approx(0.2)
    assert grid.counts["lost"] == 3


def test_swapped_frames_are_put_in_order_once_it_has_happened() -> None:
    """The first frame that comes out of order is late; for a minute after it, frames wait for those before them."""
    order = [0, 1, 3, 2, 4, 6, 5, 7, 9, 8, 10, 11]
    grid = Grid(0.1, "device")
    samples = run(grid, [frame(i, delay=0.01 * at) for at, i in enumerate(order)])
    assert grid.counts["late"] == 1
    assert [sample.number for sample in samples] == list(range(12))
    assert [sample.kind for sample in samples].count("interpolated") == 1
    assert np.array_equal(samples[5].values, frame(5).values)


def test_lost_frame_while_patient_delays_the_next_by_one_frame() -> None:
    grid = Grid(0.1, "device")
    run(grid, [frame(i) for i in (0, 1, 3, 2, 4)])
    assert run(grid, [frame(6)]) == []
    assert [sample.number for sample in run(grid, [frame(7)])] == [5, 6, 7]


def test_long_gap_is_filled_for_a_second_only() -> None:
    grid = Grid(0.1, "device")
    run(grid, [frame(i) for i in range(5)])
    taken = grid.take(frame(1000))
    assert [sample.kind for sample in taken.samples] == ["missing"] * round(FILLED / 0.1) + ["seen"]
    assert "no sample for 99" in taken.event
    assert grid.counts["gaps"] == 1


def step(grid: Grid, shift: float, first: int, count: int) -> list[Taken]:
    """Frames whose device clock has been changed by `shift`."""
    return [grid.take(replace(frame(i), device_time=i / 10 + shift)) for i in range(first, first + count)]


@pytest.mark.parametrize("shift", [3600.0, 2.0])
def test_clock_that_goes_forward_begins_a_new_segment_at_once(shift: float) -> None:
    grid = Grid(0.1, "device")
    run(grid, [frame(i) for i in range(50)])
    taken = step(grid, shift, 50, 10)
    assert "the clock went forward" in taken[0].event
    assert grid.counts["steps"] == 1
    assert all(one.samples[-1].kind == "seen" for one in taken)
    # Times on our clock go on as if nothing had happened.
    assert taken[-1].samples[-1].time == pytest.approx(frame(59).received, abs=0.01)


def test_slow_stream_has_a_missing_sample_where_the_clock_went_forward() -> None:
    grid = Grid(4.0, "device")
    run(grid, [frame(i, rate=0.25) for i in range(5)])
    taken = grid.take(replace(frame(5, rate=0.25), device_time=3620.0))
    assert [sample.kind for sample in taken.samples] == ["missing", "seen"]


@pytest.mark.parametrize("shift", [-3600.0, -4.9, -2.5])
@pytest.mark.parametrize("numbered", [True, False])
def test_clock_that_goes_back_begins_a_new_segment_after_some_frames(shift: float, numbered: bool) -> None:
    """A step by whole periods repeats times that have been seen, which must not be taken for duplicates for ever."""
    grid = Grid(0.1, "device")
    first, second = (
        [frame(i) for i in range(50)],
        [replace(frame(i), device_time=i / 10 + shift) for i in range(50, 60)],
    )
    if not numbered:
        first, second = ([replace(one, sequence=None) for one in frames] for frames in (first, second))
    run(grid, first)
    taken = [grid.take(one) for one in second]
    assert [one.dropped for one in taken[:4]] == ["late"] * 4
    assert "the clock went back" in taken[4].event
    assert grid.counts["steps"] == 1
    assert taken[-1].samples[-1].kind == "seen"


@pytest.mark.parametrize("base", ["device", "sequence", "received"])
@pytest.mark.parametrize("shift", [3600.0, 3e7])
def test_clock_of_this_machine_that_was_set_back_while_the_service_was_down(base: str, shift: float) -> None:
    """Times of arrival begin again at an earlier time, and samples are given the times of the new clock at once."""
    grid = Grid(0.1, base)
    run(grid, [frame(i) for i in range(50)])
    later = [replace(frame(i), received=frame(i).received - shift) for i in range(50, 80)]
    taken = [grid.take(one) for one in later]
    assert "a new segment begins" in taken[0].event
    assert grid.counts["steps"] == 1
    assert [len(one.samples) for one in taken] == [11] + [1] * 29
    for one, sent in zip(taken, later, strict=True):
        assert one.samples[-1].kind == "seen"
        assert one.samples[-1].time == pytest.approx(sent.received, abs=0.01)


@pytest.mark.parametrize("base", ["device", "sequence"])
def test_clock_of_this_machine_that_was_set_forward_makes_samples_late_for_two_minutes(base: str) -> None:
    """As a delay would: the forecasts become hold, until the offset of the earlier clock is forgotten."""
    grid = Grid(0.1, base)
    run(grid, [frame(i) for i in range(50)])
    later = [replace(frame(i), received=frame(i).received + 3600.0) for i in range(50, 1400)]
    behind = [sent.received - grid.take(sent).samples[-1].time for sent in later]
    assert behind[0] == pytest.approx(3600.0, abs=0.1)
    assert behind[1200:] == pytest.approx([0.0] * 150, abs=0.01)


def test_single_wrong_time_costs_a_few_frames() -> None:
    grid = Grid(0.1, "device")
    run(grid, [frame(i) for i in range(50)])
    grid.take(replace(frame(50), device_time=1e9))
    for i in range(51, 70):
        taken = grid.take(frame(i))
    assert taken.samples[-1].kind == "seen"
    assert grid.counts["late"] == 4
    assert grid.counts["steps"] == 2


def test_numbers_serve_as_times_if_there_are_none() -> None:
    grid = Grid(0.1, "sequence")
    rng = np.random.default_rng(0)
    frames = [replace(frame(i, delay=float(rng.exponential(0.03))), device_time=None) for i in range(100) if i != 50]
    samples = run(grid, frames)
    assert [sample.kind for sample in samples].count("interpolated") == 1
    assert grid.counts["seen"] == 99


def test_times_of_arrival_serve_if_there_is_nothing_else() -> None:
    grid = Grid(0.1, "received")
    frames = [replace(frame(i), device_time=None, sequence=None) for i in range(100)]
    samples = run(grid, [*frames, frames[-1]])
    assert [sample.number for sample in samples] == list(range(100))


def test_wrong_shapes_and_frames_without_time_are_counted() -> None:
    grid = Grid(0.1, "device")
    run(grid, [frame(0)])
    assert grid.take(frame(1, values=np.zeros((2, 3)))).dropped == "shape"
    assert grid.take(replace(frame(1), device_time=None)).dropped == "untimed"
    assert grid.take(frame(1)).samples[0].kind == "seen"


@pytest.mark.parametrize("rate", [1.0, 10.0, 100.0])
def test_sequence_numbers_that_cannot_be_counts_are_dropped_at_any_rate(rate: float) -> None:
    grid = Grid(1.0 / rate, "sequence")
    frames = [replace(frame(i), device_time=None) for i in range(20)]
    run(grid, frames)
    assert grid.take(replace(frames[-1], sequence=2**40 + 5)).dropped == "untimed"


def test_drifting_rate_is_followed() -> None:
    """A device that is 0.03 % faster than its nominal rate gives one sample per frame for hours."""
    grid = Grid(0.1, "device")
    for i in range(20_000):
        at = i / 10.003
        assert len(grid.take(Frame("x", i, at, EPOCH + at, np.zeros((1, 3)))).samples) == 1


def test_memory_is_bounded() -> None:
    grid = Grid(0.1, "device")
    for i in range(3000):
        grid.take(frame(i if i % 7 else max(0, i - 3)))
    assert len(grid.recent) <= 64
    assert len(grid.held) <= 2
