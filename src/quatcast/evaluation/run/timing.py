"""Timing: how long each predictor takes per step at the largest sizes of its grid."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from quatcast.data.simulation import simulated
from quatcast.evaluation.catalogue import Batch, Predictor, predictors
from quatcast.evaluation.protocol import SCALING
from quatcast.evaluation.records import Timing
from quatcast.evaluation.run.execution import Workers, local

HORIZON = 20
REPEATS = 3


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
    seconds = []
    for _ in range(REPEATS):
        forecaster = predictor.build(Batch([configuration], [0], HORIZON, recording.rate, "lookahead"))
        began = time.perf_counter()
        forecaster.run(recording.positions)
        seconds.append(time.perf_counter() - began)
    return Timing(predictor.name, configuration, float(1000 * np.median(seconds) / steps))


def measure_all(progress: Callable[[str, float, float], None]) -> Iterator[Timing]:
    """Measure every predictor that is to be timed, in a worker process with a single thread."""
    timed = [predictor for predictor in predictors() if predictor.timed]
    with Workers(local(1)) as workers:
        for done, timing in enumerate(workers.map(measure, timed), start=1):
            progress("timing", done, len(timed))
            yield timing
