"""Numbers in the options of a URL."""

from __future__ import annotations

import math
from urllib.parse import SplitResult, parse_qsl

from quatcast.data.text import as_number
from quatcast.live.fields import MAX_DIMENSIONS

LARGEST = 1e9
"""Bound of an option that has no other one."""


def read_number(where: str, text: str, low: float, high: float = math.inf, *, whole: bool = False) -> float:
    """Return the number that an option is set to.

    Parameters
    ----------
    where
        Scheme and name of the option, for the error.
    text
        The value in the URL.
    low, high
        Bounds.
    whole
        Whether it must be a whole number.

    Raises
    ------
    ValueError
        If the text is not such a number.

    Examples
    --------
    >>> read_number("udp, dimensions", "3", 1, 16, whole=True)
    3.0
    >>> read_number("udp, dimensions", "2.5", 1, 16, whole=True)
    Traceback (most recent call last):
        ...
    ValueError: udp, dimensions: expected a whole number from 1 to 16, got '2.5'
    """
    number = as_number(text)
    if number is None or not low <= number <= min(high, LARGEST) or (whole and number != round(number)):
        bounds = f"of at least {low:g}" if high == math.inf else f"from {low:g} to {high:g}"
        raise ValueError(f"{where}: expected a {'whole ' * whole}number {bounds}, got {text!r}")
    return number


def parse_options(parts: SplitResult, **defaults: float) -> dict[str, float]:
    """Return the numerical options of a URL; an unknown one is an error, and so is 2.5 if the default is an integer.

    Examples
    --------
    >>> from urllib.parse import urlsplit
    >>> parse_options(urlsplit("file:walk.csv?speed=2"), speed=1.0)
    {'speed': 2.0}
    """
    options = dict(defaults)
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        if name not in defaults:
            raise ValueError(f"{parts.scheme}: expected the options {', '.join(defaults)}, got {name!r}")
        bounds = (1, MAX_DIMENSIONS) if name == "dimensions" else (0,)
        options[name] = read_number(f"{parts.scheme}, {name}", text, *bounds, whole=isinstance(defaults[name], int))
    return options
