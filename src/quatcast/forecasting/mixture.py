"""A mixture of forecasters that trusts those that were right lately.

At each sample every member forecasts; when the sample that was forecast arrives, all of them are judged by it. With
E the matured errors of K experts, C = Σ γᵃEEᵀ their covariance with older errors counting less, the weights minimise
the error that the mixture would have had, held back towards equal weights:

    min wᵀCw + r·|w − 1/K|²,    Σw = 1,    w ≥ 0,    r = ρ·minₖ Cₖₖ.

Experts that err alike do not count twice, an expert that fails loses its weight within seconds, and because weights
neither exceed one nor change sign, the mixture is never much worse than its best member.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from quatcast.checkpoint import Kept
from quatcast.engine.threads import one_thread
from quatcast.forecasting.forecaster import Forecaster, Forecasts
from quatcast.typing import Floats

LARGEST = 1e9
"""Largest coordinate that is taken for a measurement; the squares of larger ones could overflow."""
NEGLIGIBLE = 1e-9
"""What is left out of account beside one."""


def blend(C: Floats, shrinkage: float) -> Floats:
    """Weights (…, K) for error covariances C (…, K, K); see the module.

    With A = C + r, the weights are v/Σv for the v ≥ 0 that minimises vᵀAv/2 − Σv: on the plane Σw = 1 the pull towards
    equal weights is r·|w|² up to a constant. Mostly all experts have a share; else those that do are found by principal
    pivoting: solve for those kept, then take the last one that is wrong, kept below zero or left out with a slope that
    would gain, to the other side. Errors are measured in units of each expert's own, so that an expert a billion times
    better than the others is not lost in the rounding.

    Examples
    --------
    >>> blend(np.diag([1.0, 3.0]), shrinkage=0.0)
    array([0.75, 0.25])
    >>> blend(np.array([[1.0, 2.0], [2.0, 5.0]]), shrinkage=0.0)
    array([1., 0.])
    """
    power = np.diagonal(C, axis1=-2, axis2=-1)
    A = C + shrinkage * power.min(axis=-1)[..., None, None] * np.eye(power.shape[-1])
    size = np.sqrt(np.diagonal(A, axis1=-2, axis2=-1))
    largest = size.max(axis=-1, keepdims=True)
    size = np.where(largest > 0, np.maximum(size, NEGLIGIBLE * largest), 1.0)
    A /= size[..., :, None] * size[..., None, :]
    every = np.arange(power.shape[-1])
    A[..., every, every] = 1.0 + NEGLIGIBLE
    gain = size.min(axis=-1, keepdims=True) / size
    v = np.linalg.solve(A, gain[..., None])[..., 0]
    for index in map(tuple, np.argwhere((v < -NEGLIGIBLE).any(axis=-1))):
        v[index] = _solve(A[index], gain[index])
    weights = gain * np.maximum(v, 0.0)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _solve(A: Floats, b: Floats) -> Floats:
    """Minimise vᵀAv/2 − bᵀv over v ≥ 0."""
    kept = np.ones(len(b), dtype=bool)
    v = np.zeros_like(b)
    # Pivots are few; the bound is for rounding that lets two experts change sides for ever.
    for _ in range(10 * len(b)):
        v = np.zeros_like(b)
        v[kept] = np.linalg.solve(A[np.ix_(kept, kept)], b[kept])
        wrong = np.where(kept, v, A @ v - b) < -NEGLIGIBLE
        if not wrong.any():
            break
        last = np.flatnonzero(wrong)[-1]
        kept[last] = not kept[last]
    return v


class Mixture(Kept):
    """Forecast with several forecasters, weighed by their recent matured errors, each channel by itself.

    A member whose learner has several runs counts with the mean of its runs. One without a forecast, because it warms
    up or has broken, is left out until it has one again.

    Parameters
    ----------
    members
        Forecasters of the same horizon with causal labels.
    memory
        Samples over which errors are forgotten: γ = 1 − 1/memory.
    shrinkage
        ρ, how strongly weights are held towards equal ones.

    Examples
    --------
    >>> from quatcast.learners import RLS, Persistence
    >>> time = np.arange(900) / 10
    >>> wave = np.stack([np.sin(time), np.cos(time), 0.3 * np.sin(2 * time)], axis=-1)[:, None, :]
    >>> members = [Forecaster(learner, horizon=5, lags=10) for learner in (RLS(), Persistence())]
    >>> mixture = Mixture(members)
    >>> forecasts = mixture.run(wave)
    >>> mixture.weights.round(2)
    array([[1., 0.]])

    References
    ----------
    Bates and Granger (1969), "The combination of forecasts".
    """

    def __init__(self, members: Sequence[Forecaster], *, memory: int = 300, shrinkage: float = 0.1) -> None:
        self.members = list(members)
        if not self.members:
            raise ValueError("members: at least one forecaster")
        if len({member.horizon for member in self.members}) > 1:
            raise ValueError(f"members: one horizon for all, not {[member.horizon for member in self.members]}")
        if any(member.labels != "causal" for member in self.members):
            raise ValueError('members: all must have labels="causal", since only arrived errors can weigh them')
        if memory < 1 or not shrinkage >= 0:
            raise ValueError("mixture: needs memory >= 1 and shrinkage >= 0")
        self.memory, self.shrinkage = memory, shrinkage
        self.horizon = self.members[0].horizon
        self._made: deque[Floats] = deque(maxlen=self.horizon)
        self._covariance: Floats | None = None
        self.weights: Floats | None = None

    def update(self, sample: ArrayLike, present: ArrayLike | None = None) -> Floats:
        """Take in the newest sample (channels, dimensions) and forecast the one `horizon` samples after it.

        `present` is as for `Forecaster.update`; errors of channels that are not present do not count.
        """
        forecasts = np.stack([self._mean(member, member.update(sample, present)) for member in self.members])
        forecasts[~(np.abs(forecasts) <= LARGEST)] = np.nan
        x = np.asarray(sample, dtype=float)
        if len(self._made) == self.horizon:
            self._judge(x - self._made[0], np.ones(len(x), bool) if present is None else np.asarray(present))
        self._made.append(forecasts)
        return self._mix(forecasts)

    def run(self, positions: ArrayLike) -> Forecasts:
        """Forecast a recording (T, channels, dimensions) from here on, sample by sample."""
        x = np.asarray(positions, dtype=float)
        forecasts = np.full(x.shape, np.nan)
        with one_thread():
            for t, row in enumerate(x):
                made = self.update(row)
                if t + self.horizon < len(x):
                    forecasts[t + self.horizon] = made
        return Forecasts(forecasts, np.full(len(x), np.nan), self.horizon, "causal", 0)

    def _mean(self, member: Forecaster, forecast: Floats) -> Floats:
        return np.asarray(forecast.mean(axis=0)) if member.learner.runs else forecast

    def _judge(self, errors: Floats, present: Floats) -> None:
        """Count matured errors (K, channels, dimensions) and weigh the members anew."""
        known = np.asarray(np.isfinite(errors).all(axis=(-2, -1)))
        if not known.any() or (self.weights is None and not known.all()):
            return
        # A member that has broken is as bad as the worst of the others.
        worst = errors[np.where(known, np.sum(errors**2, axis=(-2, -1)), -1.0).argmax()]
        e = np.where(known[:, None, None], errors, worst).swapaxes(0, 1)
        if self._covariance is None:
            self._covariance = np.zeros((len(e), len(errors), len(errors)))
        decayed = (1.0 - 1.0 / self.memory) * self._covariance + e @ e.mT
        self._covariance = np.where(np.asarray(present)[:, None, None], decayed, self._covariance)
        self.weights = blend(self._covariance, self.shrinkage)

    def _mix(self, forecasts: Floats) -> Floats:
        """Mix the forecasts of those members that have one, (K, channels, dimensions), by what they are worth."""
        known = np.isfinite(forecasts).all(axis=(-2, -1))
        if not known.any():
            return np.full(forecasts.shape[1:], np.nan)
        equal = np.ones((forecasts.shape[1], int(known.sum())))
        worth = equal if self.weights is None else self.weights[:, known]
        worth = np.where(worth.any(axis=-1, keepdims=True), worth, equal)
        shares = worth / worth.sum(axis=-1, keepdims=True)
        mixed: Floats = np.einsum("ck,kcd->cd", shares, forecasts[known])
        return mixed
