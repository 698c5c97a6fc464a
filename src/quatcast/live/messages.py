"""Text messages of the live service: samples and forecasts as JSON, and samples as lines of numbers.

A message is one JSON object, or one line of numbers separated by commas, semicolons or tabs. Floating-point numbers are
written with as many digits as are needed to read back the same bits. Everything that arrives is untrusted: a message
that is not valid raises `FrameError`, whatever its bytes are, and nothing else.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from quatcast.live.frames import ForecastFrame, Frame, FrameError, PathPoint
from quatcast.typing import Bools, Floats

VERSION = 1
"""Version of the messages, in the field `v`."""
MAX_MESSAGE = 65536
"""Largest number of bytes of one message."""
MAX_CHANNELS = 256
"""Largest number of channels of one message."""
MAX_DIMENSIONS = 16
"""Largest number of coordinates per channel."""
MAX_NAME = 64
"""Largest number of characters of the name of a stream or a channel, and of a unit."""
MAX_TIME = 1e11
"""Largest time in seconds. Times in milliseconds are above it, and are refused."""
MAX_SEQUENCE = 2**63 - 1


def parse_sample(line: bytes, stream: str, received: float, dimensions: int = 3) -> Frame:
    """Read a sample from a JSON object or from a line of numbers.

    A line of numbers contains `dimensions` numbers per channel, preceded by the time in seconds or by nothing. An empty
    cell or `nan` is a missing value.

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

    Raises
    ------
    FrameError
        If the message is not a valid sample; the text says why.

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
        return _parse_numbers(text, stream, received, dimensions)
    message = _parse_object(text, "sample")
    values = _matrix(message, "p", dimensions)
    return Frame(
        stream=_name(message, "stream", stream),
        sequence=_sequence(message),
        device_time=None if message.get("t") is None else _time(message, "t"),
        received=received,
        values=values,
        names=_names(message, len(values)),
        unit=_name(message, "unit", ""),
    )


def sample_message(frame: Frame) -> bytes:
    """Write a sample as JSON; `parse_sample` reads back the same frame, apart from the time of arrival.

    Examples
    --------
    >>> sample_message(Frame("chest", 3, 0.25, 0.0, np.array([[1.0, 2.0, np.nan], [np.nan] * 3])))
    b'{"v":1,"type":"sample","stream":"chest","seq":3,"t":0.25,"p":[[1.0,2.0,null],null]}'
    """
    message: dict[str, Any] = {"v": VERSION, "type": "sample", "stream": frame.stream}
    if frame.sequence is not None:
        message["seq"] = frame.sequence
    if frame.device_time is not None:
        message["t"] = frame.device_time
    message["p"] = _rows(frame.values)
    return _encode(message, frame.names, frame.unit)


def forecast_message(forecast: ForecastFrame) -> bytes:
    """Write a forecast as JSON; numbers that are not finite become null.

    Examples
    --------
    >>> forecast = ForecastFrame(
    ...     "chest", 7, 10.0, 10.5, 10.01, np.array([[1.0, 2.0, 3.0]]), np.array([0.5]), "ok", "",
    ...     np.array([False]), np.array([[1.0, 2.0, 2.5]]))
    >>> forecast_message(forecast).decode()
    '{"v":1,"type":"forecast","stream":"chest","seq":7,"t":10.0,"t_target":10.5,"t_sent":10.01,"p":[[1.0,2.0,3.0]],"radius":[0.5],"status":"ok","reason":"","filled":[false],"sample":[[1.0,2.0,2.5]]}'
    """
    message: dict[str, Any] = {
        "v": VERSION,
        "type": "forecast",
        "stream": forecast.stream,
        "seq": forecast.sequence,
        "t": forecast.time,
        "t_target": forecast.target_time,
        "t_sent": forecast.sent_time,
        "p": _rows(forecast.position),
        "radius": _numbers(forecast.radius),
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
                "radius": _numbers(point.radius),
                "status": point.status,
            }
            for point in forecast.path
        ]
    return _encode(message, forecast.names, forecast.unit)


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
    message = _parse_object(_decode(line), "forecast")
    position = _matrix(message, "p", 3)
    channels, dimensions = position.shape
    sample = _matrix(message, "sample", dimensions)
    if sample.shape != position.shape:
        _fail("sample", f"the shape of p, {position.shape}", sample.shape)
    sequence = _sequence(message)
    if sequence is None:
        _fail("seq", "an integer", None)
    path = message.get("path", [])
    if not isinstance(path, list) or not all(isinstance(point, dict) for point in path):
        _fail("path", "a list of objects", path)
    return ForecastFrame(
        stream=_name(message, "stream", ""),
        sequence=sequence,
        time=_time(message, "t"),
        target_time=_time(message, "t_target"),
        sent_time=_time(message, "t_sent"),
        position=position,
        radius=_vector(message, "radius", channels),
        status=_name(message, "status", ""),
        reason=_text(message, "reason", "", MAX_MESSAGE),
        filled=_flags(message, "filled", channels),
        sample=sample,
        names=_names(message, channels),
        unit=_name(message, "unit", ""),
        path=tuple(_path_point(point, position.shape) for point in path),
    )


def _path_point(message: dict[str, Any], shape: tuple[int, ...]) -> PathPoint:
    """Read a forecast for one of several horizons."""
    position = _matrix(message, "p", shape[1])
    if position.shape != shape:
        _fail("path", f"positions of the shape of p, {shape}", position.shape)
    radius, status = _vector(message, "radius", shape[0]), _name(message, "status", "")
    return PathPoint(_time(message, "t_target"), position, radius, status)


def _fail(name: str, expected: str, got: object) -> NoReturn:
    """Raise a `FrameError` that shows at most the beginning of a long value."""
    shown = repr(got)
    raise FrameError(f"{name}: expected {expected}, got {shown if len(shown) <= 80 else shown[:77] + '...'}")


def _decode(line: bytes) -> str:
    """Return the text of a message of acceptable size, without the spaces around it."""
    if len(line) > MAX_MESSAGE:
        _fail("message", f"at most {MAX_MESSAGE} bytes", len(line))
    try:
        return line.decode("utf-8").strip()
    except UnicodeDecodeError:
        _fail("message", "UTF-8 text", line[:40])


def _constant(name: str) -> float:
    """Accept NaN, which Python's own encoder writes, and refuse infinity."""
    if name != "NaN":
        _fail("message", "finite numbers", name)
    return math.nan


def _parse_object(text: str, kind: str) -> dict[str, Any]:
    """Return the JSON object of a message of the present version and of the given type."""
    try:
        message = json.loads(text, parse_constant=_constant)
    except FrameError:
        raise
    except (ValueError, RecursionError) as error:
        raise FrameError(f"message: expected a JSON object, got {text[:40]!r} ({error})") from None
    if not isinstance(message, dict):
        _fail("message", "a JSON object", message)
    version = message.get("v")
    if type(version) is not int or version != VERSION:
        _fail("v", f"{VERSION}", version)
    if message.get("type") != kind:
        _fail("type", repr(kind), message.get("type"))
    return message


def _number(name: str, value: object) -> float:
    """Return a number of a JSON message, NaN if it is null."""
    if value is None:
        return math.nan
    if type(value) is not float and type(value) is not int:  # a bool is not a number
        _fail(name, "numbers or null", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        _fail(name, "finite numbers", value)
    return number


def _time(message: dict[str, Any], name: str) -> float:
    time = _number(name, message.get(name))
    return _checked_time(name, time)


def _checked_time(name: str, time: float) -> float:
    if not abs(time) <= MAX_TIME:
        _fail(name, "a time in seconds", time)
    return time


def _sequence(message: dict[str, Any]) -> int | None:
    sequence = message.get("seq")
    if sequence is None:
        return None
    if type(sequence) is not int or not 0 <= sequence <= MAX_SEQUENCE:
        _fail("seq", "an integer from 0 to 2⁶³ − 1", sequence)
    return sequence


def _matrix(message: dict[str, Any], name: str, dimensions: int) -> Floats:
    """Return values (channels, dimensions); the given dimensions are used if every channel is null."""
    rows = message.get(name)
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_CHANNELS:
        _fail(name, f"a list of 1 to {MAX_CHANNELS} channels", rows)
    widths = {len(row) for row in rows if isinstance(row, list)}
    if len(widths) > 1:
        _fail(name, "the same number of coordinates in every channel", sorted(widths))
    width = widths.pop() if widths else dimensions
    if not 1 <= width <= MAX_DIMENSIONS:
        _fail(name, f"1 to {MAX_DIMENSIONS} coordinates per channel", width)
    values = np.full((len(rows), width), np.nan)
    for channel, row in enumerate(rows):
        if isinstance(row, list):
            values[channel] = [_number(name, value) for value in row]
        elif row is not None:
            _fail(f"{name}[{channel}]", "a list of coordinates or null", row)
    return values


def _vector(message: dict[str, Any], name: str, channels: int) -> Floats:
    values = message.get(name)
    if not isinstance(values, list) or len(values) != channels:
        _fail(name, f"a list of {channels} numbers", values)
    return np.array([_number(name, value) for value in values])


def _flags(message: dict[str, Any], name: str, channels: int) -> Bools:
    values = message.get(name)
    if not isinstance(values, list) or len(values) != channels or not all(type(value) is bool for value in values):
        _fail(name, f"a list of {channels} times true or false", values)
    return np.array(values, dtype=bool)


def _text(message: dict[str, Any], name: str, default: str, longest: int) -> str:
    value = message.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or len(value) > longest or not value.isprintable():
        _fail(name, f"printable text of at most {longest} characters", value)
    return value


def _name(message: dict[str, Any], name: str, default: str) -> str:
    return _text(message, name, default, MAX_NAME)


def _names(message: dict[str, Any], channels: int) -> tuple[str, ...]:
    names = message.get("names")
    if names is None:
        return ()
    if not isinstance(names, list) or len(names) != channels:
        _fail("names", f"a list of {channels} names", names)
    if not all(isinstance(name, str) and 0 < len(name) <= MAX_NAME and name.isprintable() for name in names):
        _fail("names", f"printable names of 1 to {MAX_NAME} characters", names)
    if len(set(names)) < channels:
        _fail("names", "different names", names)
    return tuple(names)


def _numbers(values: Floats) -> list[float | None]:
    return [value if math.isfinite(value) else None for value in values.tolist()]


def _rows(values: Floats) -> list[list[float | None] | None]:
    """Return values as lists, with null for missing channels.

    If every channel is missing, the rows are written out, so that the number of coordinates is not lost.
    """
    rows = [_numbers(row) for row in values]
    if not np.isfinite(values).any():
        return list(rows)
    return [row if any(value is not None for value in row) else None for row in rows]


def _encode(message: dict[str, Any], names: tuple[str, ...], unit: str) -> bytes:
    if names:
        message["names"] = names
    if unit:
        message["unit"] = unit
    return json.dumps(message, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def split_cells(text: str) -> list[str]:
    """Split a line of numbers, or its header, at semicolons, tabs or commas.

    Examples
    --------
    >>> split_cells("0,1; 2,5")
    ['0.1', '2.5']
    """
    delimiter = next((mark for mark in ";\t" if mark in text), ",")
    return [(cell if delimiter == "," else cell.replace(",", ".")).strip() for cell in text.split(delimiter)]


def _parse_numbers(text: str, stream: str, received: float, dimensions: int) -> Frame:
    """Read a sample from a line of numbers."""
    if not 1 <= dimensions <= MAX_DIMENSIONS:
        raise ValueError(f"dimensions: expected 1 to {MAX_DIMENSIONS}, got {dimensions}")
    cells = split_cells(text)
    if len(cells) > MAX_CHANNELS * dimensions + 1:
        _fail("message", f"at most {MAX_CHANNELS} channels", f"{len(cells)} columns")
    numbers = [_cell(column, cell) for column, cell in enumerate(cells, start=1)]
    timed = dimensions > 1 and len(numbers) % dimensions == 1
    if len(numbers) % dimensions != timed or len(numbers) == timed:
        expected = f"{dimensions} numbers per channel, after the time or without it"
        _fail("message", expected, f"{len(numbers)} columns")
    time = _checked_time("column 1", numbers[0]) if timed else None
    return Frame(stream, None, time, received, np.array(numbers[timed:]).reshape(-1, dimensions))


def _cell(column: int, cell: str) -> float:
    """Return the number in a cell; Python's underscores within numbers are not accepted."""
    try:
        number = float(cell) if cell else math.nan
    except ValueError:
        number = math.inf
    if math.isinf(number) or "_" in cell:
        _fail(f"column {column}", "a finite number or an empty cell", cell)
    return number


def header_names(cells: Sequence[str], dimensions: int) -> tuple[str, ...]:
    """Return the names of the channels from a header such as `time,chest.x,chest.y,chest.z`; empty if there are none.

    Examples
    --------
    >>> header_names(["time", "chest.x", "chest.y", "chest.z"], 3)
    ('chest',)
    """
    columns = list(cells[1:]) if len(cells) % dimensions == 1 and dimensions > 1 else list(cells)
    groups = [columns[at : at + dimensions] for at in range(0, len(columns), dimensions)]
    names = []
    for group in groups:
        prefixes = {column[:-2] if column[-2:-1] in "._ " else "" for column in group}
        names.append(prefixes.pop() if len(prefixes) == 1 else "")
    good = all(0 < len(name) <= MAX_NAME and name.isprintable() for name in names)
    return tuple(names) if good and len(set(names)) == len(names) else ()
