"""Tools that are reported one by one become frames."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.live.transports.igtl_tools import ToolFrames

POSE = np.arange(7.0)


def x(frame_values: np.ndarray) -> list[float]:
    return frame_values[:, 0].tolist()


def test_complete_frames_come_at_once() -> None:
    frames = ToolFrames("s", ("A", "B"), dimensions=7)
    assert frames.add("B", POSE + 2, 5.0, 9.0) == []
    (frame,) = frames.add("A", POSE + 1, 5.0, 9.001)
    assert (frame.names, frame.device_time, frame.received, frame.unit) == (("A", "B"), 5.0, 9.0, "mm")
    np.testing.assert_array_equal(frame.values, [POSE + 1, POSE + 2])
    assert not frames.waiting


def test_missing_tool_is_nan_when_the_next_time_begins() -> None:
    frames = ToolFrames("s", ("A", "B"))
    assert frames.add("A", POSE, 5.0, 9.0) == []
    (frame,) = frames.add("B", POSE, 5.1, 9.1)
    np.testing.assert_array_equal(frame.values, [[0, 1, 2], [np.nan] * 3])
    (frame,) = frames.add("B", POSE + 1, 5.1, 9.1)  # the same tool again
    assert frame.values[1].tolist() == [0, 1, 2]
    assert frames.flush()[0].values[1].tolist() == [1, 2, 3]
    assert frames.flush() == []


def test_nearly_equal_times_belong_together() -> None:
    frames = ToolFrames("s", ("A", "B"), tolerance=0.01)
    frames.add("A", POSE, 5.0, 9.0)
    assert len(frames.add("B", POSE, 5.009, 9.0)) == 1


def test_without_device_times_the_arrival_counts() -> None:
    frames = ToolFrames("s", ("A", "B"))
    frames.add("A", POSE, None, 9.0)
    (frame,) = frames.add("B", POSE, None, 9.002)
    assert frame.device_time is None


def test_tools_of_the_first_second_are_the_channels() -> None:
    frames = ToolFrames("s")
    found = []
    for n in range(30):
        for tool in ("A", "B") if n % 3 else ("A",):
            found += frames.add(tool, POSE + n, 5 + n / 10, 9 + n / 10)
    assert frames.tools == ("A", "B")
    assert [frame.device_time for frame in found] == [5 + n / 10 for n in range(30)]
    assert [np.isnan(frame.values[1]).all() for frame in found] == [n % 3 == 0 for n in range(30)]
    assert frames.add("C", POSE, 99.0, 99.0) == []
    assert frames.unknown == 1


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from("ABCD"), st.floats(0, 1), st.floats(0, 3)), max_size=60))
def test_every_pose_is_in_exactly_one_frame(reports: list[tuple[str, float, float]]) -> None:
    frames = ToolFrames("s", tuple("ABC"))
    found = []
    for n, (tool, time, received) in enumerate(reports):
        found += frames.add(tool, np.full(7, float(n)), time, received)
    found += frames.flush()
    seen = sorted(value for frame in found for value in x(frame.values) if not np.isnan(value))
    assert seen == [n for n, (tool, _, _) in enumerate(reports) if tool != "D"]
    assert frames.unknown == sum(tool == "D" for tool, _, _ in reports)
