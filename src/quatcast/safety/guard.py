"""The guarded forecaster: a gate before a forecaster, a radius around its forecasts, and a status.

docs/safety.md explains the rules and their constants for users.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.annotations import is_number
from quatcast.basics.typing import Bools, Floats
from quatcast.engine.threads import one_thread
from quatcast.forecasting.charts import Chart
from quatcast.forecasting.contract import (
    LARGEST,
    OnlineForecaster,
    horizons_of,
    learn_with,
    mark_of,
    orient_to,
    positions_of,
    ready_with,
    rewind_to,
    satisfies_contract,
)
from quatcast.forecasting.progress import counted
from quatcast.forecasting.samples import as_observed, as_recording, as_sample
from quatcast.forecasting.spaces import find_space
from quatcast.safety.between import Between, Distances
from quatcast.safety.channels import some
from quatcast.safety.evidence import RECENT
from quatcast.safety.gate import Gate
from quatcast.safety.gate_choice import gate_for
from quatcast.safety.gated import Gated
from quatcast.safety.points import Curve, Points
from quatcast.safety.status import (
    UNIT_QUATERNIONS,
    Forecast,
    GuardedForecasts,
    Judged,
    Path,
    degraded,
    placed,
)
from quatcast.safety.time_stamps import TimeStamps
from quatcast.safety.track import GuardState, Track

PAUSE = 6.0
"""Seconds without learning after a jump within the usual range, which is how long the longest inputs contain it."""
UNRELIABLE = 0.25
"""Share of implausible samples in the last seconds above which nothing is learnt."""


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
        A `Gate` for the same rate, or for none in particular; by default one with its usual settings. A copy of it is
        used, so that several guards may be given the same one.
    level
        Target coverage of the radius.
    names
        Names of the channels in reasons; by default "channel 1", "channel 2", …
    space
        What a sample is: "position" or "vector" (any number of coordinates), "orientation" (unit quaternions w x y z)
        or "pose" (x y z w x y z); see `quatcast.forecasting.spaces`.
    seconds
        The horizons to answer for, in seconds, for a forecaster of several horizons: a number, whole number of samples
        or not, or a list of them. By default those of the forecaster.

    Examples
    --------
    >>> from quatcast import RLS, Forecaster, Status
    >>> from quatcast.data import simulated
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
        space: str = "vector",
        seconds: float | Sequence[float] | None = None,
    ) -> None:
        if not satisfies_contract(forecaster):
            raise ValueError(f"forecaster: expected horizon, begin, forecast and learn, got {forecaster!r}")
        if getattr(forecaster, "labels", "causal") != "causal":
            raise ValueError('forecaster: expected labels="causal", because samples ahead are not known')
        if not (is_number(level) and 0 < level < 1):
            raise ValueError(f"level: expected a probability between 0 and 1, got {level!r}")
        self.forecaster, self.rate, self.level = forecaster, rate, level
        self.horizon = forecaster.horizon
        self.gate = gate_for(rate, gate)
        if isinstance(names, str) or (names is not None and len({n for n in names if isinstance(n, str)}) < len(names)):
            raise ValueError(f"names: expected a list of different texts, got {names!r}")
        self.names = None if names is None else tuple(names)
        self.space, self._space, self._unit = space, find_space(space, rate), UNIT_QUATERNIONS.get(space)
        whole = [h / rate for h in horizons_of(forecaster)]
        several = getattr(forecaster, "horizons", None) is not None
        asked = seconds if seconds is not None else whole if several else whole[0]
        if not all(is_number(s) and 0 < s <= whole[-1] * (1 + 1e-9) for s in np.atleast_1d(asked)):
            raise ValueError(f"seconds: expected horizons from 0 to {whole[-1]:g} s, got {seconds!r}")
        self.seconds, self._asked = seconds, asked
        self._whole = np.array(whole)
        # Which of the forecaster's horizons are asked for; None if other moments are.
        self._which: Any = None
        if all(np.isclose(whole, s, rtol=1e-9, atol=0).any() for s in np.atleast_1d(asked)):
            self._which = np.abs(self._whole - np.asarray(asked)[..., None]).argmin(axis=-1)
        self._before: Any = None
        self._next: Any = None

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew with gate and forecaster, for samples of a shape (channels, dimensions)."""
        self._space.check(shape)
        channels = shape[0]
        names = self.names or tuple(f"channel {i + 1}" for i in range(channels))
        if len(names) != channels:
            raise ValueError(f"sample: expected {len(names)} channels ({', '.join(names)}), got {channels}")
        chart = self._space.begin(channels)
        rows, dimensions = self._space.to_coordinates(chart, np.full(shape, np.nan)).shape
        self.gate.begin((rows, dimensions))
        self._begin_forecaster(chart, shape, self._space.names(names), dimensions)

    def _begin_forecaster(self, chart: Chart, shape: tuple[int, int], names: tuple[str, ...], dimensions: int) -> None:
        self.forecaster.begin((len(names), dimensions))
        ahead, warmup = horizons_of(self.forecaster), int(getattr(self.forecaster, "warmup", 0))
        tracks = [Track.begin(names, dimensions, self.rate, h, self.level, warmup) for h in ahead]
        between, points = Between.begin(ahead, len(names), self.level), Points.begin(ahead) if self._unit else None
        self.state = GuardState(shape, chart, tracks, between, points, np.zeros(len(names)), TimeStamps())

    def forecast(self, sample: Floats, observed: Bools | None = None, time: float | None = None) -> Forecast:
        """Check and take in the newest sample (channels, coordinates), NaN where missing, and forecast.

        Parameters
        ----------
        sample
            The newest sample.
        observed
            (channels,): which channels were really seen; the others are missing whatever they hold.
        time
            When the sample was measured, in seconds. The reason says so if it does not fit the sampling rate, or if the
            time stamps of the last samples have another one.
        """
        before = self._take_mark()
        with self._whole_or_undone(before):
            return self._forecast(sample, observed, time, before)

    def _forecast(self, sample: ArrayLike, observed: ArrayLike | None, time: float | None, before: Any) -> Forecast:
        x = as_sample(sample, finite=False, dimensions=self.state.shape[1] if self.begun else None)
        if observed is not None:
            x = np.where(as_observed(observed, len(x))[:, None], x, np.nan)
        begun = self.begun
        self._ready(x.shape)
        # A forecaster that fails at the first sample goes back to where it has just begun.
        before = before if begun else (*before[:-1], mark_of(self.forecaster))
        state = self.state
        x = self.gate.without_known_faults(x, self.space)
        coordinates = self._space.to_coordinates(state.chart, x)
        gated = self.gate.judge(coordinates, state.aim)
        judgement = state.tracks[0].judgement
        if "start" in gated.reasons and judgement.age <= self.gate.early:
            # All that was learnt so far may be a fault.
            self._begin_forecaster(state.chart, state.shape, judgement.names, gated.position.shape[1])
            state = self.state
        self._space.accept(state.chart, x, coordinates, ~gated.replaced)
        # Without its offset a channel continues where it was before a shift.
        continued = gated.position - gated.offset
        origin = self._space.from_coordinates(state.chart, gated.position)
        if state.points is not None:
            state.points.see(origin, gated.offset, state.chart, gated.position)
        radii = [track.mature(gated, continued, self._distances) for track in state.tracks]
        path, fault = self._ask(gated, continued, origin, before)
        if some(gated.still):
            # A channel that has never moved is expected to stay where it is.
            path = np.where(gated.still[:, None], continued, path)
        never = gated.replaced & (self.gate.state.count == 0)
        if some(never):
            # What the gate puts in place of a channel that has never been seen is no forecast.
            path = np.where(never[:, None], np.nan, path)
        judged = [
            track.judge(gated, continued, position, radius, fault)
            for track, position, radius in zip(state.tracks, path, radii, strict=True)
        ]
        state.between.take(continued, path, gated.replaced)
        stray = state.stamps.take(time, self.rate)
        return self._answer(gated, origin, path, [degraded(one, stray) for one in judged] if stray else judged)

    @property
    def _distances(self) -> Distances | None:
        """What turns errors in coordinates into distances of points, if they differ."""
        return None if self.state.points is None else partial(self.state.points.distances, self._space)

    def _curve(self, gated: Gated, path: Floats) -> Curve | None:
        """Return the path in coordinates, if these are not points, and remember it."""
        if self.state.points is None:
            return None
        self.state.points.take(path + gated.offset)
        return self.state.points.curve(self._space)

    def _answer(self, gated: Gated, origin: Floats, path: Floats, judged: list[Judged]) -> Forecast:
        """Return the forecast for the horizons asked for."""
        chart, kinds = self.state.chart, len(self._space.kinds)

        def by_channel(rows: Any) -> Any:
            return rows if kinds == 1 else np.moveaxis(rows.reshape(*rows.shape[:-1], kinds, -1), -2, -1)

        points = Path(
            seconds=self._whole,
            origin=origin,
            positions=self._space.from_coordinates(chart, path + gated.offset, self._whole),
            radii=by_channel(np.stack([radius for radius, _, _ in judged])),
            between=by_channel(self.state.between.radii),
            statuses=tuple(status for _, status, _ in judged),
            reasons=tuple(reason for _, _, reason in judged),
            replaced=by_channel(gated.replaced) if kinds == 1 else by_channel(gated.replaced).any(axis=-1),
            unit=self._unit,
            curve=self._curve(gated, path),
        )
        return points.forecast(self._asked) if self._which is None else points.chosen(self._which)

    def learn(self) -> None:
        """Let the forecaster learn; an error undoes its step and becomes a hold."""
        self.learn_some(None)

    def learn_some(self, limit: int | None) -> None:
        """Let the forecaster learn from at most `limit` samples; an error undoes its step and becomes a hold."""
        if self.begun and self.state.unlearnt:
            # A guard that was saved after its forecast can only go back to there.
            self._before = self._before or self.mark()
            with self._whole_or_undone(self._before):
                self._learn(limit)
            # The next answer then need not wait for it.
            self._next = self.state, self.mark()

    def get_ready(self) -> None:
        """Let the forecaster get ready for the next sample; errors are ignored here and recur with that sample."""
        if self.begun:
            with one_thread(), np.errstate(all="ignore"), suppress(Exception):
                ready_with(self.forecaster)

    def update(self, sample: ArrayLike, observed: ArrayLike | None = None, time: float | None = None) -> Forecast:
        """Check the newest sample (channels, coordinates), NaN where missing, forecast, and learn from it.

        See `forecast` for the parameters.
        """
        before = self._take_mark()
        with self._whole_or_undone(before):
            made = self._forecast(sample, observed, time, before)
            fault = self._learn()
        return made.held(fault) if fault else made

    def run(self, positions: ArrayLike) -> GuardedForecasts:
        """Forecast a recording (T, channels, coordinates), NaN where missing: begin anew, then `update` row by row.

        Forecasts are placed at the samples that they are for. A horizon that is not a whole number of samples counts as
        the next larger one here. If the run is interrupted, everything is as it was before.
        """
        rows = as_recording(positions, finite=False)
        ahead = np.ceil(np.atleast_1d(self._asked) * self.rate - 1e-6).astype(int)
        seconds = ahead / self.rate if np.ndim(self._asked) else float(ahead[0]) / self.rate
        made, status, reasons = [], np.zeros(len(rows), dtype=np.int8), []
        with self._whole_or_undone(self.mark()):
            self._begin_anew((rows.shape[1], rows.shape[2]))
            for t, row in enumerate(counted(rows)):
                forecast = self.update(row)
                made.append(forecast.path.forecast(seconds))
                status[t] = forecast.status
                reasons.append(forecast.reason)
        several = bool(np.ndim(self._asked))
        forecasts = placed([f.position for f in made], ahead, several)
        radius = placed([f.radius for f in made], ahead, several)
        replaced = np.stack([f.replaced for f in made])
        return GuardedForecasts(
            forecasts, np.full(len(rows), np.nan), int(ahead.max()), "causal", 0, radius, status, reasons, replaced
        )

    def mark(self) -> Any:
        """Return what `rewind` needs to undo the next step."""
        return super().mark(), self.gate.mark(), mark_of(self.forecaster)

    def _take_mark(self) -> Any:
        """Return a mark of the present state: that of the last `learn`, unless a step was taken or undone since.

        What is changed by hand in gate or forecaster after `learn` is not noticed, and lost if the next step fails.
        """
        (state, mark), self._next = self._next or (None, None), None
        return mark if state is not None and state is self.__dict__.get("state") else self.mark()

    def rewind(self, mark: Any) -> None:
        """Undo the step since `mark`, in the gate and the forecaster too."""
        self._next = self._before = None
        own, gate, forecaster = mark
        super().rewind(own)
        self.gate.rewind(gate)
        rewind_to(self.forecaster, forecaster)

    def _ask(self, gated: Gated, continued: Floats, origin: Floats, before: Any) -> tuple[Floats, str]:
        """Return the forecaster's path (horizons, rows, dimensions), NaN where it is not usable, and what went wrong.

        A forecaster that fails is rewound to `before`, the mark of this step; otherwise the mark is kept for `learn`.
        """
        shape = (len(self._whole), *continued.shape)
        self._before, self.state.unlearnt = None, False
        observed = ~gated.replaced & (self._pause(gated) == 0)
        try:
            if self._unit is not None:
                orient_to(self.forecaster, origin[:, self._unit])
            made = positions_of(self.forecaster, self.forecaster.forecast(continued.copy(), observed), continued.shape)
        except MemoryError:
            raise
        except Exception as error:
            return np.full(shape, np.nan), self._undo(before, error)
        self._before, self.state.unlearnt = before, True
        usable = np.logical_and.reduce(np.abs(made) <= LARGEST, axis=-1)
        return (made.copy() if usable.all() else np.where(usable[..., None], made, np.nan)), ""

    def _learn(self, limit: int | None = None) -> str:
        """Let the forecaster learn, unless its forecast has failed, and return what went wrong."""
        self.gate.learn()
        self.state.between.learn(self._distances)
        for track in self.state.tracks:
            track.conformal.prepare()
        if not self.state.unlearnt:
            return ""
        before, self._before, self.state.unlearnt = self._before, None, False
        try:
            learn_with(self.forecaster, limit)
        except MemoryError:
            raise
        except Exception as error:
            fault, said = self._undo(before, error), ""
            for track in self.state.tracks:
                said = track.judgement.fail(fault)
            return said
        return ""

    def _pause(self, gated: Gated) -> int:
        """Return for how many samples nothing is to be learnt, because inputs contain a jump or are unreliable."""
        state, judgement = self.state, self.state.tracks[0].judgement
        state.doubt = (1.0 - 1.0 / (RECENT * self.rate)) * state.doubt
        if "implausible" in gated.reasons:
            state.doubt += np.array([reason == "implausible" for reason in gated.reasons]) / (RECENT * self.rate)
        pause = max(0, state.pause - 1)
        if "shift" in gated.reasons:
            pause = round(PAUSE * self.rate)
        elif (
            some(state.doubt > UNRELIABLE)
            or (judgement.ready and some(gated.outside))
            # A channel that has been lost for longer than inputs reach back no longer shows what may be a fault.
            or some(judgement.astray & (gated.lost < PAUSE * self.rate))
        ):
            pause = max(pause, round(RECENT * self.rate))
        state.pause = pause
        return pause

    def _undo(self, before: Any, error: Exception) -> str:
        """Undo the step of the forecaster alone, and return the reason to hold."""
        rewind_to(self.forecaster, before[-1])
        return f"the forecaster failed: {str(error) or type(error).__name__}; it is as it was before this sample"
