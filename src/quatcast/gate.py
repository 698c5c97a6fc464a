"""Input that lies: what is missing or implausible is replaced before a forecaster sees it, channel by channel.

Each channel has a one-step forecast of its own, and a sample too far from it is not believed. What takes its place
leans on the channels that are good: markers on one chest move together, and knowing where two of them are says
where the third is, for seconds, without the drift of a forecast fed with its own forecasts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

LARGEST = 1e9
"""No sensor of ours measures more; whatever does is a fault, and its square must not overflow."""
ORDER = 4
"""Displacements that the one-step forecast is made from."""
WARMUP = 4
"""Samples of a channel that are believed for want of anything to judge them by."""
DAMPING = 0.85
"""By which a forecast displacement shrinks with every sample of a gap."""
OWN_SHARE = 0.3
"""Of the one-step forecast in the first fill-in of a gap; its square in the second, and so on."""
RIDGE = 1e-3
"""Of the least squares, relative to the mean power of their inputs."""
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
    lost: NDArray[np.int64]


class Gate:
    """Replace samples that are missing or implausible by a forecast, and accept a real shift within a second.

    **Plausible.** Every channel forecasts its next displacement from its last four, Δ̂(t) = Σₖ aₖ Δ(t−k), with aₖ
    fitted online by least squares and the same for all coordinates, so that turning space changes nothing. With
    ν = |x − x̂| a sample is implausible if

        ν > tolerance · (1 + 15/n at 10 Hz) · s + reach · r,    s += β(min(ν, 4s) − s),

    s being the robust running scale of ν (β makes it follow in 2 s), r the running root-mean-square distance of the
    channel from its mean, and n the number of its good samples, so that little knowledge makes for a wide bound.

    **Shift.** Random faults do not agree with one another: implausible samples in a row, each within the same bound
    of the one before, are a real shift once they last for `patience` seconds. The channel then starts at the new place.

    **Fill-in.** With m and S the running mean and covariance of all channels' positions and of their displacements
    over half a second, learnt from samples whose channels were all good, channel i is expected at
    c(t) = mᵢ + Sᵢₒ(Sₒₒ + εI)⁻¹(zₒ(t) − mₒ), o being the good channels. It is filled in with

        x̂(t) = c(t) + ρ(x̂(t−1) − c(t−1)),

    where it was last seen, moved as the others say, and drawn to what they say within some seconds. The first samples
    of a gap lean on the one-step forecast too; with no good channel, or none known well yet, that forecast is all
    there is, and its displacement dies out.

    The first four samples of a channel are believed if finite. A channel never seen yet is held at zero.

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

    def __init__(
        self, rate: float = 10.0, *, tolerance: float = 6.0, reach: float = 0.5, patience: float = 0.3
    ) -> None:
        for name, value in (("rate", rate), ("tolerance", tolerance), ("reach", reach), ("patience", patience)):
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name}: must be positive and finite, not {value!r}")
        self.rate, self.tolerance, self.reach, self.patience = float(rate), tolerance, reach, patience
        self._agree = max(3, round(patience * rate))
        self._lag = max(1, round(0.5 * rate))
        self._known = max(4, round(5 * rate))
        self._forget = 1.0 / (50 * rate + 1)
        self._return = float(np.exp(-1.0 / (5 * rate)))
        self._shape: tuple[int, int] | None = None

    def update(self, sample: ArrayLike) -> Gated:
        """Judge the newest sample (channels, dimensions); NaN and infinity are missing."""
        x = as_sample(sample, self._shape)
        if self._shape is None:
            self._begin((x.shape[0], x.shape[1]))
        present = np.all(np.abs(x) <= LARGEST, axis=-1)  # False for NaN
        x = np.where(present[:, None], x, 0.0)

        step, inputs = self._step()
        forecast = self._past[-1] + step
        innovation = _norm(x - forecast)
        caution = 1.0 + 1.5 * self.rate / np.maximum(self._count, 1)
        bound = caution * self.tolerance * self._scale + self.reach * np.sqrt(self._power)
        believed = present & ((innovation <= bound) | (self._count < WARMUP))
        doubted = present & ~believed
        nearby = _norm(x - self._doubtful) <= bound
        self._agreeing = np.where(doubted, np.where(nearby, self._agreeing, 0) + 1, self._agreeing * ~believed)
        self._doubtful = np.where(doubted[:, None], x, self._doubtful)
        shifted = doubted & (self._agreeing >= self._agree)
        good = believed | shifted
        steady = believed & (self._lost == 0) & (self._count > 0)

        moved = shifted | (good & (self._count == 0))
        self._past = np.where(moved[:, None], x, self._past)
        position = np.where(good[:, None], x, 0.0)
        if not good.all():
            position = np.where(good[:, None], x, self._fill(position, good, step))
        self._learn(x - self._past[-1], inputs, innovation, present, steady)
        self._past = np.concatenate([self._past[1:], position[None]])
        self._describe(position, good)
        self._lost = np.where(good, 0, self._lost + 1)
        self._agreeing = np.where(shifted, 0, self._agreeing)
        return Gated(position, ~good, _reasons(present, good, shifted), self._lost.copy())

    def state(self) -> dict[str, Any]:
        """Everything learnt, as a tree of arrays and plain values."""
        if self._shape is None:
            return {"shape": None}
        return {"shape": list(self._shape), **{name: getattr(self, name).copy() for name in _STATE}}

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
        self._shape = None if state["shape"] is None else (int(state["shape"][0]), int(state["shape"][1]))
        for name in _STATE if self._shape else ():
            setattr(self, name, state[name].copy())

    def _begin(self, shape: tuple[int, int]) -> None:
        (channels, dimensions), features = shape, 2 * shape[0] * shape[1]
        self._shape = shape
        self._past: Floats = np.zeros((max(self._lag, ORDER) + 1, channels, dimensions))
        self._gram: Floats = np.zeros((channels, ORDER, ORDER))
        self._cross: Floats = np.zeros((channels, ORDER))
        self._scale: Floats = np.zeros(channels)
        self._count: NDArray[np.int64] = np.zeros(channels, dtype=np.int64)
        self._center: Floats = np.zeros(shape)
        self._power: Floats = np.zeros(channels)
        self._lost: NDArray[np.int64] = np.zeros(channels, dtype=np.int64)
        self._doubtful: Floats = np.zeros(shape)
        self._agreeing: NDArray[np.int64] = np.zeros(channels, dtype=np.int64)
        self._mean: Floats = np.zeros(features)
        self._covariance: Floats = np.zeros((features, features))
        self._together: NDArray[np.int64] = np.zeros((), dtype=np.int64)

    # Each channel for itself.

    def _step(self) -> tuple[Floats, Floats]:
        """Forecast displacement (channels, dimensions), and the displacements (channels, order, dimensions) behind it.

        The forecast never exceeds twice the largest of them.
        """
        inputs = np.diff(self._past[-ORDER - 1 :], axis=0).transpose(1, 0, 2)
        ridge = RIDGE * np.trace(self._gram, axis1=1, axis2=2) / ORDER + 1e-12
        weights = np.linalg.solve(self._gram + ridge[:, None, None] * np.eye(ORDER), self._cross[..., None])
        step = np.sum(weights * inputs, axis=1)
        largest = 2.0 * _norm(inputs).max(axis=1)
        size = _norm(step)
        return step * (largest / np.maximum(np.maximum(size, largest), 1e-300))[:, None], inputs

    def _learn(self, displacement: Floats, inputs: Floats, innovation: Floats, present: Bools, steady: Bools) -> None:
        """Learn the displacement where it lies between two believed samples, and the scale where there is a sample."""
        u, keep = np.where(steady[:, None, None], inputs, 0.0), 1.0 - self._forget * steady
        self._gram = keep[:, None, None] * self._gram + u @ u.transpose(0, 2, 1)
        self._cross = keep[:, None] * self._cross + np.sum(u * displacement[:, None, :], axis=-1)
        # The mean of the first innovations, then a running one that no single fault can drag off.
        early = self._count < WARMUP
        clipped = np.where(early, innovation, np.minimum(innovation, CLIP * self._scale))
        weight = np.maximum(1.0 / np.maximum(self._count, 1), 0.5 / self.rate)
        self._scale = self._scale + np.where(present & (self._count > 0), weight * (clipped - self._scale), 0.0)

    def _describe(self, position: Floats, good: Bools) -> None:
        """Learn where each channel dwells and, when all are good, how they go together."""
        self._count = self._count + good
        gain = np.where(good, np.maximum(1.0 / np.maximum(self._count, 1), self._forget), 0.0)
        away = position - self._center
        self._center = self._center + gain[:, None] * away
        self._power = (1 - gain) * (self._power + gain * np.sum(away * away, axis=-1))
        if good.all() and self._count.min() > self._lag:
            self._together = self._together + 1
            share = max(1.0 / float(self._together), self._forget)
            deviation = self._features(position).ravel() - self._mean
            self._mean = self._mean + share * deviation
            self._covariance = (1 - share) * (self._covariance + share * np.outer(deviation, deviation))

    # All channels together.

    def _features(self, position: Floats, back: int = 0) -> Floats:
        """Position and displacement over the lag, (channels, 2·dimensions), where `position` is the newest sample."""
        return np.concatenate([position, position - self._past[-1 - self._lag + 1 - back]], axis=-1)

    def _fill(self, position: Floats, good: Bools, step: Floats) -> Floats:
        """Positions (channels, dimensions) to put where a channel is not good; elsewhere of no meaning."""
        last = self._past[-1]
        alone = last + DAMPING ** np.minimum(self._lost, 1000)[:, None] * step
        if not good.any() or self._together < self._known:
            return np.clip(alone, -LARGEST, LARGEST)
        dimensions = position.shape[1]
        observed = np.repeat(good, 2 * dimensions)
        wanted = np.where(np.arange(2 * dimensions) < dimensions, ~good[:, None], False).ravel()
        S = self._covariance
        ridge = RIDGE * np.trace(S) / len(S) + 1e-12
        W = np.linalg.solve(S[observed][:, observed] + ridge * np.eye(observed.sum()), S[observed][:, wanted])
        now = self._features(position).ravel()[observed]
        before = self._features(last, back=1).ravel()[observed]
        told = (now - before) @ W
        expected = self._mean[wanted] + (before - self._mean[observed]) @ W
        filled = alone.copy()
        lost = last[~good]
        others = told.reshape(lost.shape) + lost + (self._return - 1) * (lost - expected.reshape(lost.shape))
        share = OWN_SHARE ** (self._lost[~good] + 1.0)[:, None]
        filled[~good] = share * alone[~good] + (1 - share) * others
        return np.clip(filled, -LARGEST, LARGEST)


_STATE = (
    "_past", "_gram", "_cross", "_scale", "_count", "_center", "_power", "_lost", "_doubtful", "_agreeing", "_mean",
    "_covariance", "_together",
)  # fmt: skip


def as_sample(sample: ArrayLike, shape: tuple[int, int] | None) -> Floats:
    """A sample (channels, dimensions) of real numbers, any of them NaN or infinite, or a `ValueError`."""
    try:
        array = np.asarray(sample)
    except ValueError as error:
        raise ValueError(f"sample: shape (channels, dimensions) expected, not rows of different lengths: {error}") from None
    if array.dtype.kind not in "fiu":
        raise ValueError(f"sample: real numbers expected, not an array of type {array.dtype}")
    if array.ndim != 2 or 0 in array.shape:
        raise ValueError(f"sample: shape (channels, dimensions) expected, not {array.shape}")
    if shape is not None and array.shape != shape:
        raise ValueError(f"sample: shape {shape} expected as before, not {array.shape}")
    return array.astype(np.float64)


def _norm(x: Floats) -> Floats:
    return np.asarray(np.sqrt(np.sum(x * x, axis=-1)))


def _reasons(present: Bools, good: Bools, shifted: Bools) -> tuple[str, ...]:
    named = np.where(shifted, "shift", np.where(good, "", np.where(present, "implausible", "missing")))
    return tuple(str(reason) for reason in named)
