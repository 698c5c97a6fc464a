"""The report of a session: one page with figures over time that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from quatcast.escaping import figure_label, html_text
from quatcast.live.summary import SessionSummary
from quatcast.typing import Floats

WINDOW = 30.0
"""Seconds over which errors and coverage are averaged."""
POINTS = 2000
"""Largest number of points of a line."""


def write_report(summary: SessionSummary, path: Path) -> Path:
    """Write the report of a session and return its path."""
    unit = f" ({summary.unit})" if summary.unit else ""
    heads = ["channel", f"RMSE{unit}", f"MAE{unit}", f"largest{unit}", f"no forecast: RMSE{unit}", "coverage"]
    head = "".join(f"<th>{html_text(name)}</th>" for name in heads)
    body = "".join("<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>" for row in summary.rows())
    lines = "".join(f"<p>{html_text(line)}</p>" for line in summary.lines())
    figure = _figure(summary, unit).to_html(full_html=False, include_plotlyjs=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{html_text(summary.stream)}</title>"
        "<style>body{font:16px system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem}td,th{padding:.2rem 1rem;"
        "text-align:right}td:first-child,th:first-child{text-align:left}</style>"
        f"<h1>Session {html_text(summary.stream)}</h1><table><tr>{head}</tr>{body}</table>{lines}{figure}</html>\n",
        encoding="utf-8",
    )
    return path


def _figure(summary: SessionSummary, unit: str) -> Any:
    """Return errors, coverage and latencies over time."""
    from plotly.graph_objects import Figure, Histogram, Scatter
    from plotly.subplots import make_subplots

    titles = (f"RMSE over {WINDOW:g} s{unit}", f"coverage over {WINDOW:g} s", "latency from arrival to sending (ms)")
    figure: Figure = make_subplots(rows=3, cols=1, subplot_titles=titles, vertical_spacing=0.1)
    times = summary.times - summary.times[0] if len(summary.times) else summary.times
    for i, name in enumerate(summary.names):
        if not len(times):
            break
        squares = _running(times, summary.errors[:, i] ** 2)
        within = np.where(np.isfinite(summary.radius[:, i]), summary.errors[:, i] <= summary.radius[:, i], np.nan)
        keep = slice(None, None, max(1, len(times) // POINTS))
        for row, values in ((1, np.sqrt(squares)), (2, _running(times, within))):
            label = figure_label(name)
            line = Scatter(x=times[keep], y=values[keep], name=label, legendgroup=label, showlegend=row == 1)
            figure.add_trace(line, row, 1)
    figure.add_trace(Histogram(x=summary.latencies * 1000, nbinsx=100, showlegend=False), 3, 1)
    figure.update_layout(height=900, template="plotly_white", margin={"t": 60})
    return figure


def _running(times: Floats, values: Floats) -> Floats:
    """Return the mean of the finite values over the last seconds."""
    finite = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(finite, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(finite)])
    start = np.searchsorted(times, times - WINDOW)
    end = np.arange(1, len(times) + 1)
    number = counts[end] - counts[start]
    return np.where(number > 0, (sums[end] - sums[start]) / np.maximum(number, 1), np.nan)
