"""Messages of text: every value survives, and whatever is wrong raises FrameError."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from network import made_forecast, same

from quatcast.live.frames import Frame, FrameError, PathPoint
from quatcast.live.messages import (
    MAX_MESSAGE,
    forecast_message,
    parse_forecast,
    parse_sample,
    sample_message,
)
from quatcast.live.settings import LiveSettings
from quatcast.live.transports.lines import LineReader, LineRules

SAMPLE = (
    b'{"v":1,"type":"sample","stream":"chest","seq":812,"t":1763226000.12,"p":[[1.2,3.4,5.6],null,[7,8,9]],"unit":"mm"}'
)
NUMBERS = st.floats(allow_infinity=False)
TIMES = st.floats(-1e11, 1e11)
NAMES = st.text(st.characters(categories=["L", "N", "P"]), min_size=1, max_size=20)


def shapes(draw: st.DrawFn) -> tuple[int, int]:
    return draw(st.integers(1, 4)), draw(st.sampled_from([1, 3, 4, 7]))


@st.composite
def frames(draw: st.DrawFn) -> Frame:
    shape = shapes(draw)
    names = draw(st.lists(NAMES, min_size=shape[0], max_size=shape[0], unique=True) | st.just([]))
    return Frame(
        stream=draw(NAMES),
        sequence=draw(st.none() | st.integers(0, 2**63 - 1)),
        device_time=draw(st.none() | TIMES),
        received=5.0,
        values=draw(arrays(float, shape, elements=NUMBERS)),
        names=tuple(names),
        unit=draw(st.just("") | NAMES),
    )


def test_documented_message() -> None:
    frame = parse_sample(SAMPLE, "default", 5.0)
    assert (frame.stream, frame.sequence, frame.device_time, frame.unit) == ("chest", 812, 1763226000.12, "mm")
    np.testing.assert_array_equal(frame.values, [[1.2, 3.4, 5.6], [np.nan] * 3, [7, 8, 9]])


@settings(deadline=None)
@given(frames())
def test_sample_survives(frame: Frame) -> None:
    same(parse_sample(sample_message(frame), "other", 5.0), frame)


@settings(deadline=None)
@given(st.data())
def test_forecast_survives(data: st.DataObject) -> None:
    shape = data.draw(st.composite(shapes)())
    values, radii = arrays(float, shape, elements=NUMBERS), arrays(float, shape[:1], elements=NUMBERS)
    points = [
        PathPoint(data.draw(TIMES), data.draw(values), data.draw(radii), "degraded")
        for _ in range(data.draw(st.integers(0, 2)))
    ]
    forecast = replace(
        made_forecast(),
        position=data.draw(values),
        radius=data.draw(radii),
        sample=data.draw(values),
        filled=data.draw(arrays(bool, shape[:1])),
        time=data.draw(TIMES),
        names=(),
        path=tuple(points),
    )
    message = forecast_message(forecast)
    assert b"NaN" not in message  # browsers do not read it
    same(parse_forecast(message), forecast)


def test_independent_reader_sees_the_same_bits() -> None:
    forecast = made_forecast()
    read = json.loads(forecast_message(forecast))
    np.testing.assert_array_equal(np.array(read["p"]), forecast.position)
    np.testing.assert_array_equal(np.array(read["path"][0]["radius"]), forecast.path[0].radius)
    assert (read["t_target"], read["t_sent"], read["filled"]) == (1763226000.62, 1763226000.1234567, [False, True])


def test_infinite_radius_becomes_null() -> None:
    message = forecast_message(replace(made_forecast(), radius=np.array([np.inf, 1.0])))
    assert json.loads(message)["radius"] == [None, 1.0]


@settings(deadline=None)
@given(st.binary(max_size=200) | st.text().map(str.encode))
@example(b"[" * 60_000)
@example(b'{"v":1,"type":"sample","p":' + b"[" * 60_000)
@example(b'{"v":1,"type":"sample","p":[[' + b"9" * 5000 + b"]]}")
@example(b'{"v":1,"type":"sample","p":[[' + b"9" * 400 + b"]]}")
@example(b'{"v":1,"type":"sample","p":[[1e999,2,3]]}')
@example(b'{"v":1,"type":"sample","p":[[Infinity,2,3]]}')
@example(b'{"v":1,"type":"sample","stream":"\\ud800","p":[[1,2,3]]}')
def test_arbitrary_bytes_raise_frame_errors_only(data: bytes) -> None:
    for parse in (parse_forecast, lambda line: parse_sample(line, "s", 0.0)):
        text, frame = "", None
        try:
            frame = parse(data)
        except FrameError as error:
            text = str(error)
        assert len(text) < 400
        assert not np.isinf(getattr(frame, "values", 0.0)).any()


@settings(max_examples=300, deadline=None)
@given(st.integers(0, len(SAMPLE) - 1), st.binary(max_size=3), st.integers(0, 5))
def test_mutated_messages_raise_frame_errors_only(at: int, put: bytes, cut: int) -> None:
    try:
        frame = parse_sample(SAMPLE[:at] + put + SAMPLE[at + cut :], "s", 0.0)
    except FrameError:
        return
    assert frame.values.ndim == 2


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"v": 2}, "v: expected 1, got 2"),
        ({"v": True}, "v: expected 1"),
        ({"type": "forecast"}, "type: expected 'sample'"),
        ({"p": []}, "p: expected a list of 1 to 256 channels"),
        ({"p": [[1, 2, 3], [1, 2]]}, "p: expected the same number of coordinates"),
        ({"p": [[1, 2, "3"]]}, "p: expected numbers or null, got '3'"),
        ({"p": [[True, 2, 3]]}, "p: expected numbers or null, got True"),
        ({"p": [5]}, r"p\[0\]: expected a list of coordinates or null"),
        ({"p": [[0] * 17]}, "p: expected 1 to 16 coordinates"),
        ({"p": [[1, 2, 3]] * 257}, "p: expected a list of 1 to 256 channels"),
        ({"t": 1763226000120.0}, "t: expected a time in seconds, .* in milliseconds since 1970: divide by 1000$"),
        ({"t": 1763226000120345.0}, "t: expected a time in seconds, .* in microseconds since 1970: divide by 1000000$"),
        ({"t": 1763226000120345000}, "in nanoseconds since 1970: divide by 1000000000$"),
        ({"t": -1e12}, r"t: expected a time in seconds, got -1000000000000\.0$"),
        ({"t": "now"}, "t: expected numbers"),
        ({"seq": -1}, "seq: expected an integer"),
        ({"seq": 1.0}, "seq: expected an integer"),
        ({"stream": "a\nb"}, "stream: expected printable text"),
        ({"stream": "a" * 65}, "stream: expected printable text of at most 64"),
        ({"names": ["a", "b"]}, "names: expected a list of 3 names"),
        ({"names": ["a", "a", "b"]}, "names: expected different names"),
        ({"names": ["a", "", "b"]}, "names: expected printable names"),
    ],
)
def test_errors_say_what_is_wrong(change: dict[str, object], part: str) -> None:
    message = json.dumps(json.loads(SAMPLE) | change).encode()
    with pytest.raises(FrameError, match=part):
        parse_sample(message, "s", 0.0)


def test_too_long_messages_are_not_parsed() -> None:
    with pytest.raises(FrameError, match=f"at most {MAX_MESSAGE} bytes"):
        parse_sample(SAMPLE + b" " * MAX_MESSAGE, "s", 0.0)


@pytest.mark.parametrize("key", ["seq", "t", "t_target", "t_sent", "p", "radius", "filled", "sample"])
def test_forecast_without_a_field_is_refused(key: str) -> None:
    message = json.loads(forecast_message(made_forecast()))
    del message[key], message["crc"]
    with pytest.raises(FrameError, match=f"^{key}:"):
        parse_forecast(json.dumps(message).encode())


@pytest.mark.parametrize(
    ("line", "dimensions", "time", "values"),
    [
        (b"0.5,1,2,3", 3, 0.5, [[1, 2, 3]]),
        (b"1,2,3\r\n", 3, None, [[1, 2, 3]]),
        (b"0,5; 1,25; ; 3; 4;5;nan", 3, 0.5, [[1.25, np.nan, 3], [4, 5, np.nan]]),
        (b"0.5\t1\t2\t3\t4", 4, 0.5, [[1, 2, 3, 4]]),
        (b"7", 1, None, [[7]]),
        (b"0.1,1e-300,-0.0,0.1", 3, 0.1, [[1e-300, -0.0, 0.1]]),
    ],
)
def test_lines_of_numbers(line: bytes, dimensions: int, time: float | None, values: list[list[float]]) -> None:
    frame = parse_sample(line, "s", 9.0, dimensions)
    assert (frame.device_time, frame.received, frame.stream) == (time, 9.0, "s")
    np.testing.assert_array_equal(frame.values, np.array(values, dtype=float), strict=True)


@pytest.mark.parametrize(
    "line", [b"", b"1", b"1,2", b"1,2,3,4,5", b"1,2,x", b"1,2,inf", b"1,2,1_0", b"nan,1,2,3", b"\xff"]
)
def test_lines_of_anything_else_are_refused(line: bytes) -> None:
    with pytest.raises(FrameError):
        parse_sample(line, "s", 0.0)


@settings(deadline=None)
@given(arrays(float, (2, 3), elements=NUMBERS), TIMES)
def test_lines_of_numbers_survive(values: np.ndarray, time: float) -> None:
    line = ",".join(repr(float(value)) for value in [time, *values.ravel()])
    frame = parse_sample(line.encode(), "s", 0.0)
    np.testing.assert_array_equal(frame.values, values)
    assert frame.device_time == time


def test_the_first_refused_line_of_each_kind_is_explained(caplog: pytest.LogCaptureFixture) -> None:
    reader = LineReader(LineRules("chest", stream="chest"))
    for line in (b'{"p": [[1, 2, 3]]}', b"1,2,three", b'{"v": 1, "type": "sample", "stream": "s", "p": [[1, 2, 3]]}'):
        for _ in range(2):
            assert reader.read(line, received=0.0) is None
    assert reader.rules.refused == {"malformed": 4, "stream": 2}
    malformed, stream = (record.getMessage() for record in caplog.records)
    assert malformed.startswith("refused: v: expected 1")
    assert malformed.endswith("; such messages are skipped and counted")
    assert stream == "refused: stream: expected 'chest', got 's'; such messages are skipped and counted"


@pytest.mark.parametrize(
    ("line", "warned"),
    [
        (lambda i: f"{100 + i / 10:.1f},3,7", True),  # a time and two coordinates
        (lambda i: f"{100 + i / 10:.1f},3,7,5", False),  # a time that is recognised
        (lambda i: f"{20 * np.sin(i / 10):.2f},3,7", False),
        (lambda i: "5,3,7", False),
        (lambda i: f",3,{i}", False),
    ],
)
def test_a_time_that_is_read_as_a_coordinate_is_noticed_once(
    line: Callable[[int], str], warned: bool, caplog: pytest.LogCaptureFixture
) -> None:
    reader = LineReader(LineRules("chest"))
    assert all(reader.read(line(i).encode(), received=0.0) is not None for i in range(60))
    assert ["grows evenly, as a time does" in text for text in caplog.messages] == [True] * warned


@pytest.mark.parametrize("text", ["chest\u202e", "two\nlines", "x" * 65, "\udcff"])
@pytest.mark.parametrize("what", ["stream", "names", "unit"])
def test_names_that_receivers_would_refuse_are_refused_at_the_start(what: str, text: str) -> None:
    with pytest.raises(ValueError, match=f"{what}: expected printable text of 1 to 64 characters"):
        LiveSettings(**{what: ("chest", text) if what == "names" else text})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"1\n", "message: expected 3 columns per channel, after the time or without it, got 1"),
        (b"1," * 9000 + b"1\n", "message: expected at most"),
    ],
)
def test_wrong_numbers_of_columns(line: bytes, message: str) -> None:
    with pytest.raises(FrameError, match=f"^{message}"):
        parse_sample(line, "walk", 0.0)
