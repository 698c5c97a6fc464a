"""Nine simulated recordings of breathing that resemble the ExtMarker recordings. They are the default data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from quatcast.basics.annotations import is_number
from quatcast.basics.typing import Floats
from quatcast.data.breathing import Random, Rhythm, breathe, episodes, shifts, wander
from quatcast.data.corruption import corrupt
from quatcast.data.recording import Recording
from quatcast.data.registry import Source, register_source

RATE = 10.0
"""Sampling rate in Hz."""
MAX_SECONDS = 1e6
"""Maximum duration of a recording, about eleven days; a longer recording would not fit into memory."""
RESOLUTION = 0.1
"""Resolution of the simulated camera in mm."""
CHANNELS = ("lower abdomen", "upper abdomen", "chest")

BREATH = np.array([[0.28, 0.10, 1.0], [0.36, 0.08, 0.62], [0.25, 0.06, 0.25]])
"""Motion per marker and axis during a breath, relative to the antero-posterior motion of the first marker."""
DEEP = np.array([[0.45, 0.18, 0.9], [0.6, 0.2, 1.2], [1.0, 0.2, 1.1]])
"""The same for very deep breaths, in which chest and abdomen move together."""
EVENT = np.array([[-0.10, 0.25, 0.50], [-0.50, 0.25, 0.45], [-0.80, 0.30, -0.30]])
"""The same for talking, laughing and coughing, in which the chest moves in the opposite direction."""


@dataclass(frozen=True)
class Subject:
    """A simulated person: rhythm and size of the breathing, and frequency and size of other motion.

    Parameters
    ----------
    name, group, seconds
        Name, group and duration of the recording.
    rhythm
        Statistics of the breathing.
    depth
        Mean antero-posterior motion of the first marker during a breath, in mm.
    drift, shift
        Size of the slow drift and of changes of posture, in mm.
    events
        Kind of event → (mean interval in seconds, size in mm).
    breath
        Relative motion of each marker along each axis during a breath.

    Examples
    --------
    >>> Subject("calm", "regular", 60.0, Rhythm(period=5.0), depth=10.0).drift
    0.4
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
    """Simulate nine recordings of three markers at 10 Hz, with the groups, order and lengths of `extmarker`.

    The breaths vary in period and depth, and inhalation is faster than exhalation. The baseline drifts and jumps. The
    subjects pause, talk, laugh and cough. Every marker has its own gain, direction and delay. The positions are
    multiples of 0.1 mm and start at zero.

    Parameters
    ----------
    seed
        Seed of the random generators. The same seed gives the same numbers, another seed simulates other persons.
    seconds
        Duration of every recording; by default each has its own (73 to 320 s). A longer recording begins with the
        samples of a shorter one.
    glitches, dropouts
        Probabilities that a sample of a marker is displaced by 30 mm, or missing; see `corrupt`.

    References
    ----------
    A. E. Lujan et al., "A method for incorporating organ motion due to breathing into 3D dose calculations",
    Med. Phys. 26 (1999). The shape of a breath is a variant of their model.

    Examples
    --------
    >>> recordings = simulated(seconds=20)
    >>> recordings[0]
    Recording('sim-1-talk', 200 samples, 3 channels, 3-D, 10 Hz)
    >>> [recording.group[0] for recording in recordings]
    ['i', 'r', 'i', 'i', 'r', 'r', 'i', 'r', 'r']
    """
    if seconds is not None and not (is_number(seconds) and 1 / RATE <= seconds <= MAX_SECONDS):
        raise ValueError(f"seconds: expected a duration from {1 / RATE} to {MAX_SECONDS:g} s, got {seconds!r}")
    recordings = []
    for number, subject in enumerate(SUBJECTS, start=1):
        times = np.arange(round((seconds or subject.seconds) * RATE)) / RATE
        clean = Recording(
            name=f"sim-{number}-{subject.name}",
            positions=subject_positions(np.random.default_rng([seed, number]), subject, times),
            times=times,
            rate=RATE,
            group=subject.group,
            channels=CHANNELS,
            units=("mm",) * len(CHANNELS),
        )
        recordings.append(corrupt(clean, glitches=glitches, dropouts=dropouts, seed=seed + number))
    return recordings


def subject_positions(rng: Random, subject: Subject, times: Floats) -> Floats:
    """Return the positions (times, markers, 3) of one subject."""
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


register_source(
    Source(
        name="simulated",
        title="nine recordings of simulated breathing, three markers, 10 Hz",
        load=lambda *, data_dir=None, progress=False: simulated(),
    )
)
