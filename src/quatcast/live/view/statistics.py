"""Errors, coverage, latency and loss over the last minutes, computed from forecasts as they are sent.

A forecast is scored once its time has come: the error is the distance to the position at that very time, interpolated
between the two samples around it. The distance of two orientations is an angle, and poses have both. Only forecasts
that could be used are scored, that is, those with the status ok or degraded. Sums over bins of ten seconds are kept, so
that memory is bounded whatever the sampling rate.
"""

from __future__ import annotations

import math
from collections import deque
from typing import Any

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.spaces import find_space
from quatcast.live.frames import ForecastFrame, PathPoint, radii_by_kind
from quatcast.live.grid import interpolate
from quatcast.live.view.rows import SAME_TIME, horizons

BIN = 10.0
"""Duration of a bin in seconds."""
BINS = 30
"""Number of bins: five minutes."""
ENOUGH = 0.3
"""Samples that a bin must have to be shown, relative to the fullest one."""
RECENT = 6
"""Number of bins of "the last minute"."""
LONGEST_GAP = 0.5
"""Longest time between two samples between which the true position is interpolated, in seconds."""
MAX_PENDING = 4096
"""Largest number of forecasts per horizon that wait for their time; the oldest are left out."""
MAX_AGES = 6000
"""Largest number of latencies from which the quantiles are computed."""
USABLE = ("ok", "degraded")


class Bin:
    """Sums over ten seconds, (4, kinds, horizons, channels): see `_figures`; and lost samples (channels,)."""

    def __init__(self, index: int, shape: tuple[int, int, int]) -> None:
        self.index, self.sums = index, np.zeros((4, *shape))
        self.lost, self.samples = np.zeros(shape[-1]), 0


class Statistics:
    """Running figures of one stream for `horizons` horizons and `channels` channels in a space.

    Examples
    --------
    >>> statistics = Statistics(1, 1)
    >>> wrong, radius, still = np.array([[0.0, 0.0, 2.0]]), np.array([1.0]), np.zeros((1, 3))
    >>> for k in range(40):  # ten samples per second of something that does not move
    ...     t = k / 10
    ...     statistics.add(
    ...         ForecastFrame("s", k, t, t + 0.2, t + 0.01, wrong, radius, "ok", "", np.array([False]), still)
    ...     )
    >>> statistics.summary()["rmse"], statistics.summary()["coverage"]
    ([[2.0]], [[0.0]])
    """

    def __init__(self, horizons: int, channels: int, space: str = "position") -> None:
        self._space = find_space(space, rate=1.0)  # Distances are the same at any rate.
        self._shape = (len(self._space.kinds), horizons, channels)
        self._bins: deque[Bin] = deque(maxlen=BINS)
        self._pending: list[deque[PathPoint]] = [deque(maxlen=MAX_PENDING) for _ in range(horizons)]
        self._times: deque[float] = deque(maxlen=MAX_AGES)
        self._ages: deque[float] = deque(maxlen=MAX_AGES)
        self._last: tuple[float, Floats] | None = None

    def add(self, frame: ForecastFrame) -> None:
        """Take a forecast, and score those whose time has come with its sample."""
        channels = self._shape[-1]
        now = self._bin(frame.time)
        now.samples += 1
        now.lost += frame.filled[:channels]
        self._times.append(frame.time)
        self._ages.append(frame.sent_time - frame.time)
        sample = np.where(frame.filled[:channels, None], np.nan, frame.sample[:channels])
        for index, point in enumerate(horizons(frame)):
            self._score(index, frame.time, sample, now)
            if point.status in USABLE:
                self._pending[index].append(point)
        self._last = (frame.time, sample)

    def summary(self) -> dict[str, Any]:
        """Return the figures as plain values for JSON, None where there is no figure.

        Returns
        -------
        dict
            For the last minute `rmse` and `coverage` (horizons, channels), `lost` (channels,), `age` with the median
            and the 99th percentile in seconds, and `rate` in Hz. For the last five minutes `bins`, with the index of
            each bin of ten seconds and RMSE and coverage over all channels (bins, horizons). Errors of orientations are
            in radians. Of poses, these are the figures of the positions; `angle_rmse` and `angle_coverage`, for the
            last minute, are those of the orientations.
        """
        recent = [b for b in self._bins if b.index > self._bins[-1].index - RECENT]
        times = np.fromiter(self._times, float, len(self._times))
        with np.errstate(invalid="ignore", divide="ignore"):
            rmse, coverage = _figures(sum((b.sums for b in recent), np.zeros((4, *self._shape))))
            lost = sum((b.lost for b in recent), np.zeros(self._shape[-1])) / sum(b.samples for b in recent)
            # A bin that has just begun would say more about chance than about the forecasts.
            fullest = max((b.samples for b in self._bins), default=0)
            shown = [b for b in self._bins if b.samples >= ENOUGH * fullest]
            bins = {
                "seconds": BIN,
                "index": [b.index for b in shown],
                "rmse": _plain([_figures(b.sums[:, 0].sum(-1))[0] for b in shown]),
                "coverage": _plain([_figures(b.sums[:, 0].sum(-1))[1] for b in shown]),
            }
        angles = {"angle_rmse": _plain(rmse[1]), "angle_coverage": _plain(coverage[1])} if len(rmse) > 1 else {}
        return {
            "rmse": _plain(rmse[0]),
            "coverage": _plain(coverage[0]),
            **angles,
            "lost": _plain(lost),
            "age": self._age(times),
            "rate": self._rate(times),
            "bins": bins,
        }

    def _bin(self, time: float) -> Bin:
        index = math.floor(time / BIN)
        if not self._bins or self._bins[-1].index != index:
            self._bins.append(Bin(index, self._shape))
        return self._bins[-1]

    def _score(self, index: int, time: float, sample: Floats, now: Bin) -> None:
        """Score the forecasts for one horizon that are for a time up to `time`."""
        pending = self._pending[index]
        while pending and pending[0].target_time <= time + SAME_TIME:
            point = pending.popleft()
            truth = self._truth(point.target_time, time, sample)
            if truth is None:
                continue
            kinds, _, channels = self._shape
            error = self._space.distance(point.position[:channels], truth).reshape(kinds, channels)
            known = np.isfinite(error)
            radius = radii_by_kind(point, kinds)[:, :channels]
            judged: Bools = known & np.isfinite(radius)
            now.sums[:, :, index] += [np.where(known, error, 0.0) ** 2, known, judged & (error <= radius), judged]

    def _truth(self, target: float, time: float, sample: Floats) -> Floats | None:
        """Return the sample at `target`, which is not after the newest one; None if it is not known."""
        if abs(target - time) <= SAME_TIME:
            return sample
        if self._last is None or time - self._last[0] > LONGEST_GAP or target < self._last[0]:
            return None
        before, earlier = self._last
        return interpolate(earlier, sample, (target - before) / (time - before), self._space.name)

    def _age(self, times: Floats) -> list[float | None]:
        """Return the median and the 99th percentile of the latency."""
        if not times.size:
            return [None, None]
        ages = np.fromiter(self._ages, float, len(self._ages))[times > times[-1] - RECENT * BIN]
        quantiles: list[float | None] = _plain(np.quantile(ages, [0.5, 0.99]))
        return quantiles

    def _rate(self, times: Floats) -> float | None:
        """Return the usual number of samples per second, which a pause does not change."""
        recent = times[times > times[-1] - BIN] if times.size else times
        period = float(np.median(np.diff(recent))) if recent.size > 1 else 0.0
        return 1 / period if period > 0 else None


def _figures(sums: Floats) -> tuple[Floats, Floats]:
    """Return RMSE and coverage from the squares and the number of errors, those within a radius, those with one."""
    return np.sqrt(sums[0] / sums[1]), sums[2] / sums[3]


def _plain(values: Any) -> Any:
    """Return an array as nested lists of floats with None for NaN."""
    if isinstance(values, list) or np.ndim(values):
        return [_plain(value) for value in values]
    return float(values) if math.isfinite(values) else None
