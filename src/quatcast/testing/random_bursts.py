"""Faulty input drawn at random, for what the catalogue of `quatcast.testing.bursts` does not think of."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.testing.bursts import Burst

Fault = Callable[[Floats, float, np.random.Generator], Floats]
"""Takes positions (samples, channels, dimensions) and a size; returns faulty ones."""


def _directions(x: Floats, rng: np.random.Generator) -> Floats:
    """Return a random vector for each channel, (1, channels, dimensions)."""
    return rng.normal(size=(1, *x.shape[1:]))


def _time(x: Floats) -> Floats:
    """Return numbers from 0 to 1, (samples, 1, 1)."""
    return np.linspace(0.0, 1.0, len(x)).reshape(-1, 1, 1)


def _turned(x: Floats, size: float, rng: np.random.Generator) -> Floats:
    rotation, _ = np.linalg.qr(rng.normal(size=(x.shape[-1], x.shape[-1])))
    return np.asarray(x @ rotation.T)


def _wave(x: Floats, size: float, rng: np.random.Generator) -> Floats:
    periods = 10 ** rng.uniform(-1.0, 1.5)
    return x + size * _directions(x, rng) * np.sin(2 * np.pi * (periods * _time(x) + rng.random()))


def _late(x: Floats, size: float, rng: np.random.Generator) -> Floats:
    delay = int(rng.integers(1, len(x) + 1))
    return x[np.maximum(np.arange(len(x)) - delay, 0)]


def _some(fault: Fault, x: Floats, size: float, rng: np.random.Generator) -> Floats:
    """Return samples of which a random share is faulty."""
    return np.where((rng.random(len(x)) < rng.random())[:, None, None], fault(x, size, rng), x)


def _offset(x: Floats, size: float, rng: np.random.Generator) -> Floats:
    return x + size * _directions(x, rng)


FAULTS: dict[str, Fault] = {
    "constant": lambda x, size, rng: np.broadcast_to(size * _directions(x, rng), x.shape),
    "offset": _offset,
    "some offset": partial(_some, _offset),
    "noise": lambda x, size, rng: x + size * rng.normal(size=x.shape),
    "heavy-tailed noise": lambda x, size, rng: x + size * rng.standard_cauchy(size=x.shape),
    "random walk": lambda x, size, rng: x + size * rng.normal(size=x.shape).cumsum(axis=0) / np.sqrt(len(x)),
    "ramp": lambda x, size, rng: x + size * _directions(x, rng) * _time(x),
    "wave": _wave,
    "unit": lambda x, size, rng: x * size,
    "motion": lambda x, size, rng: x[:1] + size * (x - x[:1]),
    "frozen with jitter": lambda x, size, rng: x[:1] + 0.01 * size * rng.normal(size=x.shape),
    "late": _late,
    "reversed": lambda x, size, rng: x[::-1],
    "labels exchanged": lambda x, size, rng: x[:, rng.permutation(x.shape[1])],
    "mirrored": lambda x, size, rng: x * rng.choice([-1.0, 1.0], x.shape[-1]),
    "turned": _turned,
    "missing": lambda x, size, rng: np.where((rng.random(x.shape[:2]) < rng.random())[..., None], np.nan, x),
}
"""Names of faults → what they do to positions.

Sizes are in mm; those of units and motion are factors, and a hundredth of the size is the jitter of frozen positions.
"""
WITHOUT_SIZE = ("late", "reversed", "labels exchanged", "mirrored", "turned", "missing")
"""Faults for which the size means nothing."""


def random_burst(seed: int) -> tuple[str, Burst]:
    """Return the name of a random burst, and the burst.

    It applies one to three of `FAULTS`, of sizes between 0.1 and a million, to a random part of the samples.

    Examples
    --------
    >>> name, burst = random_burst(3)
    >>> name
    'offset 5.6 + noise 110 + heavy-tailed noise 1.3, for 100%'
    >>> burst(np.zeros((100, 3, 3)), 10.0, np.random.default_rng(0)).shape
    (100, 3, 3)
    """
    rng = np.random.default_rng(seed)
    names = [str(name) for name in rng.choice(list(FAULTS), size=rng.integers(1, 4))]
    sizes = [float(f"{10 ** rng.uniform(-1.0, 6.0 if rng.random() < 0.5 else 2.0):.2g}") for _ in names]
    share = float(rng.uniform(0.01, 1.0)) if rng.random() < 0.5 else 1.0
    parts = [name if name in WITHOUT_SIZE else f"{name} {size:g}" for name, size in zip(names, sizes, strict=True)]
    return f"{' + '.join(parts)}, for {share:.0%}", partial(_apply, names, sizes, share)


def _apply(
    names: list[str], sizes: list[float], share: float, x: Floats, rate: float, rng: np.random.Generator
) -> Floats:
    shown = x.copy()
    span = slice(0, max(1, round(share * len(x))))
    for name, size in zip(names, sizes, strict=True):
        shown[span] = FAULTS[name](shown[span], size, rng)
    return shown
