"""The report of an experiment: tables, figures and one HTML page. Nothing here runs predictors."""

from __future__ import annotations

import os
from pathlib import Path


def write(
    store_path: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    title: str = "",
    anonymise: bool = False,
    tolerance: str = "",
    figures: bool = False,
) -> Path:
    """Write the report of a store, and its tables as CSV, Markdown and LaTeX. The experiment may be unfinished.

    Parameters
    ----------
    store_path
        The SQLite file that `compare` wrote.
    folder
        Folder for `report.html` and the folders `tables` and `figures`.
    title
        Title of the report; by default that of the experiment.
    anonymise
        Whether to number recordings, groups and channels instead of naming them, and to leave out files and dates.
    tolerance
        Errors up to the tolerance are counted, such as "2" or "2 mm, 0.5 deg"; by default 2 mm where the unit is mm.
    figures
        Whether to also write figures as SVG and PDF, which needs matplotlib.

    Returns
    -------
    The path of the HTML file.
    """
    from quatcast.evaluation.report.contents import Options, write_report  # loads Plotly

    return write_report(Path(store_path), Path(folder), Options(title, anonymise, tolerance, figures))
