"""One look for all figures of the gallery: called before each example runs."""

from __future__ import annotations

from typing import Any

COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#56b4e9", "#e69f00"]
"""Blue, vermilion, green, purple, sky and orange, which readers with any colour vision can tell apart."""


def use(gallery_conf: dict[str, Any], name: str) -> None:
    """Set the defaults of matplotlib; sphinx-gallery calls it before each example."""
    import matplotlib as mpl
    from cycler import cycler

    mpl.rcdefaults()
    mpl.use("agg")
    mpl.rcParams.update(
        {
            "figure.figsize": (8.0, 4.2),
            "figure.constrained_layout.use": True,
            "figure.dpi": 100,
            "savefig.dpi": 100,
            "axes.prop_cycle": cycler(color=COLOURS),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.alpha": 0.3,
            "lines.linewidth": 1.5,
            "legend.frameon": False,
        }
    )
