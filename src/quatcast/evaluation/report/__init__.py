"""The report of an experiment: tables, figures and one HTML page. Nothing here runs predictors."""

from __future__ import annotations

import os
from pathlib import Path


def write(store_path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Write the report of a store, and its tables as CSV, Markdown and LaTeX. The experiment may be unfinished.

    Parameters
    ----------
    store_path
        The SQLite file that `compare` wrote.
    folder
        Folder for `report.html` and the folder `tables`.

    Returns
    -------
    The path of the HTML file.
    """
    from quatcast.evaluation.report.contents import write_report  # loads Plotly

    return write_report(Path(store_path), Path(folder))
