"""The times of a recording: measured rate, jitter and gaps."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.data.numbering import OFF, number, slope
from quatcast.data.wording import counted

NICE = 1e-7
"""A measured interval that is as near as this to a number with few digits is that number."""

WIDEST = 1.5
"""Longest step, in sampling intervals, over which values are interpolated although samples are missing there."""


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
        Number of steps that skip samples.
    missing
        Number of samples that the gaps skip.
    longest
        Longest step in seconds.
    given
        Whether the user gave the rate, and the times are those of counted samples.

    Examples
    --------
    >>> Timing(rate=10.0, jitter=0.0, uneven=0.0, gaps=1, missing=2, longest=0.3).sentence()
    '10 Hz measured, jitter 0 ms (0.0%), 1 gap of up to 0.3 s, 2 samples missing'
    """

    rate: float
    jitter: float
    uneven: float
    gaps: int
    missing: int
    longest: float
    given: bool = field(default=False, repr=False)

    def sentence(self) -> str:
        """Describe the timing in words."""
        text = f"{self.rate:.6g} Hz measured, jitter {1e3 * self.jitter:.3g} ms ({self.jitter * self.rate:.1%})"
        text = f"{self.rate:.6g} Hz given" if self.given else text
        if self.gaps:
            text += f", {counted(self.gaps, 'gap')} of up to {self.longest:.3g} s"
            text += f", {counted(self.missing, 'sample')} missing"
        return text + ("" if self.gaps else ", no gaps")


def measure(times: Floats) -> Timing:
    """Measure rate, jitter and gaps of increasing times, of which there are two or more.

    The interval is the slope of a straight line through the times against the numbers of the samples, which count the
    samples that the times skip; see `quatcast.data.numbering`. The median step alone would be wrong for times in whole
    milliseconds.
    """
    steps = np.diff(times)
    index = number(times)
    interval = slope(index, times)
    # Times in whole milliseconds scatter about the line; the interval is known as well as that allows.
    spread = float(np.sqrt(np.sum((index - index.mean()) ** 2)))
    scatter = float(np.std(times - times[0] - interval * index)) / spread
    tolerance = max(NICE, 3.0 * scatter / interval)
    interval = _nice(interval, tolerance)
    counts = np.diff(index)
    deviation = steps / interval - counts
    return Timing(
        rate=_nice(1.0 / interval, tolerance),
        jitter=round(float(np.sqrt(np.mean(deviation**2))) * interval, 9),
        uneven=float(np.mean(np.abs(deviation) > OFF)),
        gaps=int((counts > 1).sum()),
        missing=int((counts - 1).sum()),
        longest=round(float(steps.max()), 9),
    )


def _nice(value: float, tolerance: float) -> float:
    """Return the number of four digits nearby, if there is one within the tolerance."""
    short = float(f"{value:.4g}")
    return short if abs(short / value - 1.0) <= tolerance else value


def resample(times: Floats, values: Floats, rate: float, gaps: Bools | None = None) -> tuple[Floats, Floats]:
    """Interpolate rows at uneven times to an even grid that begins with the first row.

    A value of the grid lies on the straight line between the row before it and the row after it. It is known when the
    row after it has arrived; rows that come later do not change it, so that a program that reads the rows one by one
    gets the same values. It is missing (NaN) if there is a gap between both rows and they are more than one and a half
    sampling intervals apart.

    Parameters
    ----------
    times
        Increasing times of the rows in seconds, (rows,).
    values
        (rows, columns).
    rate
        Rate of the grid in Hz.
    gaps
        Whether samples are missing between a row and the next, (rows - 1,); by default every long step is a gap.

    Examples
    --------
    >>> resample(np.array([0.0, 0.08, 0.21]), np.array([[0.0], [0.8], [2.1]]), rate=10.0)
    (array([0. , 0.1, 0.2]), array([[0.],
           [1.],
           [2.]]))
    """
    interval = 1.0 / rate
    grid = times[0] + np.arange(int(np.floor((times[-1] - times[0]) * rate + 1e-9)) + 1) * interval
    after = np.clip(np.searchsorted(times, grid - 1e-9 * interval), 0, len(times) - 1)
    exact = np.abs(times[after] - grid) <= 1e-6 * interval
    before = np.where(exact, after, np.maximum(after - 1, 0))
    span = times[after] - times[before]
    share = np.where(span > 0, (grid - times[before]) / np.where(span > 0, span, 1.0), 0.0)[:, None]
    made = (1.0 - share) * values[before] + share * values[after]
    made[exact] = values[after[exact]]
    wide = span > WIDEST * interval
    made[wide if gaps is None else wide & gaps[np.minimum(before, len(gaps) - 1)]] = np.nan
    return np.round(grid, 9), made


def insert_missing(times: Floats, values: Floats, index: Floats) -> tuple[Floats, Floats]:
    """Insert rows of NaN where the numbers of the samples skip one or more; the other rows stay as they are.

    Examples
    --------
    >>> insert_missing(np.array([0.0, 0.1, 0.3]), np.array([[1.0], [2.0], [4.0]]), np.array([0.0, 1.0, 3.0]))
    (array([0. , 0.1, 0.2, 0.3]), array([[ 1.],
           [ 2.],
           [nan],
           [ 4.]]))
    """
    at = index.astype(int)
    made = np.full((at[-1] + 1, values.shape[1]), np.nan)
    made[at] = values
    all_times = np.round(np.interp(np.arange(len(made)), at, times), 9)
    all_times[at] = times
    return all_times, made
