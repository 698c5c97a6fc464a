"""Running the published protocol: validation of every configuration, then the test of the chosen ones."""

from __future__ import annotations

import platform
import time
import tomllib
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quatcast import __version__
from quatcast.basics.typing import Bools
from quatcast.data.recording import Recording
from quatcast.evaluation.catalogue import find_predictor
from quatcast.evaluation.in_space import batch_for, coordinates_for
from quatcast.evaluation.metrics import score
from quatcast.evaluation.protocol import Case, applicable, choose, scaling_samples, validation_samples
from quatcast.evaluation.provenance import Origin, origin
from quatcast.evaluation.records import Configuration, NewTrace, Result, Stage, Unseeded
from quatcast.evaluation.run.estimate import check_needs
from quatcast.evaluation.run.execution import Workers, cores
from quatcast.evaluation.run.plan import Job, RunSpec, check, plan
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import SCORES, Store
from quatcast.forecasting.contract import Forecasts

Progress = Callable[[Stage, float, float], None]
"""Called with a stage, the cost of its finished jobs and the cost of all its jobs."""


class JobResult(NamedTuple):
    """The results and traces of a finished job, and the code that computed them."""

    job: Job
    results: list[Result]
    traces: list[NewTrace]
    origin: Origin | None = None


def run_job(job: Job) -> JobResult:
    """Compute a job; worker processes call this function."""
    recording = job.recording
    predictors, configurations, seeds = zip(*job.runs, strict=True)
    first = predictors[0]
    began = time.perf_counter()
    batch = batch_for(first, recording, job.horizon, job.labels, configurations, seeds, job.device)
    coordinates = coordinates_for(first, job.faults.apply(recording))
    forecasts = first.run(batch, coordinates.positions)
    seconds = (time.perf_counter() - began) / len(recording)
    forecasts = replace(forecasts, positions=coordinates.back(np.asarray(forecasts), batch.horizon))
    positions = np.asarray(forecasts).reshape(len(job.runs), *recording.positions.shape)
    begin = scaling_samples if job.stage == "validation" else validation_samples
    scores = score(recording.positions, positions, begin(recording.rate), recording.space)
    results = [
        Result(
            *(job.stage, job.labels, job.horizon, predictor.name, configuration, recording.name, seed),
            group=recording.group,
            **dict[str, Any]((name, float(getattr(scores, name)[i])) for name in SCORES),
            diverged=bool(scores.diverged[i]),
            seconds_per_step=seconds,
        )
        for i, (predictor, configuration, seed) in enumerate(job.runs)
    ]
    traces = _traces(job, forecasts, scores.diverged) if job.traced else []
    return JobResult(job, results, traces, origin(job.modules))


def _traces(job: Job, forecasts: Forecasts, diverged: Bools) -> list[NewTrace]:
    """Return the trace of every predictor whose run with seed 0 is in the job."""
    traces, batched = [], np.asarray(forecasts).ndim == 4
    for name in dict.fromkeys(run.predictor.name for run in job.runs if run.seed == 0):
        runs = [i for i, run in enumerate(job.runs) if run.predictor.name == name]
        # A run that diverged shows little, so the first finite one is preferred.
        i = min(runs, key=lambda i: diverged[i])
        predictor, configuration, seed = job.runs[i]
        names = {"forecast": "positions", "weight": "weights"} | {name: name for name in predictor.arrays}
        arrays = {new: np.asarray(getattr(forecasts, old)) for new, old in names.items()}
        arrays = {new: array[i] if batched else array for new, array in arrays.items()}
        if job.recording.space == "orientation" and "radius" in arrays:
            arrays["radius"] = np.degrees(arrays["radius"])
        traces.append(NewTrace(job.labels, job.horizon, name, configuration, seed, job.recording.name, arrays))
    return traces


def compare(
    recordings: Sequence[Recording],
    settings: Settings,
    store: Store,
    workers: Workers,
    progress: Progress = lambda stage, done, total: None,
    *,
    mixed: bool = False,
) -> int:
    """Run the protocol and store its results; runs that are in the store already are not repeated.

    Parameters
    ----------
    recordings
        The recordings, in the order in which reports show them.
    settings
        What to compare.
    store
        Where results are written.
    workers
        Where jobs are computed.
    progress
        Function that is called after every job.
    mixed
        Whether to resume a store with results of other versions of quatcast, or of other code. The report then names
        them.

    Returns
    -------
    The number of runs that were computed by this call.
    """
    if not recordings:
        raise ValueError("recordings: expected at least one, got none")
    check_needs(recordings, settings)
    check(recordings, settings)
    own = {origin([find_predictor(name).module]) for name in settings.predictors}
    if not mixed:
        _check_origins(store, own)
    _register(recordings, settings, store)
    began = time.monotonic()
    elapsed = float(store.meta().get("elapsed", "0"))

    def compute(stage: Stage, configurations: Callable[[Case], Sequence[Configuration]]) -> int:
        jobs = plan(stage, recordings, settings, configurations)
        stored = store.seeds(stage)
        total, runs = sum(job.cost for job in jobs), 0
        # A job is stored as a whole, but one that has grown with the settings may be stored in part.
        missing = [job for job in (_without(job, stored) for job in jobs) if job.runs]
        if missing:
            store.add_meta(finished="")
        done = total - sum(job.cost for job in missing)
        progress(stage, done, total)
        for finished in workers.map(run_job, missing):
            if finished.origin not in own:
                other = finished.origin or "an earlier version of quatcast"
                raise ValueError(f"a worker computes with {other}, expected {origin()}; install the same everywhere")
            store.add(finished.results, finished.traces, finished.origin)
            store.add_meta(elapsed=f"{elapsed + time.monotonic() - began:.1f}")
            done, runs = done + finished.job.cost, runs + len(finished.results)
            progress(stage, done, total)
        return runs

    grids = {name: settings.configurations(name) for name in settings.predictors}
    # A single configuration needs no validation.
    count = compute("validation", lambda case: grids[case[2]] if len(grids[case[2]]) > 1 else [])
    chosen = choose(store.tried())
    by_name = {recording.name: recording for recording in recordings}

    def tested(case: Case) -> list[Configuration]:
        _, horizon, predictor, recording = case
        return [chosen[case]] if case in chosen else applicable(grids[predictor], horizon, by_name[recording])[:1]

    count += compute("test", tested)
    store.add_meta(version=_versions(store))
    if not store.meta().get("finished"):
        store.add_meta(finished=_now())
    return count


def _without(job: Job, stored: Mapping[Unseeded, Set[int]]) -> Job:
    """Return a job without the runs whose seeds are stored."""
    missing: list[RunSpec] = []
    # The seeds of a configuration follow each other. One look-up serves all of them: there may be a million runs.
    for _, group in groupby(job.runs, key=lambda run: (run.predictor.name, run.configuration)):
        runs = list(group)
        done = stored.get(job.key(runs[0])[:-1], set())
        missing += [run for run in runs if run.seed not in done]
    return replace(job, runs=tuple(missing))


def _check_origins(store: Store, own: Set[Origin]) -> None:
    """Raise a ValueError if the store has results of other code."""
    versions = {one.version for one in own}
    others = {
        other: count
        for other, count in store.origins().items()
        # Stores of earlier formats tell the version only.
        if (other not in own if other.code else other.version not in versions)
    }
    if others:
        found = ", ".join(f"{count:,} results of {other}" for other, count in others.items())
        raise ValueError(
            f"{store.path}: holds {found}; this is {origin()}, which may compute other numbers. Use --mixed to keep "
            "them and continue, or another folder (--out) to start anew"
        )


def _versions(store: Store) -> str:
    """Return the versions that computed the results of a store as text."""
    origins = store.origins()
    if len({origin.version for origin in origins}) == len(origins) == 1:
        return next(iter(origins)).version
    return "; ".join(f"{origin}: {count:,} results" for origin, count in origins.items()).replace("quatcast ", "")


def _register(recordings: Sequence[Recording], settings: Settings, store: Store) -> None:
    """Store the description of the experiment, after checking that it is compatible with the stored results."""
    meta = store.meta()
    if "settings" in meta:
        try:
            settings.check_extends(Settings.of(tomllib.loads(meta["settings"])))
        except ValueError as error:
            raise ValueError(
                f"{store.path}: holds an experiment with other settings; {error}. Use another folder"
            ) from None
    store.add_recordings(recordings)
    store.add_meta(
        settings=settings.toml(),
        version=_versions(store) or __version__,
        # Folders may hold names of patients and are not shown anywhere.
        data=settings.data if isinstance(settings.data, str) else ", ".join(Path(file).name for file in settings.data),
        started=meta.get("started", _now()),
        machine=f"{cores()} cores, {platform.machine()} {platform.system()}, device {settings.device}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}",
    )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
