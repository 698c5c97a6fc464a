"""What a simulated chest does: breaths, slow drift, and the events that break the rhythm.

Everything is drawn in order of time from a generator of its own, so that a longer simulation begins with the
shorter one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quatcast.typing import Floats

Random = np.random.Generator


@dataclass(frozen=True)
class Rhythm:
    """How somebody breathes.

    Parameters
    ----------
    period
        Mean duration of a breath in seconds.
    spread
        Relative standard deviation of period and depth from one breath to the next.
    sharpness
        Exponent n of the shape cos²ⁿ: more gives narrower peaks over a longer rest.
    inhale
        Part of the breath that is spent before the peak, in the mean.
    pauses
        Probability that a breath is followed by a pause.
    changes
        Probability that a breath begins another pattern: all periods and depths to come are scaled.
    """

    period: float
    spread: float = 0.1
    sharpness: float = 1.5
    inhale: float = 0.42
    pauses: float = 0.0
    changes: float = 0.0


@dataclass(frozen=True)
class Breaths:
    """Breaths one after the other, with the start, length, depth, initial level and shape of each."""

    starts: Floats
    periods: Floats
    depths: Floats
    levels: Floats
    sharpness: Floats
    inhale: Floats

    def __call__(self, times: Floats) -> Floats:
        """Trace at some times: depth·cos²ⁿ(π/2·x^0.8) + level.

        x is the distance from the peak: it falls from 1 to 0 while inhaling and rises to 1 while exhaling, each
        at its own pace, then rests until the next breath. Lujan's model has one pace and x itself; the power
        makes the peak as pointed as it is in people.
        """
        k = np.clip(np.searchsorted(self.starts, times, side="right") - 1, 0, len(self.starts) - 2)
        phase = np.clip((times - self.starts[k]) / self.periods[k], 0.0, 1.0)
        inhale = self.inhale[k]
        x = np.where(phase < inhale, 1 - phase / inhale, (phase - inhale) / (1 - inhale))
        shape = np.cos(np.pi / 2 * x**0.8).clip(0.0) ** (2 * self.sharpness[k])
        level = self.levels[k] + smoothstep(phase) * (self.levels[k + 1] - self.levels[k])
        return np.asarray(self.depths[k] * shape + level)


def breathe(rng: Random, rhythm: Rhythm, seconds: float) -> Breaths:
    """Draw breaths of mean depth 1 that cover the time from before 0 to after `seconds`.

    The logarithms of period and depth are autoregressive from breath to breath and correlated with each other.
    """
    rows: list[tuple[float, ...]] = []
    start = -rhythm.period * (1 + rng.random())
    deviation = np.zeros(2)
    slower, deeper = 1.0, 1.0
    while not rows or rows[-1][0] <= seconds + rhythm.period:
        shock, pause_at, pause, change_at, change = (
            rng.standard_normal(5), rng.random(), rng.exponential(), rng.random(), rng.random(2),
        )  # fmt: skip
        deviation = 0.4 * deviation + np.array([shock[0], 0.4 * shock[0] + 0.9 * shock[1]])
        if change_at < rhythm.changes:
            slower, deeper = 0.75 + 0.6 * change[0], 0.5 + 0.9 * change[1]
        period, depth = np.exp(rhythm.spread * deviation) * (rhythm.period * slower, deeper)
        shape = np.exp(1.8 * rhythm.spread * shock[3:]) * (rhythm.sharpness, rhythm.inhale)
        rows.append((start, period, depth, 0.4 * rhythm.spread * shock[2], shape[0], min(shape[1], 0.7)))
        start += period + (rhythm.period * min(pause, 2.0) * 0.6 if pause_at < rhythm.pauses else 0.0)
    return Breaths(*np.array(rows).T)


def wander(rng: Random, shape: tuple[int, ...], memory: float) -> Floats:
    """Noise of unit variance that forgets within `memory` samples: x ← a x + √(1 − a²) ε, a = exp(−1/memory)."""
    a = np.exp(-1.0 / memory)
    shocks = np.sqrt(1 - a * a) * rng.standard_normal(shape)
    shocks[0] /= np.sqrt(1 - a * a)
    for t in range(1, shape[0]):
        shocks[t] += a * shocks[t - 1]
    return np.asarray(shocks)


def smoothstep(x: Floats) -> Floats:
    """Go smoothly from 0 at x ≤ 0 to 1 at x ≥ 1."""
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x * x * (3 - 2 * x))


def moments(rng: Random, gap: float, seconds: float) -> Iterator[float]:
    """Times of events that come every `gap` seconds in the mean, never within a third of that."""
    time = 0.0
    while (time := time + gap * (1 + 2 * rng.exponential()) / 3) < seconds:
        yield time


def shifts(rng: Random, times: Floats, gap: float, channels: int) -> Floats:
    """Changes of posture, (times, channels, 3): steps of about unit size, each taken in a second."""
    posture = np.zeros((len(times), channels, 3))
    for moment in moments(rng, gap, times[-1]):
        size = rng.standard_normal((1, 3)) * (0.6 + 0.4 * rng.standard_normal((channels, 1)))
        posture += size * smoothstep(times - moment)[:, None, None]
    return posture


def episodes(rng: Random, times: Floats, gap: float, kind: str) -> tuple[Floats, Floats]:
    """Events of one kind: how much each takes the place of breathing, from 0 to 1, and the motion that it adds.

    A talk is phrases, each a gasp and a slow uneven descent; a laugh is a deep push with a fast tremble on top;
    a cough is a few short pushes.
    """
    shortest, longest, takes_over = {
        "talk": (3.0, 9.0, 0.85), "laugh": (1.0, 3.0, 0.85), "cough": (0.8, 1.8, 0.3),
    }[kind]  # fmt: skip
    takeover, motion = np.zeros(len(times)), np.zeros(len(times))
    for moment in moments(rng, gap, times[-1]):
        length, size, pace = rng.uniform(shortest, longest), rng.uniform(0.6, 1.4), rng.uniform(0.8, 1.2)
        rough = wander(rng, (100,), 8.0)
        span = slice(*np.searchsorted(times, [moment, moment + length]))
        local = times[span] - moment
        uneven = np.interp(10 * local, np.arange(100), rough)
        if kind == "talk":
            phrase = np.mod(local / (2.4 * pace), 1.0)
            shape = np.where(phrase < 0.15, phrase / 0.15, (1 - phrase) / 0.85) - 0.2 + 0.3 * uneven
        elif kind == "laugh":
            shape = 1 + 0.25 * np.sin(2 * np.pi * 2.7 * pace * local) + 0.2 * uneven
        else:
            shape = np.sin(2 * np.pi * 1.4 * pace * local) ** 2
        window = np.clip(np.minimum(local, length - local) / 0.6, 0.0, 1.0)
        takeover[span] = takes_over * window
        motion[span] += size * window * shape
    return takeover, motion
