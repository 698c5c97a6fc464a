"""The plan of an experiment: runs that share the shapes of their arrays are computed side by side in one job.

A job may hold runs of several predictors that have the same `build` function. The plan depends on the settings only, so
equal settings always give equal jobs, and with them equal numbers.
"""

from __future__ import annotations

import pickle
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from typing import NamedTuple, cast

import numpy as np

from quatcast.data.recording import Recording
from quatcast.data.wording import counted
from quatcast.evaluation.catalogue import Predictor, find_predictor
from quatcast.evaluation.protocol import TEST, Case, applicable, samples_ahead, scaling_samples, validation_samples
from quatcast.evaluation.records import Configuration, Key, Stage, canonical
from quatcast.evaluation.run.faults import NO_FAULTS, Faults
from quatcast.evaluation.run.recordings import first_samples
from quatcast.evaluation.run.settings import Settings
from quatcast.forecasting.contract import Labels

MAX_RUNS = {"cuda": 2000}
HISTORY_BYTES = {"cuda": 5 * 2**30}
"""Limits per job on runs and on the size of their past weights; a CPU has 64 runs and half a gigabyte.

A step on a GPU takes about as long for a thousand runs as for a hundred, so the number of jobs determines the time.
All 1200 runs of one shape in the published grids (four learning rates, five widths and the squared error, 50 seeds) are
one job for networks of up to 30 quaternion or 60 real units, and two jobs for larger ones. A worker on a GPU was
measured to take three times the size of its past weights: at most 15 GiB, so that eight workers fit into 139 GiB and
four into 80.
"""
WEIGHTS_PER_STEP = {"cuda": 10_000_000}
"""Hidden weights whose arithmetic takes about as long as the fixed cost of a step; 10,000 on a CPU."""


class RunSpec(NamedTuple):
    """One run of a job."""

    predictor: Predictor
    configuration: Configuration
    seed: int


@dataclass(frozen=True, eq=False)
class Job:
    """Runs on one recording that are computed side by side.

    Their predictors have the same `build` function. If `traced`, a trace is stored for each predictor whose run with
    seed 0 is in the job. The predictors see the recording with `faults`; their forecasts are scored without them.
    """

    stage: Stage
    labels: Labels
    horizon: float
    recording: Recording
    runs: tuple[RunSpec, ...]
    traced: bool
    device: str
    faults: Faults = NO_FAULTS

    def key(self, run: RunSpec) -> Key:
        """Return the key of the result of a run."""
        text = canonical(run.configuration)
        return (self.stage, self.labels, self.horizon, run.predictor.name, text, self.recording.name, run.seed)

    @property
    def modules(self) -> set[str]:
        """Names of the modules that define the predictors."""
        return {run.predictor.module for run in self.runs}

    @property
    def cost(self) -> float:
        """Estimated time in an arbitrary unit: a fixed cost per sample, and a cost per weight."""
        configuration = self.runs[0].configuration
        hidden, lags = int(configuration.get("hidden", 1)), int(configuration.get("lags", 1))
        numbers = len(self.runs) * hidden * (hidden + lags * self.recording.positions.shape[1])
        return float(len(self.recording) * (1.0 + numbers / WEIGHTS_PER_STEP.get(self.device, 10_000)))


def check(recordings: Sequence[Recording], settings: Settings) -> None:
    """Raise a ValueError that names the first predictor or recording to which the protocol cannot be applied."""
    for predictor in map(find_predictor, settings.predictors):
        try:
            pickle.dumps(predictor.build)
        except (AttributeError, TypeError, pickle.PicklingError) as error:
            expected = "a function at the top level of a module, which workers can import, as build"
            raise ValueError(f"predictors: expected {expected} of {predictor.name!r} ({error})") from None
    for recording in recordings:
        rate, least = recording.rate, validation_samples(recording.rate) + 2
        if len(recording) < least:
            was_cut = settings.seconds and len(recording) >= round(settings.seconds * rate)
            cut = f"; recordings are cut to {settings.seconds:g} seconds (--seconds)" if was_cut else ""
            raise ValueError(
                f"recording {recording.name!r}: expected at least {least} samples ({least / rate:.4g} s at {rate:.4g} "
                f"Hz), because the test begins after {TEST:g} s, got {len(recording)} samples{cut}"
            )
        scaling = scaling_samples(rate)
        first = recording.positions[:scaling]
        if names := [name for i, name in enumerate(recording.channels) if np.isnan(first[:, i]).all(axis=0).any()]:
            raise ValueError(
                f"recording {recording.name!r}: expected every channel in the first {scaling / rate:g} s, got no "
                f"sample of {', '.join(names)}; --channels names those to use"
            )
        Faults(settings.glitches, settings.missing, settings.glitch_size).check(recording)
        for horizon in settings.horizons:
            _check_horizon(horizon, recording, settings)
    for one, other in pairwise(settings.horizons):
        if all(samples_ahead(one, recording) == samples_ahead(other, recording) for recording in recordings):
            steps = samples_ahead(one, recordings[0])
            raise ValueError(
                f"horizons: expected different numbers of samples, got {one:g} and {other:g} s, which are both "
                f"{counted(steps, 'sample')} of recording {recordings[0].name!r}"
            )


def _check_horizon(horizon: float, recording: Recording, settings: Settings) -> None:
    """Raise a ValueError if a horizon leaves a predictor without a configuration or a forecast."""
    rate, steps = recording.rate, samples_ahead(horizon, recording)
    for predictor in map(find_predictor, settings.predictors):
        configurations = settings.configurations(predictor.name)
        if not applicable(configurations, horizon, recording):
            lags = min(configuration.get("lags", 1) for configuration in configurations)
            raise ValueError(
                f"horizons: expected at most {scaling_samples(rate)} samples for the horizon and {lags} lags together, "
                f"got {horizon:g} s, which are {steps} samples of recording {recording.name!r}"
            )


def plan(
    stage: Stage,
    recordings: Sequence[Recording],
    settings: Settings,
    configurations: Callable[[Case], Sequence[Configuration]],
) -> list[Job]:
    """Return the jobs of a stage, the longest first.

    Parameters
    ----------
    stage, recordings, settings
        What to plan.
    configurations
        Function that returns the configurations to run for each case.
    """
    if stage == "validation":
        recordings = [first_samples(recording, validation_samples(recording.rate)) for recording in recordings]
    seeds = settings.validation_seeds if stage == "validation" else settings.test_seeds
    faults = Faults(settings.glitches, settings.missing, settings.glitch_size)
    jobs = []
    for labels, horizon, recording in product(cast(list[Labels], settings.labels), settings.horizons, recordings):
        runs = [
            RunSpec(predictor, configuration, seed)
            for predictor in map(find_predictor, settings.predictors)
            if labels in predictor.labels
            for configuration in applicable(
                configurations((labels, horizon, predictor.name, recording.name)), horizon, recording
            )
            for seed in range(seeds if predictor.seeded else 1)
        ]
        jobs += [
            Job(stage, labels, horizon, recording, batch, stage == "test", settings.device, faults)
            for batch in _batches(runs, settings)
        ]
    return sorted(jobs, key=lambda job: -job.cost)


def _batches(runs: Sequence[RunSpec], settings: Settings) -> Iterator[tuple[RunSpec, ...]]:
    """Divide runs into batches of equal shapes, as few as possible and of nearly equal size."""
    groups: dict[object, list[RunSpec]] = defaultdict(list)
    for run in runs:
        groups[run.predictor.shape(run.configuration)].append(run)
    for group in groups.values():
        # All runs of a batch walk back as far as the deepest one, and fast learners walk back furthest.
        group.sort(key=lambda run: float(run.configuration.get("learning_rate", 0.0)))
        history = max(group[0].predictor.history_bytes(group[0].configuration), 1)
        memory = HISTORY_BYTES.get(settings.device, 2**29) // history
        most = max(1, min(settings.max_runs or MAX_RUNS.get(settings.device, 64), memory))
        count = -(-len(group) // most)
        bounds = [i * len(group) // count for i in range(count + 1)]
        for begin, end in pairwise(bounds):
            yield tuple(group[begin:end])
