"""Binary rows: what is packed is what is unpacked, and the size is what the page computes."""

from dataclasses import replace

import numpy as np
from breathing_feeder import Breathing
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quatcast.live.frames import STATUSES, ForecastFrame, PathPoint
from quatcast.live.view.rows import MAX_CHANNELS, MAX_HORIZONS, RowLayout, horizons, pack_row, rows_message, unpack_rows

FLOATS = st.floats(width=32, allow_nan=True, allow_infinity=False)


@st.composite
def frames(draw):
    C, D, H = draw(st.integers(1, 5)), draw(st.sampled_from([1, 2, 3, 4, 7])), draw(st.integers(0, 4))
    status = st.sampled_from(STATUSES)
    values = lambda *shape: draw(arrays(np.float64, shape, elements=FLOATS))  # noqa: E731
    angles = lambda: values(C) if D == 7 else None  # noqa: E731
    path = tuple(PathPoint(101.0 + k, values(C, D), values(C), draw(status), angles()) for k in range(H))
    return ForecastFrame(
        *("s", 1, 100.0, 100.5, 100.01, values(C, D), values(C), draw(status), ""),
        *(draw(arrays(bool, C)), values(C, D), (), "mm", path, angles()),
    )


@settings(max_examples=40)
@given(frames())
def test_round_trip(frame):
    layout = RowLayout.of(frame)
    row = unpack_rows(layout, pack_row(layout, frame))[0]
    points = horizons(frame)
    assert row["time"] == frame.time
    assert points[row["main"]].target_time == frame.target_time
    np.testing.assert_array_equal(row["sample"], frame.sample)
    np.testing.assert_array_equal(row["filled"], frame.filled)
    for index, point in enumerate(points):
        np.testing.assert_array_equal(row["position"][index], point.position)
        np.testing.assert_array_equal(row["radius"][index], point.radius)
        if layout.space == "pose":
            np.testing.assert_array_equal(row["angle_radius"][index], point.angle_radius)
        statuses = {point.status, frame.status}
        assert STATUSES[row["status"][index]] == next(
            status for status in ("hold", "warming up", "degraded", "ok") if status in statuses
        )
        assert abs(row["ahead"][index] - (point.target_time - frame.time)) < 1e-6


@settings(max_examples=40)
@given(frames())
def test_the_size_is_that_of_the_formula_in_store_js(frame):
    layout = RowLayout.of(frame)
    C, D, H = len(layout.names), layout.dimensions, layout.horizons
    radii = 2 if layout.space == "pose" else 1
    assert layout.row.itemsize == 13 + H + C + 4 * (C * D + H + H * C * D + radii * H * C)


def test_the_layout_tells_lengths_from_angles():
    frame = Breathing().frame(1, 0.0)
    four, seven = (replace(frame, sample=np.ones((3, n)), position=np.ones((3, n))) for n in (4, 7))
    for one, space, expected in (
        (frame, "position", ("position", "mm")),
        (four, "vector", ("vector", "mm")),
        (four, "orientation", ("orientation", "")),
        (seven, "position", ("pose", "mm")),
    ):
        message = RowLayout.of(one, space).message(1)
        assert (message["space"], message["unit"]) == expected
    layout = RowLayout.of(seven)
    assert np.isnan(unpack_rows(layout, pack_row(layout, seven))["angle_radius"]).all()


def test_the_horizon_of_the_service_is_listed_once():
    frame = Breathing((0.1, 0.3, 0.5)).frame(1, 1.7e9)
    assert [round(point.target_time - frame.time, 6) for point in horizons(frame)] == [0.1, 0.3, 0.5]
    layout = RowLayout.of(frame)
    assert unpack_rows(layout, pack_row(layout, frame))[0]["main"] == 1


def test_an_unknown_status_is_a_hold():
    frame = replace(Breathing().frame(1, 5.0), status="splendid")
    layout = RowLayout.of(frame)
    assert STATUSES[unpack_rows(layout, pack_row(layout, frame))[0]["status"][0]] == "hold"


def test_sizes_are_bounded():
    many = 100
    point = np.zeros((many, 3)), np.zeros(many)
    path = tuple(PathPoint(2.0 + k, *point, "ok") for k in range(many))
    frame = ForecastFrame(
        *("s" * 999, 1, 0.0, 1.0, 0.1, *point, "ok", "", np.zeros(many, bool), np.zeros((many, 3))),
        *(("n" * 999,) * many, "u" * 999, path),
    )
    layout = RowLayout.of(frame)
    assert (len(layout.names), layout.horizons) == (MAX_CHANNELS, MAX_HORIZONS)
    assert max(map(len, (layout.stream, layout.unit, *layout.names))) == 80
    assert len(pack_row(layout, frame)) == layout.row.itemsize


def test_channels_without_names_have_numbers():
    assert RowLayout.of(replace(Breathing().frame(1, 0.0), names=("a",))).names == ("a", "channel 2", "channel 3")


def test_a_message_is_a_header_and_rows():
    layout = RowLayout.of(Breathing().frame(1, 0.0))
    rows = [pack_row(layout, Breathing().frame(k, float(k))) for k in range(3)]
    message = rows_message(7, rows)
    assert np.frombuffer(message[:8], "<u4").tolist() == [1, 7]
    assert unpack_rows(layout, message[8:])["time"].tolist() == [0.0, 1.0, 2.0]
