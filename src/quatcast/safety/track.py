"""What a guard remembers: for each horizon the forecasts that have not matured, their radius and their status."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Counts, Floats
from quatcast.checkpoint import State
from quatcast.forecasting.charts import Chart
from quatcast.forecasting.contract import ForecasterState
from quatcast.safety.between import Between, Distances
from quatcast.safety.channels import finite, norm
from quatcast.safety.conformal import Conformal
from quatcast.safety.gated import Gated
from quatcast.safety.judgement import Judgement
from quatcast.safety.points import Points
from quatcast.safety.status import Judged
from quatcast.safety.steering import Target
from quatcast.safety.time_stamps import TimeStamps

FOLLOWED = 0.8
"""Share of a displacement that is followed if it was forecast within a gap, at the first target; then its powers."""


@dataclass
class Track(State):
    """Radius and status of the forecasts of one horizon.

    Attributes
    ----------
    horizon
        Samples ahead.
    conformal
        The radius.
    pending
        Forecasts of the samples that have not arrived.
    judgement
        What the status depends on.
    """

    horizon: int
    conformal: Conformal
    pending: deque[Floats]
    judgement: Judgement

    @classmethod
    def begin(
        cls, names: tuple[str, ...], dimensions: int, rate: float, horizon: int, level: float, warmup: int
    ) -> Track:
        """Return the track of channels of these names, before the first sample.

        `warmup` is the number of samples after which the usual accuracy can be expected.
        """
        conformal = Conformal(len(names), horizon, level)
        judgement = Judgement.begin(names, dimensions, rate, horizon, conformal.needed, warmup)
        return cls(horizon, conformal, deque(maxlen=horizon), judgement)

    def mature(self, gated: Gated, continued: Floats, distances: Distances | None = None) -> Floats:
        """Take in the errors of the forecasts of this sample, and return the radius (channels,).

        `distances` turns errors in coordinates into distances of points, if they differ.
        """
        errors = np.full(len(gated.lost), np.nan)
        if len(self.pending) == self.horizon:
            errors = norm(continued - self.pending[0])
            if distances is not None:
                errors = distances(errors[None], self.horizon, np.array([self.horizon]))[0]
            errors = np.where(gated.replaced, np.nan, errors)
            self.judgement.take_errors(errors, self.conformal.given)
        return self.conformal.update(errors)

    def judge(self, gated: Gated, continued: Floats, position: Floats, radius: Floats, fault: str) -> Judged:
        """Take in a sample and the forecast made at it; return its radius, its status and the reason."""
        radius = np.where(finite(position), radius, np.nan)
        self.pending.append(position)
        self.judgement.take_sample(gated, continued)
        status, reason = self.judgement.judge(gated, position, radius, fault)
        # Errors of the first experts would keep the radius wide long after the others have joined.
        enough = 2 * self.conformal.needed
        if self.judgement.warmup and self.judgement.age == self.judgement.warmup + self.horizon + enough:
            self.conformal.forget(enough)
        return radius, status, reason


@dataclass
class GuardState(ForecasterState):
    """What a guarded forecaster remembers.

    Attributes
    ----------
    chart
        Chart of the space.
    tracks
        Radius and status of each horizon.
    between
        Radii between the horizons.
    points
        The last forecasts as points of the space; None where coordinates are points.
    doubt
        (rows,), share of implausible samples in the last seconds.
    stamps
        The time stamps of the samples.
    pause
        Number of samples for which nothing is learnt.
    unlearnt
        Whether the forecaster has forecast and not learnt yet.
    """

    chart: Chart
    tracks: list[Track]
    between: Between
    points: Points | None
    doubt: Floats
    stamps: TimeStamps
    pause: int = 0
    unlearnt: bool = False

    def aim(self, lost: Counts) -> Target:
        """Return the expected positions of rows that were last observed `lost` samples before the newest one.

        That is the forecast made at the last observed sample, for the first horizon that reaches beyond the newest
        sample. Beyond all horizons it is the longest one's, made whenever the one before it was reached; because it
        was made from samples that were filled in, it is followed less and less.
        """
        horizons, recent = np.array([track.horizon for track in self.tracks]), self.between.recent
        which = np.minimum(np.searchsorted(horizons, lost, side="right"), len(horizons) - 1)
        since = lost % horizons[which]
        position = np.full(recent[-1][0].shape[1:] if recent else (len(lost), 1), np.nan)
        power = np.full(len(lost), np.nan)
        for row, (i, ago) in enumerate(zip(which, since, strict=True)):
            errors = self.tracks[i].conformal.state.errors[row]
            known = errors[np.isfinite(errors)]
            # A forecast whose errors are not known is not worth aiming at.
            if ago < len(recent) and len(known):
                now, later = recent[-1 - ago][0][[0, 1 + i], row]
                reached = (lost[row] - ago) // horizons[i]
                position[row] = now + FOLLOWED**reached * (later - now)
                power[row] = np.mean(known * known)
        return Target(position, horizons[which] - since, horizons[which], power)
