"""Classical baselines as predictors of `compare`: what the recommended forecaster has to be better than.

They run as they would live, answering before they learn, and under causal labels only.
"""

from __future__ import annotations

from functools import partial

from quatcast.evaluation.catalogue import Batch, Predictor, RecordingForecaster, register_predictor
from quatcast.evaluation.scaled_first import ScaledFirst
from quatcast.forecasting.kalman import Kalman, Model
from quatcast.forecasting.velocity import ConstantVelocity, DampedVelocity
from quatcast.learners import QELM, Learner, Ridge

MEMORY = 50.0
"""Seconds after which an error counts 1/e for the coefficients of a damped velocity and the weights of filters."""
UNITS = {"lags": "samples", "regularization": "–", "span": "samples", "units": "neurons", "velocities": "spans"}


def _constant_velocity(batch: Batch) -> RecordingForecaster:
    return ConstantVelocity(batch.horizon, span=batch.common("span"))


def _damped_velocity(batch: Batch) -> RecordingForecaster:
    spans = [2**i for i in range(batch.common("velocities"))]
    return DampedVelocity(batch.horizon, spans, memory=_memory(batch))


def _kalman(model: Model, batch: Batch) -> RecordingForecaster:
    return Kalman(batch.horizon, model, memory=_memory(batch))


def _memory(batch: Batch) -> float:
    return max(2.0, MEMORY * batch.sampling_rate)


def _displacements(learner: Learner, batch: Batch) -> RecordingForecaster:
    """Return a learner that forecasts displacements from the newest sample, with one scale per channel."""
    lags = batch.common("lags")
    return ScaledFirst(learner, batch, {"lags": lags, "target": "displacement", "scale_by": "channel"})


def _refit(batch: Batch) -> int:
    """Return the number of samples in a second, after which regressions are fitted again."""
    return max(1, round(batch.sampling_rate))


def _ridge(batch: Batch) -> RecordingForecaster:
    return _displacements(Ridge(batch.common("regularization"), refit=_refit(batch)), batch)


def _qelm(batch: Batch) -> RecordingForecaster:
    settings = {name: batch.common(name) for name in ("units", "regularization")}
    return _displacements(QELM(**settings, refit=_refit(batch), seeds=list(batch.seeds)), batch)


for predictor in (
    Predictor(
        *("constant-velocity", "Constant velocity", _constant_velocity),
        grid={"span": [1, 2, 4, 8]},
        profiles={"quick": {"span": [1, 4]}},
        units=UNITS,
        labels=("causal",),
        colour="#A0522D",
        symbol="arrow-right",
    ),
    Predictor(
        *("damped-velocity", "Velocity, followed as far as it has proved to lead", _damped_velocity),
        grid={"velocities": [1, 2, 4, 5]},
        profiles={"quick": {"velocities": [1, 4]}},
        usual={"velocities": 4},
        units=UNITS,
        labels=("causal",),
        colour="#6B8E23",
        symbol="arrow-bar-right",
    ),
    Predictor(
        *("Kalman-CV", "Kalman filter, constant velocity", partial(_kalman, "velocity")),
        labels=("causal",),
        colour="#C23B75",
        symbol="hourglass",
    ),
    Predictor(
        *("Kalman-CA", "Kalman filter, constant acceleration", partial(_kalman, "acceleration")),
        labels=("causal",),
        colour="#E377C2",
        symbol="y-up",
    ),
    Predictor(
        *("ridge", "Ridge regression of displacements, refitted every second", _ridge),
        grid={"lags": [6, 12, 20], "regularization": [3.0, 10.0, 30.0, 100.0, 300.0]},
        profiles={"quick": {"lags": [12], "regularization": [10.0, 100.0]}},
        usual={"lags": 12, "regularization": 30.0},
        units=UNITS,
        labels=("causal",),
        colour="#1F4E9E",
        symbol="octagon",
    ),
    Predictor(
        *("QELM", "Random quaternion neurons with a ridge regression, refitted every second", _qelm),
        grid={"lags": [6, 12, 20], "units": [50], "regularization": [20.0, 50.0, 100.0]},
        profiles={"quick": {"lags": [12], "regularization": [50.0]}},
        usual={"lags": 12, "regularization": 50.0},
        units=UNITS,
        seeded=True,
        labels=("causal",),
        colour="#17A398",
        symbol="diamond-tall",
    ),
):
    register_predictor(predictor)
