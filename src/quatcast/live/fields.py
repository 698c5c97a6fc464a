"""Fields of JSON messages: checks of values that arrive from a network, and the bounds on them.

Each function returns the value of a field, or raises `FrameError` with the name of the field, what was expected, and
what it holds instead.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from quatcast.basics.escaping import one_line
from quatcast.basics.typing import Bools, Floats
from quatcast.data.style import TIME_UNITS
from quatcast.data.times import UNIX
from quatcast.live.frames import FrameError

MAX_CHANNELS = 256
"""Largest number of channels of one message."""
MAX_DIMENSIONS = 16
"""Largest number of coordinates per channel."""
MAX_NAME = 64
"""Largest number of characters of the name of a stream or a channel, and of a unit."""
MAX_TIME = 1e11
"""Largest time in seconds. Times in milliseconds are above it, and are refused."""
SINCE_1970 = {"ms": "milliseconds", "us": "microseconds", "ns": "nanoseconds"}
"""Units of times since 1970 that senders give instead of seconds, and their names."""
MAX_SEQUENCE = 2**63 - 1


def fail(name: str, expected: str, got: object, advice: str = "") -> NoReturn:
    """Raise a `FrameError` that shows at most the beginning of a long value, and the advice after it.

    Examples
    --------
    >>> fail("v", "1", 2)
    Traceback (most recent call last):
        ...
    quatcast.live.frames.FrameError: v: expected 1, got 2
    """
    shown = repr(got)
    raise FrameError(f"{name}: expected {expected}, got {shown if len(shown) <= 80 else shown[:77] + '...'}{advice}")


def read_number(name: str, value: object) -> float:
    """Return a number of a JSON message, NaN if it is null."""
    if value is None:
        return math.nan
    if type(value) is not float and type(value) is not int:  # a bool is not a number
        fail(name, "numbers or null", value)
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if math.isinf(number):
        fail(name, "finite numbers", value)
    return number


def read_time(message: dict[str, Any], name: str) -> float:
    """Return a time in seconds, which is required."""
    return check_time(name, read_number(name, message.get(name)))


def check_time(name: str, time: float) -> float:
    """Return a time, after checking that it can be one in seconds.

    Examples
    --------
    >>> check_time("t", 1763226000120.0)
    Traceback (most recent call last):
        ...
    quatcast.live.frames.FrameError: t: expected a time in seconds, ...
    """
    if not abs(time) <= MAX_TIME:
        fail(name, "a time in seconds", time, _probable_unit(time))
    return time


def _probable_unit(time: float) -> str:
    """Return what to do with a time that counts smaller units since 1970; an empty text for other times."""
    for unit, name in SINCE_1970.items():
        if UNIX[0] <= time * TIME_UNITS[unit] <= UNIX[1]:
            return f"; it is probably in {name} since 1970: divide by {1 / TIME_UNITS[unit]:.0f}"
    return ""


def read_sequence(message: dict[str, Any]) -> int | None:
    """Return the number of a message, or None if it has none."""
    sequence = message.get("seq")
    if sequence is None:
        return None
    if type(sequence) is not int or not 0 <= sequence <= MAX_SEQUENCE:
        fail("seq", "an integer from 0 to 2⁶³ − 1", sequence)
    return sequence


def read_matrix(message: dict[str, Any], name: str, dimensions: int) -> Floats:
    """Return values (channels, dimensions); the given dimensions are used if every channel is null."""
    rows = message.get(name)
    if not isinstance(rows, list) or not 1 <= len(rows) <= MAX_CHANNELS:
        fail(name, f"a list of 1 to {MAX_CHANNELS} channels", rows)
    widths = {len(row) for row in rows if isinstance(row, list)}
    if len(widths) > 1:
        fail(name, "the same number of coordinates in every channel", sorted(widths))
    width = widths.pop() if widths else dimensions
    if not 1 <= width <= MAX_DIMENSIONS:
        fail(name, f"1 to {MAX_DIMENSIONS} coordinates per channel", width)
    values = np.full((len(rows), width), np.nan)
    for channel, row in enumerate(rows):
        if isinstance(row, list):
            values[channel] = [read_number(name, value) for value in row]
        elif row is not None:
            fail(f"{name}[{channel}]", "a list of coordinates or null", row)
    return values


def read_vector(message: dict[str, Any], name: str, channels: int) -> Floats:
    """Return one number per channel, NaN for null."""
    values = message.get(name)
    if not isinstance(values, list) or len(values) != channels:
        fail(name, f"a list of {channels} numbers", values)
    return np.array([read_number(name, value) for value in values])


def read_flags(message: dict[str, Any], name: str, channels: int) -> Bools:
    """Return true or false for each channel."""
    values = message.get(name)
    if not isinstance(values, list) or len(values) != channels or not all(type(value) is bool for value in values):
        fail(name, f"a list of {channels} times true or false", values)
    return np.array(values, dtype=bool)


def read_name(message: dict[str, Any], name: str, default: str) -> str:
    """Return a name, or the default if there is none."""
    value = message.get(name)
    if value is None:
        return default
    if not isinstance(value, str) or len(value) > MAX_NAME or not value.isprintable():
        fail(name, f"printable text of at most {MAX_NAME} characters", value)
    return value


def is_name(value: object) -> bool:
    """Tell whether a value can be the name of a channel: printable text of bounded length."""
    return isinstance(value, str) and 0 < len(value) <= MAX_NAME and value.isprintable()


def usable_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return names of channels, or nothing if one of them cannot be a name or two are the same."""
    return tuple(names) if all(map(is_name, names)) and len(set(names)) == len(names) else ()


def read_sentence(message: dict[str, Any], name: str) -> str:
    """Return text for people on one line; empty if there is none. It is as long as the message allows."""
    value = message.get(name, "")
    if not isinstance(value, str):
        fail(name, "text", value)
    return one_line(value)


def read_names(message: dict[str, Any], channels: int) -> tuple[str, ...]:
    """Return the names of the channels, all different; empty if there are none."""
    names = message.get("names")
    if names is None:
        return ()
    if not isinstance(names, list) or len(names) != channels:
        fail("names", f"a list of {channels} names", names)
    if not all(map(is_name, names)):
        fail("names", f"printable names of 1 to {MAX_NAME} characters", names)
    if len(set(names)) < channels:
        fail("names", "different names", names)
    return tuple(names)
