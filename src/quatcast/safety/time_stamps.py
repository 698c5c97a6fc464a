"""Time stamps of samples, compared with the sampling rate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real

from quatcast.checkpoint import State

STRAY = 0.5
"""Difference of a time stamp from the expected one, in sampling intervals, beyond which it does not fit the rate."""
STEPS = 50
"""Number of steps over which the rate of the time stamps is averaged."""
OTHER = 0.03
"""Relative difference beyond which the time stamps have another rate."""


@dataclass
class TimeStamps(State):
    """The time stamps so far.

    Attributes
    ----------
    last
        The newest one in seconds, NaN if the newest sample had none.
    step
        Mean of the last steps that fit, in sampling intervals.
    count
        Number of these steps.

    Examples
    --------
    >>> stamps = TimeStamps()
    >>> stamps.take(4, rate=10.0), stamps.take(4.1, rate=10.0), stamps.take(4.6, rate=10.0)
    ('', '', 'sample 0.5 s after the last one instead of 0.1 s')
    >>> [stamps.take(5 + i / 12, rate=10.0) for i in range(60)][-1]
    'time stamps at 12 Hz instead of 10 Hz'
    """

    last: float = math.nan
    step: float = 1.0
    count: int = 0

    def take(self, time: float | None, rate: float) -> str:
        """Take in the time stamp of a sample, None if it has none, and return what is wrong with it."""
        before, self.last = self.last, _as_time(time)
        step = (self.last - before) * rate
        if math.isnan(step):
            return ""
        if step < 0:
            return f"sample {before - self.last:.3g} s before the last one instead of {1 / rate:.3g} s after it"
        if abs(step - 1.0) > STRAY:
            return f"sample {self.last - before:.3g} s after the last one instead of {1 / rate:.3g} s"
        self.count += 1
        self.step += (step - self.step) / min(self.count, STEPS)
        if self.count < STEPS or abs(self.step - 1.0) <= OTHER:
            return ""
        return f"time stamps at {rate / self.step:.3g} Hz instead of {rate:g} Hz"


def _as_time(time: float | None) -> float:
    """Check a time stamp in seconds; NaN if there is none."""
    if time is None:
        return math.nan
    try:
        if isinstance(time, Real) and not isinstance(time, bool):
            return float(time)
    except OverflowError:  # a whole number that no float can hold
        pass
    raise ValueError(f"time: expected a number of seconds, or None, got {time!r}")
