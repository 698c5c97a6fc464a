"""Frames and a cheap forecaster for tests of the live service."""

from __future__ import annotations

import numpy as np

from quatcast.data import simulated
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import RLS
from quatcast.live.frames import Frame
from quatcast.safety.guard import Guarded

POSITIONS = simulated(seconds=120)[1].positions
EPOCH = 1.7e9
"""A time of arrival, as large as real ones, so that rounding is real as well."""


def build_cheap(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str = "position") -> Guarded:
    """A forecaster that answers in a tenth of the time of the recommended one."""
    return Guarded(Forecaster(RLS(), horizon=round(horizons[0] * rate), lags=6, train=40), rate=rate, names=names)


def frame(number: int, *, rate: float = 10.0, delay: float = 0.004, values: np.ndarray | None = None) -> Frame:
    """Frame `number` of a tracker that started when our clock showed `EPOCH`."""
    time = number / rate
    position = POSITIONS[number % len(POSITIONS)] if values is None else values
    return Frame("chest", number, time, EPOCH + time + delay, position, ("lower", "upper", "chest"), "mm")
