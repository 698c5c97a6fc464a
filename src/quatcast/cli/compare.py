"""The command `quatcast compare`: run an experiment and write its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

if TYPE_CHECKING:
    from quatcast.evaluation.metrics import Estimate
    from quatcast.evaluation.run.settings import Settings
    from quatcast.evaluation.store import Store

STORE = "results.sqlite"


def compare(
    data: Annotated[list[str] | None, Option(help="Name of a data source, or a file; files may be repeated.")] = None,
    data_dir: Annotated[str | None, Option(help="Folder of the files of the source.")] = None,
    seconds: Annotated[float | None, Option(help="Cut recordings to their first seconds; 0 keeps them whole.")] = None,
    predictors: Annotated[list[str] | None, Option(help="Names, separated by commas.", show_default="built-in")] = None,
    labels: Annotated[list[str] | None, Option(help="causal or lookahead.", show_default="both")] = None,
    horizon: Annotated[list[str] | None, Option(help="Seconds ahead, separated by commas.", show_default="2")] = None,
    profile: Annotated[str | None, Option(help="quick, standard or published.", show_default="quick")] = None,
    validation_seeds: Annotated[int | None, Option(help="Runs per configuration in the validation.")] = None,
    test_seeds: Annotated[int | None, Option(help="Runs per recording in the test.")] = None,
    settings: Annotated[Path | None, Option(help="TOML file of settings; options take precedence.")] = None,
    out: Annotated[str | None, Option(help="Folder for the results.", show_default="runs/DATA-PROFILE")] = None,
    workers: Annotated[int | None, Option(help="Worker processes.", show_default="one per core")] = None,
    cluster: Annotated[str | None, Option(help="Address of a Dask scheduler to use instead.")] = None,
    device: Annotated[str | None, Option(help="cpu or cuda.")] = None,
    max_runs: Annotated[int | None, Option(help="Limit on the runs computed side by side.")] = None,
    report: Annotated[bool, Option(help="Write the report; `quatcast report` can write it later.")] = True,
) -> None:
    """Compare predictors on recordings under the protocol of the paper, and write a report.

    Results are stored as they are computed. After an interruption the same command resumes.
    """
    from quatcast.evaluation import Settings

    options: dict[str, Any] = {
        "data": _data(data),
        "data_dir": data_dir,
        "seconds": seconds,
        "predictors": words(predictors),
        "labels": words(labels),
        "horizons": None if horizon is None else [_number(word) for word in words(horizon) or []],
        "profile": profile,
        "validation_seeds": validation_seeds,
        "test_seeds": test_seeds,
        "out": out,
        "workers": workers,
        "cluster": cluster,
        "device": device,
        "max_runs": max_runs,
    }
    given = {key: value for key, value in options.items() if value is not None}
    _run(Settings.read(settings, **given) if settings else Settings.of(given), report)


def _run(settings: Settings, report: bool) -> None:
    from quatcast.algebra.backend import place
    from quatcast.cli.plugins import FILES
    from quatcast.cli.terminal import Interrupted, ProgressDisplay, say
    from quatcast.evaluation import Store, Workers, compare, dask, find_predictor, load, local
    from quatcast.evaluation.run.plan import check

    if not settings.cluster and settings.device != "cpu":
        import numpy as np

        place(np.zeros(1), settings.device)
    recordings = load(settings.data, data_dir=settings.data_dir, seconds=settings.seconds, progress=True)
    check(recordings, settings)
    folder = settings.folder()
    modules = {find_predictor(name).module for name in settings.predictors}
    pool = dask(settings.cluster, FILES, modules) if settings.cluster else local(settings.workers, settings.device)
    with Store(folder / STORE, create=True) as store:
        try:
            with Workers(pool) as workers, ProgressDisplay() as display:
                count = compare(recordings, settings, store, workers, display.update)
            if report:
                _time(store)
            _summary(store)
            say(f"Computed {count} runs." if count else "All runs were stored already; nothing was computed.")
            say(f"Report: {_report(store, folder)}" if report else f"Results: {store.path}")
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; results are stored in {folder}; the same command resumes") from None


def _time(store: Store) -> None:
    """Measure the times for the table of the report, unless they are stored already."""
    from quatcast.cli.terminal import ProgressDisplay
    from quatcast.evaluation.run.timing import measure_all

    if not store.timings():
        with ProgressDisplay() as display:
            for timing in measure_all(display.update):
                store.add_timing(timing)


def _report(store: Store, folder: Path) -> Path:
    """Write the report, unless it exists and nothing has changed since."""
    meta = store.meta()
    path = folder / meta.get("report", "")
    if meta.get("reported") != meta["finished"] or not path.is_file():
        from quatcast.evaluation.report import write

        path = write(store.path, folder)
        store.add_meta(reported=meta["finished"], report=path.name)
    return path


def _summary(store: Store) -> None:
    """Print the mean RMSE over all recordings."""
    from quatcast.cli.terminal import print_table
    from quatcast.evaluation.summary import Summary

    summary = Summary(store.results("test"))
    columns = [(labels, horizon) for labels in summary.labels for horizon in summary.horizons]
    rows = []
    for name in summary.predictors:
        means = [summary.of_group(labels, horizon, name) for labels, horizon in columns]
        rows.append([name, *(format_estimate(e, len(summary.recordings)) if e else "" for e in means)])
    head = [f"{labels}, {horizon:g} s" for labels, horizon in columns]
    print_table("Test RMSE in mm, mean over the recordings", ["predictor", *head], rows)


def format_estimate(given: Estimate, recordings: int) -> str:
    """Return a mean as text, with its interval if recordings were run more than once, and the diverged runs."""
    interval = f" ± {given.margin:.2f}" if given.runs > recordings else ""
    return f"{given.mean:.2f}{interval}{f', {given.diverged} diverged' * bool(given.diverged)}"


def store_file(path: str | Path) -> Path:
    """Return the path of the store in a folder of results; a path of a file is returned unchanged."""
    path = Path(path)
    return path / STORE if path.is_dir() else path


def words(values: list[str] | None) -> list[str] | None:
    """Return the words of an option that may be repeated or separated by commas."""
    if values is None:
        return None
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _data(values: list[str] | None) -> str | list[str] | None:
    """Return a single value as a text, so that it may be the name of a source."""
    return values[0] if values and len(values) == 1 else values


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"--horizon: expected seconds, got {value!r}") from None
