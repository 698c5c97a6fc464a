"""Forecast 3-D and 4-D signals sample by sample, with quaternion recurrent networks that learn as they go."""

from importlib import import_module
from types import ModuleType

import quatcast.basics.startup  # noqa: F401  (before everything that takes time)
from quatcast.algebra import Algebra, C, H, R, ghr, namespace, quaternion
from quatcast.checkpoint import Checkpointable, State
from quatcast.engine.activations import Activation, activation, register_activation
from quatcast.engine.cells import Cell
from quatcast.engine.replay import Replay
from quatcast.forecasting.apart import Apart
from quatcast.forecasting.charts import Chart
from quatcast.forecasting.contract import ForecasterState, Forecasts, OnlineForecaster
from quatcast.forecasting.forecaster import Forecaster
from quatcast.forecasting.kalman import Kalman
from quatcast.forecasting.linear import AdaptiveLinear
from quatcast.forecasting.mean_position import MeanPosition
from quatcast.forecasting.mixture import Mixture
from quatcast.forecasting.recipe import experts
from quatcast.forecasting.rigid_body import RigidBody
from quatcast.forecasting.spaces import Orientation, Pose, Position, Space, Vector, find_space
from quatcast.forecasting.velocity import ConstantVelocity, DampedVelocity, LastPosition
from quatcast.learners import (
    CLMS,
    GRU,
    LMS,
    QELM,
    QGRU,
    QLMS,
    QRNN,
    RLS,
    RNN,
    ComplexRNN,
    KernelRidge,
    Learner,
    LearnerState,
    LocalAverage,
    Persistence,
    Ridge,
    StackedStep,
    Step,
)
from quatcast.learners.losses import MCC, MSE, Loss, LossResult, correntropy, kernel
from quatcast.learners.optimizers import SGD, Adam, Optimizer, OptimizerResult, global_norm
from quatcast.safety.conformal import Conformal
from quatcast.safety.gate import Gate
from quatcast.safety.gated import Gated
from quatcast.safety.guard import Guarded
from quatcast.safety.recommendation import recommended
from quatcast.safety.status import Forecast, GuardedForecasts, Path, Status

__version__ = "0.1.0"

_LAZY = ("data", "evaluation", "live", "testing")
"""Packages that are imported when they are first used: they need more than NumPy."""


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY:
        return import_module(f"quatcast.{name}")
    raise AttributeError(f"module 'quatcast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


__all__ = [
    "CLMS",
    "GRU",
    "LMS",
    "MCC",
    "MSE",
    "QELM",
    "QGRU",
    "QLMS",
    "QRNN",
    "RLS",
    "RNN",
    "SGD",
    "Activation",
    "Adam",
    "AdaptiveLinear",
    "Algebra",
    "Apart",
    "C",
    "Cell",
    "Chart",
    "Checkpointable",
    "ComplexRNN",
    "Conformal",
    "ConstantVelocity",
    "DampedVelocity",
    "Forecast",
    "Forecaster",
    "ForecasterState",
    "Forecasts",
    "Gate",
    "Gated",
    "Guarded",
    "GuardedForecasts",
    "H",
    "Kalman",
    "KernelRidge",
    "LastPosition",
    "Learner",
    "LearnerState",
    "LocalAverage",
    "Loss",
    "LossResult",
    "MeanPosition",
    "Mixture",
    "OnlineForecaster",
    "Optimizer",
    "OptimizerResult",
    "Orientation",
    "Path",
    "Persistence",
    "Pose",
    "Position",
    "R",
    "Replay",
    "Ridge",
    "RigidBody",
    "Space",
    "StackedStep",
    "State",
    "Status",
    "Step",
    "Vector",
    "activation",
    "correntropy",
    "experts",
    "find_space",
    "ghr",
    "global_norm",
    "kernel",
    "namespace",
    "quaternion",
    "recommended",
    "register_activation",
]
