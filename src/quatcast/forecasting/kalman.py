"""A Kalman filter for motion with constant velocity or acceleration, whose noise ratio adapts itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.annotations import is_number
from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.forecasting.contract import ForecasterState
from quatcast.forecasting.extrapolation import CLIP, TINY, as_horizons
from quatcast.forecasting.velocity import MotionForecaster

RATIOS = tuple(10.0**k for k in range(-4, 5, 2))
"""Ratios of process to measurement noise in the bank."""
FIRST = (1.0, 1e4, 1e2)
"""Variances of the first position, velocity and acceleration, in multiples of the noise of one sample."""
Model = Literal["velocity", "acceleration"]


@dataclass
class KalmanState(ForecasterState):
    """What a bank of R filters remembers.

    Attributes
    ----------
    observed
        Which channels of the newest sample were observed.
    innovation, S
        ν (R, channels, dimensions) and S (R, channels) of the newest sample.
    mean
        x̂ (R, channels, n, dimensions): position, velocity and, with n = 3, acceleration, per sample.
    covariance
        P (R, channels, n, n), in multiples of the measurement noise, equal for all coordinates.
    noise
        σ² (R, channels), running mean of |ν|²/(dS), with d dimensions.
    spread
        Running mean of log S.
    count
        Number of observed samples (channels,).
    weights
        (R, channels), sum 1.
    predicted, predicted_of
        Scratch memory: x̂ and P of the next sample before it is seen, and the x̂ that they follow from.
    """

    observed: Bools
    innovation: Floats
    S: Floats
    mean: Floats
    covariance: Floats
    noise: Floats
    spread: Floats
    count: Counts
    weights: Floats
    predicted: tuple[Floats, Floats] = field(default=(np.zeros(0), np.zeros(0)), init=False, repr=False, compare=False)
    predicted_of: Floats | None = field(default=None, init=False, repr=False, compare=False)


class Kalman(MotionForecaster):
    r"""Forecast with a bank of Kalman filters, weighted by how well they have predicted the next sample.

    The state of a filter is position and velocity (``model="velocity"``), and acceleration as well
    (``model="acceleration"``). With the transition F of one sample,

        x(t+1) = F x(t) + w,    z(t) = x₁(t) + v,    cov w = ρσ²Q,    var v = σ²,

    where Q is that of a white noise that acts on the highest derivative between samples. All coordinates of all
    channels follow the same equations independently. The measurement noise σ² only scales the covariance, so that the
    ratio ρ alone decides the gain. Every filter of the bank has its own ρ. With ν the difference between a sample and
    its prediction, and σ²S its variance, the weight of a filter in a channel of d dimensions is proportional to its
    likelihood exp(−½ d N (log σ̂² + mean log S)), where σ̂² is the running mean of \|ν\|²/(dS), limited against
    outliers, and N the number of samples in memory.

    The forecast x̂₁ + h x̂₂ + ½ h² x̂₃ follows the estimated motion all the way; `DampedVelocity` learns how far.

    Parameters
    ----------
    horizon
        h, number of samples ahead.
    model
        "velocity" or "acceleration": what is constant apart from noise.
    ratios
        ρ of each filter.
    memory
        Number of samples after which an error counts 1/e.
    follow
        Follow the values of channels that were not observed, such as those that a gate has put in their place, but do
        not learn from them. By default they are ignored and the estimated motion goes on, which leads far away after
        many samples.
    horizons
        Several horizons to forecast, `horizon` the longest of them; by default that one alone.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> line = np.arange(300.0)[:, None, None] * [[0.1, 0.0, -0.2]] + 0.5 * rng.standard_normal((300, 1, 3))
    >>> forecaster = Kalman(10)
    >>> errors = forecaster.run(line).positions - line
    >>> bool(np.sqrt(np.mean(errors[100:] ** 2)) < 0.65)
    True
    >>> forecaster.ratios[forecaster.state.weights[:, 0].argmax()]
    0.0001
    """

    state: KalmanState

    def __init__(
        self,
        horizon: int,
        model: Model = "velocity",
        *,
        ratios: Sequence[float] = RATIOS,
        memory: float = 500.0,
        follow: bool = False,
        horizons: Sequence[int] | None = None,
    ) -> None:
        as_horizons(horizon, horizons)
        self.horizon, self.horizons = int(horizon), horizons
        if model not in ("velocity", "acceleration"):
            raise ValueError(f"model: expected 'velocity' or 'acceleration', got {model!r}")
        if not ratios or not all(is_number(ratio) and ratio > 0 for ratio in ratios):
            raise ValueError(f"ratios: expected positive finite numbers, got {ratios!r}")
        if not (is_number(memory) and memory >= 1):
            raise ValueError(f"memory: expected a number of samples of at least 1, got {memory!r}")
        self.model, self.ratios, self.memory = model, tuple(float(ratio) for ratio in ratios), float(memory)
        self.follow = follow
        self._F, self._Q = _transition(2 if model == "velocity" else 3)
        self._noise = np.array(self.ratios)[:, None, None, None] * self._Q
        self._powers, self._factorials = np.arange(len(self._F)), np.array([1.0, 1.0, 2.0])[: len(self._F)]

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""
        R, channels, n = len(self.ratios), shape[0], len(self._F)
        first = np.repeat(np.diag(FIRST[:n])[None], R, axis=0)
        first[:, 1:, 1:] *= 1.0 + np.array(self.ratios)[:, None, None]
        self.state = KalmanState(
            shape=shape,
            observed=np.zeros(channels, dtype=bool),
            innovation=np.zeros((R, *shape)),
            S=np.ones((R, channels)),
            mean=np.zeros((R, channels, n, shape[1])),
            covariance=np.repeat(first[:, None], channels, axis=1),
            noise=np.zeros((R, channels)),
            spread=np.zeros((R, channels)),
            count=np.zeros(channels, dtype=np.int64),
            weights=np.full((R, channels), 1.0 / R),
        )

    def _take_in(self, sample: Floats, observed: Bools) -> None:
        """Predict and correct every filter."""
        state = self.state
        mean, P = self._predicted()
        column = P[..., 0]
        S = column[..., 0] + 1.0
        innovation = sample - mean[..., 0, :]
        K = column * ((observed | self.follow) / S)[..., None]
        mean = mean + K[..., None] * innovation[..., None, :]
        P = P - K[..., None] * column[..., None, :]
        if not state.count.all():
            # A channel that is observed for the first time begins there, without motion.
            first = (state.count == 0)[:, None, None]
            level = np.zeros_like(mean)
            level[..., 0, :] = sample
            mean, P = np.where(first, level, mean), np.where(first, state.covariance, P)
        state.observed = observed
        state.mean, state.covariance, state.innovation, state.S = mean, P, innovation, S
        state.count = state.count + observed

    def _predicted(self) -> tuple[Floats, Floats]:
        """Return x̂ and P of the next sample, before it is seen."""
        state = self.state
        # After an undone step or a checkpoint, what is known belongs to another sample.
        if state.predicted_of is not state.mean:
            P = self._F @ state.covariance @ self._F.T + self._noise
            state.predicted, state.predicted_of = (self._F @ state.mean, P), state.mean
        return state.predicted

    def _ahead(self, horizons: ArrayLike) -> Floats:
        state, h = self.state, np.asarray(horizons, dtype=float)
        terms = h[:, None] ** self._powers / self._factorials
        estimate = (state.weights[..., None, None] * state.mean).sum(axis=0)
        return np.asarray((terms[:, None, None, :] @ estimate)[..., 0, :])

    def learn(self) -> None:
        """Weigh the filters by the likelihood of their innovations so far, without the first n samples."""
        state, n, d = self.state, len(self._F), self.state.shape[1]
        self._predicted()
        counted = state.observed & (state.count > n)
        if not counted.any():
            return
        N = np.clip(state.count - n, 1.0, self.memory)
        gain = counted / N
        squares = (state.innovation * state.innovation).sum(axis=-1) / (d * state.S)
        limit = np.where(state.noise > 0.0, CLIP**2 * state.noise, np.inf)
        state.noise = state.noise + gain * (np.minimum(squares, limit) - state.noise)
        state.spread = state.spread + gain * (np.log(state.S) - state.spread)
        score = (-0.5 * d * N) * (np.log(state.noise + TINY) + state.spread)
        weights = np.exp(score - score.max(axis=0))
        state.weights = np.where(counted, weights / weights.sum(axis=0), state.weights)


def _transition(n: int) -> tuple[Floats, Floats]:
    """Return F and Q for n derivatives and one sample: white noise acts continuously on the highest one."""
    if n == 2:
        return np.array([[1.0, 1.0], [0.0, 1.0]]), np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]])
    F = np.array([[1.0, 1.0, 0.5], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    return F, np.array([[1 / 20, 1 / 8, 1 / 6], [1 / 8, 1 / 3, 1 / 2], [1 / 6, 1 / 2, 1.0]])
