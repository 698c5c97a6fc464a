"""Silence: no sample that can be used arrives. The service sends a hold, and gives unusable samples as the reason."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace

import numpy as np

from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame, PathPoint
from quatcast.live.shapes import other_shape
from quatcast.safety.status import Status

HOLD = Status.HOLD.label
SEVERAL = 2
"""Number of unusable samples in a row from which on they are the reason of a silence."""


class Unusable:
    """What arrives instead of samples that can be used.

    Attributes
    ----------
    refused
        Number of samples that were refused, by kind.
    misshapen
        Number of samples with another shape than before.

    Examples
    --------
    >>> unusable, frame = Unusable(), Frame("chest", None, 0.1, 500.0, np.zeros((2, 3)))
    >>> unusable.drop(frame, "shape", (1, 3))
    'samples have 2 channels with 3 coordinates, expected 1 channel with 3; such samples are dropped and counted'
    >>> unusable.drop(frame, "shape", (1, 3))
    ''
    >>> unusable.instead(within=1.0)
    'samples have 2 channels with 3 coordinates, expected 1 channel with 3'
    """

    def __init__(self) -> None:
        self.refused, self.misshapen = Counter[str](), 0
        self.end()

    def refuse(self, kind: str, why: str) -> str:
        """Take note of a sample that is refused, and return what to report, for the first one of its kind only."""
        self._note(why)
        self.refused[kind] += 1
        return f"{why}; such samples are refused and counted" if self.refused[kind] == 1 else ""

    def drop(self, frame: Frame, why: str, shape: tuple[int, ...]) -> str:
        """Take note of a sample that the grid drops; return what to report, for the first one of another shape only."""
        if why != "shape":
            self._note(f"samples are dropped ({why})")
            return ""
        self._note(other_shape(frame.values.shape, shape))
        self.misshapen += 1
        return f"{self._words}; such samples are dropped and counted" if self.misshapen == 1 else ""

    def end(self) -> None:
        """Forget the unusable samples in a row, because a usable one has arrived."""
        self._row, self._at, self._words = 0, 0.0, ""

    def instead(self, within: float) -> str:
        """Return in words what has arrived within some seconds instead of usable samples; empty if nothing has."""
        return self._words if self._row >= SEVERAL and now() - self._at <= within else ""

    def _note(self, words: str) -> None:
        self._row, self._at, self._words = self._row + 1, now(), words


def hold_after(
    last: ForecastFrame, moment: float, silent: float, instead: str = "", *, busy: bool = False
) -> ForecastFrame:
    """Return a hold without positions.

    Parameters
    ----------
    last
        The newest forecast from a sample, not an earlier hold: the target times of this one are moved to the present.
    moment
        The present.
    silent
        Seconds since the last sample.
    instead
        What arrives instead of samples that can be used; empty if nothing does.
    busy
        Whether samples arrive and wait, because this machine is too slow.
    """
    reason = f"no sample for {math.floor(10 * silent) / 10:g} s" + (f": {instead}" if instead else "")
    nothing, channels = np.full(last.sample.shape, np.nan), len(last.filled)
    unknown, later = np.full(channels, np.nan), moment - last.time
    angles = None if last.angle_radius is None else unknown
    return replace(
        last,
        target_time=last.target_time + later,
        sent_time=moment,
        position=nothing,
        radius=unknown,
        status=HOLD,
        reason="samples wait, because this machine is too slow" if busy else reason,
        filled=np.ones(channels, dtype=bool),
        sample=nothing,
        path=tuple(PathPoint(point.target_time + later, nothing, unknown, HOLD, angles) for point in last.path),
        angle_radius=angles,
    )
