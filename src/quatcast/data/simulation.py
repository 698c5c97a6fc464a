"""Nine simulated recordings of breathing, the default data set: like ExtMarker, but nobody's chest."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from quatcast.data.breathing import Random, Rhythm, breathe, episodes, shifts, wander
from quatcast.data.corruption import corrupt
from quatcast.data.recording import Recording
from quatcast.typing import Floats

RATE = 10.0
LONGEST = 1e6
"""Seconds of a recording, some eleven days; what is longer would not fit into memory."""
RESOLUTION = 0.1
"""Of the camera, in mm."""
CHANNELS = ("lower abdomen", "upper abdomen", "chest")

BREATH = np.array([[0.28, 0.10, 1.0], [0.36, 0.08, 0.62], [0.25, 0.06, 0.25]])
"""Motion of each marker along each axis in a breath, as a part of the first marker's antero-posterior motion."""
DEEP = np.array([[0.45, 0.18, 0.9], [0.6, 0.2, 1.2], [1.0, 0.2, 1.1]])
"""The same in breaths as deep as can be, chest and abdomen together."""
EVENT = np.array([[-0.10, 0.25, 0.50], [-0.50, 0.25, 0.45], [-0.80, 0.30, -0.30]])
"""The same in a talk, laugh or cough: the chest goes the other way."""


@dataclass(frozen=True)
class Subject:
    """One person on the couch: rhythm, size of the motion, and what happens how often.

    Parameters
    ----------
    name, group, seconds
        Of the recording.
    depth
        Mean antero-posterior motion of the first marker in a breath, in mm.
    drift, shift
        Size of the slow drift and of changes of posture, in mm.
    events
        Kind of event → (mean seconds from one to the next, size in mm).
    """

    name: str
    group: str
    seconds: float
    rhythm: Rhythm
    depth: float
    drift: float = 0.4
    shift: float = 0.5
    events: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    breath: Floats = field(default_factory=lambda: BREATH)


TALK = {"talk": (22.0, 12.0), "cough": (80.0, 6.0)}
LAUGH = {"talk": (22.0, 12.0), "laugh": (25.0, 19.0)}
SUBJECTS = (
    Subject("talk", "irregular", 222, Rhythm(5.5, 0.13, 1.3), 12.0, 0.7, 1.0, TALK),
    Subject("regular", "regular", 138, Rhythm(6.4, 0.12, 1.5), 14.0),
    Subject("change", "irregular", 130, Rhythm(5.8, 0.10, 1.3, changes=0.25), 15.0, 0.8, 1.0, {"cough": (60, 2.0)}),
    Subject("laugh-talk", "irregular", 142, Rhythm(5.0, 0.15, 1.4), 10.0, 1.2, 2.0, LAUGH),
    Subject("regular", "regular", 131, Rhythm(6.1, 0.10, 1.6), 11.5, 0.4, 0.5, {"cough": (70, 6.0)}),
    Subject("regular", "regular", 117, Rhythm(5.6, 0.12, 1.5, pauses=0.12), 9.5),
    Subject("other", "irregular", 73, Rhythm(19.0, 0.12, 1.3, 0.45), 30.0, 3.0, 2.0, {"cough": (40, 4.0)}, DEEP),
    Subject("regular", "regular", 320, Rhythm(5.8, 0.10, 1.3), 18.5, 0.9, 0.7),
    Subject("regular", "regular", 306, Rhythm(5.0, 0.11, 1.3), 14.5, 0.9, 0.7, {"cough": (120, 5.0)}),
)  # fmt: skip


def simulated(
    seed: int = 0, *, seconds: float | None = None, glitches: float = 0.0, dropouts: float = 0.0
) -> list[Recording]:
    """Simulate nine recordings of three markers at 10 Hz, of the kinds, order and lengths of `extmarker`.

    Breaths vary in period and depth and rise faster than they fall; baselines drift and jump; people talk, laugh,
    cough and pause. Every marker follows with its own gain, direction and delay. Positions are multiples of
    0.1 mm and start at zero.

    Parameters
    ----------
    seed
        Other seeds are other people. The same seed gives the same numbers.
    seconds
        Length of every recording instead of its own (73 to 320 s). Longer recordings begin with the shorter ones.
    glitches, dropouts
        Probabilities that a sample of a marker lies by 30 mm, or is missing; see `corrupt`.

    References
    ----------
    A. E. Lujan et al., "A method for incorporating organ motion due to breathing into 3D dose calculations",
    Med. Phys. 26 (1999), for the shape of a breath.

    Examples
    --------
    >>> recordings = simulated(seconds=20)
    >>> recordings[0]
    Recording('sim-1-talk', 200 samples, 3 channels, 3-D, 10 Hz)
    >>> [recording.group[0] for recording in recordings]
    ['i', 'r', 'i', 'i', 'r', 'r', 'i', 'r', 'r']
    """
    if seconds is not None and not 1 / RATE <= seconds <= LONGEST:
        raise ValueError(f"seconds must be at least one sample ({1 / RATE} s) and at most {LONGEST:g}, got {seconds}")
    recordings = []
    for number, subject in enumerate(SUBJECTS, start=1):
        times = np.arange(round((seconds or subject.seconds) * RATE)) / RATE
        clean = Recording(
            name=f"sim-{number}-{subject.name}",
            positions=_positions(np.random.default_rng([seed, number]), subject, times),
            times=times,
            rate=RATE,
            group=subject.group,
            channels=CHANNELS,
        )
        recordings.append(corrupt(clean, glitches=glitches, dropouts=dropouts, seed=seed + number))
    return recordings


def _positions(rng: Random, subject: Subject, times: Floats) -> Floats:
    """Positions (times, markers, 3) of one subject."""
    body, rhythm, slow, posture, fast, heart, *kinds = rng.spawn(6 + len(subject.events))
    shape = (len(times), *subject.breath.shape)
    breath = subject.depth * subject.breath * np.exp(0.2 * body.standard_normal(subject.breath.shape))
    event = EVENT * np.exp(0.2 * body.standard_normal(EVENT.shape))
    delays = np.cumsum(body.uniform(0.0, 0.12, (3, 1)), axis=0) + 0.1 * body.standard_normal((3, 3))

    takeover, motion = np.zeros(len(times)), np.zeros(len(times))
    for (kind, (gap, size)), source in zip(subject.events.items(), kinds, strict=True):
        taken, moved = episodes(source, times, gap, kind)
        takeover, motion = np.maximum(takeover, taken), motion + size * moved

    breaths = breathe(rhythm, subject.rhythm, times[-1])
    traces = np.stack([breaths(times - delay) for delay in delays.ravel()], axis=-1).reshape(shape)
    positions = breath * traces * (1 - takeover)[:, None, None] + event * motion[:, None, None]
    positions += subject.drift * wander(slow, shape, 30 * RATE)
    positions += subject.shift * shifts(posture, times, 40.0, len(CHANNELS))
    positions += (0.04 + 0.004 * subject.depth) * wander(fast, shape, 4.0)
    beat = np.sin(2 * np.pi * (1.1 * times + 0.1 * np.cumsum(heart.standard_normal(len(times))) / RATE))
    positions += 0.08 * beat[:, None, None]
    steps = np.round((positions - positions[0]) / RESOLUTION)
    return np.asarray(steps * RESOLUTION)
