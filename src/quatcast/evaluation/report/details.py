"""The tables of details: the distribution of errors, errors by axis, and errors by channel.

They are computed from the stored forecasts of one run per predictor, so that any tolerance can be chosen later.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.recording import Recording
from quatcast.data.wording import with_unit
from quatcast.evaluation.catalogue import in_order
from quatcast.evaluation.metrics import distances
from quatcast.evaluation.protocol import TEST, validation_samples
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report.tables import Cell, Column, Number, Table, columns
from quatcast.evaluation.summary import LABELS, Summary, fitting_decimals
from quatcast.forecasting.contract import Labels

DEFAULT_TOLERANCES = {"mm": 2.0}
"""Unit → tolerance, in that unit, of the share of errors within it."""


class Distribution(NamedTuple):
    """Errors of one run over the test of one recording.

    Attributes
    ----------
    median, p95, max
        Median, 95th percentile and maximum of the distance between forecast and actual position.
    within
        Share of the distances that are at most the tolerance; NaN without a tolerance.
    axes
        RMSE of each coordinate.
    channels
        RMSE of each channel.
    """

    median: float
    p95: float
    max: float
    within: float
    axes: Floats
    channels: Floats


def distribution(trace: Trace, tolerance: float | None = None) -> Distribution | None:
    """Return the errors of a trace over the test, or None if a forecast is missing there.

    Positions that were not observed are not scored.

    Examples
    --------
    >>> actual, forecast = np.zeros((700, 1, 3)), np.zeros((700, 1, 3))
    >>> forecast[600:650, 0] = 3.0, 4.0, 0.0
    >>> run = {"labels": "causal", "horizon": 0.1, "predictor": "LMS", "configuration": {}, "seed": 0}
    >>> recording = {"recording": "walk", "group": "", "sampling_rate": 10.0, "channels": ("hip",)}
    >>> arrays = {"times": np.arange(700) / 10, "actual": actual, "forecast": forecast, "weight": np.ones(700)}
    >>> found = distribution(Trace(**run, **recording, **arrays), tolerance=2.0)
    >>> found.p95, found.within, found.axes.round(2)
    (5.0, 0.5, array([2.12, 2.83, 0.  ]))
    """
    start = validation_samples(trace.sampling_rate)
    actual, forecast = trace.actual[start:], trace.forecast[start:]
    observed = np.isfinite(actual).all(axis=-1)
    if not observed.any() or not np.isfinite(forecast[observed]).all():
        return None
    difference = forecast - actual
    error = distances(actual, forecast, trace.space)
    flat = error[observed]
    within = float(np.mean(flat <= tolerance)) if tolerance is not None else math.nan
    axes = np.sqrt(np.mean(difference[observed] ** 2, axis=0))
    squares = np.where(observed, error**2, 0.0).sum(axis=0)
    with np.errstate(invalid="ignore"):
        channels = np.sqrt(squares / observed.sum(axis=0))
    return Distribution(
        float(np.median(flat)), float(np.quantile(flat, 0.95)), float(flat.max()), within, axes, channels
    )


class Details:
    """The details of all traces of one unit.

    Parameters
    ----------
    summary
        The summary of one unit.
    traces
        All traces of the store; those of other recordings are ignored.
    recordings
        The recordings by name.
    tolerance
        Tolerance in the unit of the summary; None for the default of the unit.
    """

    def __init__(
        self,
        summary: Summary,
        traces: Iterable[Trace],
        recordings: dict[str, Recording],
        tolerance: float | None = None,
    ) -> None:
        self.summary, self.recordings = summary, recordings
        self.tolerance = DEFAULT_TOLERANCES.get(summary.unit) if tolerance is None else tolerance
        self._found: dict[tuple[str, float, str], dict[str, Distribution | None]] = defaultdict(dict)
        names = {recording.name for recording in summary.recordings}
        for trace in traces:
            if trace.recording in names:
                key = (trace.labels, trace.horizon, trace.predictor)
                self._found[key][trace.recording] = distribution(trace, self.tolerance)

    def _predictors(self, labels: Labels, horizon: float) -> list[str]:
        return in_order(name for rule, ahead, name in self._found if (rule, ahead) == (labels, horizon))

    def _complete(self, labels: Labels, horizon: float, predictor: str) -> list[Distribution]:
        """Return the distributions of all recordings; empty if one of them is missing."""
        by_name = self._found[labels, horizon, predictor]
        found = [by_name.get(recording.name) for recording in self.summary.recordings]
        complete = [one for one in found if one is not None]
        return complete if len(complete) == len(found) else []

    def distributions(self, labels: Labels, horizon: float) -> Table | None:
        """Return median, 95th percentile, maximum, share within the tolerance, and the RMSE by axis."""
        axes = self._axes()
        headings = [*columns(["Predictor"])]
        over = with_unit("Error", self.summary.unit)
        headings += [Column(title, over) for title in ("median", "95th percentile", "maximum")]
        if self.tolerance is not None:
            headings.append(Column(f"Within {self.tolerance:g} {self.summary.unit} [%]".replace("  ", " ")))
        headings += [Column(axis, with_unit("RMSE by axis", self.summary.unit)) for axis in axes]
        rows = []
        for name in self._predictors(labels, horizon):
            complete = self._complete(labels, horizon, name)
            if complete:
                rows.append((name, *self._cells(complete, len(axes))))
            else:
                rows.append((name, "incomplete", *[""] * (len(headings) - 2)))
        if not rows:
            return None
        notes = (
            f"Distance between forecast and actual position over the test, from {TEST:g} s on, in the stored run of "
            "each predictor: one run, without intervals. Means over recordings; the maximum is the largest of all.",
        )
        caption = f"Distribution of the errors {horizon:g} s ahead, {LABELS[labels]}"
        return Table(f"distribution-{labels}-{horizon:g}s", caption, tuple(headings), tuple(rows), notes)

    def _axes(self) -> tuple[str, ...]:
        """Return the names of the axes if all recordings have the same, and if they are not those of orientations."""
        own = [self.recordings[recording.name] for recording in self.summary.recordings]
        axes = {recording.axes for recording in own if recording.space in ("position", "vector")}
        return axes.pop() if len(axes) == 1 and all(r.space in ("position", "vector") for r in own) else ()

    def _cells(self, complete: Sequence[Distribution], axes: int) -> list[Cell]:
        means = np.mean([(one.median, one.p95, 100 * one.within) for one in complete], axis=0).tolist()
        errors = [*means[:2], max(one.max for one in complete)]
        by_axis = np.mean([one.axes for one in complete], axis=0).tolist() if axes else []
        cells: list[Cell] = [Number(value, self.summary.few_decimals) for value in (*errors, *by_axis)]
        return cells if self.tolerance is None else [*cells[:3], Number(means[2], 1), *cells[3:]]

    def channels(self, labels: Labels, horizon: float) -> Table | None:
        """Return the RMSE of every channel of every recording, or None if no recording has several channels."""
        tested = self._predictors(labels, horizon)
        rows: list[tuple[Cell, ...]] = []
        several = False
        for info in self.summary.recordings:
            recording = self.recordings[info.name]
            several |= len(recording.channels) > 1
            for at, channel in enumerate(recording.channels):
                found = [self._found[labels, horizon, name].get(info.name) for name in tested]
                values = [math.nan if one is None else float(one.channels[at]) for one in found]
                best = min((value for value in values if not math.isnan(value)), default=math.nan)
                decimals = fitting_decimals(best, 3)
                cells = [Number(value, decimals, best=value == best) for value in values]
                rows.append((info.name, channel, *cells))
        if not several or not tested:
            return None
        headings = columns(["Recording", "Channel"], tested)
        caption = f"Test {self.summary.heading()} of each channel {horizon:g} s ahead, {LABELS[labels]}"
        notes = ("One run of each predictor. The best value of each channel is in bold.",)
        return Table(f"channels-{labels}-{horizon:g}s", caption, headings, tuple(rows), notes, grouped=True)
