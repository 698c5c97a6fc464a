"""What a forecaster remembers: samples until its scaling is fitted, then the inputs that it has not learnt from."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from quatcast.basics.typing import Bools, Floats
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.forecasting.contract import ForecasterState
from quatcast.forecasting.embedding import Embedding
from quatcast.forecasting.waiting import Waiting


@dataclass
class Collecting(ForecasterState):
    """State before the scaling is fitted: the samples that it will be fitted to."""

    samples: Waiting


@dataclass
class Tracking(ForecasterState):
    """State once the scaling is fitted.

    Attributes
    ----------
    embedding
        The scaling.
    waiting
        Samples that have arrived and have not been taken in, oldest first.
    line
        The last samples, for inputs.
    inputs, origins, observed
        Inputs that the learner has not learnt from, the newest sample of each, and which of its channels were observed;
        at most horizon + 1.
    weight
        Kernel weight of the last target, per run; NaN if there was none.
    truncated
        Number of updates whose gradient was cut off.
    """

    embedding: Embedding
    waiting: Waiting
    line: SlidingWindow
    inputs: deque[Floats]
    origins: deque[Floats]
    observed: deque[Bools]
    weight: Floats
    truncated: int
