"""Text messages of the live service: samples and forecasts as JSON, and samples as lines of numbers.

A message is one JSON object, or one line of numbers separated by commas, semicolons or tabs. Floating-point numbers are
written with as many digits as are needed to read back the same bits. Everything that arrives is untrusted: a message
that is not valid raises `FrameError`, whatever its bytes are, and nothing else.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.style import TIME_UNITS
from quatcast.live.checksums import add_checksum, remove_checksum
from quatcast.live.fields import (
    MAX_CHANNELS,
    MAX_DIMENSIONS,
    check_time,
    fail,
    read_flags,
    read_matrix,
    read_name,
    read_names,
    read_sentence,
    read_sequence,
    read_time,
    read_vector,
)
from quatcast.live.frames import ChecksumError, ForecastFrame, Frame, FrameError, PathPoint

VERSION = 1
"""Version of the messages, in the field `v`."""
MAX_MESSAGE = 65536
"""Largest number of bytes of one message."""


def parse_sample(line: bytes, stream: str, received: float, dimensions: int = 3, time_unit: str = "s") -> Frame:
    """Read a sample from a JSON object or from a line of numbers.

    A line of numbers contains `dimensions` numbers per channel, preceded by the time or by nothing. An empty
    cell or `nan` is a missing value. A checksum is optional and is checked if present; see `quatcast.live.checksums`.

    Parameters
    ----------
    line
        The message.
    stream
        Name of the stream, for messages that do not name theirs.
    received
        Time of arrival on the clock of this machine.
    dimensions
        Coordinates per channel of lines of numbers, and of JSON messages in which every channel is null.
    time_unit
        Unit of the time of lines of numbers: "s", "ms", "us", "ns", "min" or "h". That of JSON messages is in seconds.

    Raises
    ------
    FrameError
        If the message is not a valid sample; the text says why. `ChecksumError` if its checksum is wrong.

    Examples
    --------
    >>> message = b'{"v": 1, "type": "sample", "seq": 812, "t": 1763226000.12, "p": [[1.5, 2, 3], null]}'
    >>> frame = parse_sample(message, "chest", received=1763226000.125)
    >>> frame.sequence, frame.device_time
    (812, 1763226000.12)
    >>> frame.values
    array([[1.5, 2. , 3. ],
           [nan, nan, nan]])
    >>> parse_sample(b"0.1, 1.5, 2, 3", "chest", received=1763226000.125).values
    array([[1.5, 2. , 3. ]])
    """
    text = _decode(line)
    if not text.startswith("{"):
        return _parse_numbers(text, stream, received, dimensions, TIME_UNITS[time_unit])
    message = _parse_object(text, "sample")
    values = read_matrix(message, "p", dimensions)
    return Frame(
        stream=read_name(message, "stream", stream),
        sequence=read_sequence(message),
        device_time=None if message.get("t") is None else read_time(message, "t"),
        received=received,
        values=values,
        names=read_names(message, len(values)),
        unit=read_name(message, "unit", ""),
    )


def sample_message(frame: Frame) -> bytes:
    """Write a sample as JSON with a checksum; `parse_sample` reads back the same frame, apart from the time of arrival.

    Examples
    --------
    >>> sample_message(Frame("chest", 3, 0.25, 0.0, np.array([[1.0, 2.0, np.nan], [np.nan] * 3])))
    b'{"v":1,"type":"sample","stream":"chest","seq":3,"t":0.25,"p":[[1.0,2.0,null],null],"crc":"fe58f423"}'
    """
    return add_checksum(sample_text(frame))


def sample_text(frame: Frame) -> bytes:
    """Return a sample as JSON without a checksum."""
    message: dict[str, Any] = {"v": VERSION, "type": "sample", "stream": frame.stream}
    if frame.sequence is not None:
        message["seq"] = frame.sequence
    if frame.device_time is not None:
        message["t"] = frame.device_time
    message["p"] = _rows(frame.values)
    return _encode(message, frame.names, frame.unit)


def forecast_message(forecast: ForecastFrame) -> bytes:
    """Write a forecast as JSON with a checksum; numbers that are not finite become null.

    Examples
    --------
    >>> forecast = ForecastFrame(
    ...     "chest", 7, 10.0, 10.5, 10.01, np.array([[1.0, 2.0, 3.0]]), np.array([0.5]), "ok", "",
    ...     np.array([False]), np.array([[1.0, 2.0, 2.5]]))
    >>> forecast_message(forecast).decode()
    '{"v":1,"type":"forecast","stream":"chest","seq":7,"t":10.0,"t_target":10.5,"t_sent":10.01,"p":[[1.0,2.0,3.0]],"radius":[0.5],"status":"ok","reason":"","filled":[false],"sample":[[1.0,2.0,2.5]],"crc":"bdbc60aa"}'
    """
    return add_checksum(forecast_text(forecast))


def forecast_text(forecast: ForecastFrame) -> bytes:
    """Return a forecast as JSON without a checksum."""
    message: dict[str, Any] = {
        "v": VERSION,
        "type": "forecast",
        "stream": forecast.stream,
        "seq": forecast.sequence,
        "t": forecast.time,
        "t_target": forecast.target_time,
        "t_sent": forecast.sent_time,
        "p": _rows(forecast.position),
        **_radii(forecast),
        "status": forecast.status,
        "reason": forecast.reason,
        "filled": forecast.filled.tolist(),
        "sample": _rows(forecast.sample),
    }
    if forecast.path:
        message["path"] = [
            {
                "t_target": point.target_time,
                "p": _rows(point.position),
                **_radii(point),
                "status": point.status,
            }
            for point in forecast.path
        ]
    return _encode(message, forecast.names, forecast.unit)


def _radii(forecast: ForecastFrame | PathPoint) -> dict[str, Any]:
    """Return the fields of the radii; only poses have a second one."""
    angles = forecast.angle_radius
    second = {} if angles is None else {"angle_radius": _numbers(angles)}
    return {"radius": _numbers(forecast.radius), **second}


def parse_forecast(line: bytes) -> ForecastFrame:
    """Read a forecast from JSON, as a receiver does.

    Raises
    ------
    FrameError
        If the message is not a valid forecast; the text says why.

    Examples
    --------
    >>> forecast = parse_forecast(
    ...     b'{"v":1,"type":"forecast","stream":"chest","seq":7,"t":10.0,"t_target":10.5,"t_sent":10.01,'
    ...     b'"p":[[1.0,2.0,3.0]],"radius":[null],"status":"hold","reason":"","filled":[true],"sample":[null]}')
    >>> forecast.status, forecast.radius
    ('hold', array([nan]))
    """
    return read_forecast(_parse_object(_decode(line), "forecast"))


def read_forecast(message: dict[str, Any]) -> ForecastFrame:
    """Return the forecast of a JSON object, after checking its fields."""
    position = read_matrix(message, "p", 3)
    channels, dimensions = position.shape
    sample = read_matrix(message, "sample", dimensions)
    if sample.shape != position.shape:
        fail("sample", f"the shape of p, {position.shape}", sample.shape)
    sequence = read_sequence(message)
    if sequence is None:
        fail("seq", "an integer", None)
    path = message.get("path", [])
    if not isinstance(path, list) or not all(isinstance(point, dict) for point in path):
        fail("path", "a list of objects", path)
    return ForecastFrame(
        stream=read_name(message, "stream", ""),
        sequence=sequence,
        time=read_time(message, "t"),
        target_time=read_time(message, "t_target"),
        sent_time=read_time(message, "t_sent"),
        position=position,
        radius=read_vector(message, "radius", channels),
        status=read_name(message, "status", ""),
        reason=read_sentence(message, "reason"),
        filled=read_flags(message, "filled", channels),
        sample=sample,
        names=read_names(message, channels),
        unit=read_name(message, "unit", ""),
        path=tuple(_path_point(point, position.shape) for point in path),
        angle_radius=_angle_radius(message, channels),
    )


def _angle_radius(message: dict[str, Any], channels: int) -> Floats | None:
    return read_vector(message, "angle_radius", channels) if "angle_radius" in message else None


def _path_point(message: dict[str, Any], shape: tuple[int, ...]) -> PathPoint:
    """Read a forecast for one of several horizons."""
    position = read_matrix(message, "p", shape[1])
    if position.shape != shape:
        fail("path", f"positions of the shape of p, {shape}", position.shape)
    radius, status = read_vector(message, "radius", shape[0]), read_name(message, "status", "")
    return PathPoint(read_time(message, "t_target"), position, radius, status, _angle_radius(message, shape[0]))


def _decode(line: bytes) -> str:
    """Return the text of a message of acceptable size, without the spaces around it."""
    if len(line) > MAX_MESSAGE:
        fail("message", f"at most {MAX_MESSAGE} bytes", len(line))
    try:
        return line.decode("utf-8").strip()
    except UnicodeDecodeError:
        fail("message", "UTF-8 text", line[:40])


def _constant(name: str) -> float:
    """Accept NaN, which Python's own encoder writes, and refuse infinity."""
    if name != "NaN":
        fail("message", "finite numbers", name)
    return math.nan


# Made once: json.loads and json.dumps make new ones for each call with options.
_DECODER = json.JSONDecoder(parse_constant=_constant)
_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def _parse_object(text: str, kind: str) -> dict[str, Any]:
    """Return the JSON object of a message of the present version and of the given type."""
    try:
        message = _DECODER.decode(text)
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"message: expected a JSON object, got {text[:40]!r} ({error})") from None
    if not isinstance(message, dict):
        fail("message", "a JSON object", message)
    version = message.get("v")
    if type(version) is not int or version != VERSION:
        fail("v", f"{VERSION}", version)
    if message.get("type") != kind:
        fail("type", repr(kind), message.get("type"))
    if "crc" in message:
        _check(text)
    return message


def _check(text: str) -> str:
    """Return a message that has a checksum without it."""
    content = remove_checksum(text.encode())
    if content is None:
        raise ChecksumError(f"message: expected the checksum of its content at its end, got {text[-40:]!r}")
    return content.decode()


def _numbers(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _rows(values: Floats) -> list[list[float | None] | None]:
    """Return values as lists, with null for missing channels.

    If every channel is missing, the rows are written out, so that the number of coordinates is not lost.
    """
    rows = [_numbers(row) for row in values]
    seen = [any(value is not None for value in row) for row in rows]
    return [row if known or not any(seen) else None for row, known in zip(rows, seen, strict=True)]


def _encode(message: dict[str, Any], names: tuple[str, ...], unit: str) -> bytes:
    if names:
        message["names"] = names
    if unit:
        message["unit"] = unit
    return _ENCODER.encode(message).encode()


def delimiter_of(text: str) -> str:
    """Return what separates the cells of a line of numbers, or of its header: semicolons, tabs or commas."""
    return next((mark for mark in ";\t" if mark in text), ",")


def split_cells(text: str) -> list[str]:
    """Split a line of numbers.

    Examples
    --------
    >>> split_cells("0,1; 2,5")
    ['0.1', '2.5']
    """
    delimiter = delimiter_of(text)
    return [(cell if delimiter == "," else cell.replace(",", ".")).strip() for cell in text.split(delimiter)]


def _parse_numbers(text: str, stream: str, received: float, dimensions: int, scale: float) -> Frame:
    """Read a sample from a line of numbers whose time, multiplied by the scale, is in seconds."""
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise ValueError(f"dimensions: expected 1 to {MAX_DIMENSIONS}, got {dimensions}")
    cells = split_cells(_check(text) if "*" in text else text)
    if len(cells) > MAX_CHANNELS * dimensions + 1:
        fail("message", f"at most {MAX_CHANNELS * dimensions + 1} columns", len(cells))
    numbers = [_cell(column, cell) for column, cell in enumerate(cells, start=1)]
    timed = dimensions > 1 and len(numbers) % dimensions == 1
    if len(numbers) % dimensions != timed or len(numbers) == timed:
        fail("message", f"{dimensions} columns per channel, after the time or without it", len(numbers))
    time = check_time("column 1", numbers[0] * scale) if timed else None
    return Frame(stream, None, time, received, np.array(numbers[timed:]).reshape(-1, dimensions))


def _cell(column: int, cell: str) -> float:
    """Return the number in a cell; Python's underscores within numbers are not accepted."""
    try:
        number = float(cell) if cell else math.nan
    except ValueError:
        number = math.inf
    if math.isinf(number) or "_" in cell:
        fail(f"column {column}", "a finite number or an empty cell", cell)
    return number
