"""The predictors that can be compared, by name: how each is built from its configuration.

A predictor of one's own is a `Predictor` with a function that builds it; put into `CATALOGUE`, it is one of them:

>>> def echo(batch: Batch) -> Forecaster:
...     return Forecaster(Persistence(), horizon=batch.horizon, lags=1, labels=batch.labels)
>>> mine = Predictor("echo", "My own", echo)
>>> mine.labels
('causal', 'lookahead')
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Protocol

from numpy.typing import ArrayLike

from quatcast.algebra import Algebra, R
from quatcast.evaluation.records import Configuration
from quatcast.forecasting.forecaster import Forecaster, Forecasts, Labels
from quatcast.learners import LMS, QLMS, QRNN, RLS, RNN, Persistence
from quatcast.safety.guard import Guarded
from quatcast.safety.recommendation import WARMUP, recommended
from quatcast.training.losses import MCC
from quatcast.training.optimizers import SGD

CLIP = 2.0
MAX_DEPTH = 128
"""Past steps that networks keep here.

Gradients on breathing mostly die out within some thirty. Those of large networks that learn fast from short inputs
under look-ahead labels need not die out at all; they are cut off here."""


class Runs(Protocol):
    """What a predictor's builder gives: something that forecasts a whole recording, as `Forecaster` does."""

    def run(self, positions: ArrayLike, /) -> Forecasts:
        """Forecast a recording (T, channels, dimensions); asked once of what was freshly built."""


@dataclass(frozen=True)
class Batch:
    """What a builder is given: runs that are computed side by side.

    Attributes
    ----------
    configurations, seeds
        One a run. The configurations agree in everything that decides on the shape of arrays.
    horizon
        Samples ahead.
    rate
        Samples a second.
    labels
        "causal" or "lookahead".
    device
        Where arrays live, see `quatcast.algebra.backend`.
    names
        Of the channels, where they are known.
    """

    configurations: Sequence[Configuration]
    seeds: Sequence[int]
    horizon: int
    rate: float
    labels: Labels
    device: str = "cpu"
    names: Sequence[str] | None = None

    def each(self, key: str) -> list[Any]:
        """Value of a setting in every run."""
        return [configuration[key] for configuration in self.configurations]

    def common(self, key: str) -> Any:
        """Value of a setting that all runs share."""
        return self.configurations[0][key]


@dataclass(frozen=True)
class Predictor:
    """Something that forecasts, as the protocol sees it.

    Parameters
    ----------
    name, title
        For tables and for people. The name is a key: it must not change once results are stored.
    build
        Makes a forecaster of a batch; a function that can be pickled, so that worker processes find it.
    grid
        Every value that a setting may take in the published protocol. A setting that is not varied is left out.
    usual
        Configuration to begin with, where none is chosen by validation.
    along_runs
        Settings whose values may differ among runs of one batch. All others must be the same. Predictors that share
        `build` and have such settings may share a batch.
    seeded
        Whether it begins with random weights; else one run tells all.
    labels
        Label rules that it can live with.
    warmup
        Seconds before its first forecast, where it learns its scales live.
    takes_missing
        Whether missing samples (NaN) may be handed to it. For others they are held at the last known value.
    arrays
        Attributes of its forecasts, besides positions and weights, that traces keep for the report.
    algebra
        Of its hidden units, for the memory that they take.
    """

    name: str
    title: str
    build: Callable[[Batch], Runs]
    grid: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    usual: Configuration = field(default_factory=dict)
    along_runs: tuple[str, ...] = ()
    seeded: bool = False
    labels: tuple[Labels, ...] = ("causal", "lookahead")
    warmup: float = 0.0
    takes_missing: bool = False
    arrays: tuple[str, ...] = ()
    algebra: Algebra = R

    def shape(self, configuration: Configuration) -> tuple[Any, ...]:
        """What runs must have in common to be computed side by side."""
        fixed = sorted(set(configuration) - set(self.along_runs))
        alike = self.build if self.along_runs else self.name
        return (alike, self.takes_missing, *((key, configuration[key]) for key in fixed))

    def history_bytes(self, configuration: Configuration) -> int:
        """Memory that one run's past weights take: the larger part of what a run takes."""
        hidden = int(configuration.get("hidden", 0))
        return MAX_DEPTH * 8 * hidden * hidden * self.algebra.dimension


def _network(kind: type[RNN], batch: Batch) -> Forecaster:
    # The square error is the correntropy's limit of an infinite width, so that both ride in one batch.
    sigmas = [configuration.get("sigma", math.inf) for configuration in batch.configurations]
    learner = kind(
        hidden=(batch.common("hidden"),),
        loss=MCC(sigma=sigmas),
        optimizer=SGD(rate=batch.each("rate"), clip=CLIP),
        seeds=list(batch.seeds),
        max_depth=MAX_DEPTH,
        device=batch.device,
    )
    return Forecaster(learner, horizon=batch.horizon, lags=batch.common("lags"), labels=batch.labels)


def _linear(kind: type[LMS], batch: Batch) -> Forecaster:
    learner = kind(optimizer=SGD(rate=batch.each("rate"), clip=CLIP), device=batch.device)
    return Forecaster(learner, horizon=batch.horizon, lags=batch.common("lags"), labels=batch.labels)


def _rls(batch: Batch) -> Forecaster:
    learner = RLS(forgetting=batch.each("forgetting"), regularization=1.0)
    return Forecaster(learner, horizon=batch.horizon, lags=batch.common("lags"), labels=batch.labels)


def _persistence(batch: Batch) -> Forecaster:
    return Forecaster(Persistence(), horizon=batch.horizon, lags=1, labels=batch.labels)


def _recommended(batch: Batch) -> Guarded:
    return recommended(batch.horizon / batch.rate, batch.rate, names=batch.names)


LAGS = [10, 30, 50, 70, 90]
RATES = [0.02, 0.05, 0.1, 0.2]
LINEAR_RATES = [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2]
SIGMAS = [1.0, 2.0, 4.0, 8.0, "adaptive"]
QUATERNION_UNITS = [10, 20, 30, 40, 45]
REAL_UNITS = [20, 40, 60, 80, 90]
"""Twice the quaternion units: about as many real numbers to learn, half as many in the state."""


def _recurrent(name: str, title: str, kind: type[RNN], units: Sequence[int]) -> tuple[Predictor, Predictor]:
    """Return a network under the correntropy, and the same under the square error."""
    mse = Predictor(
        f"{name}-MSE",
        f"{title}, square error",
        partial(_network, kind),
        grid={"hidden": units, "lags": LAGS, "rate": RATES},
        usual={"hidden": units[0], "lags": 30, "rate": 0.05},
        along_runs=("rate", "sigma"),
        seeded=True,
        algebra=kind.algebra,
    )
    return (
        replace(
            mse,
            name=f"{name}-MCC",
            title=f"{title}, correntropy",
            grid={**mse.grid, "sigma": SIGMAS},
            usual={**mse.usual, "sigma": "adaptive"},
        ),
        mse,
    )


def _filter(name: str, title: str, kind: type[LMS]) -> Predictor:
    grid: dict[str, Sequence[Any]] = {"lags": LAGS, "rate": LINEAR_RATES}
    return Predictor(name, title, partial(_linear, kind), grid, {"lags": 30, "rate": 0.01}, ("rate",))


# The square of 9·lags numbers a step: longer inputs cost far more than they give.
RLS_GRID: dict[str, Sequence[Any]] = {"lags": [10, 30], "forgetting": [0.99, 0.995, 0.998, 0.999, 1.0]}

CATALOGUE: dict[str, Predictor] = {
    predictor.name: predictor
    for predictor in (
        Predictor(
            "recommended",
            "The forecaster that quatcast recommends",
            _recommended,
            labels=("causal",),
            warmup=WARMUP,
            takes_missing=True,
            arrays=("radius", "status", "replaced"),
        ),
        *_recurrent("QRNN", "Quaternion network", QRNN, QUATERNION_UNITS),
        *_recurrent("RNN", "Real network", RNN, REAL_UNITS),
        _filter("QLMS", "Quaternion least mean squares", QLMS),
        _filter("LMS", "Least mean squares", LMS),
        Predictor("RLS", "Recursive least squares", _rls, RLS_GRID, {"lags": 10, "forgetting": 0.999}, ("forgetting",)),
        Predictor("persistence", "No motion: the last sample", _persistence),
    )
}
"""Predictors by name, in the order of the tables."""


def find(name: str) -> Predictor:
    """Predictor of a name, or an error that says which there are."""
    if name not in CATALOGUE:
        raise ValueError(f"predictors: {name!r} is not known; there are {', '.join(CATALOGUE)}")
    return CATALOGUE[name]
