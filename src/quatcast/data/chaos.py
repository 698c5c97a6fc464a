"""Chaotic signals in three and four dimensions: short-term predictable, long-term not, and free of noise."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from quatcast.data.recording import Recording

State = NDArray[np.float64]

MAX_STEP = 0.01
"""Longest Runge-Kutta step, in the systems' own time."""
TRANSIENT = 40.0
"""Time that is integrated and thrown away, so that the signal starts on the attractor."""


def lorenz(s: State) -> State:
    """Time derivative of Lorenz (1963) with σ = 10, ρ = 28, β = 8/3."""
    x, y, z = s
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def rossler4(s: State) -> State:
    """Time derivative of Rössler's hyperchaos (1979): four variables, two growing directions."""
    x, y, z, w = s
    return np.array([-y - z, x + 0.25 * y + w, 3.0 + x * z, -0.5 * z + 0.05 * w])


SYSTEMS: dict[str, tuple[Callable[[State], State], tuple[float, ...]]] = {
    "lorenz": (lorenz, (1.0, 1.0, 20.0)),
    "rossler4": (rossler4, (-20.0, 0.0, 0.0, 15.0)),
}
"""Name → (time derivative, a point near the attractor)."""


def runge_kutta(derivative: Callable[[State], State], s: State, step: float) -> State:
    """One classical fourth-order Runge-Kutta step: s + step·(k₁ + 2k₂ + 2k₃ + k₄)/6."""
    k1 = derivative(s)
    k2 = derivative(s + step / 2 * k1)
    k3 = derivative(s + step / 2 * k2)
    k4 = derivative(s + step * k3)
    return s + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def chaotic(kind: str = "lorenz", *, samples: int = 2000, rate: float = 20.0, seed: int = 0) -> Recording:
    """Integrate a chaotic system into a recording of one channel.

    Parameters
    ----------
    kind
        "lorenz" (3-D) or "rossler4" (4-D: every component of a quaternion is used).
    samples
        Number of samples.
    rate
        Samples a unit of the system's time.
    seed
        Moves the starting point; two seeds give two unrelated stretches of the same attractor.

    References
    ----------
    E. N. Lorenz, "Deterministic nonperiodic flow", J. Atmos. Sci. 20 (1963).
    O. E. Rössler, "An equation for hyperchaos", Phys. Lett. A 71 (1979).

    Examples
    --------
    >>> chaotic("rossler4", samples=50)
    Recording('rossler4', 50 samples, 1 channels, 4-D, 20 Hz)
    """
    if kind not in SYSTEMS:
        raise ValueError(f"unknown chaotic system {kind!r}; there are {', '.join(SYSTEMS)}")
    if samples < 1 or not rate > 0:
        raise ValueError(f"samples and rate must be positive, got {samples} and {rate}")
    derivative, start = SYSTEMS[kind]
    s = np.array(start) + np.random.default_rng(seed).uniform(-0.5, 0.5, len(start))
    for _ in range(round(TRANSIENT / MAX_STEP)):
        s = runge_kutta(derivative, s, MAX_STEP)

    substeps = math.ceil(1.0 / (rate * MAX_STEP))
    positions = np.empty((samples, 1, len(start)))
    for t in range(samples):
        positions[t, 0] = s
        for _ in range(substeps):
            s = runge_kutta(derivative, s, 1.0 / (rate * substeps))
    return Recording(kind, positions, np.arange(samples) / rate, rate, group="chaotic", channels=(kind,))
