"""The report of a session: one page with figures over time that opens offline."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from quatcast.basics.escaping import figure_label, html_text
from quatcast.basics.files import new_file
from quatcast.basics.typing import Floats
from quatcast.live.summary import Scores, SessionSummary

WINDOW = 30.0
"""Seconds over which errors and coverage are averaged."""
POINTS = 2000
"""Largest number of points of a line."""


def write_report(summary: SessionSummary, path: Path, title: str = "") -> Path:
    """Write the report of a session and return its path."""
    title = html_text(title or summary.title)
    tables = "".join(_table(summary, one) for one in summary.scores)
    lines = "".join(f"<p>{html_text(line)}</p>" for line in summary.lines())
    # One of the buttons would send the data to a server.
    figure = _figure(summary).to_html(full_html=False, include_plotlyjs=True, config={"showSendToCloud": False})
    path.parent.mkdir(parents=True, exist_ok=True)
    page = (
        f"<!doctype html><html lang='en'><meta charset='utf-8'><title>{title}</title>"
        "<style>body{font:16px system-ui;margin:2rem auto;max-width:70rem;padding:0 1rem}td,th{padding:.2rem 1rem;"
        "text-align:right}td:first-child,th:first-child{text-align:left}</style>"
        f"<h1>{title}</h1>{tables}{lines}{figure}</html>\n"
    )
    with new_file(path) as file:
        file.write(page)
    return path


def _table(summary: SessionSummary, scores: Scores) -> str:
    """Return the errors of one kind as a table, with the kind above it if there are several."""
    head = "".join(f"<th>{html_text(name)}</th>" for name in scores.heads())
    rows = scores.rows(summary.names)
    body = "".join("<tr>" + "".join(f"<td>{html_text(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<h2>{scores.kind.capitalize()}</h2>" if len(summary.scores) > 1 else ""
    return f"{title}<table><tr>{head}</tr>{body}</table>"


def _figure(summary: SessionSummary) -> Any:
    """Return errors, coverage and latencies over time."""
    from plotly.graph_objects import Figure, Histogram, Scatter
    from plotly.subplots import make_subplots

    titles = [title for one in summary.scores for title in _titles(one, several=len(summary.scores) > 1)]
    titles.append("latency from arrival to sending (ms)")
    figure: Figure = make_subplots(rows=len(titles), cols=1, subplot_titles=titles, vertical_spacing=0.3 / len(titles))
    times = summary.times - summary.times[0] if len(summary.times) else summary.times
    keep = slice(None, None, max(1, len(times) // POINTS))
    for at, scores in enumerate(summary.scores):
        for i, name in enumerate(summary.names):
            if not len(times):
                break
            squares = _running(times, scores.errors[:, i] ** 2)
            within = _running(times, scores.within[:, i])
            for row, values in ((2 * at + 1, np.sqrt(squares)), (2 * at + 2, within)):
                label = figure_label(name)
                line = Scatter(x=times[keep], y=values[keep], name=label, legendgroup=label, showlegend=row == 1)
                figure.add_trace(line, row, 1)
    figure.add_trace(Histogram(x=summary.latencies * 1000, nbinsx=100, showlegend=False), len(titles), 1)
    figure.update_layout(height=300 * len(titles), template="plotly_white", margin={"t": 60})
    return figure


def _titles(scores: Scores, *, several: bool) -> tuple[str, str]:
    """Return the titles of the figures of errors and coverage."""
    unit, kind = f" ({figure_label(scores.unit)})" if scores.unit else "", f"{scores.kind}: " if several else ""
    return f"{kind}RMSE over {WINDOW:g} s{unit}", f"{kind}coverage over {WINDOW:g} s"


def _running(times: Floats, values: Floats) -> Floats:
    """Return the mean of the finite values over the last seconds."""
    finite = np.isfinite(values)
    sums = np.concatenate([[0.0], np.cumsum(np.where(finite, values, 0.0))])
    counts = np.concatenate([[0], np.cumsum(finite)])
    start = np.searchsorted(times, times - WINDOW)
    end = np.arange(1, len(times) + 1)
    number = counts[end] - counts[start]
    return np.where(number > 0, (sums[end] - sums[start]) / np.maximum(number, 1), np.nan)
