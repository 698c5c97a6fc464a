"""The recommended forecaster, ready for use."""

from __future__ import annotations

import math
from collections.abc import Sequence
from numbers import Real

import numpy as np

from quatcast.algebra import namespace
from quatcast.forecasting.recipe import experts
from quatcast.safety.gate import Gate
from quatcast.safety.guard import Guarded

LONGEST = 10_000
"""Longest horizon in samples."""
WHOLE = 1e-3
"""Difference from a whole number of samples that is taken for rounding."""


def recommended(
    horizon: float | Sequence[float],
    rate: float,
    *,
    space: str = "position",
    names: Sequence[str] | None = None,
    gate: Gate | None = None,
    learn_first: bool = False,
) -> Guarded:
    """Return a forecaster for signals of any motion, with nothing to tune.

    Parameters
    ----------
    horizon
        Seconds ahead, or a list of them to forecast at once.
    rate
        Sampling rate in Hz.
    space
        What a sample is: "position", "vector", "orientation" or "pose"; see `quatcast.forecasting.spaces`. Samples are
        (channels, coordinates): 1 to 4 for positions and vectors, w x y z of a unit quaternion for
        orientations, x y z w x y z for poses.
    names
        Names of the channels in messages; by default "channel 1", "channel 2", …
    gate
        A `Gate(sentinels=…, valid=…)` that knows the sentinel values or the valid range of your tracker; by default one
        that does not. A copy of it is used, so that several forecasters may be given the same one.
    learn_first
        Learn from each sample before answering instead of after it, for comparisons.

    Returns
    -------
    forecaster
        A mixture of learners (see `quatcast.forecasting.recipe`) with a gate, a radius that contains the true position
        with probability 95 %, and a status. It forecasts within the first second; the status is "warming up" until all
        learners but the network take part, after 35 seconds.

    Notes
    -----
    An update must take less than the time between two samples. Its time grows with the number of channels and hardly
    with the rate: three channels at 50 Hz run in real time on an ordinary core, and so do thirty channels at 10 Hz, but
    not three channels at 200 Hz or thirty at 50 Hz. A pose takes about twice as long as a position.
    `benchmarks/real_time.py` measures it on your machine.

    Examples
    --------
    >>> from quatcast.data import simulated
    >>> forecaster = recommended(horizon=0.5, rate=10.0)
    >>> for sample in simulated(seconds=38)[1].positions:
    ...     forecast = forecaster.update(sample)
    >>> forecast.position.shape, forecast.radius.shape, forecast.status.label, forecast.reason
    ((3, 3), (3,), 'ok', '')
    """
    if isinstance(rate, bool) or not isinstance(rate, Real) or not (math.isfinite(rate) and rate > 0):
        raise ValueError(f"rate: expected a positive sampling rate in Hz, got {rate!r}")
    try:
        if any(isinstance(one, bool | str) for one in np.ravel(np.asarray(horizon, dtype=object))):
            raise TypeError
        seconds = np.atleast_1d(np.asarray(horizon, dtype=float))
    except (TypeError, ValueError):
        raise ValueError(f"horizon: expected seconds, a number or a list of numbers, got {horizon!r}") from None
    samples = seconds * rate
    if seconds.ndim > 1 or not seconds.size or not (np.isfinite(samples) & (samples > 0) & (samples <= LONGEST)).all():
        raise ValueError(f"horizon: expected seconds above 0 and at most {LONGEST / rate:g} s, got {horizon!r}")
    near = np.maximum(1.0, np.rint(samples))
    samples = np.where(np.abs(samples - near) <= WHOLE, near, samples)
    whole = sorted({max(1, int(n)) for n in np.concatenate([np.floor(samples), np.ceil(samples)])})
    # What array code loads on first use is loaded now instead of in the middle of a stream.
    namespace(np.zeros(1))
    single = len(whole) == 1 and np.ndim(horizon) == 0
    mixture = experts(whole[-1], rate, horizons=None if single else whole, space=space, learn_first=learn_first)
    asked = (samples / rate).tolist()
    return Guarded(
        mixture,
        rate=rate,
        gate=gate,
        names=names,
        space=space,
        seconds=asked if np.ndim(horizon) else asked[0],
    )
