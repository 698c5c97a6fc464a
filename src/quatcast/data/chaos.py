"""Chaotic signals in three and four dimensions, which are free of noise and predictable for a short time only."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.recording import Recording

MAX_STEP = 0.01
"""Longest Runge-Kutta step, in the time unit of the system."""
TRANSIENT = 40.0
"""Duration of the discarded beginning, after which the signal is on the attractor."""


def lorenz(s: Floats) -> Floats:
    """Return the time derivative of the Lorenz system with σ = 10, ρ = 28 and β = 8/3.

    Examples
    --------
    >>> lorenz(np.array([1.0, 1.0, 0.0]))
    array([ 0., 27.,  1.])
    """
    x, y, z = s
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])


def rossler4(s: Floats) -> Floats:
    """Return the time derivative of the hyperchaotic Rössler system, which has two positive Lyapunov exponents.

    Examples
    --------
    >>> rossler4(np.array([0.0, 1.0, 0.0, 1.0]))
    array([-1.  , 1.25, 3.  , 0.05])
    """
    x, y, z, w = s
    return np.array([-y - z, x + 0.25 * y + w, 3.0 + x * z, -0.5 * z + 0.05 * w])


SYSTEMS: dict[str, tuple[Callable[[Floats], Floats], tuple[float, ...]]] = {
    "lorenz": (lorenz, (1.0, 1.0, 20.0)),
    "rossler4": (rossler4, (-20.0, 0.0, 0.0, 15.0)),
}
"""Name → (time derivative, point near the attractor)."""


def runge_kutta(derivative: Callable[[Floats], Floats], s: Floats, step: float) -> Floats:
    """Return the state after one classical fourth-order Runge-Kutta step: s + step·(k₁ + 2k₂ + 2k₃ + k₄)/6.

    Examples
    --------
    One step of ds/dt = s from 1 approximates e^0.1:

    >>> bool(abs(runge_kutta(lambda s: s, np.ones(1), 0.1) - np.exp(0.1)) < 1e-6)
    True
    """
    k1 = derivative(s)
    k2 = derivative(s + step / 2 * k1)
    k3 = derivative(s + step / 2 * k2)
    k4 = derivative(s + step * k3)
    return s + step / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


def chaotic(kind: str = "lorenz", *, samples: int = 2000, rate: float = 20.0, seed: int = 0) -> Recording:
    """Simulate a chaotic system as a recording with one channel.

    Parameters
    ----------
    kind
        "lorenz" (3-D), or "rossler4" (4-D, which uses all components of a quaternion).
    samples
        Number of samples.
    rate
        Number of samples per time unit of the system.
    seed
        Seed of the initial point. Different seeds give unrelated parts of the same attractor.

    References
    ----------
    E. N. Lorenz, "Deterministic nonperiodic flow", J. Atmos. Sci. 20 (1963).
    O. E. Rössler, "An equation for hyperchaos", Phys. Lett. A 71 (1979).

    Examples
    --------
    >>> chaotic("rossler4", samples=50)
    Recording('rossler4', 50 samples, 1 channel, 4-D, 20 Hz)
    """
    if kind not in SYSTEMS:
        raise ValueError(f"kind: expected one of {', '.join(SYSTEMS)}, got {kind!r}")
    if samples < 1 or not rate > 0:
        raise ValueError(f"samples, rate: expected positive numbers, got {samples} and {rate}")
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
