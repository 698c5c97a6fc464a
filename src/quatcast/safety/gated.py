"""The result of the gate for a sample, and what the gate learns from it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import every, some


@dataclass(frozen=True)
class Gated:
    """Result of the gate for one sample.

    Attributes
    ----------
    position
        (channels, dimensions), finite: the sample, or its replacement.
    replaced
        (channels,), True where the sample was rejected.
    reasons
        For each channel "" (accepted), "missing", "implausible", "frozen" (repeats its last value), "shift" (accepted
        again, at a new place), or "start" (begins anew at a new place, because little was known of it).
    lost
        (channels,), number of samples since the last accepted one; 0 where this one is accepted.
    offset
        (channels, dimensions), how far the channel has been shifted: `position` minus the offset continues where the
        channel was before the shift.
    still
        (channels,), True where the channel has never moved.
    outside
        (channels,), True where the position is far outside the usual range of the channel.
    innovation
        (channels,), distance of the sample from the one-step forecast of the channel; undefined where it is missing.

    Examples
    --------
    >>> from quatcast import Gate
    >>> gate = Gate(rate=10.0)
    >>> gate.begin((2, 3))
    >>> gated = gate.judge(np.array([[1.0, 2.0, 3.0], [np.nan] * 3]))
    >>> gated.replaced, gated.reasons
    (array([False,  True]), ('', 'missing'))
    """

    position: Floats
    replaced: Bools
    reasons: tuple[str, ...]
    lost: Counts
    offset: Floats
    still: Bools
    outside: Bools
    innovation: Floats


@dataclass
class Lesson(State):
    """What the gate learns from a sample. Arrays have one entry per channel.

    Attributes
    ----------
    position, innovation
        The position let through, and the distance of the sample from its one-step forecast.
    displacement, inputs
        Displacement since the sample before, and the displacements that it was forecast from.
    known, steady, usual
        Which channels tell how large innovations are, follow from their last displacements, and are in their usual
        range.
    """

    position: Floats
    innovation: Floats
    displacement: Floats
    inputs: Floats
    known: Bools
    steady: Bools
    usual: Bools


def reasons(present: Bools, frozen: Bools, observed: Bools, shifted: Bools, anew: Bools) -> tuple[str, ...]:
    """Return for each channel why it was replaced, or that it was accepted at a new place, or begins anew there."""
    if every(observed) and not some(shifted):
        return ("",) * len(observed)
    replaced = np.where(present, np.where(frozen, "frozen", "implausible"), "missing")
    replaced = np.where(observed, "", replaced)
    return tuple(np.where(shifted, np.where(anew, "start", "shift"), replaced).tolist())
