"""Lateness: a forecast that leaves too late to act on it is a hold, and nothing is learnt from samples that waited."""

from __future__ import annotations

from dataclasses import replace

from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.silence import HOLD

BEHIND_PERIODS, BEHIND = 1, 0.01
"""Periods and seconds that a sample may have waited, the longer of which counts; after a longer wait nothing is learnt
from it, so that the service catches up instead of falling further behind."""

LATE = 50
"""Number of late forecasts in a row, each from a sample that has waited, after which the machine counts as too slow."""


def is_behind(frame: Frame, period: float) -> bool:
    """Return whether a sample has waited because this machine is too slow or too busy.

    Examples
    --------
    >>> import numpy as np
    >>> [is_behind(Frame("chest", 0, None, now() - waited, np.zeros((1, 3))), period=0.1) for waited in (0.05, 0.5)]
    [False, True]
    """
    return now() - frame.received > max(BEHIND_PERIODS * period, BEHIND)


def hold_if_late(answer: ForecastFrame, act_latency: float) -> tuple[ForecastFrame, bool]:
    """Return a forecast, as hold at the horizons for which it is late, and whether it is late at the first one.

    Parameters
    ----------
    answer
        The forecast, with the time when it leaves.
    act_latency
        Seconds before a target time by which a forecast has to leave.
    """
    earliest = answer.sent_time + act_latency
    late = earliest > answer.target_time
    if late:
        answer = replace(answer, status=HOLD, reason=f"late by {earliest - answer.target_time:.3g} s")
    if any(earliest > one.target_time for one in answer.path):
        path = (replace(one, status=HOLD) if earliest > one.target_time else one for one in answer.path)
        answer = replace(answer, path=tuple(path))
    return answer, late


class Overload:
    """Notices that samples come faster than this machine can forecast, so that somebody is told once what to do.

    Examples
    --------
    >>> overload = Overload()
    >>> overload.news(dropped=0, rate=1000.0)
    ''
    >>> overload.news(dropped=1, rate=1000.0)
    'samples come faster than this machine can forecast; give a --rate below 1000 Hz'
    >>> overload.news(dropped=2, rate=1000.0)
    ''
    """

    def __init__(self) -> None:
        self._row, self._told = 0, False

    def observe(self, late: bool) -> None:
        """Take note of a forecast, and whether it is late after its sample has waited here."""
        self._row = self._row + 1 if late else 0

    def news(self, dropped: int, rate: float) -> str:
        """Return what to tell, given the number of samples that were dropped because too many waited, and the rate."""
        if self._told or not (dropped or self._row >= LATE):
            return ""
        self._told = True
        return f"samples come faster than this machine can forecast; give a --rate below {rate:g} Hz"
