"""Gates that fit the sampling rate of a guard."""

from __future__ import annotations

from copy import copy

import numpy as np

from quatcast.safety.gate import Gate

SAME_RATE = 0.02
"""Relative difference up to which the rate of a gate is that of the samples."""


def gate_for(rate: float, gate: Gate | None = None) -> Gate:
    """Return a gate for samples of a rate in Hz: a copy of the one that is given, or one with its usual settings.

    Examples
    --------
    >>> gate_for(57.0, Gate(sentinels=[9999])).rate
    57.0
    >>> gate_for(57.0, Gate(10.0))
    Traceback (most recent call last):
    ValueError: gate: expected one for the sampling rate, Gate(rate=57.0, ...), got Gate(rate=10.0, ...)
    """
    made = Gate(rate) if gate is None else gate
    if not isinstance(made, Gate):
        raise ValueError(f"gate: expected a Gate, or None, got {gate!r}")
    if made.rate is None:
        return type(made)(**(made.settings() | {"rate": rate}))
    if not np.isclose(made.rate, rate, rtol=SAME_RATE, atol=0.0):
        expected = f"one for the sampling rate, Gate(rate={rate}, ...)"
        raise ValueError(f"gate: expected {expected}, got Gate(rate={made.rate}, ...)")
    return copy(made)
