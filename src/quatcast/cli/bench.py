"""The command `quatcast bench`: the paper's table of times, measured on this machine."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Annotated

from typer import Option


def bench(
    store: Annotated[Path | None, Option(help="Also write the times to the store of an experiment.")] = None,
) -> None:
    """Measure the time per step of the predictors in milliseconds, on one thread."""
    from quatcast.cli.compare import store_file
    from quatcast.cli.terminal import ProgressDisplay, print_table
    from quatcast.evaluation.catalogue import describe
    from quatcast.evaluation.report.published import TABLE_II
    from quatcast.evaluation.run.timing import measure_all
    from quatcast.evaluation.store import Store

    rows = []
    with Store(store_file(store)) if store else nullcontext() as opened, ProgressDisplay() as display:
        for timing in measure_all(display.update):
            if opened:
                opened.add_timing(timing)
            predictor = describe(timing.predictor)
            fixed = {key: value for key, value in timing.configuration.items() if key not in predictor.along_runs}
            sizes = ", ".join(f"{key} {value}" for key, value in fixed.items())
            paper = TABLE_II.get(predictor.paper, "")
            rows.append([timing.predictor, sizes, f"{timing.milliseconds:.3f}", f"{paper}"])
    print_table("Milliseconds per step", ["predictor", "sizes", "here", "paper"], rows, words=2)
