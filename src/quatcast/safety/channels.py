"""Small operations on arrays with one entry per channel, without the overhead that general functions have.

A sample of a few channels takes many such operations, and a call of `numpy.sum` costs more than the sum.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.typing import Bools, Floats

PARTS = {"pose": (slice(0, 3), slice(3, 7), slice(0, 7))}
"""Numbers of a sample that can be a sentinel on their own, by space; the first part has a valid range."""


def norm(x: Floats) -> Floats:
    """Return the lengths of vectors along the last axis."""
    squares: Floats = np.add.reduce(x * x, axis=-1)
    return np.sqrt(squares)


def every(which: Bools) -> bool:
    """Return whether a condition holds for every channel."""
    return bool(np.count_nonzero(which) == len(which))


def some(which: Bools) -> bool:
    """Return whether a condition holds for some channel."""
    return bool(np.count_nonzero(which) > 0)


def finite(position: Floats) -> Bools:
    """Return which channels of (channels, dimensions) have finite coordinates only."""
    return np.asarray(np.logical_and.reduce(np.isfinite(position), axis=-1))


def check_range(valid: tuple[ArrayLike, ArrayLike]) -> None:
    """Raise a ValueError unless a range has a smallest and a largest coordinate.

    Examples
    --------
    >>> check_range((5.0, 1.0))
    Traceback (most recent call last):
    ValueError: valid: expected the smallest and the largest coordinate, got (5.0, 1.0)
    """
    try:
        low, high = (np.asarray(limit, dtype=float) for limit in valid)
        ordered = bool(np.all(low < high))
    except (TypeError, ValueError):
        ordered = False
    if not ordered:
        raise ValueError(f"valid: expected the smallest and the largest coordinate, got {valid!r}")


def check_sentinels(sentinels: Iterable[ArrayLike]) -> tuple[ArrayLike, ...]:
    """Return values that mean lost as a tuple, or raise a ValueError if they are none.

    Examples
    --------
    >>> check_sentinels([9999, (0, 0, 0)])
    (9999, (0, 0, 0))
    >>> check_sentinels(9999)
    Traceback (most recent call last):
    ValueError: sentinels: expected a list of numbers or of positions, got 9999
    """
    try:
        listed = tuple(sentinels)
        good = not isinstance(sentinels, str) and all(np.asarray(one, dtype=float).ndim <= 1 for one in listed)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(f"sentinels: expected a list of numbers or of positions, got {sentinels!r}")
    return listed


def usable(
    x: Floats, sentinels: Iterable[ArrayLike], valid: tuple[ArrayLike, ArrayLike] | None, space: str = "vector"
) -> Bools:
    """Return which channels of (…, channels, numbers) hold neither a sentinel nor a value outside the valid range.

    Parameters
    ----------
    x
        Samples as a tracker gives them, NaN where missing.
    sentinels, valid
        As in `Gate`.
    space
        What a sample is. A pose is lost if its position, its orientation or all of it is a sentinel, or if its position
        is outside the valid range.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 2.0, 99.0]])
    >>> usable(x, sentinels=[0.0], valid=(-50.0, 50.0))
    array([ True, False, False])
    >>> pose = np.array([[9999.0, 9999.0, 9999.0, 1.0, 0.0, 0.0, 0.0]])
    >>> usable(pose, sentinels=[9999.0], valid=None, space="pose")
    array([False])
    """
    parts = PARTS.get(space, (slice(None),))
    good = np.ones(x.shape[:-1], dtype=bool)
    for sentinel in sentinels:
        values = np.atleast_1d(np.asarray(sentinel, dtype=float))
        columns = [x[..., part] for part in parts]
        fitting = [one for one in columns if values.shape[-1] in (1, one.shape[-1])]
        if not fitting:
            widths = " or ".join(str(width) for width in sorted({1, *(one.shape[-1] for one in columns)}))
            raise ValueError(f"sentinels: expected {widths} numbers for the space {space!r}, got {values.tolist()}")
        for one in fitting:
            good &= (one != values).any(axis=-1)
    if valid is not None:
        low, high = (np.asarray(limit, dtype=float) for limit in valid)
        first = x[..., parts[0]]
        good &= ((first >= low) & (first <= high)).all(axis=-1)
    return good
