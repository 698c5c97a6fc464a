"""The members of the recommended forecaster: one set of rules for every recording, rate and horizon.

All members forecast displacements with one scale per channel, so that a rotation of space has little effect beyond
rotating inputs and targets. Eight answer within the first seconds:

- the last position, and after ten seconds the mean position;
- the velocity, as it is, and extrapolated with coefficients that are learnt from earlier displacements;
- a bank of Kalman filters for constant acceleration;
- linear prediction of each channel from its own past, over 3, 12 and 48 samples, by recursive least squares.

The others begin once the scales of the signal are known:

- a quaternion recurrent network, trained by exact RTRL and replay under the correntropy criterion;
- random quaternion neurons with a refitted readout;
- a kernel ridge regression over a short past, and the mean of what followed similar moments, over a long one.

Orientations and poses have two more, linear prediction in the frame of the body, which uses the rotation of a body to
forecast its translation, and vice versa. For poses, each of the other learners forecasts positions and orientations
separately, because an input that is unrelated to the target makes forecasts worse. The random neurons, which gain most
from related ones, also forecast them together.

A mixture weighs them by their recent matured errors. docs/recommended.md describes how they were chosen.

Delays are counted in ticks of a tenth of the shortest horizon, at most 0.1 s and at least one sample. Everything else
that is given in seconds is a property of the signal: how long scales are fitted, how long replays and errors are
remembered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from quatcast.engine.replay import Replay
from quatcast.forecasting.apart import Apart
from quatcast.forecasting.contract import OnlineForecaster
from quatcast.forecasting.forecaster import Forecaster
from quatcast.forecasting.kalman import Kalman
from quatcast.forecasting.linear import AdaptiveLinear
from quatcast.forecasting.mean_position import MeanPosition
from quatcast.forecasting.mixture import Mixture
from quatcast.forecasting.rigid_body import RigidBody
from quatcast.forecasting.velocity import ConstantVelocity, DampedVelocity, LastPosition
from quatcast.learners import QELM, QRNN, KernelRidge, Learner, LocalAverage
from quatcast.learners.losses import MCC
from quatcast.learners.optimizers import Adam

TICK = 0.1
"""Longest time in seconds between the samples of an input."""
TRAIN = 30.0
"""Seconds that the scales are fitted to."""
CATCH_UP = 5.0
"""Seconds within which the samples that were collected for the scales are learnt from, a few with each new one."""
SLOWLY = 15.0
"""The same for the network, whose steps cost more."""
WARMUP = TRAIN + CATCH_UP
"""Seconds until all members but the network forecast."""
MEMORY = 100.0
"""Seconds that replays are drawn from."""
ONE_REPLAY = 20.0
"""Sampling rate in Hz from which on there is one replay per sample; below there are two."""
CHANNELS = 10
"""Number of channels from which on a replay has fewer windows, so that it takes no longer."""
FEATURES = 700
"""Number of features of the random neurons beyond which they are fitted less often; ten channels have 681."""
REMEMBERED = 1000
"""Number of samples that the kernel regression remembers, and longest interval between its fits."""
REFIT = (0.4, 1.0)
"""Shortest and longest time in seconds between fits of the kernel regression: two horizons, at least ten samples."""
ERRORS = 40.0
"""Seconds after which an error counts 1/e for the weights of the mixture, but no fewer than ten samples per second."""
WEIGHTS = 10.0
"""Computations of the weights per second, at most one per sample."""
GAP = 6.0
"""Seconds without a channel after which its earlier errors count for little: the guard pauses as long after a jump."""
FARTHEST = 1.0
"""Longest displacement while few errors are known, in multiples of the range of the signal so far."""
MEAN = (10.0, 20.0)
"""Seconds before the mean position is a forecast, and seconds after which a sample counts 1/e in it."""
LONG = (0, 1, 2, 3, 4, 5, 8, 12, 18, 26, 36, 46)
"""Delays in ticks over almost five seconds, which is more than a breath."""


def experts(
    horizon: int,
    rate: float,
    *,
    horizons: Sequence[int] | None = None,
    space: str = "position",
    learn_first: bool = False,
) -> Mixture:
    """Return the mixture for a horizon in samples at a sampling rate in Hz, without gate, radius and status.

    Parameters
    ----------
    horizon
        Samples ahead.
    rate
        Sampling rate in Hz.
    horizons
        Several horizons in samples to forecast at once, `horizon` the longest of them.
    space
        What a sample is. Orientations have two more members, poses three.
    learn_first
        Learn from each sample before answering; see `Forecaster`.

    Examples
    --------
    >>> len(experts(horizon=5, rate=10.0).members)
    12
    >>> len(experts(horizon=5, rate=50.0, space="pose").members)
    15
    """
    ahead = tuple(sorted(horizons or (horizon,)))
    second = max(1, round(rate))
    tick = max(1, round(min(TICK * rate, ahead[0] / 10)))

    def member(learner: Learner, ticks: Sequence[int], catch_up: float = CATCH_UP) -> Forecaster:
        return Forecaster(
            learner,
            horizon=horizon,
            horizons=horizons,
            lags=[t * tick for t in ticks],
            target="displacement",
            scale_by="channel",
            train=max(2, round(TRAIN * rate)),
            catch_up=1 + math.ceil(TRAIN / catch_up),
            learn_first=learn_first,
        )

    shortest, longest = REFIT
    refit = min(REMEMBERED, max(10, round(min(longest, max(shortest, 2 * ahead[0] / rate)) * rate)))

    replay = Replay(
        updates=1 if rate >= ONE_REPLAY else 2,
        batch=24,
        window=6,
        memory=max(6, round(MEMORY * rate)),
        entries=24 * 6 * 12 * CHANNELS,
    )
    network = QRNN(
        hidden=(10,),
        loss=MCC(sigma=2.0),
        optimizer=Adam(0.002, beta2=0.99),
        seeds=[0],
        init_std=0.1,
        tol=1e-8,
        max_depth=64,
        replay=replay,
    )
    neurons = member(QELM(50, regularization=50.0, refit=second, features=FEATURES, seeds=[1, 2]), range(12))
    learners: list[OnlineForecaster] = [
        member(network, range(12), SLOWLY),
        neurons,
        member(KernelRidge(3.0, regularization=0.1, memory=REMEMBERED, refit=refit), range(6)),
        member(LocalAverage(bandwidth=0.1, every=tick), LONG),
    ]
    if space == "pose":
        learners = [*(Apart([one.clone(), one.clone()]) for one in learners), neurons]
    first, mean = (max(10, round(seconds * rate)) for seconds in MEAN)
    members = [
        LastPosition(horizon, horizons=horizons),
        MeanPosition(horizon, memory=mean, first=first, horizons=horizons),
        ConstantVelocity(horizon, horizons=horizons),
        DampedVelocity(horizon, (1, 2, 4, 8, 16), horizons=horizons),
        Kalman(horizon, "acceleration", follow=True, horizons=horizons),
        AdaptiveLinear(horizon, 3, memory=600, horizons=horizons),
        AdaptiveLinear(horizon, 12, memory=600, horizons=horizons),
        AdaptiveLinear(horizon, 48, memory=2000, regularization=0.1, horizons=horizons),
        *learners,
    ]
    if space in ("pose", "orientation"):
        members += [RigidBody(horizon, 8, memory=n, horizons=horizons, space=space) for n in (500, 2000)]
    memory = round(ERRORS * max(rate, 10.0))
    # About memory/h of the errors in memory are independent: the fewer, the less their correlations count.
    shrinkage = [min(0.5, max(0.05, 10.0 * h / memory)) for h in ahead]
    return Mixture(
        members,
        memory=memory,
        shrinkage=shrinkage,
        gap=max(1, round(GAP * rate)),
        reweigh=max(1, round(rate / WEIGHTS)),
        farthest=FARTHEST,
        learn_first=learn_first,
    )
