"""Learners: each predicts from an input and learns from one pair of input and target at a time.

There is one file per learner; `base` holds what they have in common. `losses` and `optimizers` are what networks and
adaptive filters are trained with.
"""

from quatcast.learners.base import Learner, LearnerState, StackedStep, Step
from quatcast.learners.gated import GRU, QGRU
from quatcast.learners.kernel_ridge import KernelRidge
from quatcast.learners.lms import CLMS, LMS, QLMS
from quatcast.learners.local_average import LocalAverage
from quatcast.learners.persistence import Persistence
from quatcast.learners.qelm import QELM
from quatcast.learners.recurrent import QRNN, RNN, ComplexRNN
from quatcast.learners.ridge import Ridge
from quatcast.learners.rls import RLS

__all__ = [
    "CLMS",
    "GRU",
    "LMS",
    "QELM",
    "QGRU",
    "QLMS",
    "QRNN",
    "RLS",
    "RNN",
    "ComplexRNN",
    "KernelRidge",
    "Learner",
    "LearnerState",
    "LocalAverage",
    "Persistence",
    "Ridge",
    "StackedStep",
    "Step",
]
