"""The built-in predictors: the methods of the paper, baselines and the recommended forecaster."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from quatcast.evaluation.catalogue import MAX_DEPTH, Batch, Predictor, RecordingForecaster, register_predictor
from quatcast.evaluation.scaled_first import ScaledFirst
from quatcast.learners import GRU, LMS, QGRU, QLMS, QRNN, RLS, RNN, Learner, Persistence
from quatcast.learners.losses import MCC
from quatcast.learners.optimizers import SGD
from quatcast.safety.recommendation import recommended

CLIP = 2.0
"""Largest norm of a gradient, as published."""


def _published(learner: Learner, batch: Batch, lags: int) -> RecordingForecaster:
    """Return a learner under the published protocol: with causal labels it learns from a sample, then answers."""
    return ScaledFirst(learner, batch, {"lags": lags, "labels": batch.labels, "learn_first": True})


def _network(kind: type[RNN], batch: Batch) -> RecordingForecaster:
    # The squared error is the limit of the correntropy loss for an infinite width, so both share one batch.
    sigmas = [configuration.get("sigma", math.inf) for configuration in batch.configurations]
    learner = kind(
        hidden=(batch.common("hidden"),),
        loss=MCC(sigma=sigmas),
        optimizer=SGD(batch.each("learning_rate"), clip=CLIP),
        seeds=list(batch.seeds),
        max_depth=MAX_DEPTH,
        device=batch.device,
    )
    return _published(learner, batch, batch.common("lags"))


def _linear(kind: type[LMS], batch: Batch) -> RecordingForecaster:
    learner = kind(optimizer=SGD(batch.each("learning_rate"), clip=CLIP), device=batch.device)
    return _published(learner, batch, batch.common("lags"))


def _rls(batch: Batch) -> RecordingForecaster:
    learner = RLS(forgetting=batch.each("forgetting"), regularization=1.0)
    return _published(learner, batch, batch.common("lags"))


def _persistence(batch: Batch) -> RecordingForecaster:
    return _published(Persistence(), batch, 1)


def _recommended(batch: Batch) -> RecordingForecaster:
    ahead = batch.horizon / batch.sampling_rate
    return recommended(ahead, batch.sampling_rate, space=batch.space, names=batch.names)


LAGS = [10, 30, 50, 70, 90]
UNITS = {"hidden": "units", "lags": "samples", "learning_rate": "–", "sigma": "std", "forgetting": "–"}


Look = tuple[str, str]
"""Colour and symbol in figures."""


def _recurrent(
    name: str,
    title: str,
    kind: type[RNN],
    hidden: Sequence[int],
    mcc: Look,
    mse: Look,
    gates: int = 1,
    paper: bool = False,
) -> tuple[Predictor, Predictor]:
    """Return a network with the correntropy loss, and the same network with the squared error.

    `hidden` has five sizes: the quick profile tries the first, the standard profile the first and the third. Networks
    that are not in the paper are not compared by default.
    """
    square = Predictor(
        f"{name}-MSE",
        f"{title}, squared error",
        partial(_network, kind),
        grid={"hidden": hidden, "lags": LAGS, "learning_rate": [0.02, 0.05, 0.1, 0.2]},
        profiles={
            "quick": {"hidden": hidden[:1], "lags": [10, 30], "learning_rate": [0.02, 0.1]},
            "standard": {"hidden": [hidden[0], hidden[2]], "lags": [10, 30, 90]},
        },
        usual={"lags": 30, "learning_rate": 0.05},
        units=UNITS,
        along_runs=("learning_rate", "sigma"),
        seeded=True,
        weight_size=gates * kind.algebra.dimension,
        default=paper,
        paper=f"{name}-MSE" if paper else "",
        timed=paper,
        colour=mse[0],
        symbol=mse[1],
    )
    correntropy = replace(
        square,
        name=f"{name}-MCC",
        title=f"{title}, correntropy",
        grid={**square.grid, "sigma": [1.0, 2.0, 4.0, 8.0, "adaptive"]},
        profiles={
            "quick": {**square.profiles["quick"], "sigma": [2.0, "adaptive"]},
            "standard": {**square.profiles["standard"], "sigma": [2.0, 8.0, "adaptive"]},
        },
        usual={**square.usual, "sigma": "adaptive"},
        paper=f"{name}-MCC" if paper else "",
        colour=mcc[0],
        symbol=mcc[1],
    )
    return correntropy, square


def _filter(name: str, title: str, kind: type[LMS], colour: str, symbol: str) -> Predictor:
    """Return an adaptive linear filter of the paper."""
    return Predictor(
        name,
        title,
        partial(_linear, kind),
        grid={"lags": LAGS, "learning_rate": [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]},
        profiles={"quick": {"lags": [10, 30], "learning_rate": [0.005, 0.05]}, "standard": {"lags": [10, 30]}},
        usual={"lags": 30, "learning_rate": 0.01},
        units=UNITS,
        along_runs=("learning_rate",),
        default=True,
        paper=name,
        timed=True,
        colour=colour,
        symbol=symbol,
    )


QUATERNION_UNITS, REAL_UNITS = [10, 20, 30, 40, 45], [20, 40, 60, 80, 90]
"""Hidden units as published. Twice as many real units have about as many parameters, and half as large a state."""
for predictor in (
    Predictor(
        "recommended",
        "The forecaster that quatcast recommends",
        _recommended,
        labels=("causal",),
        takes_spaces=True,
        takes_missing=True,
        arrays=("radius", "status", "replaced"),
        default=True,
        colour="#D55E00",
        symbol="circle",
    ),
    *_recurrent(
        *("QRNN", "Quaternion recurrent network", QRNN, QUATERNION_UNITS),
        *(("#0072B2", "square"), ("#56B4E9", "diamond")),
        paper=True,
    ),
    *_recurrent(
        *("RNN", "Real recurrent network", RNN, REAL_UNITS, ("#009E73", "triangle-up"), ("#E69F00", "triangle-down")),
        paper=True,
    ),
    *_recurrent(
        *("QGRU", "Quaternion gated recurrent unit", QGRU, QUATERNION_UNITS),
        *(("#8C564B", "pentagon"), ("#C49C94", "hexagram")),
        gates=3,
    ),
    *_recurrent(
        *("GRU", "Real gated recurrent unit", GRU, REAL_UNITS, ("#2F8F9D", "star-square"), ("#9EDAE5", "bowtie")),
        gates=3,
    ),
    _filter("QLMS", "Quaternion least mean squares", QLMS, "#CC79A7", "cross"),
    _filter("LMS", "Least mean squares", LMS, "#B5A200", "x"),
    Predictor(
        "RLS",
        "Recursive least squares",
        _rls,
        # A step takes time proportional to (9 · lags)²: longer inputs cost far more than they improve.
        grid={"lags": [10, 30], "forgetting": [0.99, 0.995, 0.998, 0.999, 1.0]},
        profiles={"quick": {"forgetting": [0.995, 0.999]}},
        usual={"forgetting": 0.999},
        units=UNITS,
        along_runs=("forgetting",),
        default=True,
        colour="#7A5CC0",
        symbol="star",
    ),
    Predictor(
        *("persistence", "No motion: the last sample", _persistence),
        default=True,
        baseline=True,
        colour="#8A8A8A",
        symbol="hexagon",
    ),
):
    register_predictor(predictor)
