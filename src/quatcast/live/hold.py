"""The forecast that is sent while no samples arrive: a hold without positions."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from quatcast.live.frames import ForecastFrame, PathPoint
from quatcast.safety.status import Status

HOLD = Status.HOLD.label


def hold_after(last: ForecastFrame, moment: float, silent: float, instead: str = "") -> ForecastFrame:
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
    """
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
        reason=f"no sample for {math.floor(10 * silent) / 10:g} s" + (f": {instead}" if instead else ""),
        filled=np.ones(channels, dtype=bool),
        sample=nothing,
        path=tuple(PathPoint(point.target_time + later, nothing, unknown, HOLD, angles) for point in last.path),
        angle_radius=angles,
    )
