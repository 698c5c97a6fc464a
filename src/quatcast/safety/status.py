"""The status of a forecast, and forecasts that carry one."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quatcast.basics.annotations import is_number
from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.contract import Forecasts
from quatcast.safety.between import interpolate, widened
from quatcast.safety.points import Curve


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


UNIT_QUATERNIONS = {"orientation": slice(0, 4), "pose": slice(3, 7)}
"""Where the unit quaternions of a channel are, by space."""
SEVERITY = (Status.OK, Status.DEGRADED, Status.WARMING_UP, Status.HOLD)
"""The statuses, the best first."""


@dataclass(frozen=True)
class Forecast:
    """A forecast, its radius and its status; `numpy.asarray` of it gives `position`.

    With several horizons, `position` and `radius` have a leading axis of horizons, `statuses` and `reasons` have one
    entry for each in the same order, and `status` and `reason` are the worst of them.

    Attributes
    ----------
    position
        (channels, coordinates), of the moment asked for; NaN if there is none.
    radius
        (channels,): the true position lies within it with the probability asked for; NaN if not known yet. Angles in
        radians for orientations; (channels, 2) for poses, the radius of the position and that of the orientation.
    status, reason
        Whether the forecast can be used, and why not; the reason is empty if the status is ok.
    replaced
        (channels,), True where the newest sample was rejected and replaced.
    path
        Where the forecast comes from; see `at`.
    statuses, reasons
        Status and reason of each moment asked for.

    Examples
    --------
    >>> import quatcast
    >>> forecaster = quatcast.recommended(horizon=[0.2, 0.5, 1.0], rate=10.0)
    >>> for sample in quatcast.data.simulated(seconds=3)[1].positions:
    ...     forecast = forecaster.update(sample)
    >>> forecast.position.shape, forecast.radius.shape, forecast.at(0.33).position.shape
    ((3, 3, 3), (3, 3), (3, 3))
    """

    position: Floats
    radius: Floats
    status: Status
    reason: str
    replaced: Bools
    path: Path = field(repr=False)
    statuses: tuple[Status, ...] = field(repr=False)
    reasons: tuple[str, ...] = field(repr=False)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.position, dtype=dtype, copy=copy)

    def at(self, seconds: float) -> Forecast:
        """Return the forecast for any moment up to the longest horizon, by interpolation.

        Positions are interpolated by cubic polynomials through the newest sample and the horizons; the status is that
        of the next longer horizon. Radii are interpolated linearly; before the shortest horizon the radius is that of
        the shortest one. Interpolation over a long time has errors of its own: the radius contains the largest error
        between the two horizons as well.
        """
        if not is_number(seconds):
            last = float(self.path.seconds[-1])
            raise ValueError(f"seconds: expected a time above 0 and at most {last:g} s, got {seconds!r}")
        return self.path.forecast(float(seconds))

    def held(self, reason: str) -> Forecast:
        """Return the forecast with the status hold."""
        n, whole = len(self.statuses), len(self.path.statuses)
        path = replace(self.path, statuses=(Status.HOLD,) * whole, reasons=(reason,) * whole)
        held, reasons = (Status.HOLD,) * n, (reason,) * n
        return replace(self, status=Status.HOLD, reason=reason, path=path, statuses=held, reasons=reasons)


@dataclass(frozen=True)
class Path:
    """Forecasts for one or several horizons, and the sample that they were made at.

    Attributes
    ----------
    seconds
        (n,), the horizons, the shortest first.
    origin
        (channels, coordinates), the newest sample, filled in where it was rejected.
    positions, radii
        (n, channels, coordinates) and (n, channels); see `Forecast`.
    statuses, reasons
        One per horizon.
    replaced
        (channels,), True where the newest sample was rejected and replaced.
    between
        (n, channels), smallest radius in the gap before each horizon; None for any.
    unit
        Where a unit quaternion is among the coordinates, or None.
    curve
        The path in coordinates, which is interpolated between the horizons; None if positions are.

    Examples
    --------
    One channel moves by 4 per second along a line; its radius is 1 after half a second and 3 after a second:

    >>> path = Path(
    ...     seconds=np.array([0.5, 1.0]),
    ...     origin=np.array([[1.0]]),
    ...     positions=np.array([[[3.0]], [[5.0]]]),
    ...     radii=np.array([[1.0], [3.0]]),
    ...     statuses=(Status.OK, Status.DEGRADED),
    ...     reasons=("", "radius wide"),
    ...     replaced=np.array([False]),
    ... )
    >>> between = path.forecast(0.75)
    >>> between.position, between.radius, between.status.label
    (array([[4.]]), array([2.]), 'degraded')
    """

    seconds: Floats
    origin: Floats
    positions: Floats
    radii: Floats
    statuses: tuple[Status, ...]
    reasons: tuple[str, ...]
    replaced: Bools
    unit: slice | None = None
    between: Floats | None = None
    curve: Curve | None = None

    def forecast(self, seconds: Any) -> Forecast:
        """Return the forecast for one moment, or for a list of moments."""
        asked = np.atleast_1d(np.asarray(seconds, dtype=float))
        last = float(self.seconds[-1])
        if not ((asked > 0) & (asked <= last * (1 + 1e-9))).all():
            raise ValueError(f"seconds: expected a time above 0 and at most {last:g} s, got {seconds!r}")
        which = np.searchsorted(self.seconds, asked * (1 - 1e-9))
        if (np.abs(self.seconds[which] - asked) <= 1e-9 * last).all():
            return self.chosen(which if np.ndim(seconds) else which[0])
        position, radius = self._between(asked), self._radius(asked)
        if np.ndim(seconds) == 0:
            position, radius = position[0], radius[0]
        return self._judged(position, radius, which)

    def chosen(self, which: Any) -> Forecast:
        """Return the forecast for one of the horizons, by its number, or for several of them."""
        return self._judged(self.positions[which].copy(), self.radii[which].copy(), np.atleast_1d(which))

    def _judged(self, position: Floats, radius: Floats, which: NDArray[np.int64]) -> Forecast:
        """Return a forecast with the statuses of some horizons, and the worst of them."""
        statuses, reasons = tuple(self.statuses[i] for i in which), tuple(self.reasons[i] for i in which)
        worst = max(range(len(statuses)), key=lambda i: SEVERITY.index(statuses[i])) if len(statuses) > 1 else 0
        return Forecast(position, radius, statuses[worst], reasons[worst], self.replaced, self, statuses, reasons)

    def _between(self, asked: Floats) -> Floats:
        """Interpolate coordinates, or positions; quaternions are normalised."""
        if self.curve is not None:
            return self.curve.at(asked)
        x = np.concatenate([self.origin[None], self.positions])
        position = interpolate(np.append(0.0, self.seconds), x, asked)
        if self.unit is not None:
            q = position[..., self.unit]
            position[..., self.unit] = q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
        return position

    def _radius(self, asked: Floats) -> Floats:
        """Interpolate radii, that of the first horizon before it."""
        radii, t = np.concatenate([self.radii[:1], self.radii]), np.append(0.0, self.seconds)
        return widened(t, radii, np.zeros_like(self.radii) if self.between is None else self.between, asked)


@dataclass(frozen=True)
class GuardedForecasts(Forecasts):
    """Forecasts of a recording, each with its radius and status.

    Attributes
    ----------
    radius
        (T, channels). Row t belongs to the forecast OF sample t; NaN if there is none.
    status, reasons, replaced
        (T,), T texts and (T, channels): the status when sample t arrived.

    Examples
    --------
    >>> from quatcast import Guarded, LastPosition
    >>> samples = 5.0 * np.sin(np.arange(60.0))[:, None, None] * np.ones((1, 1, 3))
    >>> samples[-1] = np.nan
    >>> forecasts = Guarded(LastPosition(horizon=2), rate=10.0).run(samples)
    >>> Status(forecasts.status[50]).label, forecasts.replaced[-2:, 0]
    ('ok', array([False,  True]))
    """

    radius: Floats
    status: NDArray[np.int8]
    reasons: list[str]
    replaced: Bools


def placed(made: list[Floats], ahead: NDArray[np.int64], several: bool) -> Floats:
    """Place forecasts made at T samples at those that they are for: (horizons, T, …), NaN where there is none."""
    rows = np.stack(made)
    rows = rows.swapaxes(0, 1) if several else rows[None]
    placed = np.full_like(rows, np.nan)
    for i, h in enumerate(ahead):
        placed[i, h:] = rows[i, : len(made) - h]
    return placed if several else placed[0]


Judged = tuple[Floats, Status, str]
"""Radii, status and reason of a forecast for one horizon."""


def degraded(judged: Judged, why: str) -> Judged:
    """Add a reason; a status that was ok becomes degraded."""
    radius, status, reason = judged
    return radius, Status.DEGRADED if status == Status.OK else status, "; ".join(filter(None, (reason, why)))
