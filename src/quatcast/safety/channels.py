"""Small operations on arrays with one entry per channel, without the overhead that general functions have.

A sample of a few channels takes many such operations, and a call of `numpy.sum` costs more than the sum.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike

from quatcast.typing import Bools, Floats


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


def usable(x: Floats, sentinels: Iterable[ArrayLike], valid: tuple[ArrayLike, ArrayLike] | None) -> Bools:
    """Return which channels of (…, channels, dimensions) hold neither a sentinel nor a value outside the valid range.

    Parameters
    ----------
    x
        Positions, NaN where missing.
    sentinels, valid
        As in `Gate`.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0, 3.0], [0.0, 0.0, 0.0], [1.0, 2.0, 99.0]])
    >>> usable(x, sentinels=[0.0], valid=(-50.0, 50.0))
    array([ True, False, False])
    """
    good = np.ones(x.shape[:-1], dtype=bool)
    for sentinel in sentinels:
        good &= (x != np.asarray(sentinel)).any(axis=-1)
    if valid is not None:
        low, high = (np.asarray(limit, dtype=float) for limit in valid)
        good &= ((x >= low) & (x <= high)).all(axis=-1)
    return good
