"""What a session shows: errors, coverage, latencies and status, computed from its journal alone."""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.spaces import Space, find_space
from quatcast.live.frames import ForecastFrame, radii_by_kind
from quatcast.live.grid import interpolate
from quatcast.live.journal import Reading, read_journal
from quatcast.live.records import ForecastRecord, read_forecasts, read_frames, usual_frame
from quatcast.live.session import read_settings

LEVELS = (0.5, 0.99, 0.999, 1.0)
"""Quantiles of latencies that are reported."""


@dataclass(frozen=True)
class Scores:
    """Errors of one kind of row: distances in the unit of the stream, or angles in degrees.

    Attributes
    ----------
    kind
        "position", "vector" or "orientation".
    unit
        Unit of the errors; empty if unknown.
    errors, still, radius
        Per matured forecast and channel (T, channels), the distance from the forecast to the sample, from the sample
        at the time of the forecast to the sample, and the radius; NaN where there is none.

    Examples
    --------
    >>> errors, radius = np.array([[3.0], [4.0]]), np.array([[3.5], [3.5]])
    >>> Scores("position", "mm", errors, 2 * errors, radius).rows(["chest"])
    [['chest', '3.54', '3.5', '4', '7.07', '50.0%']]
    """

    kind: str
    unit: str
    errors: Floats
    still: Floats
    radius: Floats

    @property
    def known(self) -> Bools:
        """Whether there are both an error and a radius (T, channels)."""
        return np.isfinite(self.radius) & np.isfinite(self.errors)

    @property
    def within(self) -> Floats:
        """1 where the error is within the radius and 0 where it is beyond (T, channels); NaN where one is missing."""
        return np.where(self.known, self.errors <= self.radius, np.nan)

    @property
    def coverage(self) -> Floats:
        """Share of errors within the radius per channel, of those that have one."""
        return np.asarray(np.nansum(self.within, axis=0) / np.maximum(self.known.sum(axis=0), 1))

    def heads(self) -> list[str]:
        """Return the heads of the columns of `rows`, with the unit if it is known."""
        unit = f" ({self.unit})" if self.unit else ""
        return ["channel", f"RMSE{unit}", f"MAE{unit}", f"largest{unit}", f"no forecast: RMSE{unit}", "coverage"]

    def rows(self, names: Sequence[str]) -> list[list[str]]:
        """Return name, RMSE, MAE, largest error, RMSE of persistence, and coverage per channel as text.

        All figures are over samples for which there is a forecast with a radius.
        """
        table, coverage = [], self.coverage
        for i, name in enumerate(names):
            known = self.known[:, i]
            errors, still = self.errors[known, i], self.still[known, i]
            if not len(errors):
                table.append([name, "–", "–", "–", "–", "–"])
                continue
            figures = (_rms(errors), errors.mean(), errors.max(), _rms(still[np.isfinite(still)]))
            table.append([name, *(f"{figure:.3g}" for figure in figures), f"{coverage[i]:.1%}"])
        return table


@dataclass
class SessionSummary:
    """Figures of a session.

    Attributes
    ----------
    stream, names, unit
        Names of the stream and the channels, and the unit.
    frames, samples, seconds
        Number of frames, of samples on the grid, and the duration.
    events
        Number of events by kind.
    status
        Number of sent forecasts by status.
    late, unsent, unlearnt, recovered
        Number of forecasts that were too late, were replaced by a newer one, came from samples from which nothing was
        learnt, and were computed after a restart.
    times
        Target times (T,) of the forecasts that have matured.
    scores
        Errors and radii of these forecasts: those of the positions and those of the orientations of poses, and one
        element in other spaces.
    horizons
        Horizons in seconds; all errors are those of the first.
    latencies
        Seconds from arrival to sending, one per sent forecast.
    reading
        Lines of the journal that could not be read.
    """

    stream: str
    names: tuple[str, ...] = ()
    unit: str = ""
    frames: int = 0
    samples: int = 0
    seconds: float = 0.0
    events: Counter[str] = field(default_factory=Counter)
    status: Counter[str] = field(default_factory=Counter)
    late: int = 0
    unsent: int = 0
    unlearnt: int = 0
    recovered: int = 0
    times: Floats = field(default_factory=lambda: np.zeros(0))
    scores: tuple[Scores, ...] = ()
    horizons: tuple[float, ...] = ()
    latencies: Floats = field(default_factory=lambda: np.zeros(0))
    reading: Reading = field(default_factory=Reading)

    @property
    def title(self) -> str:
        """What the report is called unless the user names it."""
        return f"Session {self.stream}".rstrip()

    def anonymous(self) -> SessionSummary:
        """Return the same figures without the name of the stream, with numbers instead of the names of the channels."""
        return replace(self, stream="", names=tuple(f"channel {i + 1}" for i in range(len(self.names))))

    def lines(self) -> list[str]:
        """Return everything beside the errors in words, one line each."""
        total = max(sum(self.status.values()), 1)
        shares = ", ".join(f"{label} {n / total:.1%}" for label, n in self.status.most_common())
        events = ", ".join(f"{n} {kind}" for kind, n in sorted(self.events.items()))
        lines = [
            f"Samples: {self.frames} arrived, {self.samples} on the grid, {self.seconds:.1f} s",
            f"Latency from arrival to sending: {self.latency_words()}",
            f"Status: {shares or 'none'}",
            f"Forecasts: {sum(self.status.values())} sent, {self.late} of them late, {self.unsent} replaced by a newer "
            f"one, {self.recovered} computed after a restart; nothing was learnt from {self.unlearnt} samples",
            f"Events: {events or 'none'}",
        ]
        if len(self.horizons) > 1:
            others = ", ".join(f"{horizon:g} s" for horizon in self.horizons[1:])
            lines.insert(0, f"Errors and coverage: {self.horizons[0]:g} s ahead; the export also holds {others}")
        if self.reading.torn or self.reading.damaged:
            lines.append(f"Journal: {self.reading.torn} lines cut off, {len(self.reading.damaged)} damaged")
        return lines

    def latency_words(self) -> str:
        """Return the quantiles of the latencies in words."""
        if not len(self.latencies):
            return "no forecast was sent"
        values = np.quantile(self.latencies, LEVELS) * 1000
        names = ("median", "99 %", "99.9 %", "largest")
        return ", ".join(f"{name} {value:.2f} ms" for name, value in zip(names, values, strict=True))


def _rms(values: Floats) -> float:
    return float(np.sqrt(np.mean(values**2))) if len(values) else float("nan")


def summarise(folder: Path) -> SessionSummary:
    """Return the figures of a session.

    Raises
    ------
    ValueError
        If the folder holds no session, or a session without samples.
    """
    settings = read_settings(folder)
    summary = SessionSummary(settings.stream, settings.names, settings.unit)
    received = _read_frames(folder, summary)
    usual = usual_frame(folder)
    summary.names = summary.names or usual.names or tuple(f"channel {i + 1}" for i in range(len(usual.values)))
    steps, rate = 0.0, 1.0
    for record in read_journal(folder, found=summary.reading):
        if record["type"] == "event":
            summary.events[record["kind"]] += 1
            if record["kind"] == "started":
                rate = record["rate"]
                summary.horizons = tuple(record["horizons"])
                steps = summary.horizons[0] * rate
    truth = Truth(steps, find_space(settings.space, rate))
    _score(read_forecasts(read_journal(folder)), summary, received, truth, usual.values.shape)
    return summary


def _read_frames(folder: Path, summary: SessionSummary) -> dict[int, float]:
    """Count the frames, and return their times of arrival by number."""
    received = {}
    for number, frame in read_frames(read_journal(folder)):
        received[number] = frame.received
        summary.frames += 1
        summary.unit = summary.unit or frame.unit
    return received


@dataclass(frozen=True)
class Truth:
    """How forecasts are compared with later samples: a horizon in samples, and the space of the samples."""

    steps: float
    space: Space

    @property
    def after(self) -> int:
        """Number of samples after which the target time has come."""
        return math.ceil(self.steps - 1e-6)

    def sample(self, before: ForecastFrame | None, newest: ForecastFrame) -> Floats | None:
        """Return the sample at the target time, or None if it is between the newest one and one that is not known."""
        share = 1.0 - (self.after - self.steps)
        if share > 1 - 1e-6:
            return newest.sample
        if before is None or before.sequence != newest.sequence - 1:
            return None
        return interpolate(before.sample, newest.sample, share, self.space.name)

    def compare(self, sample: Floats, forecast: ForecastFrame) -> Floats:
        """Return errors, errors without a forecast, and radii, (3, rows) with the rows of the space."""
        distance, radii = self.space.distance, radii_by_kind(forecast, len(self.space.kinds)).ravel()
        return np.array([distance(sample, forecast.position), distance(sample, forecast.sample), radii])

    def scores(self, compared: Sequence[Floats], channels: int, unit: str) -> tuple[Scores, ...]:
        """Return what `compare` has returned for all forecasts, one element per kind of row, with angles in degrees."""
        table = np.array(compared).reshape(-1, 3, len(self.space.rows(channels)))
        found = []
        for at, kind in enumerate(self.space.kinds):
            part = table[:, :, at * channels : (at + 1) * channels]
            turned = kind == "orientation"
            errors, still, radius = np.moveaxis(np.degrees(part) if turned else part, 1, 0)
            found.append(Scores(kind, "°" if turned else unit, errors, still, radius))
        return tuple(found)


def _score(
    forecasts: Iterable[ForecastRecord],
    summary: SessionSummary,
    received: dict[int, float],
    truth: Truth,
    shape: tuple[int, ...],
) -> None:
    """Compare every forecast with the sample that it was for, if it has the usual shape."""
    pending: deque[ForecastFrame] = deque()
    times, compared, latencies = [], [], []
    first = last = None
    before: ForecastFrame | None = None
    for record in forecasts:
        one = record.forecast
        first, last = one.time if first is None else first, one.time
        summary.samples += 1
        summary.late += record.late
        summary.unsent += record.unsent
        summary.unlearnt += record.unlearnt
        summary.recovered += record.recovered
        if not record.unsent and not record.recovered:
            summary.status[one.status] += 1
            latencies.append(one.sent_time - received.get(record.frame, np.nan))
        if one.sample.shape != shape:
            pending.clear()
            before = None
            continue
        pending.append(one)
        while truth.steps and pending and pending[0].sequence <= one.sequence - truth.after:
            earlier = pending.popleft()
            sample = truth.sample(before, one)
            if earlier.sequence == one.sequence - truth.after and sample is not None:
                times.append(one.time)
                compared.append(truth.compare(sample, earlier))
        before = one
    summary.seconds = (last or 0.0) - (first or 0.0)
    summary.latencies = np.array([one for one in latencies if math.isfinite(one)])
    summary.times = np.array(times)
    summary.scores = truth.scores(compared, len(summary.names), summary.unit)
