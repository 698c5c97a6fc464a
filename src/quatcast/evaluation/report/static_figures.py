"""Figures for print, as SVG and PDF, drawn with matplotlib, which is imported only when they are asked for."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from quatcast.basics.escaping import one_line
from quatcast.basics.optional import require
from quatcast.data.recording import Recording
from quatcast.data.wording import with_unit
from quatcast.evaluation.catalogue import describe
from quatcast.evaluation.metrics import distances, error_unit
from quatcast.evaluation.protocol import validation_samples
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report.decimation import decimate
from quatcast.evaluation.report.material import Material
from quatcast.evaluation.summary import LABELS, Summary

FORMATS = ("svg", "pdf")
WINDOW = 60.0
"""Seconds of a recording that a figure of forecasts shows, from the beginning of the test."""
MOST_POINTS = 4000
"""Points of a line above which it is thinned out to the smallest and largest value of each interval."""
MOST_RECORDINGS = 30
"""Recordings of which the forecasts are drawn."""
STYLE: Any = {
    "font.size": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "figure.constrained_layout.use": True,
    "svg.hashsalt": "quatcast",
    "pdf.fonttype": 42,
    "text.parse_math": False,
}


def write_figures(material: Material, folder: Path) -> list[Path]:
    """Write the figures of a report: RMSE, RMSE against the horizon, and forecasts over time.

    Raises
    ------
    ValueError
        If matplotlib is not installed.
    """
    mpl, figures = (require(name, "quatcast[figures]", "--figures: ") for name in ("matplotlib", "matplotlib.figure"))
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with mpl.rc_context(STYLE):
        for name, (width, height), draw in _figures(material):
            figure = figures.Figure(figsize=(width, height))
            draw(figure)
            for suffix in FORMATS:
                path = folder / f"{name}.{suffix}"
                # Without a date, equal results give equal files.
                date = {"Date": None} if suffix == "svg" else {"CreationDate": None}
                figure.savefig(path, metadata=date)
                written.append(path)
    return written


Drawing = tuple[str, tuple[float, float], Callable[[Any], None]]
"""Name of a file, width and height in inches, and the function that draws."""


def _figures(material: Material) -> list[Drawing]:
    found: list[Drawing] = []
    units = material.summary.by_unit()
    for summary in units:
        suffix = f"-{slug(summary.unit_title)}" if len(units) > 1 else ""
        if not summary.results:
            continue
        size = (5.0, 0.8 + 0.3 * len(summary.predictors))
        found.append((f"rmse{suffix}", size, partial(_draw_rmse, summary=summary)))
        if len(summary.horizons) > 1:
            found.append((f"horizons{suffix}", (5.0, 3.2), partial(_draw_horizons, summary=summary)))
    for number, recording in enumerate(material.about.recordings[:MOST_RECORDINGS], start=1):
        traces = [trace for trace in material.traces if trace.recording == recording.name and trace.labels == "causal"]
        for horizon in sorted({trace.horizon for trace in traces}):
            own = [trace for trace in traces if trace.horizon == horizon]
            shown = _best(own)
            name = f"forecast-{number}-{slug(recording.name)}-{horizon:g}s"
            found.append((name, (6.5, 3.4), partial(_draw_forecast, traces=shown, recording=recording)))
    return found


def slug(name: str) -> str:
    """Return a name as a part of a file name: at most 40 letters, digits and hyphens.

    Examples
    --------
    >>> slug("../day 1 [mm]")
    'day-1-mm'
    """
    return re.sub("[^0-9A-Za-z]+", "-", name).strip("-")[:40] or "x"


def _draw_rmse(figure: Any, summary: Summary) -> None:
    axes = figure.subplots()
    order = list(reversed(summary.predictors))
    for rule in summary.labels:
        filled = rule == "causal"
        for at, name in enumerate(order):
            mean = summary.of_group(rule, summary.horizon, name)
            if mean is None or not np.isfinite(mean.mean):
                continue
            colour = describe(name).colour
            axes.errorbar(
                mean.mean,
                at,
                xerr=mean.margin,
                fmt="o",
                color=colour,
                markerfacecolor=colour if filled else "white",
                capsize=2,
            )
        face = "#555555" if filled else "white"
        axes.plot([], [], "o", color="#555555", markerfacecolor=face, label=LABELS[rule])
    axes.set_yticks(range(len(order)), [one_line(name) for name in order])
    axes.set_xlim(left=0)
    axes.set_xlabel(one_line(with_unit(f"test RMSE, {summary.horizon:g} s ahead", summary.unit)))
    axes.legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)


def _draw_horizons(figure: Any, summary: Summary) -> None:
    rules = summary.labels
    panels = np.atleast_1d(figure.subplots(1, len(rules), sharey=True))
    for axes, rule in zip(panels, rules, strict=True):
        for name in summary.predictors:
            points = {h: e for h in summary.horizons if (e := summary.of_group(rule, h, name)) is not None}
            if points:
                axes.errorbar(
                    list(points),
                    [e.mean for e in points.values()],
                    yerr=[e.margin for e in points.values()],
                    color=describe(name).colour,
                    marker="o",
                    markersize=3,
                    label=one_line(name),
                )
        axes.set_title(LABELS[rule])
        axes.set_xlabel("horizon [s]")
        axes.set_ylim(bottom=0)
    panels[0].set_ylabel(one_line(with_unit("test RMSE", summary.unit)))
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, frameon=False)


def _best(traces: list[Trace]) -> list[Trace]:
    """Return the trace with the smallest error, and that of the baseline."""
    ranked = sorted((trace for trace in traces if np.isfinite(_rms(trace))), key=_rms) or traces[:1]
    baseline = [trace for trace in ranked if describe(trace.predictor).baseline and trace is not ranked[0]]
    return [ranked[0], *baseline[:1]]


def _rms(trace: Trace) -> float:
    start = validation_samples(trace.sampling_rate)
    error = distances(trace.actual[start:], trace.forecast[start:], trace.space)
    return float(np.sqrt(np.mean(error[np.isfinite(trace.actual[-len(error) :]).all(axis=-1)] ** 2)))


def _draw_forecast(figure: Any, traces: list[Trace], recording: Recording) -> None:
    start = validation_samples(recording.rate)
    shown = slice(start, start + max(2, round(WINDOW * recording.rate)))
    times = recording.times[shown]
    column = max(recording.layout(), key=lambda c: float(np.nanstd(recording.positions[:, c.channel, c.axis])))
    upper, lower = figure.subplots(2, 1, sharex=True, height_ratios=(2, 1))
    actual = recording.positions[shown, column.channel, column.axis]
    upper.plot(*decimate(times, actual, MOST_POINTS), color="#999999", linewidth=2.5, label="actual")
    for trace in traces:
        colour = describe(trace.predictor).colour
        forecast = np.asarray(trace.forecast[shown, column.channel, column.axis], dtype=float)
        upper.plot(*decimate(times, forecast, MOST_POINTS), color=colour, linewidth=1, label=one_line(trace.predictor))
        error = distances(trace.actual[shown], trace.forecast[shown], trace.space).mean(axis=-1)
        lower.plot(*decimate(times, error, MOST_POINTS), color=colour, linewidth=1)
    upper.set_ylabel(one_line(with_unit(column.label, column.unit)))
    lower.set_ylabel(one_line(with_unit("error", error_unit(recording))))
    lower.set_ylim(bottom=0)
    lower.set_xlabel("time [s]")
    upper.set_title(one_line(f"{recording.name}: forecasts {traces[0].horizon:g} s ahead, {LABELS[traces[0].labels]}"))
    upper.legend(frameon=False, ncols=3, loc="upper right")
