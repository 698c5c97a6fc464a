"""Small operations on arrays with one entry per channel, without the overhead that general functions have.

A sample of a few channels takes many such operations, and a call of `numpy.sum` costs more than the sum.
"""

from __future__ import annotations

import numpy as np

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
