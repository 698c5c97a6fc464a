"""The command `quatcast compare`: run an experiment and write its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from quatcast.cli import reading

if TYPE_CHECKING:
    from quatcast.data import Recording
    from quatcast.evaluation.metrics import Estimate
    from quatcast.evaluation.run.settings import Settings
    from quatcast.evaluation.store import Store
    from quatcast.evaluation.summary import Summary

STORE = "results.sqlite"
PLAIN = (
    *("data_dir", "seconds", "glitches", "missing", "glitch_size", "profile", "validation_seeds", "test_seeds"),
    *("out", "workers", "cluster", "device", "max_runs"),
)
"""Parameters of `compare` that are settings of the same name."""


def compare(
    files: Annotated[
        list[str] | None, Argument(help="Files, folders of files, or patterns such as 'day1/*.csv'.", metavar="FILE…")
    ] = None,
    data: Annotated[list[str] | None, Option(help="Name of a data source, or a file; files may be repeated.")] = None,
    data_dir: Annotated[str | None, Option(help="Folder of the files of the source.")] = None,
    rate: Annotated[list[str] | None, Option(help="Hz, if a file has no times; or PATTERN=Hz for some files.")] = None,
    unit: Annotated[list[str] | None, Option(help="Unit, or PATTERN=UNIT for some files or channels.")] = None,
    channels: Annotated[list[str] | None, Option(help="Channels to use, separated by commas.")] = None,
    dimensions: reading.Dimensions = None,
    columns: reading.Columns = None,
    ignore: reading.Ignore = None,
    time_column: reading.Time = None,
    time_unit: reading.TimeUnit = None,
    space: reading.Space = None,
    encoding: reading.Encoding = None,
    groups: Annotated[
        list[str] | None, Option(help="NAME=PATTERN, or `folder` for the folders of the files; may be repeated.")
    ] = None,
    seconds: Annotated[float | None, Option(help="Cut recordings to their first seconds; 0 keeps them whole.")] = None,
    glitches: Annotated[float | None, Option(help="Share of samples that predictors see displaced.")] = None,
    missing: Annotated[float | None, Option(help="Share of samples that predictors do not see.")] = None,
    glitch_size: Annotated[
        float | None, Option(help="Size of a glitch in multiples of the motion's spread.", show_default="5")
    ] = None,
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
    mixed: Annotated[bool, Option(help="Resume a store that another version of quatcast has begun.")] = False,
    report: Annotated[bool, Option(help="Write the report; `quatcast report` can write it later.")] = True,
    title: Annotated[str, Option(help="Title of the report.")] = "",
    anonymise: Annotated[bool, Option("--anonymise", help="Number recordings, groups and channels.")] = False,
    tolerance: Annotated[str, Option(help="Count errors up to this, such as 2mm.", show_default="2mm")] = "",
    figures: Annotated[bool, Option("--figures", help="Also write figures as SVG and PDF.")] = False,
) -> None:
    """Compare predictors on recordings under the protocol of the paper, and write a report.

    Results are stored as they are computed. After an interruption the same command resumes.
    """
    parameters = dict(locals())
    how = reading.given(parameters, reading.HOW)
    from quatcast.cli.choices import assignments, group_patterns, number, words
    from quatcast.evaluation import Settings
    from quatcast.evaluation.run.recordings import find_files

    if files and data:
        raise ValueError("--data: expected either files or --data, got both")
    found = find_files(files) if files else None
    options: dict[str, Any] = {
        "data": found or _data(data),
        "rates": assignments("--rate", rate, numeric=True),
        "units": assignments("--unit", unit),
        "channels": words(channels),
        "groups": group_patterns(groups, found or data or []),
        "predictors": words(predictors),
        "labels": words(labels),
        "horizons": None
        if horizon is None
        else [number("--horizon", word, "seconds") for word in words(horizon) or []],
        **{name: parameters[name] for name in PLAIN},
    }
    given = {key: value for key, value in options.items() if value is not None}
    wishes = {name: parameters[name] for name in ("title", "anonymise", "tolerance", "figures")}
    _run(Settings.read(settings, **given) if settings else Settings.of(given), how, report, mixed, wishes)


def _run(settings: Settings, how: dict[str, Any], report: bool, mixed: bool, wishes: dict[str, Any]) -> None:
    from quatcast.algebra.backend import place
    from quatcast.cli.plugins import FILES
    from quatcast.cli.terminal import Interrupted, ProgressDisplay, say
    from quatcast.data.wording import counted
    from quatcast.evaluation import Store, Workers, compare, dask, find_predictor, load, local
    from quatcast.evaluation.metrics import error_unit
    from quatcast.evaluation.report.tolerance import tolerances
    from quatcast.evaluation.run.estimate import check_needs
    from quatcast.evaluation.run.plan import check

    if not settings.cluster and settings.device != "cpu":
        import numpy as np

        place(np.zeros(1), settings.device)
    recordings = load(
        settings.data,
        data_dir=settings.data_dir,
        seconds=settings.seconds,
        progress=True,
        rates=settings.rates,
        units=settings.units,
        channels=settings.channels,
        groups=settings.groups,
        reading=how,
    )
    check_needs(recordings, settings)
    check(recordings, settings)
    tolerances(wishes["tolerance"], list(dict.fromkeys(map(error_unit, recordings))))
    _say_notes(recordings)
    folder = settings.folder()
    modules = {find_predictor(name).module for name in settings.predictors}
    pool = dask(settings.cluster, FILES, modules) if settings.cluster else local(settings.workers, settings.device)
    with Store(folder / STORE, create=True) as store:
        try:
            with Workers(pool) as workers, ProgressDisplay() as display:
                count = compare(recordings, settings, store, workers, display.update, mixed=mixed)
            if report:
                _time(store, recordings)
            _summary(store)
            say(
                f"Computed {counted(count, 'run')}." if count else "All runs were stored already; nothing was computed."
            )
            say(f"Report: {_report(store, folder, wishes)}" if report else f"Results: {store.path}")
        except KeyboardInterrupt:
            raise Interrupted(f"interrupted; results are stored in {folder}; the same command resumes") from None


def _say_notes(recordings: list[Recording]) -> None:
    """Print on standard error what the reader assumed, ignored or converted, and what may mean lost.

    What was cut is said with the results.
    """
    from quatcast.cli.known_faults import suspected_codes
    from quatcast.cli.terminal import warn
    from quatcast.evaluation.protocol import CUT

    by_note: dict[str, list[str]] = {}
    for recording in recordings:
        codes = [f"{said}; if this means lost, clear these cells" for said, _ in suspected_codes(recording)]
        for note in (*recording.notes, *codes):
            if not note.startswith(CUT):
                by_note.setdefault(note, []).append(recording.name)
    for note, names in by_note.items():
        others = f" and {len(names) - 1} other recordings" if len(names) > 2 else f" and {names[-1]}"
        warn(f"{names[0]}{others if len(names) > 1 else ''}: {note}")


def _time(store: Store, recordings: list[Recording]) -> None:
    """Measure the times for the tables of the report, unless they are stored already."""
    import json

    from quatcast.cli.terminal import ProgressDisplay
    from quatcast.evaluation.report.published import DATA_SET
    from quatcast.evaluation.run.timing import measure_all, measure_samples
    from quatcast.evaluation.summary import Summary

    meta = store.meta()
    if "sample_times" not in meta:
        summary = Summary(store.results("test"))
        fastest = max(recordings, key=lambda recording: recording.rate)
        configurations = {
            result.predictor: result.configuration
            for result in summary.results
            if (result.recording, result.horizon) == (fastest.name, summary.horizon)
        }
        with ProgressDisplay() as display:
            times = measure_samples(fastest, configurations, summary.horizon, display.update)
        about = {"recording": fastest.name, "rate": fastest.rate, "milliseconds": times}
        store.add_meta(sample_times=json.dumps(about))
    if not store.timings() and meta.get("data") in (DATA_SET, "simulated"):
        with ProgressDisplay() as display:
            for timing in measure_all(display.update):
                store.add_timing(timing)


def _report(store: Store, folder: Path, wishes: dict[str, Any]) -> Path:
    """Write the report, unless it exists and neither the results nor the wishes have changed since."""
    import json

    from quatcast.evaluation.report import write

    meta = store.meta()
    path = folder / meta.get("report", "")
    state = json.dumps([meta["finished"], wishes], sort_keys=True)
    if meta.get("reported") != state or not path.is_file():
        path = write(store.path, folder, **wishes)
        store.add_meta(reported=state, report=path.name, title=wishes["title"])
    return path


def _summary(store: Store) -> None:
    """Print the mean RMSE over the recordings of each unit, and what was cut or rounded."""
    from quatcast.cli.terminal import print_table, say
    from quatcast.evaluation.metrics import error_unit
    from quatcast.evaluation.report.experiment import Experiment
    from quatcast.evaluation.summary import RecordingInfo, Summary

    recordings = store.recordings()
    infos = [RecordingInfo(r.name, r.group, error_unit(r), len(r.channels)) for r in recordings]
    whole = Summary(store.results("test"), infos)
    parts = whole.by_unit()
    for summary in parts:
        columns = [(labels, horizon) for labels in summary.labels for horizon in summary.horizons]
        rows = []
        for name in summary.predictors:
            means = [summary.of_group(labels, horizon, name) for labels, horizon in columns]
            rows.append([name, *(format_estimate(e, summary) if e else "" for e in means)])
        head = [f"{labels}, {horizon:g} s" for labels, horizon in columns]
        count = len(summary.recordings)
        over = f"mean over {count} recordings" if count > 1 else summary.recordings[0].name
        groups = {recording.group for recording in summary.recordings} - {""}
        of = f" of {groups.pop()}" if len(groups) == 1 and count > 1 and len(parts) > 1 else ""
        unit = f"in {summary.unit}" if summary.unit else "in the unit of the file"
        print_table(f"Test RMSE {unit}, {over}{of}", ["predictor", *head], rows)
    for note in filter(None, (*Experiment(store.meta(), tuple(recordings)).notes(whole), whole.assumption())):
        say(note)


def format_estimate(given: Estimate, summary: Summary) -> str:
    """Return a mean as text, with its interval if recordings were run more than once, and the diverged runs."""
    decimals = summary.few_decimals
    interval = f" ± {given.margin:.{decimals}f}" if given.runs > len(summary.recordings) else ""
    return f"{given.mean:.{decimals}f}{interval}{f', {given.diverged} diverged' * bool(given.diverged)}"


def store_file(path: str | Path) -> Path:
    """Return the path of the store in a folder of results; a path of a file is returned unchanged."""
    path = Path(path)
    return path / STORE if path.is_dir() else path


def _data(values: list[str] | None) -> str | list[str] | None:
    """Return a single value as a text, so that it may be the name of a source."""
    return values[0] if values and len(values) == 1 else values
