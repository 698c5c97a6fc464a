"""What travels through the live service: samples as they arrive, and forecasts as they are sent.

Transports translate between these two and what goes over a wire. Times are seconds since 1970 on the clock of this
machine, except the time of a device, which is seconds on the device's own clock.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.safety.status import Status

STATUSES = tuple(status.label for status in Status)
"""Labels of the status, in the order of their numbers."""
UNUSABLE = (Status.WARMING_UP.label, Status.HOLD.label)
"""Status labels of forecasts that must not be used."""


class FrameError(ValueError):
    """A message that is not a valid sample; the text says what is wrong with it.

    Examples
    --------
    >>> from quatcast.live import parse_sample
    >>> try:
    ...     parse_sample(b"1, 2, three", "chest", received=0.0)
    ... except FrameError as error:
    ...     print(error)
    column 3: expected a finite number or an empty cell, got 'three'
    """


class ChecksumError(FrameError):
    """A message whose checksum does not match: it was changed on its way."""


@dataclass(frozen=True)
class Frame:
    """One sample as it arrived.

    Attributes
    ----------
    stream
        Name of the stream.
    sequence
        Number that the sender gave, or None.
    device_time
        Time of the measurement on the clock of the device, or None.
    received
        Time of arrival on the clock of this machine.
    values
        (channels, dimensions), NaN where not seen.
    names
        Names of the channels; empty if the sender gives none.
    unit
        Unit of the values; empty if unknown.

    Examples
    --------
    >>> frame = Frame("chest", 812, 81.2, 1763226000.12, np.array([[1.2, 3.4, 5.6], [np.nan] * 3]), ("lower", "upper"))
    >>> frame.values.shape
    (2, 3)
    """

    stream: str
    sequence: int | None
    device_time: float | None
    received: float
    values: Floats
    names: tuple[str, ...] = ()
    unit: str = ""


@dataclass(frozen=True)
class PathPoint:
    """A forecast for one of several horizons.

    Attributes
    ----------
    target_time
        Time that it is for, on the clock of this machine.
    position, radius
        (channels, dimensions) and (channels,), NaN where there is none.
    status
        Label of the status, for example "ok".
    angle_radius
        (channels,), the radius of the orientations of poses, in radians; None in other spaces.

    Examples
    --------
    >>> PathPoint(1763226001.0, np.zeros((2, 3)), np.ones(2), "ok").status
    'ok'
    """

    target_time: float
    position: Floats
    radius: Floats
    status: str
    angle_radius: Floats | None = None


@dataclass(frozen=True)
class ForecastFrame:
    """One forecast as it is sent.

    Attributes
    ----------
    stream
        Name of the stream.
    sequence
        Number of the sample on the service's grid.
    time, target_time, sent_time
        Time of the newest sample, time that the forecast is for, and time when it left.
    position, radius
        (channels, dimensions) and (channels,), NaN where there is none.
    status, reason
        Label of the status ("warming up", "ok", "degraded", "hold"), and why it is not ok.
    filled
        (channels,), True where the newest sample was missing or rejected, and was filled in.
    sample
        (channels, dimensions), the newest sample on the grid as it was given to the forecaster, NaN where missing.
    names, unit
        Names of the channels, and the unit of positions and radii; empty if unknown.
    path
        Forecasts for further horizons, in order of time; empty with a single horizon.
    angle_radius
        (channels,), the radius of the orientations of poses, in radians; None in other spaces. `radius` is then that of
        their positions.

    Examples
    --------
    >>> forecast = ForecastFrame(
    ...     "chest", 7, 10.0, 10.5, 10.01, np.ones((1, 3)), np.ones(1), "ok", "", np.array([False]), np.zeros((1, 3)))
    >>> forecast.target_time - forecast.time
    0.5
    """

    stream: str
    sequence: int
    time: float
    target_time: float
    sent_time: float
    position: Floats
    radius: Floats
    status: str
    reason: str
    filled: Bools
    sample: Floats
    names: tuple[str, ...] = ()
    unit: str = ""
    path: tuple[PathPoint, ...] = ()
    angle_radius: Floats | None = None


def radii_by_kind(forecast: ForecastFrame | PathPoint, kinds: int) -> Floats:
    """Return the radii (kinds, channels) of a forecast; poses have two kinds, the second of which may be missing (NaN).

    Examples
    --------
    >>> radii_by_kind(PathPoint(1763226001.0, np.zeros((2, 7)), np.ones(2), "ok"), kinds=2).tolist()
    [[1.0, 1.0], [nan, nan]]
    """
    radii = np.full((kinds, len(forecast.radius)), np.nan)
    radii[0] = forecast.radius
    if kinds > 1 and forecast.angle_radius is not None:
        radii[1] = forecast.angle_radius
    return radii
