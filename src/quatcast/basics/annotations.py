"""Comparison of values with type annotations, for settings and for data that come from a file."""

from __future__ import annotations

import math
from collections import deque
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

import numpy as np


def fits(value: Any, annotation: Any) -> bool:
    """Tell whether a value agrees with an annotation.

    Annotations that this function does not understand agree with everything. A whole number agrees with `float`, a
    number with an array, as in NumPy, and a tuple with the annotation of a named tuple of the same length.

    Examples
    --------
    >>> fits([1.0, 2], list[float]), fits(["a"], list[float]), fits(True, int), fits(None, int | None)
    (True, False, False, True)
    >>> from quatcast.basics.typing import Floats
    >>> fits(np.zeros(3), Floats), fits(np.zeros(3, dtype=int), Floats)
    (True, False)
    """
    if annotation is Any:
        return True
    if annotation is None or annotation is NoneType:
        return value is None
    if annotation is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    if annotation is float:
        return isinstance(value, int | float | np.number) and not isinstance(value, bool)
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        return any(fits(value, one) for one in inner)
    if origin is Literal:
        return any(type(value) is type(one) and value == one for one in inner)
    if origin is np.ndarray:
        return isinstance(value, int | float) or (isinstance(value, np.ndarray) and _has_dtype(value, inner))
    if origin in (list, deque):
        return isinstance(value, origin) and all(fits(item, inner[0]) for item in value)
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, inner[0]) and fits(v, inner[1]) for k, v in value.items())
    if origin is tuple:
        return isinstance(value, tuple) and _fits_tuple(value, inner)
    if isinstance(annotation, type) and issubclass(annotation, tuple) and hasattr(annotation, "_fields"):
        return isinstance(value, tuple) and len(value) == len(annotation._fields)
    return isinstance(value, annotation) if isinstance(annotation, type) and origin is None else True


def is_whole(value: Any, least: int = 1) -> bool:
    """Tell whether a value is a whole number of at least `least`.

    Examples
    --------
    >>> is_whole(3), is_whole(np.int64(0)), is_whole(2.0), is_whole(True), is_whole("3")
    (True, False, False, False, False)
    """
    return fits(value, int) and bool(value >= least)


def is_number(value: Any) -> bool:
    """Tell whether a value is one finite real number.

    Examples
    --------
    >>> is_number(3), is_number(np.float32(0.5)), is_number(np.inf), is_number(True), is_number("3"), is_number([3])
    (True, True, False, False, False, False)
    """
    if not fits(value, float) or isinstance(value, np.complexfloating):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number that no float can hold
        return False


def check_whole(**values: Any) -> None:
    """Raise a ValueError that names the first value that is not a positive whole number.

    Examples
    --------
    >>> check_whole(refit=10, units=2.5)
    Traceback (most recent call last):
    ValueError: units: expected a positive whole number, got 2.5
    """
    for name, value in values.items():
        if not is_whole(value):
            raise ValueError(f"{name}: expected a positive whole number, got {value!r}")


def check_positive(**values: Any) -> None:
    """Raise a ValueError that names the first value that is not a positive finite number.

    Examples
    --------
    >>> check_positive(width=2.0, gain=0.0)
    Traceback (most recent call last):
    ValueError: gain: expected a positive finite number, got 0.0
    """
    for name, value in values.items():
        if not (is_number(value) and value > 0):
            raise ValueError(f"{name}: expected a positive finite number, got {value!r}")


def _fits_tuple(value: tuple[Any, ...], inner: tuple[Any, ...]) -> bool:
    if len(inner) == 2 and inner[1] is Ellipsis:
        return all(fits(item, inner[0]) for item in value)
    return len(value) == len(inner) and all(map(fits, value, inner))


def _has_dtype(value: np.ndarray[Any, Any], inner: tuple[Any, ...]) -> bool:
    """Tell whether an array has the type in NDArray[type], which is np.ndarray[shape, np.dtype[type]]."""
    (kind,) = get_args(inner[1]) if len(inner) == 2 and get_args(inner[1]) else (Any,)
    return not isinstance(kind, type) or issubclass(value.dtype.type, kind)
