"""What a store keeps: results of runs, traces to look at, timings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quatcast.forecasting.forecaster import Labels

Stage = Literal["validation", "test"]
Configuration = Mapping[str, Any]
"""Settings of a predictor by name, such as {"hidden": 10, "lags": 30, "rate": 0.05, "sigma": "adaptive"}."""


@dataclass(frozen=True)
class Result:
    """How one run of one predictor did on one recording.

    Attributes
    ----------
    stage
        "validation" or "test".
    labels
        "causal" or "lookahead".
    horizon
        Seconds ahead.
    predictor, configuration
        Name of the predictor and its settings.
    recording, group
        Name of the recording and its group.
    seed
        Of the initial weights; 0 for predictors that have none.
    rmse, nrmse, mae, jitter, max
        See `quatcast.evaluation.score`; in mm but for nrmse. NaN where the run diverged.
    diverged
        Whether some forecast in the scored range was not finite.
    seconds_per_step
        Time of one sample, shared by all the runs that were computed together.
    """

    stage: Stage
    labels: Labels
    horizon: float
    predictor: str
    configuration: Configuration
    recording: str
    seed: int
    group: str
    rmse: float
    nrmse: float
    mae: float
    jitter: float
    max: float
    diverged: bool
    seconds_per_step: float

    @property
    def key(self) -> Key:
        """What makes it one of a kind in a store."""
        text = canonical(self.configuration)
        return (self.stage, self.labels, self.horizon, self.predictor, text, self.recording, self.seed)


Key = tuple[str, str, float, str, str, str, int]
"""Stage, labels, horizon, predictor, canonical configuration, recording, seed."""
Unseeded = tuple[str, str, float, str, str, str]
"""A key without its seed."""


@dataclass(frozen=True)
class Tried:
    """How one configuration did in the validation of one recording.

    Attributes
    ----------
    labels, horizon, predictor, configuration, recording
        See `Result`.
    rmse
        Mean over the runs that did not diverge, NaN where all did.
    runs, diverged
        How many runs there are, and how many of them diverged.
    """

    labels: Labels
    horizon: float
    predictor: str
    configuration: Configuration
    recording: str
    rmse: float
    runs: int
    diverged: int


@dataclass(frozen=True, eq=False)
class Trace:
    """Forecasts of one run over one whole recording, kept to be looked at.

    Attributes
    ----------
    labels, horizon, predictor, configuration, seed
        Of the run; see `Result`.
    recording, group, rate, channels
        Of the recording.
    times
        (T,) seconds.
    actual, forecast
        (T, channels, dimensions) positions in mm; row t of `forecast` is the forecast OF sample t, NaN where there
        is none.
    weight
        (T,) kernel weight with which sample t was learnt from, NaN where it was not.
    more
        Arrays that only some predictors give, by name.
    """

    labels: Labels
    horizon: float
    predictor: str
    configuration: Configuration
    seed: int
    recording: str
    group: str
    rate: float
    channels: tuple[str, ...]
    times: NDArray[np.float64]
    actual: NDArray[np.float64]
    forecast: NDArray[np.float32]
    weight: NDArray[np.float32]
    more: Mapping[str, NDArray[np.float32]] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class NewTrace:
    """What `Store.add` takes of a trace; the recording knows the rest."""

    labels: Labels
    horizon: float
    predictor: str
    configuration: Configuration
    seed: int
    recording: str
    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Timing:
    """Median milliseconds that a predictor took for one sample, learning and forecasting."""

    predictor: str
    configuration: Configuration
    milliseconds: float


def canonical(configuration: Configuration) -> str:
    """Text of a configuration; the same settings always give the same text.

    Examples
    --------
    >>> canonical({"rate": 0.05, "hidden": 10})
    '{"hidden": 10, "rate": 0.05}'
    """
    return json.dumps(dict(configuration), sort_keys=True, allow_nan=False)
