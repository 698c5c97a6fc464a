"""A forecaster that can be relied on: a gate before it, a radius around it, and a status that says whether to use it.

The rules and their constants are written down for users in docs/safety.md.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.checkpoint import Kept
from quatcast.engine.threads import one_thread
from quatcast.forecasting.forecaster import Forecasts
from quatcast.forecasting.mixture import LARGEST
from quatcast.safety.conformal import Conformal
from quatcast.safety.gate import Gate, Gated, as_sample
from quatcast.typing import Bools, Floats

LOST = 3.0
"""Seconds after which a lost channel makes the forecast unusable."""
MOST_LOST = 0.5
"""The same where more than half of the channels are lost."""
SETTLE = 0.5
"""Seconds without a reason to hold before a hold ends."""
RECENT = 2.0
"""Seconds for which a filled-in sample or a shift is remembered."""
LATELY, USUALLY = 3.0, 60.0
"""Seconds over which errors are averaged, to compare those of late with the usual ones."""
WORSE = (1.5, 2.0)
"""Ratio of the two below which a channel is forecast well again, and above which it is not."""


class OnlineForecaster(Protocol):
    """What can be guarded: anything that takes samples one by one and forecasts."""

    @property
    def horizon(self) -> int:
        """Samples from the newest sample to the one that is forecast."""

    def update(self, sample: Floats, present: Bools | None = None) -> Floats:
        """Take in the newest sample (channels, dimensions) and forecast; NaN while there is no forecast.

        Where `present` (channels,) is False the position was filled in and must not be learnt from.
        """


class Status(IntEnum):
    """Whether a forecast can be used."""

    WARMING_UP = 0
    OK = 1
    DEGRADED = 2
    HOLD = 3

    @property
    def label(self) -> str:
        """In words."""
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True)
class Forecast:
    """One forecast, and how far to trust it.

    Attributes
    ----------
    position
        (channels, dimensions), of the sample `horizon` later; NaN where there is none.
    radius
        (channels,): the truth lies within it with the probability asked for; NaN where not known yet.
    status, reason
        Whether to use it, and why not; the reason is empty when all is well.
    replaced
        (channels,), True where the newest sample was not believed and was filled in.
    """

    position: Floats
    radius: Floats
    status: Status
    reason: str
    replaced: Bools


@dataclass(frozen=True)
class GuardedForecasts(Forecasts):
    """Forecasts of a recording, with a radius around each and a status.

    Attributes
    ----------
    radius
        (T, channels). Row t belongs to the forecast OF sample t; NaN where there is none.
    status, reasons, replaced
        (T,), T texts and (T, channels): what was said when sample t arrived.
    """

    radius: Floats
    status: NDArray[np.int8]
    reasons: list[str]
    replaced: Bools


class Guarded(Kept):
    """Forecast from samples that may be missing or wrong, with a radius and a status.

    Every sample goes through the gate; the forecaster sees what the gate lets through and is told what was filled in;
    the errors of forecasts that have matured make the radius; and all of it together makes the status. No sample,
    whatever numbers it holds, makes `update` fail: what goes wrong inside becomes a hold with its reason.

    Parameters
    ----------
    forecaster
        What forecasts; see `OnlineForecaster`. Hand in a fresh one.
    rate
        Samples a second.
    gate
        A fresh `Gate`; one with its usual settings where left out.
    level
        Probability with which a radius shall hold the truth.
    names
        What to call the channels in reasons; "channel 1", "channel 2", … where left out.

    Examples
    --------
    >>> from quatcast.data import simulated
    >>> from quatcast.forecasting.forecaster import Forecaster
    >>> from quatcast.learners import RLS
    >>> positions = simulated(seconds=50)[1].positions.copy()
    >>> positions[-13:, 1] = np.nan
    >>> guarded = Guarded(Forecaster(RLS(), horizon=5, lags=8), rate=10.0, names=("belly", "waist", "chest"))
    >>> forecasts = guarded.run(positions)
    >>> [Status(forecasts.status[t]).label for t in (100, 486, -1)], forecasts.reasons[-1]
    (['warming up', 'ok', 'degraded'], 'waist lost for 1.3 s')
    """

    def __init__(
        self,
        forecaster: OnlineForecaster,
        *,
        rate: float,
        gate: Gate | None = None,
        level: float = 0.95,
        names: Sequence[str] | None = None,
    ) -> None:
        if not 0 < level < 1:
            raise ValueError(f"level: a probability between 0 and 1, not {level!r}")
        self.forecaster, self.rate, self.level = forecaster, rate, level
        self.horizon = forecaster.horizon
        self.gate = gate or Gate(rate)
        self.names = tuple(names) if names is not None else None
        self._conformal: Conformal | None = None

    def update(self, sample: ArrayLike) -> Forecast:
        """Take in the newest sample (channels, dimensions), NaN where missing, and forecast."""
        x = as_sample(sample, None if self._conformal is None else self._shape)
        if self._conformal is None:
            self._begin(x)
        assert self._conformal is not None
        gated = self.gate.update(x)
        errors = self._mature(gated)
        radius = self._conformal.update(errors)
        with one_thread():
            position, fault = self._ask(gated)
        radius = np.where(_finite(position), radius, np.nan)
        self._pending.append(position)
        self._remember(gated)
        status, reason = self._judge(gated, position, radius, fault)
        return Forecast(position, radius, status, reason, gated.replaced)

    def run(self, positions: ArrayLike) -> GuardedForecasts:
        """Forecast a recording (T, channels, dimensions), NaN where missing, from here on as `update` does."""
        rows = np.asarray(positions)
        if rows.ndim != 3 or 0 in rows.shape:
            raise ValueError(f"positions: shape (T, channels, dimensions) expected, not {rows.shape}")
        h, T = self.horizon, len(rows)
        forecasts, radius = np.full(rows.shape, np.nan), np.full(rows.shape[:2], np.nan)
        status, replaced = np.zeros(T, dtype=np.int8), np.zeros(rows.shape[:2], dtype=bool)
        reasons = []
        for t, row in enumerate(rows):
            forecast = self.update(row)
            if t + h < T:
                forecasts[t + h], radius[t + h] = forecast.position, forecast.radius
            status[t], replaced[t] = forecast.status, forecast.replaced
            reasons.append(forecast.reason)
        weights = np.full(T, np.nan)
        return GuardedForecasts(forecasts, weights, h, "causal", 0, radius, status, reasons, replaced)

    def _begin(self, x: Floats) -> None:
        channels = len(x)
        self._shape = (channels, x.shape[1])
        if self.names is None:
            self.names = tuple(f"channel {i + 1}" for i in range(channels))
        if len(self.names) != channels:
            raise ValueError(f"sample: {len(self.names)} channels expected ({', '.join(self.names)}), not {channels}")
        self._conformal = Conformal(channels, self.horizon, self.level)
        self._pending: deque[Floats] = deque(maxlen=self.horizon)
        self._lately, self._usually = np.zeros(channels), np.zeros(channels)
        self._worse = np.zeros(channels, dtype=bool)
        self._low, self._high = np.full(x.shape, np.inf), np.full(x.shape, -np.inf)
        self._known = np.zeros(channels, dtype=np.int64)
        self._since_filled = np.full(channels, np.iinfo(np.int64).max // 2)
        self._since_shift = self._since_filled.copy()
        self._ready = False
        self._settling = 0
        self._held_for = ""

    # What a new sample tells.

    def _mature(self, gated: Gated) -> Floats:
        """Errors (channels,) of the forecasts of this sample, NaN where there is none that can be trusted."""
        if len(self._pending) < self.horizon:
            return np.full(len(gated.lost), np.nan)
        errors = np.sqrt(np.sum((gated.position - self._pending[0]) ** 2, axis=-1))
        errors = np.where(gated.replaced, np.nan, errors)
        known = np.isfinite(errors)
        self._known += known
        for mean, seconds in ((self._lately, LATELY), (self._usually, USUALLY)):
            gain = np.maximum(1.0 / np.maximum(self._known, 1), 1.0 / (seconds * self.rate))
            mean += np.where(known, gain * (errors - mean), 0.0)
        self._worse = self._lately > np.where(self._worse, *WORSE) * self._usually
        return errors

    def _ask(self, gated: Gated) -> tuple[Floats, str]:
        """The forecaster's forecast, NaN where it is none, and what went wrong."""
        try:
            made = np.asarray(self.forecaster.update(gated.position, present=~gated.replaced), dtype=float)
        except (ValueError, ArithmeticError, RuntimeError) as error:
            return np.full(gated.position.shape, np.nan), f"the forecaster failed: {error}"
        if made.shape != gated.position.shape:
            raise TypeError(f"forecaster: gave a forecast of shape {made.shape}, not {gated.position.shape}")
        sound = (np.abs(made) <= LARGEST).all(axis=-1)
        return np.where(sound[:, None], made, np.nan), ""

    def _remember(self, gated: Gated) -> None:
        seen = ~gated.replaced[:, None]
        self._low = np.where(seen, np.minimum(self._low, gated.position), self._low)
        self._high = np.where(seen, np.maximum(self._high, gated.position), self._high)
        self._since_filled = np.where(gated.replaced, 0, self._since_filled + 1)
        self._since_shift = np.where(np.array(gated.reasons) == "shift", 0, self._since_shift + 1)

    # What to say about it.

    def _judge(self, gated: Gated, position: Floats, radius: Floats, fault: str) -> tuple[Status, str]:
        made, sure = _finite(position), np.isfinite(radius)
        self._ready = self._ready or bool(made.all() and sure.all())
        if not self._ready and not fault:
            return Status.WARMING_UP, self._warming(made)
        hold = [fault] if fault else self._reasons_to_hold(gated, position, made)
        if hold:
            self._settling, self._held_for = round(SETTLE * self.rate), "; ".join(hold)
            return Status.HOLD, self._held_for
        if self._settling > 0:
            self._settling -= 1
            return Status.HOLD, f"for {SETTLE:g} s after: {self._held_for}"
        if not sure.all():
            return Status.WARMING_UP, self._warming(made)
        doubts = self._reasons_to_doubt(gated)
        return (Status.DEGRADED, "; ".join(doubts)) if doubts else (Status.OK, "")

    def _warming(self, made: Bools) -> str:
        assert self._conformal is not None
        unseen = np.isinf(self._low[:, 0])
        if unseen.any():
            return f"{self._list(unseen)} not seen yet"
        if not made.all():
            return "no forecast yet"
        needed = self._conformal.needed
        return f"{min(int(self._known.min()), needed - 1)} of {needed} errors known that a radius needs"

    def _reasons_to_hold(self, gated: Gated, position: Floats, made: Bools) -> list[str]:
        reasons = []
        if not made.all():
            return [f"no finite forecast of {self._list(~made)}"]
        # A network that runs away is seen here at once, and in its errors only a horizon later.
        room = np.sqrt(np.sum((self._high - self._low) ** 2, axis=-1, keepdims=True))
        away = ((position < self._low - room) | (position > self._high + room)).any(axis=-1)
        if away.any():
            reasons.append(f"forecast of {self._list(away)} far from anywhere it has been")
        seconds = gated.lost / self.rate
        long = seconds > LOST
        most = seconds >= MOST_LOST
        if long.any():
            reasons.append(self._lost(long, seconds))
        elif 2 * most.sum() > len(most):
            reasons.append(self._lost(most, seconds))
        return reasons

    def _reasons_to_doubt(self, gated: Gated) -> list[str]:
        seconds = gated.lost / self.rate
        missing = gated.replaced & (np.array(gated.reasons) == "missing")
        wrong = gated.replaced & ~missing
        recent = RECENT * self.rate
        moved = ~gated.replaced & (self._since_shift < recent)
        filled = ~gated.replaced & ~moved & (self._since_filled < recent)
        reasons = []
        if missing.any():
            reasons.append(self._lost(missing, seconds))
        if wrong.any():
            reasons.append(f"{self._list(wrong)} implausible for {seconds[wrong].max():.1f} s")
        if moved.any():
            ago = self._since_shift[moved].min() / self.rate
            reasons.append(f"{self._list(moved)} moved to a new place {ago:.1f} s ago")
        if filled.any():
            ago = self._since_filled[filled].min() / self.rate
            reasons.append(f"{self._list(filled)} filled in {ago:.1f} s ago")
        if self._worse.any():
            times = (self._lately[self._worse] / self._usually[self._worse]).max()
            reasons.append(f"errors of {self._list(self._worse)} {times:.1f} times as large as usual")
        return reasons

    def _lost(self, which: Bools, seconds: Floats) -> str:
        return f"{self._list(which)} lost for {seconds[which].max():.1f} s"

    def _list(self, which: Bools) -> str:
        assert self.names is not None
        return " and ".join(name for name, named in zip(self.names, which, strict=True) if named)


def _finite(position: Floats) -> Bools:
    return np.asarray(np.isfinite(position).all(axis=-1))
