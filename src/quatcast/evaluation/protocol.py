"""The published protocol: choose a configuration by cross-validation, then test it with many seeds.

Samples are counted from 1 here, as in the paper. The scaling is fitted to samples 1…300. Validation learns online
over samples 1…600 and scores the forecasts of 301…600, with every configuration of the grid; the one with the
smallest mean RMSE over the seeds is chosen, for each recording, predictor, horizon and label rule by itself. The test
learns online over the whole recording with that configuration and scores the forecasts of samples 601 and on.

Work is cut into jobs: runs that share the shapes of their arrays and are computed side by side, of one predictor or of
several that are built alike. Jobs are planned from the settings alone, so that the same settings always give the same
jobs, and with them the same numbers.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import groupby, pairwise, product
from typing import NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from quatcast.data.recording import Recording
from quatcast.evaluation.execution import Workers
from quatcast.evaluation.metrics import score
from quatcast.evaluation.predictors import Batch, Predictor, find
from quatcast.evaluation.records import Configuration, Key, NewTrace, Result, Stage, Tried, Unseeded, canonical
from quatcast.evaluation.settings import Settings
from quatcast.evaluation.store import Store
from quatcast.forecasting.forecaster import Forecasts, Labels

TRAIN = 300
"""Samples that the scaling is fitted to; validation scores those after them."""
VALIDATION = 600
"""Samples of the validation; the test scores those after them."""

MAX_RUNS = {"cuda": 2000}
HISTORY_BYTES = {"cuda": 5 * 2**30}
"""Runs side by side, and bytes of their past weights, where the device is not a CPU with 64 and half a gigabyte.

A step on a GPU takes about as long for a thousand runs as for a hundred: what counts there is how few jobs there are.
All 1200 runs of one shape in the published grids (four rates, five widths and the square error, 50 seeds) are one job
for networks of up to 30 quaternion or 60 real units, and two beyond. A worker on a GPU was seen to take three times its
past weights: 15 GiB at most, so that eight of them fit into 139 GiB, and four into 80."""
WEIGHTS_A_STEP = {"cuda": 10_000_000}
"""Hidden weights whose arithmetic takes about as long as what every step costs anyway; 10,000 where it is a CPU."""
TRACED_HORIZONS = 4
"""With more horizons than this, traces are kept of the first and the last only."""

Case = tuple[Labels, float, str, str]
"""Labels, horizon in seconds, predictor, recording: what a configuration is chosen for."""


class Run(NamedTuple):
    """One run of a job."""

    predictor: Predictor
    configuration: Configuration
    seed: int


@dataclass(frozen=True, eq=False)
class Job:
    """Runs on one recording that are computed side by side.

    Their predictors are built alike. Where `traced`, each of them whose run of seed 0 is here leaves a trace.
    """

    stage: Stage
    labels: Labels
    horizon: float
    recording: Recording
    runs: tuple[Run, ...]
    traced: bool
    device: str

    def key(self, run: Run) -> Key:
        """Key of the result of a run."""
        text = canonical(run.configuration)
        return (self.stage, self.labels, self.horizon, run.predictor.name, text, self.recording.name, run.seed)

    @property
    def cost(self) -> float:
        """Time that it takes, in an arbitrary unit: something for every sample, something for every number in it."""
        configuration = self.runs[0].configuration
        hidden, lags = int(configuration.get("hidden", 1)), int(configuration.get("lags", 1))
        numbers = len(self.runs) * hidden * (hidden + lags * self.recording.positions.shape[1])
        return float(len(self.recording) * (1.0 + numbers / WEIGHTS_A_STEP.get(self.device, 10_000)))


class Done(NamedTuple):
    """What a job gave."""

    job: Job
    results: list[Result]
    traces: list[NewTrace]


def samples_ahead(horizon: float, recording: Recording) -> int:
    """Horizon in samples of a recording.

    Examples
    --------
    >>> samples_ahead(0.5, Recording("demo", np.zeros((9, 1, 3)), np.arange(9) / 10, rate=10.0))
    5
    """
    exact = horizon * recording.rate
    if round(exact) < 1 or abs(exact - round(exact)) > 0.25:
        raise ValueError(
            f"horizons: {horizon:g} s are {exact:.3g} samples of recording {recording.name!r} "
            f"at {recording.rate:g} Hz, not within a quarter of a whole number"
        )
    return round(exact)


def check(recordings: Sequence[Recording], settings: Settings) -> None:
    """Raise a ValueError that names the first recording that the protocol cannot be applied to."""
    lags = max((c.get("lags", 1) for name in settings.predictors for c in settings.configurations(name)), default=1)
    for recording in recordings:
        if len(recording) < VALIDATION + 2:
            raise ValueError(
                f"recording {recording.name!r}: has {len(recording)} samples; the test begins after sample "
                f"{VALIDATION} and needs at least {VALIDATION + 2}"
            )
        if np.isnan(recording.positions[:TRAIN]).all(axis=0).any():
            raise ValueError(f"recording {recording.name!r}: a channel is missing in all of the first {TRAIN} samples")
        for horizon in settings.horizons:
            steps = samples_ahead(horizon, recording)
            if lags + steps > TRAIN:
                raise ValueError(
                    f"horizons: {horizon:g} s are {steps} samples of recording {recording.name!r}; together with "
                    f"{lags} lags they must not exceed the {TRAIN} samples before validation begins"
                )
            for predictor in map(find, settings.predictors):
                if round(predictor.warmup * recording.rate) + steps > VALIDATION:
                    raise ValueError(
                        f"recording {recording.name!r}: {predictor.name} makes its first forecast after "
                        f"{predictor.warmup:g} s, of a sample {horizon:g} s later, which at {recording.rate:g} Hz is "
                        f"beyond sample {VALIDATION}, where the test begins; leave it out of the predictors"
                    )


def plan(
    stage: Stage,
    recordings: Sequence[Recording],
    settings: Settings,
    configurations: Callable[[Case], Sequence[Configuration]],
) -> list[Job]:
    """Jobs of a stage, the longest first, for the configurations that each case is to be run with."""
    if stage == "validation":
        recordings = [replace(r, positions=r.positions[:VALIDATION], times=r.times[:VALIDATION]) for r in recordings]
    horizons = settings.horizons
    looked_at = horizons if len(horizons) <= TRACED_HORIZONS else [horizons[0], horizons[-1]]
    seeds = settings.validation_seeds if stage == "validation" else settings.test_seeds
    jobs = []
    for labels, horizon, recording in product(cast(list[Labels], settings.labels), horizons, recordings):
        runs = [
            Run(predictor, configuration, seed)
            for predictor in map(find, settings.predictors)
            if labels in predictor.labels
            for configuration in configurations((labels, horizon, predictor.name, recording.name))
            for seed in range(seeds if predictor.seeded else 1)
        ]
        traced = stage == "test" and horizon in looked_at
        jobs += [
            Job(stage, labels, horizon, recording, batch, traced, settings.device) for batch in _batches(runs, settings)
        ]
    return sorted(jobs, key=lambda job: -job.cost)


def _batches(runs: Sequence[Run], settings: Settings) -> Iterator[tuple[Run, ...]]:
    """Cut runs into batches that share shapes, as few as there may be and about as large as each other."""
    groups: dict[object, list[Run]] = defaultdict(list)
    for run in runs:
        groups[run.predictor.shape(run.configuration)].append(run)
    for group in groups.values():
        # All runs of a batch walk back as far as its deepest, and it is fast learners that walk deep.
        group.sort(key=lambda run: float(run.configuration.get("rate", 0.0)))
        history = max(group[0].predictor.history_bytes(group[0].configuration), 1)
        memory = HISTORY_BYTES.get(settings.device, 2**29) // history
        most = max(1, min(settings.max_runs or MAX_RUNS.get(settings.device, 64), memory))
        count = -(-len(group) // most)
        bounds = [i * len(group) // count for i in range(count + 1)]
        for begin, end in pairwise(bounds):
            yield tuple(group[begin:end])


def held(positions: NDArray[np.float64]) -> NDArray[np.float64]:
    """Positions with what is missing held at the last known value, or before any at the first.

    Examples
    --------
    >>> held(np.array([np.nan, 1.0, np.nan, 3.0]))
    array([1., 1., 1., 3.])
    """
    known = np.isfinite(positions)
    index = np.where(known, np.arange(len(positions)).reshape(-1, *(1,) * (positions.ndim - 1)), 0)
    last = np.maximum.accumulate(index, axis=0)
    last = np.where(np.maximum.accumulate(known, axis=0), last, np.argmax(known, axis=0))
    return np.take_along_axis(positions, last, axis=0)


def run(job: Job) -> Done:
    """Do a job; this is what worker processes call."""
    recording = job.recording
    predictors, configurations, seeds = zip(*job.runs, strict=True)
    first = predictors[0]
    steps = samples_ahead(job.horizon, recording)
    began = time.perf_counter()
    batch = Batch(configurations, seeds, steps, recording.rate, job.labels, job.device, recording.channels)
    forecaster = first.build(batch)
    forecasts = forecaster.run(recording.positions if first.takes_missing else held(recording.positions))
    seconds = (time.perf_counter() - began) / len(recording)
    made = np.asarray(forecasts).reshape(len(job.runs), *recording.positions.shape)
    scores = score(recording.positions, made, start=TRAIN if job.stage == "validation" else VALIDATION)
    results = [
        Result(
            *(job.stage, job.labels, job.horizon, predictor.name, configuration, recording.name, seed),
            group=recording.group,
            rmse=float(scores.rmse[i]),
            nrmse=float(scores.nrmse[i]),
            mae=float(scores.mae[i]),
            jitter=float(scores.jitter[i]),
            max=float(scores.max[i]),
            diverged=bool(scores.diverged[i]),
            seconds_per_step=seconds,
        )
        for i, (predictor, configuration, seed) in enumerate(job.runs)
    ]
    return Done(job, results, _traces(job, forecasts, scores.diverged) if job.traced else [])


def _traces(job: Job, forecasts: Forecasts, diverged: NDArray[np.bool_]) -> list[NewTrace]:
    """Trace of every predictor whose run of seed 0 is in the job."""
    traces, many = [], np.asarray(forecasts).ndim == 4
    for name in dict.fromkeys(run.predictor.name for run in job.runs if run.seed == 0):
        own = [i for i, run in enumerate(job.runs) if run.predictor.name == name]
        # The first run that stayed finite shows more than one that did not.
        i = min(own, key=lambda i: diverged[i])
        predictor, configuration, seed = job.runs[i]
        arrays = {"positions": "forecast", "weights": "weight"} | dict(
            zip(predictor.arrays, predictor.arrays, strict=True)
        )
        kept = {new: np.asarray(getattr(forecasts, old)) for old, new in arrays.items()}
        kept = {new: array[i] if many else array for new, array in kept.items()}
        traces.append(NewTrace(job.labels, job.horizon, name, configuration, seed, job.recording.name, kept))
    return traces


def choose(tried: Iterable[Tried]) -> dict[Case, Configuration]:
    """Best configuration of each case: fewest diverged runs, then smallest mean RMSE over the others."""
    cases: dict[Case, list[Tried]] = defaultdict(list)
    for one in tried:
        cases[one.labels, one.horizon, one.predictor, one.recording].append(one)
    return {case: min(found, key=_rank).configuration for case, found in cases.items()}


def _rank(one: Tried) -> tuple[int, float, str]:
    # Where every step is clipped, kernels of different widths do the same; the last digits of a mean must not choose.
    return one.diverged, np.inf if np.isnan(one.rmse) else float(f"{one.rmse:.12g}"), canonical(one.configuration)


Progress = Callable[[Stage, float, float], None]
"""Called with a stage, the cost of what is done of it and the cost of all of it."""


def compare(
    recordings: Sequence[Recording],
    settings: Settings,
    store: Store,
    workers: Workers,
    progress: Progress = lambda stage, done, total: None,
) -> int:
    """Run the protocol and store what it gives; what is stored already is not done again.

    Returns
    -------
    Runs that were done now.
    """
    check(recordings, settings)
    _register(recordings, settings, store)
    began = time.monotonic()
    elapsed = float(store.meta().get("elapsed", "0"))

    def do(stage: Stage, configurations: Callable[[Case], Sequence[Configuration]]) -> int:
        jobs = plan(stage, recordings, settings, configurations)
        stored = store.seeds(stage)
        total, runs = sum(job.cost for job in jobs), 0
        # A batch is stored whole, but one that the settings have grown since may be there in part.
        left = [job for job in (_without(job, stored) for job in jobs) if job.runs]
        if left:
            store.add_meta(finished="")
        done = total - sum(job.cost for job in left)
        progress(stage, done, total)
        for finished in workers.map(run, left):
            store.add(finished.results, finished.traces)
            store.add_meta(elapsed=f"{elapsed + time.monotonic() - began:.1f}")
            done, runs = done + finished.job.cost, runs + len(finished.results)
            progress(stage, done, total)
        return runs

    grids = {name: settings.configurations(name) for name in settings.predictors}
    # Where there is but one configuration there is nothing to choose.
    count = do("validation", lambda case: grids[case[2]] if len(grids[case[2]]) > 1 else [])
    chosen: Mapping[Case, Configuration] = choose(store.tried())
    count += do("test", lambda case: [chosen.get(case, grids[case[2]][0])])
    if not store.meta().get("finished"):
        store.add_meta(finished=_now())
    return count


def _without(job: Job, stored: Mapping[Unseeded, Set[int]]) -> Job:
    """Job less the runs whose seeds are stored."""
    left: list[Run] = []
    # One look at a configuration for all of its seeds, which follow each other: there may be a million runs.
    for _, alike in groupby(job.runs, key=lambda run: (run.predictor.name, run.configuration)):
        runs = list(alike)
        done = stored.get(job.key(runs[0])[:-1], set())
        left += [run for run in runs if run.seed not in done]
    return replace(job, runs=tuple(left))


def _register(recordings: Sequence[Recording], settings: Settings, store: Store) -> None:
    """Write down what the experiment is, once it is clear that it goes with what the store holds."""
    import platform
    import tomllib

    from quatcast import __version__
    from quatcast.evaluation.execution import cores

    meta = store.meta()
    if "settings" in meta:
        try:
            settings.check_extends(Settings.of(tomllib.loads(meta["settings"])))
        except ValueError as error:
            raise ValueError(
                f"{store.path}: holds an experiment with other settings; {error}. Name another folder"
            ) from None
    store.add_recordings(recordings)
    store.add_meta(
        settings=settings.toml(),
        version=__version__,
        data=settings.data if isinstance(settings.data, str) else ", ".join(settings.data),
        started=meta.get("started", _now()),
        machine=f"{cores()} cores, {platform.machine()} {platform.system()}, device {settings.device}, "
        f"Python {platform.python_version()}, NumPy {np.__version__}",
    )


def _now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")
