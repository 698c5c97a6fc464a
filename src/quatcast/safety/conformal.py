"""How sure: a radius around each forecast, from the errors of earlier forecasts that have matured."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quatcast.checkpoint import Kept
from quatcast.typing import Floats

RECENT = 400
"""Errors that a radius is made from, at least."""
ADAPTATION = 0.03
"""γ·h: how far one miss, of an error that h samples share, moves the level."""
BOUNDS = (-0.1, 0.3)
"""Between which the adapted share of misses α stays."""
LARGEST_RANK = 1.2
"""Of q: beyond the largest error seen, the radius grows by at most a fifth."""


class Conformal(Kept):
    """Radii that hold the truth with a given probability, by adaptive conformal inference.

    The radius of a channel is an empirical quantile of its n last matured errors. Errors of forecasts h samples ahead
    overlap, so n of them are worth n/h independent ones, and the usual correction for a finite sample becomes

        q(t) = (1 − α(t))(1 + h/n),    radius(t) = the ⌈q(t)·n⌉-th smallest of n errors,

    or, where q(t) > 1, the largest error times q(t). Breathing changes, errors come in bouts, and a quantile of
    the past then holds too little or too much. So the share of misses aimed at is itself corrected by those seen,

        α(t+1) = α(t) + γ(α* − miss(t)),    α* = 1 − level,  γ = 0.03/h,

    which makes the long-run share of misses right whatever the errors do (Gibbs and Candès 2021), and which moves no
    further for the h misses that one surprise makes at a long horizon than for the few that it makes at a short one.
    Only errors that are known at time t enter the radius given at time t.

    Parameters
    ----------
    channels
        How many; each has its own radius.
    horizon
        h, samples from a forecast to its truth.
    level
        Probability with which a radius shall hold the truth.

    References
    ----------
    I. Gibbs and E. Candès, "Adaptive conformal inference under distribution shift", NeurIPS 2021.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> conformal = Conformal(channels=1, horizon=1, level=0.9)
    >>> errors = rng.exponential(size=(4000, 1))
    >>> radii = np.array([conformal.update(error) for error in errors])
    >>> bool(0.88 < np.mean(errors[501:] <= radii[500:-1]) < 0.92)
    True
    """

    def __init__(self, channels: int, horizon: int, level: float = 0.95) -> None:
        if channels < 1 or horizon < 1:
            raise ValueError(f"channels, horizon: at least 1 each, not {channels} and {horizon}")
        if not 0 < level < 1:
            raise ValueError(f"level: a probability between 0 and 1, not {level!r}")
        self.channels, self.horizon, self.level = channels, horizon, level
        self.needed = max(20, 2 * horizon)
        memory = max(RECENT, round(horizon / (1 - level)))
        self._errors: Floats = np.full((channels, memory), np.nan)
        self._radii: Floats = np.full((horizon, channels), np.nan)
        self._alpha: Floats = np.full(channels, 1 - level)
        self._time = 0

    def update(self, errors: ArrayLike) -> Floats:
        """Take in what is known at a new sample, and give the radii (channels,) of the forecasts made there.

        Parameters
        ----------
        errors
            (channels,): distance of the sample from the forecast that was made of it `horizon` samples before; NaN
            where there was no forecast or the sample cannot be trusted.

        Returns
        -------
        radii
            NaN for a channel with fewer than `needed` errors.
        """
        e = np.asarray(errors, dtype=float)
        if e.shape != (self.channels,) or np.any(np.isinf(e)) or np.any(e < 0):
            raise ValueError(f"errors: {self.channels} distances, or NaN for none, expected, not {errors!r}")
        given = self._radii[self._time % self.horizon]
        judged = ~np.isnan(e) & ~np.isnan(given)
        surprise = (1 - self.level) - (e > given)
        self._alpha = np.clip(self._alpha + np.where(judged, ADAPTATION / self.horizon * surprise, 0.0), *BOUNDS)
        self._errors[:, self._time % self._errors.shape[1]] = e
        radii = self._quantile()
        self._radii[self._time % self.horizon] = radii
        self._time += 1
        return radii

    def _quantile(self) -> Floats:
        n = np.sum(~np.isnan(self._errors), axis=1)
        ranked = np.sort(self._errors, axis=1)  # NaN last
        q = np.minimum((1 - self._alpha) * (1 + self.horizon / np.maximum(n, 1)), LARGEST_RANK)
        rank = np.clip(np.ceil(q * n).astype(int), 1, np.maximum(n, 1))
        radii = ranked[np.arange(self.channels), rank - 1] * np.maximum(q, 1.0)
        return np.where(n >= self.needed, radii, np.nan)
