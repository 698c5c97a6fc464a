"""Forecast 3-D and 4-D signals sample by sample, with quaternion recurrent networks that learn as they go."""

from importlib import import_module
from types import ModuleType

from quatcast.algebra import Algebra, C, H, R, ghr, quaternion
from quatcast.engine.replay import Replay
from quatcast.forecasting.forecaster import Forecaster, Forecasts
from quatcast.forecasting.mixture import Mixture
from quatcast.learners import CLMS, LMS, QELM, QLMS, QRNN, RLS, RNN, ComplexRNN, Learner, Persistence, Ridge, Step
from quatcast.safety.conformal import Conformal
from quatcast.safety.gate import Gate, Gated
from quatcast.safety.guard import Forecast, Guarded, GuardedForecasts, Status
from quatcast.safety.recommendation import recommended
from quatcast.training.losses import MCC, MSE, correntropy, kernel
from quatcast.training.optimizers import SGD, Adam

__version__ = "0.1.0"

_LAZY = ("data", "evaluation")
"""Packages that are imported when they are first used: they need more than NumPy."""


def __getattr__(name: str) -> ModuleType:
    if name in _LAZY:
        return import_module(f"quatcast.{name}")
    raise AttributeError(f"module 'quatcast' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})


__all__ = [
    "CLMS",
    "LMS",
    "MCC",
    "MSE",
    "QELM",
    "QLMS",
    "QRNN",
    "RLS",
    "RNN",
    "SGD",
    "Adam",
    "Algebra",
    "C",
    "ComplexRNN",
    "Conformal",
    "Forecast",
    "Forecaster",
    "Forecasts",
    "Gate",
    "Gated",
    "Guarded",
    "GuardedForecasts",
    "H",
    "Learner",
    "Mixture",
    "Persistence",
    "R",
    "Replay",
    "Ridge",
    "Status",
    "Step",
    "correntropy",
    "ghr",
    "kernel",
    "quaternion",
    "recommended",
]
