"""Plotly figures of the results of experiments.

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

from quatcast.basics.escaping import figure_label
from quatcast.data.wording import with_unit
from quatcast.evaluation.catalogue import describe
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report.forecast_panels import STATUS
from quatcast.evaluation.summary import ALL, LABELS, Summary, fitting_decimals
from quatcast.forecasting.contract import Labels
from quatcast.learners.losses import kernel

NEUTRAL = "#8A8A8A"
KERNEL_WIDTH = 2.0
"""Width of the kernel in the figure of losses."""
DASHES: dict[Labels, str] = {"causal": "solid", "lookahead": "dot"}


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
            hovertemplate=f"%{{y}}, {LABELS[rule]}: {_number(summary, 'x')}<extra></extra>",
        )
        # The legend explains filled and open circles in a neutral colour.
        mark = {"color": NEUTRAL, "size": 11, "symbol": "circle" if rule == "causal" else "circle-open"}
        figure.add_scatter(x=[None], y=[figure_label(order[0])], mode="markers", name=LABELS[rule], marker=mark)
    figure.update_xaxes(
        title_text=_axis_title(f"test RMSE {horizon:g} s ahead, all recordings", summary.unit), rangemode="tozero"
    )
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
            hovertemplate=_number(summary, "y"),
        )
    figure.update_xaxes(title_text="horizon [s]", rangemode="tozero")
    figure.update_yaxes(
        title_text=_axis_title(f"test RMSE, {group}, {LABELS[labels]}", summary.unit), rangemode="tozero"
    )
    return figure


def grid_map(
    cells: Mapping[tuple[str, str], tuple[float, str]], x_title: str, y_title: str, about: str, unit: str = ""
) -> go.Figure:
    """Draw a heat map of the validation: RMSE against two axes of settings.

    Parameters
    ----------
    cells
        (x, y) → mean RMSE and a text that is shown on hovering, in the order of the axes.
    x_title, y_title, about, unit
        Titles of the axes and of the colour scale, and the unit of the RMSE.
    """
    xs, ys = list(dict.fromkeys(x for x, _ in cells)), list(dict.fromkeys(y for _, y in cells))
    values = np.array([[cells.get((x, y), (np.nan, ""))[0] for x in xs] for y in ys])
    words = [[cells.get((x, y), (np.nan, ""))[1] for x in xs] for y in ys]
    finite = values[np.isfinite(values)]
    low = float(finite.min()) if finite.size else 0.0
    high = min(float(finite.max()), 2.5 * low) if finite.size else 1.0
    decimals = fitting_decimals(low, 3)
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
        texttemplate=f"%{{z:.{max(0, decimals - 1)}f}}" if len(xs) <= 10 else None,
        xgap=2,
        ygap=2,
        hovertemplate=f"%{{x}}; %{{y}}: %{{z:.{decimals}f}} {figure_label(unit)}<br>%{{customdata}}<extra></extra>",
        colorbar={"title": {"text": _axis_title(about, unit), "side": "right"}, "thickness": 12, "outlinewidth": 0},
    )
    figure.update_xaxes(title_text=figure_label(x_title), type="category", showgrid=False)
    figure.update_yaxes(title_text=figure_label(y_title), type="category", showgrid=False)
    return figure


def loss_surface(criterion: str) -> go.Figure:
    """Draw the loss of errors that are pure quaternions, as points in space (the paper's Fig. 1).

    The octant that faces the reader is omitted to show the centre.

    Parameters
    ----------
    criterion
        "MSE" for |e|² or "MCC" for the kernel κσ(e).
    """
    line = np.linspace(-5.0, 5.0, 13)
    i, j, k = (part.ravel() for part in np.meshgrid(line, line, line))
    seen = (i <= 0) | (j <= 0) | (k <= 0)
    i, j, k = i[seen], j[seen], k[seen]
    error = np.stack([np.zeros_like(i), i, j, k], axis=-1)
    if criterion == "MSE":
        values, title = np.sum(error**2, axis=-1), "|e|² [std²]"
    else:
        values, title = kernel(error, KERNEL_WIDTH), f"κ(e), σ = {KERNEL_WIDTH:g} [1/std]"
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


def _layout(**more: Any) -> dict[str, Any]:
    """Return the layout of a figure in the report; the script of the page adds fonts and colours."""
    legend = {"orientation": "h", "yref": "container", "y": 0.0, "yanchor": "bottom", "x": 0.0, "xanchor": "left"}
    margin = {"l": 10, "r": 10, "t": 34, "b": 10}
    return {"template": "none", "legend": legend, "margin": margin, "hovermode": "x unified"} | more


def _axis_title(title: str, unit: str) -> str:
    """Return the title of an axis; an unknown unit is said to be that of the file."""
    return figure_label(with_unit(title, unit or "unit of the file"))


def _number(summary: Summary, axis: str) -> str:
    """Return the template of a number with its unit in a hover text."""
    return f"%{{{axis}:.{summary.decimals()}f}} {figure_label(summary.unit)}".rstrip()


def _figure(**more: Any) -> go.Figure:
    return go.Figure(layout=_layout(**more))
