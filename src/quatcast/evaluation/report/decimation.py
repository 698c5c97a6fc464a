"""Long lines with few points that look the same: the smallest and the largest value of each interval."""

from __future__ import annotations

import numpy as np

from quatcast.basics.typing import Floats


def decimate(x: Floats, y: Floats, points: int) -> tuple[Floats, Floats]:
    """Return at most `points` points of a line, with every extreme value that is visible at that resolution.

    The line is cut into intervals, and the smallest and the largest value of each are kept at their places. Where all
    values of an interval are missing, one of them is kept, so that the line is interrupted there.

    Parameters
    ----------
    x, y
        Coordinates of the points, (count,).
    points
        Greatest number of points, at least 2.

    Examples
    --------
    >>> y = np.zeros(1000)
    >>> y[567] = 5.0
    >>> x, short = decimate(np.arange(1000.0), y, points=20)
    >>> len(short), float(short.max()), float(x[short.argmax()])
    (20, 5.0, 567.0)
    """
    if len(y) <= points:
        return x, y
    bins = points // 2
    size = -(-len(y) // bins)
    bins = -(-len(y) // size)
    padded = np.full(bins * size, np.nan)
    padded[: len(y)] = y
    rows = padded.reshape(bins, size)
    empty = np.isnan(rows).all(axis=1)
    low = np.where(empty, 0, np.argmin(np.where(np.isnan(rows), np.inf, rows), axis=1))
    high = np.where(empty, 0, np.argmax(np.where(np.isnan(rows), -np.inf, rows), axis=1))
    start = np.arange(bins) * size
    index = np.sort(np.stack([start + low, start + high], axis=1), axis=1).ravel()
    return x[index], y[index]
