"""How long a predictor takes for one sample, at the largest sizes of the published grids."""

from __future__ import annotations

import time

import numpy as np

from quatcast.data.simulation import simulated
from quatcast.evaluation.predictors import Batch, find
from quatcast.evaluation.protocol import TRAIN
from quatcast.evaluation.records import Timing

TIMED = ("QRNN-MCC", "QRNN-MSE", "RNN-MCC", "RNN-MSE", "QLMS", "LMS")
"""The predictors of the paper's table of times."""
HORIZON = 20
REPEATS = 3


def measure(name: str) -> Timing:
    """Median time of one step of a predictor: a forecast, and learning from one target.

    The paper does not say at which sizes it measured; these are the largest hidden layer and the longest input of its
    grid, three markers, one run. As there, a step is one of look-ahead learning.

    Examples
    --------
    >>> timing = measure("LMS")
    >>> timing.configuration, 0.0 < timing.milliseconds < 100.0
    ({'lags': 90, 'rate': 0.01}, True)
    """
    predictor = find(name)
    largest = {key: max(predictor.grid[key]) for key in ("hidden", "lags") if key in predictor.grid}
    configuration = {**predictor.usual, **largest}
    recording = simulated(seconds=TRAIN / 10)[1]
    steps = len(recording) - configuration["lags"] - HORIZON + 1
    forecaster = predictor.build(Batch([configuration], [0], HORIZON, recording.rate, "lookahead"))
    seconds = []
    for _ in range(REPEATS):
        began = time.perf_counter()
        forecaster.run(recording.positions)
        seconds.append(time.perf_counter() - began)
    return Timing(name, configuration, float(1000 * np.median(seconds) / steps))
