"""`quatcast report`: write the report of an experiment again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from typer import Argument, Option


def report(
    store: Annotated[Path, Argument(help="The file results.sqlite that compare wrote, or its folder.")],
    out: Annotated[Path | None, Option(help="Folder of the report.", show_default="that of the store")] = None,
) -> None:
    """Write the report and the tables of an experiment, finished or not."""
    from quatcast.cli.compare import store_file
    from quatcast.cli.show import say
    from quatcast.evaluation.report import write
    from quatcast.evaluation.store import Store

    path = store_file(store)
    with Store(path) as opened:
        if not opened.count("test"):
            raise ValueError(f"{path}: holds no test results yet; `quatcast compare` goes on where it was stopped")
    say(f"Report: {write(path, out or path.parent)}")
