"""The guarded forecaster: a gate before a forecaster, a radius around its forecasts, and a status.

docs/safety.md explains the rules and their constants for users.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.engine.threads import one_thread
from quatcast.forecasting.contract import (
    LARGEST,
    ForecasterState,
    OnlineForecaster,
    as_observed,
    as_recording,
    as_sample,
    mark_of,
    positions_of,
    rewind_to,
    satisfies_contract,
)
from quatcast.safety.channels import every, finite, norm, some
from quatcast.safety.conformal import Conformal
from quatcast.safety.gate import Gate, Gated
from quatcast.safety.judgement import RECENT, Judgement
from quatcast.safety.status import Forecast, GuardedForecasts, Status
from quatcast.typing import Bools, Floats

PAUSE = 6.0
"""Seconds without learning after a jump within the usual range: the longest inputs contain it for so long."""
UNRELIABLE = 0.25
"""Share of implausible samples in the last seconds above which nothing is learnt."""
FAILURES = (ValueError, ArithmeticError, RuntimeError, TypeError, LookupError, AttributeError)
"""Errors of a forecaster that become a hold."""


@dataclass
class GuardState(ForecasterState):
    """What a guarded forecaster remembers. Arrays have one entry per channel.

    Attributes
    ----------
    conformal
        The radius.
    pending
        Forecasts of the samples that have not arrived.
    judgement
        What the status depends on.
    doubt
        Share of implausible samples in the last seconds.
    pause
        Number of samples for which nothing is learnt.
    unlearnt
        Whether the forecaster has forecast and not learnt yet.
    """

    conformal: Conformal
    pending: deque[Floats]
    judgement: Judgement
    doubt: Floats
    pause: int = 0
    unlearnt: bool = False


class Guarded(OnlineForecaster):
    """Forecast from samples that may be missing or wrong, with a radius and a status.

    Every sample passes the gate; the forecaster receives what the gate lets through and is told which channels were
    observed; the errors of matured forecasts determine the radius; and all of this together determines the status. No
    numbers in a sample make `update` fail. If the forecaster raises an error, everything in it is as it was before the
    sample, and the status is hold with the error as its reason.

    Parameters
    ----------
    forecaster
        Any forecaster that satisfies the online contract; see `OnlineForecaster`. Several runs count as their mean.
    rate
        Sampling rate in Hz.
    gate
        A `Gate`; by default one with its usual settings.
    level
        Target coverage of the radius.
    names
        Names of the channels in reasons; by default "channel 1", "channel 2", …

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
    (['warming up', 'ok', 'degraded'], 'waist lost for 1.3 s, ends 1.3 s after it is seen again')
    """

    state: GuardState

    def __init__(
        self,
        forecaster: OnlineForecaster,
        *,
        rate: float,
        gate: Gate | None = None,
        level: float = 0.95,
        names: Sequence[str] | None = None,
    ) -> None:
        if not satisfies_contract(forecaster):
            raise ValueError(f"forecaster: expected horizon, begin, forecast and learn, got {forecaster!r}")
        if getattr(forecaster, "labels", "causal") != "causal":
            raise ValueError('forecaster: expected labels="causal", because samples ahead are not known')
        if not 0 < level < 1:
            raise ValueError(f"level: expected a probability between 0 and 1, got {level!r}")
        self.forecaster, self.rate, self.level = forecaster, rate, level
        self.horizon = forecaster.horizon
        self.gate = gate or Gate(rate)
        self.names = None if names is None else tuple(names)
        self._before: Any = None

    # The online contract.

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew with gate and forecaster, for samples of a shape (channels, dimensions)."""
        channels = shape[0]
        names = self.names or tuple(f"channel {i + 1}" for i in range(channels))
        if len(names) != channels:
            raise ValueError(f"sample: expected {len(names)} channels ({', '.join(names)}), got {channels}")
        self.gate.begin(shape)
        self.forecaster.begin(shape)
        conformal = Conformal(channels, self.horizon, self.level)
        self.state = GuardState(
            shape=shape,
            conformal=conformal,
            pending=deque(maxlen=self.horizon),
            judgement=Judgement.begin(names, shape[1], self.rate, self.horizon, conformal.needed),
            doubt=np.zeros(channels),
        )

    def forecast(self, sample: Floats, observed: Bools | None = None) -> Forecast:
        """Check and take in the newest sample (channels, dimensions), NaN where missing, and forecast.

        `observed` (channels,) tells which channels were really seen; the others are missing whatever they hold.
        """
        before = self.mark()
        with self._whole_or_undone(before):
            return self._forecast(sample, observed, before)

    @contextmanager
    def _whole_or_undone(self, before: Any) -> Iterator[None]:
        """Undo everything since a mark if an error occurs."""
        try:
            with one_thread(), np.errstate(all="ignore"):
                yield
        except BaseException:
            self.rewind(before)
            raise

    def _forecast(self, sample: ArrayLike, observed: ArrayLike | None, before: Any) -> Forecast:
        x = as_sample(sample, finite=False)
        if observed is not None:
            x = np.where(as_observed(observed, len(x))[:, None], x, np.nan)
        self._ready(x.shape)
        gated = self.gate.judge(x)
        # Without its offset a channel continues where it was before a shift.
        continued = gated.position - gated.offset
        radius = self.state.conformal.update(self._mature(gated, continued))
        position, fault = self._ask(gated, continued, before)
        if some(gated.still):
            # A channel that has never moved is expected to stay where it is.
            position = np.where(gated.still[:, None], continued, position)
        radius = np.where(finite(position), radius, np.nan)
        self.state.pending.append(position)
        judgement = self.state.judgement
        judgement.take_sample(gated, continued)
        status, reason = judgement.judge(gated, position, radius, fault)
        return Forecast(position + gated.offset, radius, status, reason, gated.replaced)

    def learn(self) -> None:
        """Let the forecaster learn; an error undoes its step and becomes a hold."""
        if self.begun and self.state.unlearnt:
            # A guard that was saved after its forecast can only go back to there.
            self._before = self._before or self.mark()
            with self._whole_or_undone(self._before):
                self._learn()

    def update(self, sample: ArrayLike, observed: ArrayLike | None = None) -> Forecast:
        """Check the newest sample (channels, dimensions), NaN where missing, forecast, and learn from it."""
        before = self.mark()
        with self._whole_or_undone(before):
            made = self._forecast(sample, observed, before)
            fault = self._learn()
        return replace(made, status=Status.HOLD, reason=fault) if fault else made

    def run(self, positions: ArrayLike) -> GuardedForecasts:
        """Forecast a recording (T, channels, dimensions), NaN where missing: begin anew, then `update` row by row."""
        rows = as_recording(positions, finite=False)
        h, T = self.horizon, len(rows)
        forecasts, radius = np.full(rows.shape, np.nan), np.full(rows.shape[:2], np.nan)
        status, replaced = np.zeros(T, dtype=np.int8), np.zeros(rows.shape[:2], dtype=bool)
        reasons = []
        self._begin_anew((rows.shape[1], rows.shape[2]))
        for t, row in enumerate(rows):
            forecast = self.update(row)
            if t + h < T:
                forecasts[t + h], radius[t + h] = forecast.position, forecast.radius
            status[t], replaced[t] = forecast.status, forecast.replaced
            reasons.append(forecast.reason)
        weights = np.full(T, np.nan)
        return GuardedForecasts(forecasts, weights, h, "causal", 0, radius, status, reasons, replaced)

    def mark(self) -> Any:
        """Return what `rewind` needs to undo the next step."""
        return super().mark(), self.gate.mark(), mark_of(self.forecaster)

    def rewind(self, mark: Any) -> None:
        """Undo the step since `mark`, in the gate and the forecaster too."""
        own, gate, forecaster = mark
        super().rewind(own)
        self.gate.rewind(gate)
        rewind_to(self.forecaster, forecaster)

    # What a new sample tells.

    def _mature(self, gated: Gated, continued: Floats) -> Floats:
        """Return the errors (channels,) of the forecasts of this sample, NaN where there is none to rely on."""
        state = self.state
        if len(state.pending) < self.horizon:
            return np.full(len(gated.lost), np.nan)
        errors = np.where(gated.replaced, np.nan, norm(continued - state.pending[0]))
        state.judgement.take_errors(errors, state.conformal.given)
        return errors

    def _ask(self, gated: Gated, continued: Floats, before: Any) -> tuple[Floats, str]:
        """Return the forecaster's forecast, NaN where it is not usable, and what went wrong.

        A forecaster that fails is rewound to `before`, the mark of this step; otherwise `learn` keeps the mark.
        """
        shape = continued.shape
        self._before, self.state.unlearnt = None, False
        observed = ~gated.replaced & (self._pause(gated) == 0)
        try:
            made = positions_of(self.forecaster, self.forecaster.forecast(continued.copy(), observed))[0]
            if made.shape != shape:
                raise ValueError(f"expected a forecast of shape {shape}, got {made.shape}")
        except FAILURES as error:
            return np.full(shape, np.nan), self._undo(before, error)
        self._before, self.state.unlearnt = before, True
        usable = np.logical_and.reduce(np.abs(made) <= LARGEST, axis=-1)
        return (made.copy() if every(usable) else np.where(usable[:, None], made, np.nan)), ""

    def _learn(self) -> str:
        """Let the forecaster learn, unless its forecast has failed, and return what went wrong."""
        if not self.state.unlearnt:
            return ""
        before, self._before, self.state.unlearnt = self._before, None, False
        try:
            self.forecaster.learn()
        except FAILURES as error:
            fault = self._undo(before, error)
            return self.state.judgement.fail(fault)
        return ""

    def _pause(self, gated: Gated) -> int:
        """Return for how many samples nothing is to be learnt, because inputs contain a jump or are unreliable."""
        state = self.state
        implausible = np.array([reason == "implausible" for reason in gated.reasons])
        state.doubt = state.doubt + (implausible - state.doubt) / (RECENT * self.rate)
        pause = max(0, state.pause - 1)
        if "shift" in gated.reasons:
            pause = round(PAUSE * self.rate)
        elif some(state.doubt > UNRELIABLE) or (state.judgement.ready and some(gated.outside)):
            pause = max(pause, round(RECENT * self.rate))
        state.pause = pause
        return pause

    def _undo(self, before: Any, error: Exception) -> str:
        """Undo the step of the forecaster alone, and return the reason to hold."""
        rewind_to(self.forecaster, before[-1])
        return f"the forecaster failed: {error}; it is as it was before this sample"
