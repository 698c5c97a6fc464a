"""The status of a forecast, and forecasts that carry one."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quatcast.forecasting.contract import Forecasts
from quatcast.typing import Bools, Floats


class Status(IntEnum):
    """Whether a forecast can be used.

    Examples
    --------
    >>> [status.label for status in Status]
    ['warming up', 'ok', 'degraded', 'hold']
    """

    WARMING_UP = 0
    OK = 1
    DEGRADED = 2
    HOLD = 3

    @property
    def label(self) -> str:
        """The status in words."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Forecast:
    """One forecast, its radius and its status; `numpy.asarray` of it gives `position`.

    Attributes
    ----------
    position
        (channels, dimensions), of the sample `horizon` later; NaN if there is none.
    radius
        (channels,): the true position lies within it with the probability asked for; NaN if not known yet.
    status, reason
        Whether the forecast can be used, and why not; the reason is empty if the status is ok.
    replaced
        (channels,), True where the newest sample was rejected and replaced.

    Examples
    --------
    >>> forecast = Forecast(np.zeros((1, 3)), np.ones(1), Status.OK, "", np.array([False]))
    >>> np.asarray(forecast).shape, forecast.status.label
    ((1, 3), 'ok')
    """

    position: Floats
    radius: Floats
    status: Status
    reason: str
    replaced: Bools

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.position, dtype=dtype, copy=copy)


@dataclass(frozen=True)
class GuardedForecasts(Forecasts):
    """Forecasts of a recording, each with its radius and status.

    Attributes
    ----------
    radius
        (T, channels). Row t belongs to the forecast OF sample t; NaN if there is none.
    status, reasons, replaced
        (T,), T texts and (T, channels): the status when sample t arrived.
    """

    radius: Floats
    status: NDArray[np.int8]
    reasons: list[str]
    replaced: Bools
