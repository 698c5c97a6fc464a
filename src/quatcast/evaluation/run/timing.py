"""Timing: how long predictors take per sample, at the sizes of the paper and as they were tested."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.recording import Recording
from quatcast.data.simulation import simulated
from quatcast.evaluation.catalogue import Batch, Predictor, find_predictor, predictors
from quatcast.evaluation.in_space import batch_for, coordinates_for
from quatcast.evaluation.protocol import SCALING, validation_samples
from quatcast.evaluation.records import Configuration, Timing
from quatcast.evaluation.run.execution import Workers, local
from quatcast.evaluation.run.recordings import first_samples
from quatcast.forecasting.contract import Labels

HORIZON = 20
REPEATS = 3
TIMED_SAMPLES = 600
"""Samples of a recording that are timed, after those of the validation."""


def measure(predictor: Predictor) -> Timing:
    """Measure the median time of one step of a predictor: one forecast, and learning from one target.

    The paper does not state the sizes at which it measured. Here they are the largest values of all settings that
    determine the shape of arrays, with three markers and one run. As in the paper, labels are look-ahead.

    Examples
    --------
    >>> from quatcast.evaluation import find_predictor
    >>> timing = measure(find_predictor("LMS"))
    >>> timing.configuration, 0.0 < timing.milliseconds < 100.0
    ({'lags': 90, 'learning_rate': 0.01}, True)
    """
    largest = {key: max(values) for key, values in predictor.grid.items() if key not in predictor.along_runs}
    configuration = {**predictor.usual, **largest}
    recording = simulated(seconds=SCALING)[1]
    steps = len(recording) - configuration.get("lags", 1) - HORIZON + 1
    batch = Batch([configuration], [0], HORIZON, recording.rate, "lookahead")
    seconds = [_seconds(predictor, batch, recording.positions) for _ in range(REPEATS)]
    return Timing(predictor.name, configuration, float(1000 * np.median(seconds) / steps))


def _seconds(predictor: Predictor, batch: Batch, positions: Floats) -> float:
    """Return the time that a new forecaster takes for positions."""
    forecaster = predictor.build(batch)
    began = time.perf_counter()
    forecaster.run(positions)
    return time.perf_counter() - began


def measure_all(progress: Callable[[str, float, float], None]) -> Iterator[Timing]:
    """Measure every predictor that is to be timed, in a worker process with a single thread."""
    timed = [predictor for predictor in predictors() if predictor.timed]
    with Workers(local(1)) as workers:
        for done, timing in enumerate(workers.map(measure, timed), start=1):
            progress("timing", done, len(timed))
            yield timing


class TimedCase(NamedTuple):
    """A predictor that is to be timed on a recording, with the configuration and the horizon of its test."""

    predictor: Predictor
    configuration: Configuration
    recording: Recording
    horizon: float


def measure_sample(case: TimedCase) -> float:
    """Measure the milliseconds that a predictor takes per sample of the test: learning and forecasting, one run.

    The time of a run to the beginning of the test is subtracted, so that a warm-up does not count.

    Examples
    --------
    >>> case = TimedCase(find_predictor("persistence"), {}, simulated(seconds=70)[1], horizon=0.5)
    >>> 0.0 < measure_sample(case) < 100.0
    True
    """
    predictor, configuration, recording, horizon = case
    rule: Labels = "causal" if "causal" in predictor.labels else "lookahead"
    begin = validation_samples(recording.rate)
    end = min(len(recording), begin + TIMED_SAMPLES)
    positions = coordinates_for(predictor, recording).positions
    batch = batch_for(predictor, recording, horizon, rule, [configuration])
    whole, before = (_seconds(predictor, batch, positions[:count]) for count in (end, begin))
    # Where samples take so little time that noise exceeds it, the mean over all samples serves.
    seconds = (whole - before) / (end - begin) if whole > 1.02 * before else whole / end
    return 1000 * seconds


def measure_samples(
    recording: Recording,
    configurations: Mapping[str, Configuration],
    horizon: float,
    progress: Callable[[str, float, float], None],
) -> dict[str, float]:
    """Measure the milliseconds per sample of several predictors, in a worker process with a single thread.

    Parameters
    ----------
    recording
        The recording.
    configurations
        Predictor → the configuration that is timed.
    horizon
        Seconds ahead.
    progress
        Called after each predictor.
    """
    first = first_samples(recording, validation_samples(recording.rate) + TIMED_SAMPLES)
    found: dict[str, float] = {}
    with Workers(local(1)) as workers:
        for name, configuration in configurations.items():
            (found[name],) = workers.map(
                measure_sample, [TimedCase(find_predictor(name), configuration, first, horizon)]
            )
            progress("timing", len(found), len(configurations))
    return found
