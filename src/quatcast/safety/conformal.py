"""The radius around each forecast, computed from the errors of earlier forecasts that have matured."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.limits import check_memory
from quatcast.basics.typing import Counts, Floats
from quatcast.checkpoint import Checkpointable, State
from quatcast.safety.channels import some

RECENT = 400
"""Smallest number of errors that a full memory holds."""
ADAPTATION = 0.03
"""γ·h: how far one miss moves the level, where h overlapping errors share a miss."""
BOUNDS = (-0.1, 0.3)
"""Limits of the adapted share of misses α."""
LARGEST_RANK = 1.2
"""Largest q: the radius exceeds the largest error seen by at most a fifth."""


@dataclass
class ConformalState(State):
    """What the radius is computed from.

    Attributes
    ----------
    errors
        (channels, memory), a ring of matured errors, NaN where there is none.
    radii
        (horizon, channels), a ring of the radii of forecasts that have not matured.
    alpha
        (channels,), share of misses aimed at.
    time
        Number of samples so far.
    others, known, others_of
        Scratch memory: the errors in order, without the oldest one, their number in each channel, and the array of
        errors that they were taken from.
    """

    errors: Floats
    radii: Floats
    alpha: Floats
    time: int
    others: Floats = field(default_factory=lambda: np.empty((0, 0)), init=False, repr=False, compare=False)
    known: Counts = field(default_factory=lambda: np.zeros(0, dtype=np.int64), init=False, repr=False, compare=False)
    others_of: Floats | None = field(default=None, init=False, repr=False, compare=False)


class Conformal(Checkpointable):
    """Radii that contain the true position with a given probability, by adaptive conformal inference.

    The radius of a channel is an empirical quantile of its last n matured errors. Errors of forecasts h samples ahead
    overlap, so that n of them are worth n/h independent ones, and the usual correction for a finite sample becomes

        q(t) = (1 − α(t))(1 + h/n),    radius(t) = the ⌈q(t)·n⌉-th smallest of n errors,

    or, if q(t) > 1, the largest error times q(t). Because a signal changes over time, a quantile of past errors alone
    would cover too little or too much. The share of misses aimed at is therefore corrected by the misses observed,

        α(t+1) = α(t) + γ(α* − miss(t)),    α* = 1 − level,  γ = 0.03/h,

    which makes the long-run share of misses right for any sequence of errors (Gibbs and Candès 2021). The factor 1/h
    makes one surprise, which causes h misses at a long horizon, move α no further than at a short one. The radius given
    at time t depends only on errors that are known at time t.

    Parameters
    ----------
    channels
        Number of channels; each has its own radius.
    horizon
        h, number of samples from a forecast to the sample that it forecasts.
    level
        Target coverage.

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

    state: ConformalState

    def __init__(self, channels: int, horizon: int, level: float = 0.95) -> None:
        if channels < 1 or horizon < 1:
            raise ValueError(f"channels, horizon: expected at least 1 each, got {channels} and {horizon}")
        if not 0 < level < 1:
            raise ValueError(f"level: expected a probability between 0 and 1, got {level!r}")
        self.channels, self.horizon, self.level = channels, horizon, level
        self.needed = max(20, 2 * horizon)
        self._each = np.arange(channels)
        self.begin()

    def begin(self) -> None:
        """Begin anew, with no errors."""
        memory = max(RECENT, round(self.horizon / (1 - self.level)))
        check_memory("channels, horizon", 8.0 * self.channels * (memory + self.horizon))
        self.state = ConformalState(
            errors=np.full((self.channels, memory), np.nan),
            radii=np.full((self.horizon, self.channels), np.nan),
            alpha=np.full(self.channels, 1 - self.level),
            time=0,
        )

    @property
    def given(self) -> Floats:
        """Radii (channels,) that were given for the next sample, `horizon` samples before it; NaN if there was none."""
        return np.asarray(self.state.radii[self.state.time % self.horizon])

    def rehearse(self) -> None:
        """Compare the shapes of the state with those of a new one."""
        fresh = Conformal(self.channels, self.horizon, self.level).state
        for name in ("errors", "radii", "alpha"):
            found, expected = (np.shape(getattr(state, name)) for state in (self.state, fresh))
            if found != expected:
                raise ValueError(f"{name}: expected shape {expected}, got {found}")

    def update(self, errors: ArrayLike) -> Floats:
        """Take in the errors known at a new sample, and return the radii (channels,) of the forecasts made there.

        Parameters
        ----------
        errors
            (channels,): distance of the sample from its forecast, made `horizon` samples earlier; NaN if there was no
            forecast or the sample was not observed.

        Returns
        -------
        radii
            NaN for a channel with fewer than `needed` errors.
        """
        e = np.asarray(errors, dtype=float)
        if e.shape != (self.channels,) or some((e < 0) | np.isinf(e)):
            raise ValueError(f"errors: expected {self.channels} distances, NaN where there is none, got {errors!r}")
        state = self.state
        given = self.given
        # Neither is true where there is no error or was no radius.
        missed, hit = e > given, e <= given
        alpha = state.alpha + ADAPTATION / self.horizon * ((1 - self.level) * (missed | hit) - missed)
        state.alpha = np.minimum(np.maximum(alpha, BOUNDS[0]), BOUNDS[1])
        radii = self._quantile(e)
        state.errors, state.radii = state.errors.copy(), state.radii.copy()
        state.errors[:, state.time % state.errors.shape[1]] = e
        state.radii[state.time % self.horizon] = radii
        state.time += 1
        return radii

    def prepare(self) -> None:
        """Do in advance what the next `update` can do without its errors."""
        self._sort()

    def forget(self, keep: int) -> None:
        """Forget all but the last `keep` errors, because the forecasts are made in another way now."""
        state = self.state
        memory = state.errors.shape[1]
        older = (state.time - 1 - np.arange(keep, memory)) % memory
        state.errors = state.errors.copy()
        state.errors[:, older] = np.nan

    def _sort(self) -> None:
        """Sort the errors that the next ones join, all but the oldest, with infinity where there is none."""
        state = self.state
        # After an undone step or a checkpoint, what is known belongs to other errors.
        if state.others_of is not state.errors:
            others = np.where(state.errors == state.errors, state.errors, np.inf)
            others[:, state.time % others.shape[1]] = np.inf
            state.others, state.others_of = np.sort(others, axis=1), state.errors
            state.known = np.count_nonzero(others < np.inf, axis=1)

    def _quantile(self, e: Floats) -> Floats:
        """Return the radii, in which errors e (channels,) count that are not among the others yet."""
        self._sort()
        others, e = self.state.others, np.where(e == e, e, np.inf)
        n = self.state.known + (e < np.inf)
        q = np.minimum((1 - self.state.alpha) * (1 + self.horizon / np.maximum(n, 1)), LARGEST_RANK)
        rank = np.maximum(np.minimum(np.ceil(q * n).astype(int), n), 1)
        # Once e has taken its place, the error of a rank is e or one of the two that were there.
        below = np.where(rank > 1, others[self._each, rank - 2], 0.0)
        radii = np.minimum(np.maximum(e, below), others[self._each, rank - 1]) * np.maximum(q, 1.0)
        return np.where(n >= self.needed, radii, np.nan)
