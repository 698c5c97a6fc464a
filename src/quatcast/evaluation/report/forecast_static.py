"""The figure of a forecast for documents, as SVG, PDF or PNG, drawn by Matplotlib (extra `figures`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from quatcast.basics.escaping import one_line
from quatcast.basics.optional import require
from quatcast.evaluation.report.forecast_panels import ForecastPanels, Panel


def write_static(contents: ForecastPanels, path: Path) -> None:
    """Write the panels of a forecast to a file whose suffix is the format.

    Raises
    ------
    ImportError
        If Matplotlib is not installed.
    """
    mpl, figures = (
        require(name, "quatcast[figures]", f"{path.name}: ") for name in ("matplotlib", "matplotlib.figure")
    )
    count = len(contents.panels)
    # Names from files may contain characters that no font has; a box in their place is no reason for a warning.
    with mpl.rc_context(
        {"svg.fonttype": "path", "svg.hashsalt": "quatcast", "font.size": 8, "axes.grid": True, "grid.alpha": 0.3}
    ):
        figure = figures.Figure(figsize=(7.2, 0.8 + 1.25 * count), layout="constrained")
        axes = figure.subplots(count, 1, sharex=True, squeeze=False)[:, 0]
        for panel, axis in zip(contents.panels, axes, strict=True):
            _draw(panel, axis, contents.colour)
        axes[-1].set_xlabel("time [s]")
        figure.suptitle(_plain(contents.title), fontsize=9, wrap=True)
        handles, labels = axes[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=7)
        metadata: dict[str, Any] = {"Date": None} if path.suffix == ".svg" else {}
        figure.savefig(path, metadata={**metadata, "Creator": "quatcast"} if path.suffix in (".svg", ".pdf") else None)


def _draw(panel: Panel, axis: Any, colour: str) -> None:
    if panel.band is not None:
        x, low, high = panel.band
        axis.fill_between(x, low, high, color=colour, alpha=0.18, linewidth=0, label="95% radius")
    for line in panel.lines:
        style: dict[str, Any] = {"linewidth": 0.7, "linestyle": ":"} if line.dotted else {"linewidth": 1.0}
        drawn = "steps-post" if line.steps else "default"
        axis.plot(line.x, line.y, color=line.colour, label=line.name, drawstyle=drawn, **style)
    axis.set_ylabel(_plain(panel.label))
    if panel.ticks:
        axis.set_yticks(range(len(panel.ticks)), panel.ticks)
        axis.set_ylim(-0.4, len(panel.ticks) - 0.6)


def _plain(text: str) -> str:
    """Return a text in which a dollar sign does not begin a formula."""
    return one_line(text).replace("\\", "\\\\").replace("$", r"\$")
