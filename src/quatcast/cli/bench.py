"""`quatcast bench`: the paper's table of times, on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

if TYPE_CHECKING:
    from quatcast.evaluation.records import Timing


def bench(
    store: Annotated[Path | None, Option(help="Also write the times to the store of an experiment.")] = None,
) -> None:
    """Measure the milliseconds that each predictor takes for a sample, on one thread."""
    from quatcast.cli.compare import store_file
    from quatcast.cli.show import table
    from quatcast.evaluation.published import TABLE_II
    from quatcast.evaluation.store import Store

    kept = Store(store_file(store)) if store else None
    timings = list(measured())
    rows = []
    for timing in timings:
        if kept:
            kept.add_timing(timing)
        sizes = ", ".join(f"{key} {value}" for key, value in timing.configuration.items() if key in ("hidden", "lags"))
        rows.append([timing.predictor, sizes, f"{timing.milliseconds:.3f}", f"{TABLE_II[timing.predictor]}"])
    table("Milliseconds a sample", ["predictor", "sizes", "here", "paper"], rows, words=2)
    if kept:
        kept.close()


def measured() -> Iterator[Timing]:
    """Times of the predictors, each taken by a process with a single thread."""
    from quatcast.cli.show import Shown
    from quatcast.evaluation.execution import Workers, local
    from quatcast.evaluation.timing import TIMED, measure

    with Workers(local(1)) as workers, Shown() as shown:
        for done, timing in enumerate(workers.map(measure, TIMED), start=1):
            shown.update("timing", done, len(TIMED))
            yield timing
