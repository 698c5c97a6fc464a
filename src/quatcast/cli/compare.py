"""`quatcast compare`: the main job."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

if TYPE_CHECKING:
    from quatcast.evaluation.metrics import Estimate
    from quatcast.evaluation.settings import Settings
    from quatcast.evaluation.store import Store

STORE = "results.sqlite"


def compare(
    data: Annotated[list[str] | None, Option(help="simulated, extmarker, or a file; may be repeated.")] = None,
    data_dir: Annotated[str | None, Option(help="Folder of the ExtMarker files, instead of a download.")] = None,
    seconds: Annotated[float | None, Option(help="Cut recordings to their first seconds; 0 leaves them whole.")] = None,
    predictors: Annotated[list[str] | None, Option(help="Names, separated by commas.", show_default="all")] = None,
    labels: Annotated[list[str] | None, Option(help="causal, lookahead.", show_default="both")] = None,
    horizon: Annotated[list[str] | None, Option(help="Seconds ahead, separated by commas.", show_default="2")] = None,
    profile: Annotated[str | None, Option(help="quick, standard or published.", show_default="quick")] = None,
    validation_seeds: Annotated[int | None, Option(help="Runs a configuration in validation.")] = None,
    test_seeds: Annotated[int | None, Option(help="Runs in the test.")] = None,
    settings: Annotated[Path | None, Option(help="TOML file of settings; options given here win.")] = None,
    out: Annotated[str | None, Option(help="Folder of the results.", show_default="runs/DATA-PROFILE")] = None,
    workers: Annotated[int | None, Option(help="Worker processes.", show_default="one a core")] = None,
    cluster: Annotated[str | None, Option(help="Address of a Dask scheduler to work on instead.")] = None,
    device: Annotated[str | None, Option(help="cpu or cuda.")] = None,
    max_runs: Annotated[int | None, Option(help="Most runs computed side by side.")] = None,
    report: Annotated[bool, Option(help="Write the report, or leave that to `quatcast report`.")] = True,
) -> None:
    """Compare predictors on recordings, as the paper does, and write a report.

    What is done is kept: stopped at any moment, the same command goes on where it was.
    """
    from quatcast.evaluation.settings import Settings

    options: dict[str, Any] = {
        "data": _data(data),
        "data_dir": data_dir,
        "seconds": seconds,
        "predictors": words(predictors),
        "labels": words(labels),
        "horizons": _numbers(words(horizon)),
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
    from quatcast.cli.show import Interrupted, Shown, say
    from quatcast.evaluation import protocol, sources
    from quatcast.evaluation.execution import Workers, dask, local
    from quatcast.evaluation.store import Store

    if not settings.cluster and settings.device != "cpu":
        import numpy as np

        place(np.zeros(1), settings.device)
    recordings = sources.load(settings.data, data_dir=settings.data_dir, seconds=settings.seconds, progress=True)
    protocol.check(recordings, settings)
    folder = settings.folder()
    where = dask(settings.cluster) if settings.cluster else local(settings.workers, settings.device)
    with Store(folder / STORE, create=True) as store:
        try:
            with Workers(where) as workers, Shown() as shown:
                count = protocol.compare(recordings, settings, store, workers, shown.update)
            if report:
                _time(store)
            _summary(store)
            say(f"{count} runs done now." if count else "Everything was already there: nothing was done again.")
            say(f"Report: {_report(store, folder)}" if report else f"Results: {store.path}")
        except KeyboardInterrupt:
            kept = f"what was done is kept in {folder}; the same command goes on from there"
            raise Interrupted(f"interrupted; {kept}") from None


def _time(store: Store) -> None:
    """Measure what the table of times needs, once."""
    from quatcast.cli.bench import measured

    if not store.timings():
        for timing in measured():
            store.add_timing(timing)


def _report(store: Store, folder: Path) -> Path:
    """Write the report unless it is there and nothing has changed since."""
    meta = store.meta()
    path = folder / meta.get("report", "")
    if meta.get("reported") != meta["finished"] or not path.is_file():
        from quatcast.evaluation.report import write

        path = write(store.path, folder)
        store.add_meta(reported=meta["finished"], report=path.name)
    return path


def _summary(store: Store) -> None:
    """Print the mean RMSE over all recordings."""
    from quatcast.cli.show import table
    from quatcast.evaluation.summary import Summary

    summary = Summary(store.results("test"))
    columns = [(labels, horizon) for labels in summary.labels for horizon in summary.horizons]
    rows = []
    for name in summary.predictors:
        found = [summary.of_group(labels, horizon, name) for labels, horizon in columns]
        rows.append([name, *(cell(e, len(summary.recordings)) if e else "" for e in found)])
    head = [f"{labels}, {horizon:g} s" for labels, horizon in columns]
    table("Test RMSE in mm, mean over the recordings", ["predictor", *head], rows)


def cell(found: Estimate, recordings: int) -> str:
    """Mean, its interval where recordings were run more than once, and how many runs diverged."""
    interval = f" ± {found.margin:.2f}" if found.runs > recordings else ""
    return f"{found.mean:.2f}{interval}{f', {found.diverged} diverged' * bool(found.diverged)}"


def store_file(path: str | Path) -> Path:
    """Store in a folder of results, or the store itself."""
    path = Path(path)
    return path / STORE if path.is_dir() else path


def words(values: list[str] | None) -> list[str] | None:
    """Words of an option that takes them repeated, or separated by commas."""
    if values is None:
        return None
    return [word.strip() for value in values for word in value.split(",") if word.strip()]


def _data(values: list[str] | None) -> str | list[str] | None:
    return values[0] if values and values[0] in ("simulated", "extmarker") and len(values) == 1 else values


def _numbers(values: list[str] | None) -> list[Any] | None:
    return None if values is None else [_number(value) for value in values]


def _number(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        raise ValueError(f"--horizon: seconds expected, not {value!r}") from None
