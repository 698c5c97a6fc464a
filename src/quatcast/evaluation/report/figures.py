"""Plotly figures of forecasts and of the results of experiments.

Each predictor has the same colour and symbol in all figures; they are part of its record in the catalogue. The colours
of the built-in predictors are those of Okabe and Ito, or similar, so that people with colour vision deficiency can
distinguish them. Every axis has a title with its unit in square brackets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from quatcast.data.recording import Recording
from quatcast.escaping import figure_label
from quatcast.evaluation.catalogue import describe
from quatcast.evaluation.records import Trace
from quatcast.evaluation.summary import ALL, LABELS, Summary
from quatcast.forecasting.contract import Forecasts, Labels
from quatcast.safety.status import Status
from quatcast.training.losses import kernel
from quatcast.typing import Bools

FORECAST = "#D55E00"
"""Colour of a single forecast."""
NEUTRAL = "#8A8A8A"
DASHES: dict[Labels, str] = {"causal": "solid", "lookahead": "dot"}

STATUS = tuple(status.label for status in Status)
"""Names of the numbers in the array "status" of a trace."""


def coordinates(dimensions: int) -> tuple[str, ...]:
    """Return the names of the coordinates of a 3-D or 4-D sample.

    Examples
    --------
    >>> coordinates(3)
    ('x', 'y', 'z')
    """
    return ("x", "y", "z") if dimensions == 3 else ("w", "x", "y", "z")


def forecast_figure(recording: Recording, forecasts: Forecasts, title: str = "") -> go.Figure:
    """Draw actual positions and their forecasts, with one panel per coordinate and a common time axis.

    Parameters
    ----------
    recording
        The recording.
    forecasts
        Its forecasts; if there are several runs, the first is drawn. If they have an array `radius` (T, channels), a
        band of that half-width is drawn around each coordinate.
    title
        Title of the figure; by default the recording, the horizon and the label rule.

    Examples
    --------
    >>> rows = np.zeros((50, 1, 3))
    >>> recording = Recording("demo", rows, np.arange(50) / 10, rate=10.0)
    >>> figure = forecast_figure(recording, Forecasts(rows, np.ones(50), horizon=5, labels="causal", truncated=0))
    >>> figure.layout.title.text
    'demo: forecasts 0.5 s ahead, causal labels'
    """
    positions = np.asarray(forecasts).reshape(-1, *recording.positions.shape)[0]
    radius = getattr(forecasts, "radius", None)
    if radius is not None:
        radius = np.asarray(radius).reshape(-1, *recording.positions.shape[:2])[0]
    names = [f"{c} {axis}" for c in recording.channels for axis in coordinates(recording.dimensions)]
    figure = make_subplots(len(names), 1, shared_xaxes=True, vertical_spacing=0.15 / len(names))
    for row, name in enumerate(names):
        channel, axis = divmod(row, recording.dimensions)
        truth, guess, at = recording.positions[:, channel, axis], positions[:, channel, axis], recording.times
        place = {"row": row + 1, "col": 1}
        once = {"showlegend": row == 0}
        if radius is not None:
            width = radius[:, channel]
            band = {"mode": "lines", "line_width": 0, "hoverinfo": "skip", "legendgroup": "radius"}
            figure.add_trace(go.Scatter(x=at, y=guess - width, showlegend=False, **band), **place)
            fill = {"fill": "tonexty", "fillcolor": "rgba(213, 94, 0, 0.18)", "name": "95% radius"}
            figure.add_trace(go.Scatter(x=at, y=guess + width, **fill, **band, **once), **place)
        line = {"mode": "lines", "hovertemplate": "%{y:.2f} mm"}
        actual = {"name": "actual", "legendgroup": "actual", "line": {"color": "#333333", "width": 1.5}}
        figure.add_trace(go.Scatter(x=at, y=truth, **actual, **line, **once), **place)
        forecast = {"name": "forecast", "legendgroup": "forecast", "line": {"color": FORECAST, "width": 1.5}}
        figure.add_trace(go.Scatter(x=at, y=guess, **forecast, **line, **once), **place)
        figure.update_yaxes(title_text=f"{figure_label(name)} [mm]", **place)
    figure.update_xaxes(title_text="time [s]", row=len(names), col=1)
    ahead = forecasts.horizon / recording.rate
    figure.update_layout(
        template="plotly_white",
        title_text=figure_label(title or f"{recording.name}: forecasts {ahead:g} s ahead, {LABELS[forecasts.labels]}"),
        height=120 + 190 * len(names),
        hovermode="x unified",
        legend={"orientation": "h", "y": 1.0, "yanchor": "bottom", "x": 1.0, "xanchor": "right"},
    )
    return figure


def lookahead_gap(summary: Summary) -> go.Figure:
    """Draw the RMSE of each predictor under both label rules, joined by a line."""
    horizon = summary.horizon
    order = list(reversed(summary.predictors))
    figure = _figure(height=90 + 42 * len(order), hovermode="closest")
    for name in order:
        means = [e.mean for rule in summary.labels if (e := summary.of_group(rule, horizon, name)) is not None]
        if len(means) == 2:
            line = {"color": describe(name).colour, "width": 3}
            figure.add_scatter(
                x=means,
                y=[figure_label(name)] * 2,
                mode="lines",
                line=line,
                opacity=0.45,
                showlegend=False,
                hoverinfo="skip",
            )
    for rule in summary.labels:
        points = {name: e for name in order if (e := summary.of_group(rule, horizon, name)) is not None}
        colours = [describe(name).colour for name in points]
        figure.add_scatter(
            x=[e.mean for e in points.values()],
            y=[figure_label(name) for name in points],
            error_x={"array": [e.margin for e in points.values()], "thickness": 1.2, "width": 4, "color": NEUTRAL},
            mode="markers",
            showlegend=False,
            marker={
                "color": colours,
                "size": 13,
                "symbol": "circle" if rule == "causal" else "circle-open",
                "line": {"width": 2.5, "color": colours},
            },
            hovertemplate="%{y}, " + LABELS[rule] + ": %{x:.3f} mm<extra></extra>",
        )
        # The legend explains filled and open circles in a neutral colour.
        mark = {"color": NEUTRAL, "size": 11, "symbol": "circle" if rule == "causal" else "circle-open"}
        figure.add_scatter(x=[None], y=[figure_label(order[0])], mode="markers", name=LABELS[rule], marker=mark)
    figure.update_xaxes(title_text=f"test RMSE {horizon:g} s ahead, all recordings [mm]", rangemode="tozero")
    categories = [figure_label(name) for name in order]
    figure.update_yaxes(title_text="predictor", type="category", categoryorder="array", categoryarray=categories)
    return figure


def horizon_sweep(summary: Summary, labels: Labels, group: str = ALL) -> go.Figure:
    """Draw the RMSE of each predictor against the horizon."""
    figure = _figure(height=460)
    for name in summary.predictors:
        points = {h: e for h in summary.horizons if (e := summary.of_group(labels, h, name, group)) is not None}
        if not points:
            continue
        figure.add_scatter(
            x=list(points),
            y=[e.mean for e in points.values()],
            error_y={"array": [e.margin for e in points.values()], "thickness": 1, "width": 3},
            mode="lines+markers",
            name=figure_label(name),
            line={"color": describe(name).colour, "width": 2, "dash": DASHES[labels]},
            marker={"symbol": describe(name).symbol, "size": 8},
            hovertemplate="%{y:.3f} mm",
        )
    figure.update_xaxes(title_text="horizon [s]", rangemode="tozero")
    figure.update_yaxes(title_text=f"test RMSE, {figure_label(group)}, {LABELS[labels]} [mm]", rangemode="tozero")
    return figure


def grid_map(cells: Mapping[tuple[str, str], tuple[float, str]], x_title: str, y_title: str, about: str) -> go.Figure:
    """Draw a heat map of the validation: RMSE against two axes of settings.

    Parameters
    ----------
    cells
        (x, y) → mean RMSE and a text that is shown on hovering, in the order of the axes.
    x_title, y_title, about
        Titles of the axes and of the colour scale.
    """
    xs, ys = list(dict.fromkeys(x for x, _ in cells)), list(dict.fromkeys(y for _, y in cells))
    values = np.array([[cells.get((x, y), (np.nan, ""))[0] for x in xs] for y in ys])
    words = [[cells.get((x, y), (np.nan, ""))[1] for x in xs] for y in ys]
    finite = values[np.isfinite(values)]
    low = float(finite.min()) if finite.size else 0.0
    high = min(float(finite.max()), 2.5 * low) if finite.size else 1.0
    figure = _figure(height=max(320, 190 + 26 * len(ys)), hovermode="closest")
    figure.add_heatmap(
        x=[figure_label(x) for x in xs],
        y=[figure_label(y) for y in ys],
        z=values,
        zmin=low,
        zmax=max(high, 1.02 * low),
        colorscale="Cividis",
        reversescale=True,
        customdata=words,
        texttemplate="%{z:.2f}" if len(xs) <= 10 else None,
        xgap=2,
        ygap=2,
        hovertemplate="%{x}; %{y}: %{z:.3f} mm<br>%{customdata}<extra></extra>",
        colorbar={"title": {"text": about, "side": "right"}, "thickness": 12, "outlinewidth": 0},
    )
    figure.update_xaxes(title_text=figure_label(x_title), type="category", showgrid=False)
    figure.update_yaxes(title_text=figure_label(y_title), type="category", showgrid=False)
    return figure


def loss_surface(criterion: str, sigma: float = 2.0, reach: float = 5.0, count: int = 13) -> go.Figure:
    """Draw the loss of errors that are pure quaternions, as points in space (the paper's Fig. 1).

    The octant that faces the reader is omitted to show the centre.

    Parameters
    ----------
    criterion
        "MSE" for |e|² or "MCC" for the kernel κσ(e).
    sigma
        Kernel width.
    reach, count
        The cube is [−reach, reach]³ with `count` points per edge.
    """
    line = np.linspace(-reach, reach, count)
    i, j, k = (part.ravel() for part in np.meshgrid(line, line, line))
    seen = (i <= 0) | (j <= 0) | (k <= 0)
    i, j, k = i[seen], j[seen], k[seen]
    error = np.stack([np.zeros_like(i), i, j, k], axis=-1)
    if criterion == "MSE":
        values, title = np.sum(error**2, axis=-1), "|e|² [std²]"
    else:
        values, title = kernel(error, sigma), f"κ(e), σ = {sigma:g} [1/std]"
    figure = _figure(height=420, hovermode="closest", margin={"l": 0, "r": 0, "t": 34, "b": 0})
    figure.add_scatter3d(
        x=i.astype(np.float32),
        y=j.astype(np.float32),
        z=k.astype(np.float32),
        mode="markers",
        marker={
            "size": 4.5,
            "opacity": 0.9,
            "color": values.astype(np.float32),
            "colorscale": "Viridis",
            "colorbar": {"title": {"text": title, "side": "right"}, "thickness": 12, "len": 0.7, "outlinewidth": 0},
        },
        hovertemplate="(%{x:.1f} i, %{y:.1f} j, %{z:.1f} k): %{marker.color:.3f}<extra></extra>",
    )
    figure.update_scenes(
        **{f"{axis}axis": {"title": {"text": f"{unit} [std]"}} for axis, unit in zip("xyz", "ijk", strict=True)},
        camera={"eye": {"x": 1.7, "y": 1.7, "z": 1.0}},
    )
    return figure


def status_figure(trace: Trace) -> go.Figure:
    """Draw the status over time, and below it the samples of each channel that the gate rejected."""
    status, replaced = trace.extra.get("status"), trace.extra.get("replaced")
    rows = [array for array in (status, replaced) if array is not None]
    figure = make_subplots(len(rows), 1, shared_xaxes=True, vertical_spacing=0.12)
    figure.update_layout(**_layout(height=110 + 170 * len(rows), hovermode="closest"), showlegend=False)
    if status is not None:
        codes = np.asarray(status, dtype=float)
        line = {"color": describe(trace.predictor).colour, "width": 2, "shape": "hv"}
        figure.add_scatter(x=trace.times, y=codes, mode="lines", line=line, row=1, col=1)
        figure.update_yaxes(
            title_text="status [–]",
            tickvals=list(range(len(STATUS))),
            ticktext=list(STATUS),
            range=[-0.4, len(STATUS) - 0.6],
            row=1,
            col=1,
        )
    last = {"row": len(rows), "col": 1}
    if replaced is not None:
        when, channel = np.nonzero(np.asarray(replaced) > 0)
        figure.add_scatter(
            x=trace.times[when],
            y=channel,
            mode="markers",
            marker={"color": describe(trace.predictor).colour, "symbol": "line-ns-open", "size": 14},
            hovertemplate="%{x:.1f} s<extra></extra>",
            **last,
        )
        figure.update_yaxes(
            title_text="rejected samples [channel]",
            tickvals=list(range(len(trace.channels))),
            ticktext=[figure_label(channel) for channel in trace.channels],
            range=[-0.5, len(trace.channels) - 0.5],
            **last,
        )
    figure.update_xaxes(range=[float(trace.times[0]), float(trace.times[-1])])
    figure.update_xaxes(title_text="time [s]", **last)
    return figure


def within_radius(trace: Trace, start: int) -> Bools | None:
    """Tell for each position from index `start` on whether it was within the radius of its forecast.

    Positions without an observation or a radius are omitted.
    """
    radius = trace.extra.get("radius")
    if radius is None:
        return None
    error = np.linalg.norm(trace.forecast - trace.actual, axis=-1)[start:]
    scored = np.isfinite(error) & np.isfinite(radius[start:])
    return np.asarray(error[scored] <= radius[start:][scored])


def _layout(**more: Any) -> dict[str, Any]:
    """Return the layout of a figure in the report; the script of the page adds fonts and colours."""
    legend = {"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0, "xanchor": "left"}
    margin = {"l": 10, "r": 10, "t": 34, "b": 10}
    return {"template": "none", "legend": legend, "margin": margin, "hovermode": "x unified"} | more


def _figure(**more: Any) -> go.Figure:
    return go.Figure(layout=_layout(**more))
