"""The numbers of the samples of a recording, from times with jitter and gaps.

Without jitter, each step of the times is a whole multiple of the sampling interval, and the multiples count the
samples. With jitter a single step says little: at ±40 % of an interval, a step of 1.6 intervals may skip a sample or
not. What differs is the line through the times against the row numbers: jitter scatters about it, a missing sample
shifts all that follows.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from quatcast.basics.typing import Bools, Floats

CERTAIN = 2.5
"""Step, in median steps, from which samples are certainly missing."""
CANDIDATE = 1.15
"""Step, in sampling intervals, over which a sample may be missing."""
TUBE = 0.98
"""Width, in intervals, of the band about the line within which the times of rows without a gap lie."""
WINDOW = 16
"""Number of rows on each side of a step by which a shift of the line is measured."""
OFF = 0.25
"""Deviation of a step from whole intervals, in intervals, from which it is uneven."""
UNEVEN = 0.01
"""Share of uneven steps from which the steps alone do not count the samples."""
COARSE = 6
"""Number of gaps of one sample from which they may come from a clock with coarse ticks."""
WIDE = 1.5
"""Step, in median steps, from which a sample may be missing where each step varies by itself."""
LEAST_CORRELATION = -0.25
"""Correlation of a step with the next above which each step varies by itself."""
FEW = 100
"""Number of pairs of steps below which their correlation is not used."""
NEAR = 8
"""Number of rows on each side of a step by which it is a candidate for a gap."""
SHIFT = 0.4
"""Least shift of the line, in intervals, at a candidate."""
ROUNDS = 40
"""Most rounds of a search that ends by itself."""


def number(times: Floats) -> Floats:
    """Return the number of the sample of each row, from 0; it jumps where samples are missing.

    Parameters
    ----------
    times
        Increasing times of the rows, two or more.

    Examples
    --------
    >>> number(np.array([0.0, 0.1, 0.2, 0.5, 0.6]))
    array([0., 1., 2., 5., 6.])
    """
    steps = np.diff(times)
    counts = np.maximum(np.rint(steps / np.median(steps)), 1.0)
    index = _cumulated(counts)
    interval = slope(index, times)
    off = np.abs(steps / interval - np.maximum(np.rint(steps / interval), 1.0)) > OFF
    if off.mean() > UNEVEN:
        return _by_steps(times) if _accumulates(steps) else _by_line(times)
    if (counts == 2.0).sum() >= COARSE:
        # Ticks of 15.6 ms at 60 Hz look like 64 Hz with a sample missing now and then, as evenly as a beat.
        by_line = _by_line(times)
        if 3 * (np.diff(by_line) > 1).sum() < (counts > 1).sum():
            return by_line
    return index


def slope(index: Floats, times: Floats) -> float:
    """Return the slope of the straight line through times against numbers of samples: the sampling interval."""
    centred = index - index.mean()
    return float(centred @ (times - times[0]) / (centred @ centred))


def _cumulated(counts: Floats) -> Floats:
    return np.concatenate([[0.0], np.cumsum(counts)])


def _by_line(times: Floats) -> Floats:
    """Return the numbers of the samples by the shifts of the line through the times."""
    steps = np.diff(times)
    cuts = steps > CERTAIN * np.median(steps)
    interval = _common_slope(times, cuts)
    for _ in range(ROUNDS):
        new = _split(times, cuts, interval)
        if not new.any():
            break
        cuts = cuts | new
        interval = _common_slope(times, cuts)
    index = np.arange(len(times), dtype=float)
    for _ in range(ROUNDS):
        last, index = index, _count(times, cuts, interval)
        interval = slope(index, times)
        if np.array_equal(last, index):
            break
        cuts = np.diff(index) > 1
    return index


def _accumulates(steps: Floats) -> bool:
    """Tell whether each step varies by itself, as with a timer that begins anew after each sample.

    Jitter about even times lengthens one step and shortens the next, so that the correlation of both is -0.5.
    """
    usual = steps < WIDE * np.median(steps)
    pairs = usual[1:] & usual[:-1]
    if pairs.sum() < FEW:
        return False
    deviation = steps - steps[usual].mean()
    first, second = deviation[:-1][pairs], deviation[1:][pairs]
    spread = float(np.sqrt((first @ first) * (second @ second)))
    return spread > 0.0 and float(first @ second) > LEAST_CORRELATION * spread


def _by_steps(times: Floats) -> Floats:
    """Return the numbers of the samples by the steps, of which only those beyond the usual spread skip samples."""
    steps = np.diff(times)
    median = float(np.median(steps))
    spread = 1.4826 * float(np.median(np.abs(steps - median)))
    cuts = steps > max(WIDE * median, median + 4.0 * spread)
    interval = _common_slope(times, cuts)
    return _cumulated(np.where(cuts, np.maximum(np.rint(steps / interval), 1.0), 1.0))


def _common_slope(times: Floats, cuts: Bools) -> float:
    """Return the slope of parallel lines, one for each part between two cuts."""
    part = np.concatenate([[0], np.cumsum(cuts)])
    size = np.bincount(part)
    rows = np.arange(len(times), dtype=float)
    rows -= (np.bincount(part, rows) / size)[part]
    centred = times - (np.bincount(part, times) / size)[part]
    spread = float(rows @ rows)
    return float(rows @ centred) / spread if spread else float(np.median(np.diff(times)))


def _split(times: Floats, cuts: Bools, interval: float) -> Bools:
    """Return one new cut for each part whose times leave the band about the line: where the line shifts most."""
    level = times / interval - np.arange(len(times))
    candidates = (np.diff(times) > CANDIDATE * interval) & ~cuts & (_shifts(level, cuts) > SHIFT)
    edges = [0, *(np.flatnonzero(cuts) + 1).tolist(), len(times)]
    new = np.zeros(len(cuts), dtype=bool)
    for start, stop in pairwise(edges):
        part = level[start:stop]
        if stop - start < 2 or np.ptp(part) <= TUBE or not candidates[start : stop - 1].any():
            continue
        before = np.arange(1, stop - start)
        total = np.cumsum(part - part.mean())[:-1]
        # Only a shift to later times is a gap; then the rows before it lie below the mean.
        shift = np.where(candidates[start : stop - 1], -total, -np.inf)
        weighted = shift / np.sqrt(before * (stop - start - before))
        best = int(np.argmax(weighted))
        if weighted[best] > 0:
            new[start + best] = True
    return new


def _shifts(level: Floats, cuts: Bools) -> Floats:
    """Return for each step the mean of the rows after it minus that of the rows before it, between its cuts."""
    sums = np.concatenate([[0.0], np.cumsum(level - level[0])])
    at = np.arange(1, len(level))
    edges = np.concatenate([[0], np.flatnonzero(cuts) + 1, [len(level)]])
    part = np.searchsorted(edges, at - 1, side="right")
    start = np.maximum(edges[part - 1], at - NEAR)
    stop = np.minimum(np.maximum(edges[part], at + 1), at + NEAR)
    shifts: Floats = (sums[stop] - sums[at]) / (stop - at) - (sums[at] - sums[start]) / (at - start)
    return shifts


def _count(times: Floats, cuts: Bools, interval: float) -> Floats:
    """Return the numbers of the samples: at each cut, as many are missing as the line shifts by."""
    steps = np.diff(times) / interval
    level = (times - times[0]) / interval - np.arange(len(times))
    places = np.flatnonzero(cuts)
    ends = [*(places + 1).tolist(), len(times)][1:]
    missing = np.zeros(len(cuts))
    total = 0.0
    shifts = np.zeros(len(times))
    for place, end in zip(places.tolist(), ends, strict=True):
        first = place + 1
        start = max(0, first - WINDOW)
        before = float(np.mean(level[start:first] - shifts[start:first]))
        after = float(np.mean(level[first : min(end, first + WINDOW)]))
        # Jitter of up to half an interval on both sides limits what one step can skip.
        most, least = np.floor(steps[place]), max(np.ceil(steps[place]) - 2.0, 0.0)
        missing[place] = np.clip(np.rint(after - before) - total, least, most)
        total += missing[place]
        shifts[first:end] = total
    return _cumulated(missing + 1.0)
