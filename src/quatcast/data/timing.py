"""The times of a recording: measured rate, jitter and gaps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.typing import Floats

NICE = 1e-4
"""A measured rate that is as near as this to a number with few digits is that number."""


@dataclass(frozen=True)
class Timing:
    """Sampling rate, jitter and gaps of a series of times.

    Attributes
    ----------
    rate
        Sampling rate in Hz.
    jitter
        Standard deviation of the steps from whole multiples of the sampling interval, in seconds.
    uneven
        Share of the steps that differ from a whole multiple of the interval by more than a quarter of it.
    gaps
        Number of steps over two intervals or more.
    missing
        Number of samples that the gaps skip.
    longest
        Longest step in seconds.

    Examples
    --------
    >>> measure(np.array([0.0, 0.1, 0.2, 0.5, 0.6]))
    Timing(rate=10.0, jitter=0.0, uneven=0.0, gaps=1, missing=2, longest=0.3)
    """

    rate: float
    jitter: float
    uneven: float
    gaps: int
    missing: int
    longest: float

    def sentence(self) -> str:
        """Describe the timing in words."""
        text = f"{self.rate:.6g} Hz measured, jitter {1e3 * self.jitter:.3g} ms ({self.jitter * self.rate:.1%})"
        if self.gaps:
            text += f", {self.gaps} gaps of up to {self.longest:.3g} s, {self.missing} samples missing"
        return text + ("" if self.gaps else ", no gaps")


def measure(times: Floats) -> Timing:
    """Measure rate, jitter and gaps of increasing times, of which there are two or more.

    The interval is the slope of a straight line through the times against the numbers of the samples, which counts the
    samples that the times skip. The median step alone would be wrong for times in whole milliseconds.
    """
    steps = np.diff(times)
    median = float(np.median(steps))
    counts = np.maximum(np.rint(steps / median), 1.0)
    index = np.concatenate([[0.0], np.cumsum(counts)])
    centred = index - index.mean()
    interval = float(centred @ (times - times[0]) / (centred @ centred))
    if not 0.8 < interval / median < 1.25:
        interval = median
    interval = _nice(interval)
    deviation = steps / interval - np.maximum(np.rint(steps / interval), 1.0)
    skipped = np.maximum(np.rint(steps / interval), 1.0) - 1.0
    return Timing(
        rate=_nice(1.0 / interval),
        jitter=round(float(np.sqrt(np.mean(deviation**2))) * interval, 9),
        uneven=float(np.mean(np.abs(deviation) > 0.25)),
        gaps=int((skipped > 0).sum()),
        missing=int(skipped.sum()),
        longest=round(float(steps.max()), 9),
    )


def _nice(value: float) -> float:
    """Return the number of three digits nearby, if there is one within the tolerance."""
    short = float(f"{value:.3g}")
    return short if abs(short / value - 1.0) <= NICE else value
