"""The records of a store: results of runs, traces of forecasts, and timings."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from quatcast.forecasting.contract import Labels

Stage = Literal["validation", "test"]
Configuration = Mapping[str, Any]
"""Settings of a predictor by name, such as {"hidden": 10, "lags": 30, "learning_rate": 0.05, "sigma": "adaptive"}."""


@dataclass(frozen=True)
class Result:
    """The scores of one run of one predictor on one recording.

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
        Seed of the initial weights; 0 for deterministic predictors.
    rmse, nrmse, mae, jitter, max
        See `quatcast.evaluation.Scores`; in the unit of the recording, except for nrmse. NaN where the run diverged.
    diverged
        Whether some forecast in the scored range was not finite.
    seconds_per_step
        Time per sample, which all runs that were computed side by side share.

    Examples
    --------
    >>> scores = {"rmse": 1.0, "nrmse": 0.5, "mae": 0.8, "jitter": 0.1, "max": 3.0, "diverged": False}
    >>> run = {"stage": "test", "labels": "causal", "horizon": 2.0, "predictor": "LMS", "configuration": {"lags": 5}}
    >>> result = Result(**run, recording="sim-1", seed=0, group="", **scores, seconds_per_step=0.001)
    >>> result.key
    ('test', 'causal', 2.0, 'LMS', '{"lags": 5}', 'sim-1', 0)
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
        """Everything that identifies the run in a store."""
        text = canonical(self.configuration)
        return (self.stage, self.labels, self.horizon, self.predictor, text, self.recording, self.seed)


Key = tuple[str, str, float, str, str, str, int]
"""Stage, labels, horizon, predictor, canonical configuration, recording, seed."""
Unseeded = tuple[str, str, float, str, str, str]
"""A key without its seed."""


@dataclass(frozen=True)
class ValidationResult:
    """The mean score of one configuration in the validation of one recording.

    Attributes
    ----------
    labels, horizon, predictor, configuration, recording
        See `Result`.
    rmse
        Mean over the runs that did not diverge; NaN where all runs diverged.
    runs, diverged
        Number of runs, and number of diverged runs among them.
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
class TracedRun:
    """The run whose forecasts a trace holds; see `Result`."""

    labels: Labels
    horizon: float
    predictor: str
    configuration: Configuration
    seed: int
    recording: str


@dataclass(frozen=True, eq=False)
class Trace(TracedRun):
    """The forecasts of one run over a whole recording, stored for figures.

    Attributes
    ----------
    labels, horizon, predictor, configuration, seed
        Identification of the run; see `Result`.
    recording, group, sampling_rate, channels
        Name, group, samples per second and channel names of the recording.
    unit, space
        Unit of its errors, empty if it is unknown, and what its numbers are; see `quatcast.data.Recording`.
    times
        (T,) seconds.
    actual, forecast
        (T, channels, dimensions) positions; row t of `forecast` is the forecast OF sample t, NaN where there
        is none.
    weight
        (T,) kernel weight with which the learner used sample t as a target, NaN where it did not.
    extra
        Arrays that only some predictors provide, by name.

    Examples
    --------
    A forecast of two samples of one marker, the first of which is missing:

    >>> run = {"labels": "causal", "horizon": 0.1, "predictor": "LMS", "configuration": {"lags": 5}, "seed": 0}
    >>> recording = {"recording": "sim-1", "group": "", "sampling_rate": 10.0, "channels": ("chest",)}
    >>> forecast = np.full((2, 1, 3), 1.5, dtype=np.float32)
    >>> forecast[0] = np.nan
    >>> arrays = {"times": np.array([0.0, 0.1]), "actual": np.ones((2, 1, 3)), "weight": np.ones(2, dtype=np.float32)}
    >>> trace = Trace(**run, **recording, forecast=forecast, **arrays, extra={})
    >>> np.linalg.norm(trace.forecast - trace.actual, axis=-1)[1].round(3)
    array([0.866])
    """

    group: str
    sampling_rate: float
    channels: tuple[str, ...]
    times: NDArray[np.float64]
    actual: NDArray[np.float64]
    forecast: NDArray[np.float32]
    weight: NDArray[np.float32]
    extra: Mapping[str, NDArray[np.float32]] = field(default_factory=lambda: MappingProxyType({}))
    unit: str = ""
    space: str = "position"


@dataclass(frozen=True)
class NewTrace(TracedRun):
    """A trace as it is added to a store; `Trace` also has the data of the recording."""

    arrays: Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Timing:
    """Median time in milliseconds that a predictor takes per step, learning and forecasting.

    Examples
    --------
    >>> Timing("LMS", {"lags": 30, "learning_rate": 0.02}, milliseconds=0.05).milliseconds
    0.05
    """

    predictor: str
    configuration: Configuration
    milliseconds: float


def canonical(configuration: Configuration) -> str:
    """Return the text of a configuration; equal settings always give equal text.

    Examples
    --------
    >>> canonical({"learning_rate": 0.05, "hidden": 10})
    '{"hidden": 10, "learning_rate": 0.05}'
    """
    return json.dumps(dict(configuration), sort_keys=True, allow_nan=False)
