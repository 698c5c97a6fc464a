"""Detection of the sampling rate from the first seconds of a stream."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quatcast.basics.typing import Floats

SECONDS = 2.0
"""Length of the stream from which the rate is detected."""
FEWEST, MOST = 8, 400
"""Number of samples that are needed in any case, and number that is sufficient in any case."""
NEAR = 0.005
"""Relative difference up to which a round rate is preferred to the measured one."""
LOWEST, HIGHEST = 0.2, 2000.0
"""Range of rates in Hz."""
ROUND = (23.976, 29.97, 59.94, 119.88)
"""Rates of cameras that are not whole numbers."""


def detect_rate(times: Sequence[float] | Floats) -> float:
    """Return the sampling rate in Hz of times in seconds, some of which may be missing, repeated or out of order.

    The median step gives the number of periods in every step, and these give the mean period. A measured rate close to
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
    steps = steps[steps > 0.2 * np.median(steps)]
    typical = float(np.median(steps))
    periods = np.maximum(np.rint(steps / typical), 1.0)
    rate = float(periods.sum() / steps.sum())
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
