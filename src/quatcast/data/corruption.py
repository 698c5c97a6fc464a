"""Spoil a recording on purpose: glitches and missing samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quatcast.data.recording import Recording


def corrupt(
    recording: Recording,
    *,
    glitches: float = 0.0,
    dropouts: float = 0.0,
    magnitude: float = 30.0,
    seed: int = 0,
) -> Recording:
    """Return a copy in which some samples of some channels lie or are missing.

    Every sample of every channel is, by its own toss, displaced by `magnitude` in a direction uniform on the
    sphere with probability `glitches`, and NaN with probability `dropouts` (a sample that is both is missing).
    The tosses depend on `seed` and the number of channels alone: what is spoilt at 1 % is spoilt at 3 % too, and
    in a longer recording that begins with this one.

    Parameters
    ----------
    recording
        The truth.
    glitches, dropouts
        Probabilities, from 0 to 1.
    magnitude
        Length of a glitch, in the recording's unit (mm).
    seed
        Of the random generator.

    Examples
    --------
    >>> clean = Recording("demo", np.zeros((1000, 1, 3)), np.arange(1000) / 10, rate=10.0)
    >>> dirty = corrupt(clean, glitches=0.03, dropouts=0.1)
    >>> int(np.isnan(dirty.positions[:, 0, 0]).sum())
    96
    >>> float(np.nanmax(np.linalg.norm(dirty.positions, axis=-1)).round(9))
    30.0
    """
    for name, probability in (("glitches", glitches), ("dropouts", dropouts)):
        if not 0.0 <= probability <= 1.0:
            raise ValueError(f"{name} is a probability from 0 to 1, got {probability}")
    lying, losing, turning = np.random.default_rng(seed).spawn(3)
    positions = recording.positions.copy()
    displaced = lying.random(positions.shape[:2]) < glitches
    missing = losing.random(positions.shape[:2]) < dropouts
    directions = turning.standard_normal(positions.shape)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    positions[displaced] += magnitude * directions[displaced]
    positions[missing] = np.nan
    return replace(recording, positions=positions)
