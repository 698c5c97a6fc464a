"""The recommended forecaster, ready for use."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from quatcast.algebra import namespace
from quatcast.forecasting.recipe import experts
from quatcast.safety.gate import Gate
from quatcast.safety.guard import Guarded


def recommended(
    horizon: float,
    rate: float,
    *,
    names: Sequence[str] | None = None,
    gate: Gate | None = None,
    learn_first: bool = False,
) -> Guarded:
    """Return a forecaster for signals like the motion of markers on a breathing chest, with nothing to tune.

    Parameters
    ----------
    horizon
        Seconds ahead.
    rate
        Sampling rate in Hz.
    names
        Names of the channels in messages; by default "channel 1", "channel 2", …
    gate
        A `Gate` that knows the sentinel values or the valid range of your tracker; by default one that does not.
    learn_first
        Learn from each sample before answering instead of after it, for comparisons.

    Returns
    -------
    forecaster
        A mixture of learners (see `quatcast.forecasting.recipe`) with a gate, a radius that contains the true position
        with probability 95 %, and a status. It warms up for 35 seconds and some horizons.

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
        raise ValueError(f"rate: expected a positive sampling rate in Hz, got {rate!r}")
    samples = horizon * rate
    if not math.isfinite(samples) or round(samples) < 1 or abs(samples - round(samples)) > 0.25:
        raise ValueError(f"horizon: expected seconds, a whole number of samples of {1 / rate:g} s, got {horizon!r}")
    # What array code loads on first use is loaded now instead of in the middle of a stream.
    namespace(np.zeros(1))
    return Guarded(experts(round(samples), rate, learn_first=learn_first), rate=rate, gate=gate, names=names)
