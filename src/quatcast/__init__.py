"""Forecast 3-D and 4-D signals sample by sample, with quaternion recurrent networks that learn as they go."""

from quatcast import ghr, quaternion
from quatcast.algebra import Algebra, C, H, R
from quatcast.learners import CLMS, LMS, QLMS, QRNN, RLS, RNN, ComplexRNN, Learner, Persistence, Step
from quatcast.losses import MCC, MSE, correntropy, kernel
from quatcast.optimizers import SGD, Adam

__version__ = "0.1.0"

__all__ = [
    "CLMS",
    "LMS",
    "MCC",
    "MSE",
    "QLMS",
    "QRNN",
    "RLS",
    "RNN",
    "SGD",
    "Adam",
    "Algebra",
    "C",
    "ComplexRNN",
    "H",
    "Learner",
    "Persistence",
    "R",
    "Step",
    "correntropy",
    "ghr",
    "kernel",
    "quaternion",
]
