"""A catalogue of faulty input, to see how a forecaster copes with it and recovers from it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from quatcast.basics.typing import Floats

Burst = Callable[[Floats, float, np.random.Generator], Floats]
"""Takes positions (samples, channels, dimensions) and their sampling rate; returns what a faulty tracker shows."""


def _index(x: Floats) -> Floats:
    """Return the numbers of the samples, (samples, 1, 1)."""
    return np.arange(len(x), dtype=float)[:, None, None]


def _constant(value: float, x: Floats, rate: float, rng: np.random.Generator) -> Floats:
    return np.full_like(x, value)


def _spikes(size: float, x: Floats, rate: float, rng: np.random.Generator) -> Floats:
    direction = rng.normal(size=x.shape)
    direction /= np.linalg.norm(direction, axis=-1, keepdims=True)
    return np.where((rng.random(len(x)) < 0.3)[:, None, None], x + size * direction, x)


def _missing(share: float, x: Floats, rate: float, rng: np.random.Generator) -> Floats:
    return np.where((rng.random(x.shape[:2]) < share)[..., None], np.nan, x)


def _shift(size: float, seconds: float, x: Floats, rate: float, rng: np.random.Generator) -> Floats:
    return x + np.where(_index(x) < seconds * rate, size, 0.0)


def _part(burst: Burst, seconds: float, x: Floats, rate: float, rng: np.random.Generator) -> Floats:
    n = round(seconds * rate)
    return np.concatenate([burst(x[:n], rate, rng), x[n:]])


BURSTS: dict[str, Burst] = {
    "9999": partial(_constant, 9999.0),
    "9999 for 0.5 s": partial(_part, partial(_constant, 9999.0), 0.5),
    "-9999 for 2 s": partial(_part, partial(_constant, -9999.0), 2.0),
    "1e8 for 0.5 s": partial(_part, partial(_constant, 1e8), 0.5),
    "9999 with noise": lambda x, rate, rng: 9999.0 + 0.1 * rng.normal(size=x.shape),
    # Positions are shifted back by 1.5 m before they are shown: the same as data 1.5 m from the origin.
    "0 0 0, data 1.5 m away": partial(_constant, -1500.0),
    "0 0 0": partial(_constant, 0.0),
    "5 5 5": partial(_constant, 5.0),
    "labels swapped": lambda x, rate, rng: np.roll(x, 1, axis=1),
    "axes mirrored": lambda x, rate, rng: -x,
    "unit times 1000": lambda x, rate, rng: 1000.0 * x,
    "unit over 1000": lambda x, rate, rng: 0.001 * x,
    "unit times 25.4": lambda x, rate, rng: 25.4 * x,
    "motion times 3": lambda x, rate, rng: x[:1] + 3.0 * (x - x[:1]),
    "motion times 10": lambda x, rate, rng: x[:1] + 10.0 * (x - x[:1]),
    **{f"spikes of {size:g} mm": partial(_spikes, size) for size in (1.0, 3.0, 10.0, 100.0, 1e4, 1e8, 1e15, 1e30)},
    "alternating good and bad": lambda x, rate, rng: np.where(_index(x) % 2 == 0, x + 100.0, x),
    "ramp of 5 mm/s": lambda x, rate, rng: x + 5.0 * _index(x) / rate,
    "ramp of 50 mm/s": lambda x, rate, rng: x + 50.0 * _index(x) / rate,
    "frozen": lambda x, rate, rng: np.repeat(x[:1], len(x), axis=0),
    "all missing": partial(_missing, 1.0),
    "half missing": partial(_missing, 0.5),
    "missing in blocks": lambda x, rate, rng: np.where(_index(x) % round(2 * rate) < rate, np.nan, x),
    "duplicated samples": lambda x, rate, rng: x[np.arange(len(x)) // 2 * 2],
    "delayed by 1 s": lambda x, rate, rng: x[np.maximum(np.arange(len(x)) - round(rate), 0)],
    "noise of 10 mm": lambda x, rate, rng: x + rng.uniform(-10.0, 10.0, x.shape),
    "noise of 1000 mm": lambda x, rate, rng: x + rng.uniform(-1000.0, 1000.0, x.shape),
    "shift by 100 mm for 2 s": partial(_shift, 100.0, 2.0),
    "shift by 20 mm for 10 s": partial(_shift, 20.0, 10.0),
    "shift by 300 mm for 10 s": partial(_shift, 300.0, 10.0),
}
"""Names of bursts → what they do to positions."""
SCOPES = ("all channels", "one channel", "one coordinate")
"""Parts of a sample that a burst may affect."""


def with_burst(
    positions: Floats, burst: str | Burst, scope: str, start: int, samples: int, rate: float = 10.0, seed: int = 7
) -> Floats:
    """Return a copy of positions (T, channels, dimensions) in which some samples are replaced by a burst.

    Parameters
    ----------
    positions
        The true positions.
    burst
        A key of `BURSTS`, or a function of your own.
    scope
        One of `SCOPES`: the last channel, or its last coordinate, if not all channels.
    start, samples
        First sample of the burst, and number of samples.
    rate
        Sampling rate in Hz.
    seed
        Seed of random bursts.

    Examples
    --------
    >>> spoilt = with_burst(np.ones((6, 2, 3)), "9999", "one channel", start=2, samples=2)
    >>> spoilt[:, 1, 0]
    array([1.000e+00, 1.000e+00, 9.999e+03, 9.999e+03, 1.000e+00, 1.000e+00])
    """
    span, shown = slice(start, start + samples), positions.copy()
    faulty = (BURSTS[burst] if isinstance(burst, str) else burst)(positions[span], rate, np.random.default_rng(seed))
    channels = slice(None) if scope == "all channels" else -1
    coordinates = -1 if scope == "one coordinate" else slice(None)
    shown[span, channels, coordinates] = faulty[:, channels, coordinates]
    return shown
