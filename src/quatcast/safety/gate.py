"""Input that lies: what is missing or implausible is replaced before a forecaster sees it, channel by channel.

Each channel has a one-step forecast of its own, and a sample too far from it is not believed. What takes its place
leans on the channels that are good: markers on one body move together, and knowing where two of them are says
where the third is, for seconds, without the drift of a forecast fed with its own forecasts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quatcast.checkpoint import Kept
from quatcast.forecasting.mixture import LARGEST
from quatcast.typing import Bools, Counts, Floats

ORDER = 4
"""Displacements that the one-step forecast is made from."""
WARMUP = 5
"""Samples of a channel that are believed for want of anything to judge them by."""
SHIFT = 0.9
"""Seconds of implausible samples after which anything is taken for a shift, agreeing or not."""
AWAY = 6.0
"""Root-mean-square distances from its mean beyond which a shift takes the channel's mean with it."""
DAMPING = 0.85
"""By which a forecast displacement shrinks with every sample of a gap."""
OWN_SHARE = 0.3
"""Of the one-step forecast in the first fill-in of a gap; its square in the second, and so on."""
LAG = 0.5
"""Seconds over which the channels' displacements tell of one another."""
KNOWN = 5.0
"""Seconds of samples, all channels good, before the channels tell of one another."""
RETURN = 5.0
"""Seconds in which a filled-in channel returns to what the others tell."""
MEMORY = 50.0
"""Seconds after which what was learnt is forgotten, to 1/e."""
RIDGE = 1e-3
"""Of the least squares, relative to the mean power of their inputs."""
TINY = 1e-12
"""Keeps what never moved from a division by zero."""
CLIP = 4.0
"""Of the running scale: an innovation counts at most this many times it."""


@dataclass(frozen=True)
class Gated:
    """What the gate lets through.

    Attributes
    ----------
    position
        (channels, dimensions), finite: the sample, or what took its place.
    replaced
        (channels,), True where the sample was not believed.
    reasons
        For each channel "" (believed), "missing", "implausible", or "shift" (believed again, at a new place).
    lost
        (channels,), samples since the last one that was believed; 0 where this one is.
    """

    position: Floats
    replaced: Bools
    reasons: tuple[str, ...]
    lost: Counts


class Gate(Kept):
    """Replace samples that are missing or implausible by a forecast, and accept a real shift within a second.

    **Plausible.** Every channel forecasts its next displacement from its last four, Δ̂(t) = Σₖ aₖ Δ(t−k), with aₖ
    fitted online by least squares and the same for all coordinates, so that turning space changes nothing. With
    ν = |x − x̂| a sample is implausible if

        ν > tolerance · (1 + 1.5/T) · s + reach · r,    s += β(min(ν, 4s) − s),

    s being the robust running scale of ν (β lets it follow in 2 s), r the running root-mean-square distance of the
    channel from its mean, and T the seconds for which it has been seen: little knowledge makes for a wide bound.

    **Shift.** Random faults do not agree with one another: implausible samples in a row, each within the same bound
    of the one before, are a real shift once they last for `patience` seconds, and without agreement after 0.9 s. The
    channel then starts at the new place; if that is more than 6r from its mean, the mean goes there too.

    **Fill-in.** With m and S the running mean and covariance of all channels' positions and of their displacements
    over half a second, learnt from samples whose channels were all good, channel i is expected at
    c(t) = mᵢ + Sᵢₒ(Sₒₒ + εI)⁻¹(zₒ(t) − mₒ), o being the good channels. It is filled in with

        x̂(t) = c(t) + ρ(x̂(t−1) − c(t−1)),

    where it was last seen, moved as the others say, and drawn to what they say within some seconds. The first samples
    of a gap lean on the one-step forecast too; with no good channel, or none known well yet, that forecast is all
    there is, and its displacement dies out.

    The first five samples of a channel are believed if finite. A channel never seen yet is held at zero.

    Parameters
    ----------
    rate
        Samples a second.
    tolerance, reach
        Of the bound above.
    patience
        Seconds for which implausible samples must agree; at least three samples.

    Examples
    --------
    >>> time = np.arange(300) / 10
    >>> wave = 5 * np.stack([np.sin(time), np.cos(time), np.sin(time + 1)], axis=-1)
    >>> gate = Gate(rate=10.0)
    >>> for row in wave:
    ...     gated = gate.update([row, 0.5 * row])
    >>> gated = gate.update([[30.0, 0.0, 0.0], [np.nan, 0.0, 0.0]])
    >>> gated.reasons
    ('implausible', 'missing')
    >>> truth = 5 * np.stack([np.sin(30.0), np.cos(30.0), np.sin(31.0)])
    >>> bool(np.abs(gated.position - [truth, 0.5 * truth]).max() < 0.1)
    True
    """

    _past: Floats  # the last positions let through, the newest last
    _gram: Floats  # normal equations of the one-step forecast
    _cross: Floats
    _scale: Floats  # s
    _count: Counts  # n
    _center: Floats
    _power: Floats  # r²
    _lost: Counts
    _doubtful: Floats  # the last implausible sample
    _agreeing: Counts  # implausible samples in a row that agree
    _doubts: Counts  # implausible samples in a row

    def __init__(
        self, rate: float = 10.0, *, tolerance: float = 6.0, reach: float = 0.5, patience: float = 0.3
    ) -> None:
        for name, value in (("rate", rate), ("tolerance", tolerance), ("reach", reach), ("patience", patience)):
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name}: must be positive and finite, not {value!r}")
        self.rate, self.tolerance, self.reach, self.patience = float(rate), tolerance, reach, patience
        self._forget = 1.0 / (MEMORY * rate + 1)
        self._shape: tuple[int, int] | None = None

    def update(self, sample: ArrayLike) -> Gated:
        """Judge the newest sample (channels, dimensions); NaN and infinity are missing."""
        x = as_sample(sample, self._shape)
        if self._shape is None:
            self._begin((x.shape[0], x.shape[1]))
        present = np.all(np.abs(x) <= LARGEST, axis=-1)  # False for NaN
        x = np.where(present[:, None], x, 0.0)

        step, inputs = self._step()
        innovation = _norm(x - self._past[-1] - step)
        caution = 1.0 + 1.5 * self.rate / np.maximum(self._count, 1)
        bound = self.tolerance * caution * self._scale + self.reach * np.sqrt(self._power)
        believed = present & ((innovation <= bound) | (self._count < WARMUP) | (bound == 0))
        shifted = self._accept(x, present & ~believed, believed, bound)
        good = believed | shifted

        steady = believed & (self._lost == 0) & (self._count >= WARMUP) & (_norm(inputs).max(axis=1) <= bound)
        self._learn(x - self._past[-1], inputs, innovation, present, steady)
        self._move(x, shifted, good & (self._count == 0))
        position = np.where(good[:, None], x, 0.0)
        if not good.all():
            position = np.where(good[:, None], x, self._fill(position, good, step))
        self._past = np.concatenate([self._past[1:], position[None]])
        self._describe(position, good)
        self._lost = np.where(good, 0, self._lost + 1)
        return Gated(position, ~good, _reasons(present, good, shifted), self._lost.copy())

    def _begin(self, shape: tuple[int, int]) -> None:
        channels = shape[0]
        self._shape = shape
        self._lag = max(1, round(LAG * self.rate))
        self._past = np.zeros((max(self._lag + 1, ORDER) + 1, *shape))
        self._gram, self._cross = np.zeros((channels, ORDER, ORDER)), np.zeros((channels, ORDER))
        self._scale, self._power = np.zeros(channels), np.zeros(channels)
        self._center, self._doubtful = np.zeros(shape), np.zeros(shape)
        self._count, self._lost = np.zeros(channels, dtype=np.int64), np.zeros(channels, dtype=np.int64)
        self._agreeing, self._doubts = np.zeros(channels, dtype=np.int64), np.zeros(channels, dtype=np.int64)
        self._companions = _Companions(2 * channels * shape[1], self._forget)

    def _accept(self, x: Floats, doubted: Bools, believed: Bools, bound: Floats) -> Bools:
        """Which doubted samples are a shift; missing ones in between do not count.

        A channel that begins to move after a long rest has a scale of nothing; it takes that of the doubted samples.
        """
        apart = _norm(x - self._doubtful)
        agreeing = np.where(doubted, np.where(apart <= bound, self._agreeing, 0) + 1, self._agreeing)
        doubts = self._doubts + doubted
        shifted = doubted & (
            (agreeing >= max(3, round(self.patience * self.rate))) | (doubts >= max(4, round(SHIFT * self.rate)))
        )
        self._scale = np.where(shifted, np.maximum(self._scale, 0.5 * apart), self._scale)
        self._agreeing = np.where(believed | shifted, 0, agreeing)
        self._doubts = np.where(believed | shifted, 0, doubts)
        self._doubtful = np.where(doubted[:, None], x, self._doubtful)
        return shifted

    def _move(self, x: Floats, shifted: Bools, first: Bools) -> None:
        """Let channels that have shifted, or are seen for the first time, start where they are.

        Where a shift goes beyond what the channel does anyway, its mean goes with it.
        """
        self._past = np.where((shifted | first)[:, None], x, self._past)
        offset = x - self._center
        away = shifted & (_norm(offset) > AWAY * np.sqrt(self._power))
        if away.any():
            offset = np.where(away[:, None], offset, 0.0)
            self._center = self._center + offset
            self._companions.shift(self._features(offset, offset))

    def _step(self) -> tuple[Floats, Floats]:
        """Forecast displacement (channels, dimensions), and the displacements (channels, order, dimensions) behind it.

        The forecast never exceeds the largest of them, so that it cannot run away.
        """
        inputs = np.diff(self._past[-ORDER - 1 :], axis=0).transpose(1, 0, 2)
        ridge = RIDGE * np.trace(self._gram, axis1=1, axis2=2) / ORDER + TINY
        weights = np.linalg.solve(self._gram + ridge[:, None, None] * np.eye(ORDER), self._cross[..., None])
        step = np.sum(weights * inputs, axis=1)
        largest, size = _norm(inputs).max(axis=1), _norm(step)
        return step * np.where(size > largest, largest / np.maximum(size, TINY), 1.0)[:, None], inputs

    def _learn(self, displacement: Floats, inputs: Floats, innovation: Floats, present: Bools, steady: Bools) -> None:
        """Learn the displacement where it lies between two believed samples, and the scale where there is a sample."""
        u, keep = np.where(steady[:, None, None], inputs, 0.0), 1.0 - self._forget * steady
        self._gram = keep[:, None, None] * self._gram + u @ u.transpose(0, 2, 1)
        self._cross = keep[:, None] * self._cross + np.sum(u * displacement[:, None, :], axis=-1)
        clipped = np.where(self._scale > 0, np.minimum(innovation, CLIP * self._scale), innovation)
        weight = np.where(self._scale > 0, min(0.5 / self.rate, 1.0), 1.0)
        self._scale = self._scale + np.where(present & (self._count >= WARMUP), weight * (clipped - self._scale), 0.0)

    def _describe(self, position: Floats, good: Bools) -> None:
        """Learn where each channel dwells and, when all are good, how they go together."""
        self._count = self._count + good
        # A fault among the first samples spoils two displacements of four, and not the second smallest.
        first = np.sort(_norm(np.diff(self._past[-WARMUP:], axis=0)), axis=0)[1]
        self._scale = np.where(good & (self._count == WARMUP), first, self._scale)
        gain = np.where(good, np.maximum(1.0 / np.maximum(self._count, 1), self._forget), 0.0)
        away = position - self._center
        self._center = self._center + gain[:, None] * away
        self._power = (1 - gain) * (self._power + gain * np.sum(away * away, axis=-1))
        if good.all() and self._count.min() > self._lag + WARMUP:
            self._companions.learn(self._features(position, self._past[-1 - self._lag]))

    def _features(self, position: Floats, before: Floats) -> Floats:
        """Positions and displacements (channels · 2 · dimensions,)."""
        return np.concatenate([position, position - before], axis=-1).ravel()

    def _fill(self, position: Floats, good: Bools, step: Floats) -> Floats:
        """Positions (channels, dimensions) to put where a channel is not good; elsewhere of no meaning."""
        last = self._past[-1]
        filled = last + DAMPING ** np.minimum(self._lost, 1000)[:, None] * step
        if good.any() and self._companions.count >= KNOWN * self.rate:
            dimensions = position.shape[1]
            observed = np.repeat(good, 2 * dimensions)
            wanted = np.repeat(np.stack([~good, np.zeros_like(good)], axis=-1).ravel(), dimensions)
            now = self._features(position, self._past[-self._lag])
            before = self._features(last, self._past[-1 - self._lag])
            expected = self._companions.expect(np.stack([now, before]), observed, wanted)
            c, c_before = expected.reshape(2, -1, dimensions)
            others = c + np.exp(-1.0 / (RETURN * self.rate)) * (last[~good] - c_before)
            share = OWN_SHARE ** np.minimum(self._lost[~good] + 1, 1000.0)[:, None]
            filled[~good] = share * filled[~good] + (1 - share) * others
        return np.asarray(np.clip(filled, -LARGEST, LARGEST))


class _Companions(Kept):
    """Running mean m and covariance S of what goes together, and what part of it says about another part."""

    def __init__(self, size: int, forget: float) -> None:
        self.forget, self.count = forget, 0
        self._m, self._S = np.zeros(size), np.zeros((size, size))

    def learn(self, z: Floats) -> None:
        self.count += 1
        share = max(1.0 / self.count, self.forget)
        deviation = z - self._m
        self._m = self._m + share * deviation
        self._S = (1 - share) * (self._S + share * np.outer(deviation, deviation))

    def shift(self, offset: Floats) -> None:
        self._m = self._m + offset

    def expect(self, z: Floats, observed: Bools, wanted: Bools) -> Floats:
        """Expected values of the wanted components of (…, size), given the observed ones."""
        m, S = self._m, self._S
        ridge = RIDGE * np.trace(S) / len(S) + TINY
        W = np.linalg.solve(S[observed][:, observed] + ridge * np.eye(observed.sum()), S[observed][:, wanted])
        return np.asarray(m[wanted] + (z[..., observed] - m[observed]) @ W)


def as_sample(sample: ArrayLike, shape: tuple[int, int] | None) -> Floats:
    """A sample (channels, dimensions) of real numbers, any of them NaN or infinite, or a `ValueError`."""
    try:
        array = np.asarray(sample)
    except ValueError as error:
        raise ValueError(
            f"sample: shape (channels, dimensions) expected, not rows of different lengths: {error}"
        ) from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"sample: real numbers expected, not an array of type {array.dtype}")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"sample: shape (channels, dimensions) expected, not {array.shape}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"sample: shape {shape} expected as before, not {array.shape}")
    return np.asarray(array, dtype=np.float64)


def _norm(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(x * x, axis=-1)))


def _reasons(present: Bools, good: Bools, shifted: Bools) -> tuple[str, ...]:
    named = np.where(shifted, "shift", np.where(good, "", np.where(present, "implausible", "missing")))
    return tuple(str(reason) for reason in named)
