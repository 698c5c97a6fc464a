"""Components of the simulated motion of a chest: breaths, slow drift, changes of posture and irregular events.

Each component uses its own random generator and draws in the order of time. A longer simulation therefore begins with
the samples of a shorter one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Floats

Random = np.random.Generator


@dataclass(frozen=True)
class Rhythm:
    """Statistics of the breathing of one person.

    Parameters
    ----------
    period
        Mean duration of a breath in seconds.
    spread
        Relative standard deviation of the period and the depth between breaths.
    sharpness
        Exponent n of the shape cos²ⁿ. A larger exponent gives narrower peaks and a longer rest between them.
    inhale
        Mean fraction of a breath before its peak.
    pauses
        Probability that a pause follows a breath.
    changes
        Probability that the breathing pattern changes at a breath, which scales all later periods and depths.

    Examples
    --------
    >>> rhythm = Rhythm(period=5.0, spread=0.0)
    >>> breaths = breathe(np.random.default_rng(0), rhythm, seconds=60.0)
    >>> float(np.diff(breaths.starts).mean().round(9))
    5.0
    """

    period: float
    spread: float = 0.1
    sharpness: float = 1.5
    inhale: float = 0.42
    pauses: float = 0.0
    changes: float = 0.0


@dataclass(frozen=True)
class Breaths:
    """A sequence of breaths, with one array entry per breath.

    Parameters
    ----------
    starts, periods
        Start and duration of each breath in seconds.
    depths
        Height of the peak of each breath.
    levels
        Baseline at the start of each breath; it changes smoothly to that of the next breath.
    sharpness, inhale
        Shape of each breath, see `Rhythm`.

    Examples
    --------
    >>> breaths = breathe(np.random.default_rng(0), Rhythm(period=5.0), seconds=60.0)
    >>> breaths(np.arange(600) / 10).shape
    (600,)
    """

    starts: Floats
    periods: Floats
    depths: Floats
    levels: Floats
    sharpness: Floats
    inhale: Floats

    def __call__(self, times: Floats) -> Floats:
        """Evaluate depth·cos²ⁿ(π/2·x^0.8) + level at the given times.

        The distance x from the peak decreases linearly from 1 to 0 during inhalation, increases to 1 during exhalation,
        usually at another speed, and stays at 1 until the next breath. The model of Lujan et al. has one speed and x
        instead of x^0.8; the power makes the peak as sharp as it is in measured breathing.
        """
        k = np.clip(np.searchsorted(self.starts, times, side="right") - 1, 0, len(self.starts) - 2)
        phase = np.clip((times - self.starts[k]) / self.periods[k], 0.0, 1.0)
        inhale = self.inhale[k]
        x = np.where(phase < inhale, 1 - phase / inhale, (phase - inhale) / (1 - inhale))
        shape = np.cos(np.pi / 2 * x**0.8).clip(0.0) ** (2 * self.sharpness[k])
        level = self.levels[k] + smoothstep(phase) * (self.levels[k + 1] - self.levels[k])
        return np.asarray(self.depths[k] * shape + level)


def breathe(rng: Random, rhythm: Rhythm, seconds: float) -> Breaths:
    """Draw random breaths of mean depth 1 that cover the time from 0 to `seconds`.

    The logarithms of the period and of the depth are autoregressive from breath to breath and correlated with each
    other.

    Examples
    --------
    >>> breaths = breathe(np.random.default_rng(0), Rhythm(period=5.0), seconds=60.0)
    >>> bool(breaths.starts[0] < 0.0), bool(breaths.starts[-1] > 60.0)
    (True, True)
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
    """Draw autoregressive noise of unit variance along the first axis.

    Each sample is x ← a x + √(1 − a²) ε with a = exp(−1/memory), so that the correlation decays within about `memory`
    samples.

    Examples
    --------
    >>> wander(np.random.default_rng(0), (100, 3), memory=10.0).shape
    (100, 3)
    """
    a = np.exp(-1.0 / memory)
    shocks = np.sqrt(1 - a * a) * rng.standard_normal(shape)
    shocks[0] /= np.sqrt(1 - a * a)
    for t in range(1, shape[0]):
        shocks[t] += a * shocks[t - 1]
    return np.asarray(shocks)


def smoothstep(x: Floats) -> Floats:
    """Interpolate smoothly from 0 for x ≤ 0 to 1 for x ≥ 1.

    Examples
    --------
    >>> smoothstep(np.array([-1.0, 0.5, 2.0]))
    array([0. , 0.5, 1. ])
    """
    x = np.clip(x, 0.0, 1.0)
    return np.asarray(x * x * (3 - 2 * x))


def moments(rng: Random, gap: float, seconds: float) -> Iterator[float]:
    """Draw times of events before `seconds`, with a mean interval of `gap` seconds and a minimum of a third of it.

    Examples
    --------
    >>> times = list(moments(np.random.default_rng(0), gap=30.0, seconds=600.0))
    >>> bool(np.diff(times).min() >= 10.0)
    True
    """
    time = 0.0
    while (time := time + gap * (1 + 2 * rng.exponential()) / 3) < seconds:
        yield time


def shifts(rng: Random, times: Floats, gap: float, channels: int) -> Floats:
    """Draw changes of posture, (times, channels, 3): steps of about unit size that take one second each.

    Examples
    --------
    >>> shifts(np.random.default_rng(0), np.arange(600) / 10, gap=40.0, channels=2).shape
    (600, 2, 3)
    """
    posture = np.zeros((len(times), channels, 3))
    for moment in moments(rng, gap, times[-1]):
        size = rng.standard_normal((1, 3)) * (0.6 + 0.4 * rng.standard_normal((channels, 1)))
        posture += size * smoothstep(times - moment)[:, None, None]
    return posture


def episodes(rng: Random, times: Floats, gap: float, kind: str) -> tuple[Floats, Floats]:
    """Draw all events of one kind: the share of the breathing that they replace, and the motion that they add.

    Talking consists of phrases, each with a quick inhalation and a slow uneven exhalation. Laughing is a deep push with
    a fast tremor. Coughing is a few short pushes.

    Examples
    --------
    >>> takeover, motion = episodes(np.random.default_rng(0), np.arange(6000) / 10, gap=40.0, kind="laugh")
    >>> float(takeover.max())
    0.85
    """
    shortest, longest, share = {
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
        takeover[span] = share * window
        motion[span] += size * window * shape
    return takeover, motion
