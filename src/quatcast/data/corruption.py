"""Artificial faults in recordings: outliers and missing samples."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quatcast.data.recording import Recording


def corrupt(
    recording: Recording, *, glitches: float = 0.0, dropouts: float = 0.0, magnitude: float = 30.0, seed: int = 0
) -> Recording:
    """Return a copy of a recording in which random samples of random channels are wrong or missing.

    Each sample of each channel is independently displaced by `magnitude` in a random direction with probability
    `glitches`, and replaced by NaN with probability `dropouts`. A sample that is selected for both is NaN. The
    selection depends only on `seed` and the number of channels. The samples that are selected at a probability of 1 %
    are therefore also selected at 3 %, and in a longer recording that begins with this one.

    Parameters
    ----------
    recording
        Recording without faults; it does not change.
    glitches, dropouts
        Probabilities of a displaced and of a missing sample, from 0 to 1.
    magnitude
        Distance by which a sample is displaced, in the unit of the recording. Orientations and poses
        cannot be displaced, but they can be missing.
    seed
        Seed of the random generator.

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
            raise ValueError(f"{name}: expected a probability from 0 to 1, got {probability}")
    if glitches and recording.space not in ("position", "vector"):
        raise ValueError(f"glitches: expected 0 for a recording of {recording.space}s, got {glitches}")
    for_glitches, for_dropouts, for_directions = np.random.default_rng(seed).spawn(3)
    positions = recording.positions.copy()
    displaced = for_glitches.random(positions.shape[:2]) < glitches
    missing = for_dropouts.random(positions.shape[:2]) < dropouts
    directions = for_directions.standard_normal(positions.shape)
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    positions[displaced] += magnitude * directions[displaced]
    positions[missing] = np.nan
    return replace(recording, positions=positions)
