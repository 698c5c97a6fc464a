"""Forecast 3-D and 4-D signals sample by sample, with quaternion recurrent networks that learn as they go."""

from quatcast import ghr, quaternion
from quatcast.algebra import Algebra, C, H, R
from quatcast.conformal import Conformal
from quatcast.forecaster import Forecaster, Forecasts
from quatcast.gate import Gate, Gated
from quatcast.guarded import Forecast, Guarded, GuardedForecasts, Status
from quatcast.learners import CLMS, LMS, QELM, QLMS, QRNN, RLS, RNN, ComplexRNN, Learner, Persistence, Ridge, Step
from quatcast.losses import MCC, MSE, correntropy, kernel
from quatcast.mixture import Mixture
from quatcast.optimizers import SGD, Adam
from quatcast.recommended import recommended
from quatcast.replay import Replay

__version__ = "0.1.0"

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
