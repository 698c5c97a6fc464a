"""Detection of the sampling rate from the first seconds of a stream.

The rate is the slope of the line through the numbers of the samples and their times. With jitter a step of 1.5 periods
may skip a sample or not. Of all numbers of samples those are taken that cost least,

    n log(scatter) + 2 · missing,

where n is the number of times, `scatter` is the standard deviation of the times about the line in periods, and
`missing` is the number of samples that were lost. The first term is the negative logarithm of the likelihood, but for a
constant. The second term is needed because the scatter becomes smaller with more lost samples, whether there are any or
not.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.numbering import number, slope

SECONDS = 2.0
"""Length of the stream from which the rate is detected."""
FEWEST, MOST = 8, 400
"""Number of samples that are needed in any case, and number that is sufficient in any case."""
NEAR = 0.005
"""Relative difference up to which a round rate is preferred to the measured one."""
TOGETHER = 0.2
"""Step, in median steps, up to which messages arrive together."""
LOST = 2.0
"""Cost of a lost sample: the negative logarithm of a probability of 14 %."""
FINEST = 0.01
"""Scatter in periods below which numbers are not preferred for a smaller one."""
LOWEST, HIGHEST = 0.2, 2000.0
"""Range of rates in Hz."""
ROUND = (23.976, 29.97, 59.94, 119.88)
"""Rates of cameras that are not whole numbers."""


def detect_rate(times: Sequence[float] | Floats) -> float:
    """Return the sampling rate in Hz of times in seconds, some of which may be missing, repeated or out of order.

    Samples are numbered by their times, and the slope of the line through both is the period. A measured rate close to
    a whole number of Hz, or to one of the rates of video cameras, is replaced by it.

    Examples
    --------
    >>> detect_rate([0.0, 0.1001, 0.2, 0.2999, 0.4, 0.6, 0.7, 0.8001])
    10.0
    """
    ordered = np.unique(np.asarray(times, dtype=float))
    if len(ordered) < 3:
        raise ValueError(f"rate: expected 3 or more different times to detect it, got {len(ordered)}; give --rate")
    steps = np.diff(ordered)
    # Messages that arrive together, one right after the other, say nothing about the rate.
    apart = ordered[np.append(True, steps > TOGETHER * np.median(steps))]
    rate = 1.0 / slope(_numbers(apart), apart)
    nearest = min((*ROUND, float(max(round(rate), 1))), key=lambda known: abs(known - rate))
    rate = nearest if abs(nearest - rate) <= NEAR * rate else rate
    if not LOWEST <= rate <= HIGHEST:
        raise ValueError(
            f"rate: expected {LOWEST:g} to {HIGHEST:g} Hz, detected {rate:g} Hz; give --rate, or times in seconds"
        )
    return rate


def enough(times: Sequence[float]) -> bool:
    """Return whether a stream that was measured, or arrived, at these times is long enough to detect its rate.

    Messages that a network has held up arrive together. As long as most of them have, they do not show a rate.

    Examples
    --------
    >>> enough([0.0, 0.5, 1.0]), enough([0.1 * i for i in range(30)])
    (False, True)
    """
    count = len(times)
    if count < FEWEST or count >= MOST:
        return count >= MOST
    return times[-1] - times[0] >= SECONDS and float(np.median(np.diff(times))) >= 1 / HIGHEST


def _numbers(times: Floats) -> Floats:
    """Return the numbers of the samples that cost least, from 0, of those that two searches find."""
    steps = np.diff(times) / np.median(np.diff(times))
    beginnings = (np.maximum(np.rint(steps), 1.0), np.diff(number(times)))
    _, counts = min((_search(times, steps, counts) for counts in beginnings), key=lambda found: found[0])
    return np.append(0.0, np.cumsum(counts))


def _search(times: Floats, steps: Floats, counts: Floats) -> tuple[float, Floats]:
    """Return the least cost, and the number of periods per step, after changes of one period at a time.

    Parameters
    ----------
    times
        Increasing times.
    steps
        Their steps, in median steps.
    counts
        Number of periods per step with which the search begins.
    """
    centred = times - times.mean()
    later = _sums_after(centred)
    below = np.arange(len(times) - 1.0, 0.0, -1.0)  # number of samples after each step
    current = np.inf
    for _ in range(len(times)):  # rounding of extremely long steps must not prolong the search
        index = np.append(0.0, np.cumsum(counts))
        index -= index.mean()
        spread, product, missing = index @ index, index @ centred, float(np.sum(counts - 1.0))
        current = float(_cost(centred, spread, product, missing))
        tried = []
        for change in (-1.0, 1.0):
            # Jitter of up to half a period on both sides limits how many periods a step can have.
            allowed = (counts + change >= 1.0) & (np.abs(steps - counts - change) < 1.0)
            if not (places := np.flatnonzero(allowed)).size:
                continue
            # One period more or less moves all numbers after a step.
            spreads = spread + (2.0 * change * _sums_after(index) + below - below**2 / len(times))[places]
            costs = _cost(centred, spreads, product + change * later[places], missing + change)
            tried.append((float(costs.min()), int(places[costs.argmin()]), change))
        least, at, change = min(tried, default=(np.inf, 0, 0.0))
        if not least < current:
            break
        counts = counts.copy()
        counts[at] += change
    return current, counts


def _cost(centred: Floats, spread: Floats, product: Floats, missing: float) -> Floats:
    """Return the cost of numbers of samples.

    Parameters
    ----------
    centred
        Times minus their mean.
    spread, product
        Sums of the squares of the numbers, and of their products with the times, both about their means.
    missing
        Number of samples that were lost.
    """
    variance = ((centred @ centred) * (spread / product) ** 2 - spread) / len(centred)
    return np.asarray(0.5 * len(centred) * np.log(np.maximum(variance, 0.0) + FINEST**2) + LOST * missing)


def _sums_after(values: Floats) -> Floats:
    """Return for each step between values the sum of the values after it."""
    return np.cumsum(values[::-1])[-2::-1]
