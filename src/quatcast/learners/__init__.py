"""Learners: each predicts from an input and learns from one (input, target) pair at a time.

One file a learner; `base` says what they have in common.
"""

from quatcast.learners.base import Learner, Step
from quatcast.learners.lms import CLMS, LMS, QLMS
from quatcast.learners.persistence import Persistence
from quatcast.learners.recurrent import QRNN, RNN, ComplexRNN
from quatcast.learners.ridge import QELM, Ridge
from quatcast.learners.rls import RLS

__all__ = ["CLMS", "LMS", "QELM", "QLMS", "QRNN", "RLS", "RNN", "ComplexRNN", "Learner", "Persistence", "Ridge", "Step"]
