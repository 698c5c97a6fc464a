"""The members of the recommended forecaster: one set of rules for every recording and horizon.

There are three kinds of members, all on displacements with one scale per channel, so that a rotation of space has
little effect beyond rotating inputs and targets:

- quaternion recurrent networks, trained by exact RTRL and replay under the correntropy criterion;
- random quaternion neurons with a refitted readout, over half a second, one and two seconds of the past, and over six
  seconds sparsely;
- a refitted linear ridge regression.

A mixture weighs them by their recent matured errors. docs/recommended.md describes how they were chosen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from quatcast.engine.replay import Replay
from quatcast.forecasting.forecaster import Forecaster
from quatcast.forecasting.mixture import Mixture
from quatcast.learners import QELM, QRNN, Learner, Ridge
from quatcast.training.losses import MCC
from quatcast.training.optimizers import Adam

TICK = 0.1
"""Seconds between the samples of an input, as nearly as the sampling rate allows."""
TRAIN = 30.0
"""Seconds that the scales are fitted to."""
CATCH_UP = 5.0
"""Seconds within which the samples collected meanwhile are learnt from, a few with each new one."""
WARMUP = TRAIN + CATCH_UP
"""Seconds until the first forecast."""
MEMORY = 100.0
"""Seconds that replays are drawn from."""
SPARSE = (*range(8), *range(10, 60, 5))
"""Delays in ticks over almost six seconds, which is one and a half breaths."""


def experts(horizon: int, rate: float, *, learn_first: bool = False) -> Mixture:
    """Return the mixture for a horizon in samples at a sampling rate in Hz, without gate, radius and status.

    Examples
    --------
    >>> len(experts(horizon=5, rate=10.0).members)
    6
    """
    second = max(1, round(rate))
    step = max(1, round(min(TICK * rate, horizon / 10)))

    def member(learner: Learner, ticks: Sequence[int]) -> Forecaster:
        return Forecaster(
            learner,
            horizon=horizon,
            lags=[tick * step for tick in ticks],
            target="displacement",
            scale_by="channel",
            train=max(2, round(TRAIN * rate)),
            catch_up=1 + math.ceil(TRAIN / CATCH_UP),
            learn_first=learn_first,
        )

    network = QRNN(
        hidden=(10,),
        loss=MCC(sigma=2.0),
        optimizer=Adam(0.002, beta2=0.99),
        seeds=range(4),
        init_std=0.1,
        max_depth=64,
        replay=Replay(updates=2, batch=24, window=6, memory=max(6, round(MEMORY * rate))),
    )
    return Mixture(
        [
            member(network, range(12)),
            member(QELM(50, regularization=50.0, refit=second, seeds=[1, 2, 3]), range(12)),
            member(QELM(50, regularization=50.0, refit=second, seeds=[4]), range(6)),
            member(QELM(50, regularization=100.0, refit=second, seeds=[5]), range(20)),
            member(QELM(50, regularization=100.0, refit=second, seeds=[6]), SPARSE),
            member(Ridge(regularization=30.0, refit=second), range(12)),
        ],
        memory=20 * second,
        shrinkage=0.5,
        learn_first=learn_first,
    )
