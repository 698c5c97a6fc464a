"""The forecaster that we stand behind: one set of rules for every recording and horizon.

Three kinds of experts, all on displacements with one scale a channel, so that turning space turns their inputs and
targets and little else:

- quaternion recurrent networks, trained by exact RTRL and replay under the correntropy criterion;
- random quaternion neurons with a refitted readout, over half a second, one and two seconds of the past, and over six
  seconds sparsely;
- a refitted linear ridge regression.

A mixture weighs them by their recent matured errors. docs/recommended.md tells how it was chosen and what it gives.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quatcast.algebra import namespace
from quatcast.engine.replay import Replay
from quatcast.forecasting.forecaster import Forecaster
from quatcast.forecasting.mixture import Mixture
from quatcast.learners import QELM, QRNN, Learner, Ridge
from quatcast.safety.guard import Guarded
from quatcast.training.losses import MCC
from quatcast.training.optimizers import Adam

TICK = 0.1
"""Seconds between the samples that an input is made of, as nearly as the rate allows."""
TRAIN = 30.0
"""Seconds that the scales are fitted to."""
CATCH_UP = 5.0
"""Seconds in which the samples kept back meanwhile are learnt from, a few with each new one."""
WARMUP = TRAIN + CATCH_UP
"""Seconds to the first forecast."""
MEMORY = 100.0
"""Seconds that replays are drawn from."""
SPARSE = (*range(8), *range(10, 60, 5))
"""Delays in ticks over almost six seconds: a breath and a half."""


def recommended(horizon: float, rate: float, *, names: Sequence[str] | None = None) -> Guarded:
    """Forecaster for signals like the motion of markers on a breathing chest, without anything to tune.

    Parameters
    ----------
    horizon
        Seconds ahead.
    rate
        Samples a second.
    names
        What to call the channels when something is wrong with one; "channel 1", "channel 2", … where left out.

    Returns
    -------
    A gate, a mixture of experts, a radius that holds the truth with probability 95 %, and a status. It warms up for
    35 seconds and some horizons.

    Examples
    --------
    >>> from quatcast.data import simulated
    >>> forecaster = recommended(horizon=0.5, rate=10.0)
    >>> for sample in simulated(seconds=38)[1].positions:
    ...     forecast = forecaster.update(sample)
    >>> forecast.position.shape, forecast.radius.shape, forecast.status.label, forecast.reason
    ((3, 3), (3,), 'ok', '')
    """
    if not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"rate: samples a second, a positive number, not {rate!r}")
    samples = horizon * rate
    if not math.isfinite(samples) or round(samples) < 1 or abs(samples - round(samples)) > 0.25:
        raise ValueError(f"horizon: seconds, a whole number of samples of {1 / rate:g} s, not {horizon!r}")
    # What array code loads on first use is loaded now, rather than in the middle of a stream.
    namespace(np.zeros(1))
    return Guarded(experts(round(samples), rate), rate=rate, names=names)


def experts(horizon: int, rate: float) -> Mixture:
    """Mixture for a horizon in samples at a rate in samples a second, without gate, radius and status."""
    second = max(1, round(rate))

    def member(learner: Learner, ticks: Sequence[int]) -> Forecaster:
        return Forecaster(
            learner,
            horizon=horizon,
            lags=sorted({round(tick * TICK * rate) for tick in ticks}),
            target="displacement",
            scale_by="channel",
            train=max(2, round(TRAIN * rate)),
            catch_up=1 + math.ceil(TRAIN / CATCH_UP),
        )

    network = QRNN(
        hidden=(10,),
        loss=MCC(sigma=2.0),
        optimizer=Adam(rate=0.002, beta2=0.99),
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
    )
