"""A mixture of forecasters, weighted by their recent errors.

At each sample every member forecasts; when the sample that was forecast arrives, the errors of all members are known.
With E the matured errors of K members, s their usual size at that time, and C = Σ γᵃEEᵀ/s² their covariance, in which
older errors count less, the weights minimise the error that the mixture would have had, regularised towards weights by
inverse power, which ignore correlations:

    min wᵀCw + ρ·Σₖ Cₖₖwₖ²,    Σw = 1,    w ≥ 0.

Correlations of few errors are unreliable: as long as only n errors are known, fewer than the memory M of the mixture, ρ
is multiplied by M/n, up to ρ = 2.

The usual size s is the running root mean square of the median member's errors over an eighth of M. Without it, a few
seconds of large errors, such as those of deep breaths or of a fault, would determine the weights until they are
forgotten.

Members with the same errors do not count twice, a member that fails loses its weight within seconds, and because
weights lie between zero and one, the mixture is never much worse than its best member.

Members may begin to forecast at different times. One that joins is treated as a near copy of the best one so far, and
all earlier errors count less from then on, so that its own errors soon determine its weight. The same holds for a
channel that was not observed for long, because it was lost or has jumped: which members were good before says little
about what follows.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from quatcast.basics.annotations import check_whole, is_number, is_whole
from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.forecasting.combination import Combination
from quatcast.forecasting.contract import (
    LARGEST,
    ForecasterState,
    OnlineForecaster,
    horizons_of,
    positions_of,
)

TINY = 1e-300
"""Prevents a division by zero."""
NEGLIGIBLE = 1e-9
"""Relative tolerance."""
ALIKE = 0.9
"""Correlation that the errors of a member that joins are assumed to have with those of the best member so far."""
STRONGEST = 2.0
"""Largest ρ while few errors are known."""
DISCOUNT = 0.25
"""Factor by which earlier errors count less once a member has joined."""
FEW = 50
"""Number of samples, in multiples of `reweigh`, up to which the weights are computed at every sample."""
LOCAL = 0.125
"""Share of the memory over which the usual size of errors is averaged."""
FADED = 0.05
"""Factor by which earlier errors of a channel count less once it is observed again after a gap."""


def blend(C: Floats, shrinkage: float | Floats, active: Bools | None = None) -> Floats:
    """Return the weights (…, K) for error covariances C (…, K, K) and ρ, one for all or (…,); see the module.

    With A = C + ρ·diag(C), the weights are v/Σv for the v ≥ 0 that minimises vᵀAv/2 − Σv. The positive weights are
    found by principal pivoting: solve for the active members, then move the last violating one to the other side, that
    is, an active one below zero or an inactive one that would lower the error. Pivoting begins with the members that
    are `active` (…, K), all by default; the nearer they are to the result, the sooner it ends. Errors are measured in
    units of each member's own, so that a member that is a billion times better than the others is not lost in rounding.

    Examples
    --------
    >>> blend(np.diag([1.0, 3.0]), shrinkage=0.0)
    array([0.75, 0.25])
    >>> blend(np.array([[1.0, 2.0], [2.0, 5.0]]), shrinkage=0.0)
    array([1., 0.])
    """
    power = np.diagonal(C, axis1=-2, axis2=-1)
    A = C + np.asarray(shrinkage)[..., None, None] * power[..., None] * np.eye(power.shape[-1])
    size = np.sqrt(np.diagonal(A, axis1=-2, axis2=-1))
    largest = size.max(axis=-1, keepdims=True)
    size = np.where(largest > 0, np.maximum(size, NEGLIGIBLE * largest), 1.0)
    A /= size[..., :, None] * size[..., None, :]
    every = np.arange(power.shape[-1])
    A[..., every, every] = 1.0 + NEGLIGIBLE
    gain = size.min(axis=-1, keepdims=True) / size
    v = _solve(A, gain, np.ones_like(gain, dtype=bool) if active is None else active)
    weights = gain * np.maximum(v, 0.0)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _solve(A: Floats, b: Floats, active: Bools) -> Floats:
    """Minimise vᵀAv/2 − bᵀv over v ≥ 0 for all A (…, K, K) and b (…, K) at once."""
    places, v = np.arange(b.shape[-1]), np.zeros_like(b)
    # There are few pivots; the bound prevents an endless loop if rounding makes two members change sides.
    for _ in range(10 * b.shape[-1]):
        # Equations of inactive members are replaced by v = 0.
        system = np.where(active[..., :, None] & active[..., None, :], A, 0.0)
        system[..., places, places] = A[..., places, places]
        v = np.linalg.solve(system, np.where(active, b, 0.0)[..., None])[..., 0]
        wrong = np.where(active, v, (A @ v[..., None])[..., 0] - b) < -NEGLIGIBLE
        if not wrong.any():
            break
        last = places[-1] - wrong[..., ::-1].argmax(axis=-1)[..., None]
        active = active ^ (wrong & (places == last))
    return v


@dataclass
class MixtureState(ForecasterState):
    """What a mixture remembers.

    Attributes
    ----------
    sample, observed
        The newest sample, and which of its channels were observed.
    made
        Forecasts (K, horizons, channels, dimensions) of all members, made at the newest sample and those before it, as
        far back as the longest horizon.
    covariance
        C, (horizons, channels, K, K).
    weights
        (horizons, channels, K), equal until errors are known.
    power
        s², (horizons, channels).
    joined
        (horizons, K), True for members whose errors are in C.
    count
        (horizons, channels), number of errors so far.
    low, high
        (channels, dimensions), range of the samples so far.
    unseen
        (channels,), number of samples in a row in which a channel was not observed.
    age
        Number of samples whose errors were counted.
    """

    sample: Floats
    observed: Bools
    made: deque[Floats]
    covariance: Floats
    weights: Floats
    power: Floats
    joined: Bools
    count: Counts
    low: Floats
    high: Floats
    unseen: Counts
    age: int = 0


class Mixture(Combination):
    """Forecast with several forecasters, weighted by their recent matured errors, each channel by itself.

    A member with several runs contributes the mean of its runs. A member without a forecast, because it is warming up
    or has failed, is left out until it has one again.

    Parameters
    ----------
    members
        Forecasters of the same horizon that satisfy the online contract; see `OnlineForecaster`.
    memory
        Number of samples over which errors are forgotten: γ = 1 − 1/memory.
    shrinkage
        ρ, strength of the regularisation towards weights by inverse power, once `memory` errors are known; one number,
        or one per horizon.
    gap
        Number of samples in a row without a channel after which its earlier errors count for little; None for never.
    reweigh
        Number of samples from one computation of the weights to the next, once many errors are known. Every error
        counts.
    farthest
        Longest displacement that a member may forecast as long as fewer than `memory` errors are known, in multiples of
        the range of the signal so far; None for any. The errors that would reduce the weight of a member with longer
        ones have not matured by then.
    learn_first
        Weigh the members by the errors of the newest sample before answering. By default the answer comes first.

    Examples
    --------
    >>> from quatcast import RLS, Forecaster, Persistence
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

    state: MixtureState

    def __init__(
        self,
        members: Sequence[OnlineForecaster],
        *,
        memory: int = 300,
        shrinkage: float | Sequence[float] = 0.1,
        gap: int | None = None,
        reweigh: int = 1,
        farthest: float | None = None,
        learn_first: bool = False,
    ) -> None:
        super().__init__(members)
        count = len(horizons_of(self))
        if not (is_number(memory) and memory >= 1):
            raise ValueError(f"memory: expected a number of samples of at least 1, got {memory!r}")
        given = list(shrinkage) if isinstance(shrinkage, Sequence | np.ndarray) else [shrinkage]
        if len(given) not in (1, count) or not all(is_number(rho) and rho >= 0 for rho in given):
            raise ValueError(f"shrinkage: expected a number from 0, or one per horizon, got {shrinkage!r}")
        if gap is not None and not is_whole(gap):
            raise ValueError(f"gap: expected at least 1 sample, or None, got {gap!r}")
        check_whole(reweigh=reweigh)
        self.memory, self.shrinkage, self.gap, self.learn_first = memory, shrinkage, gap, learn_first
        if farthest is not None and not (is_number(farthest) and farthest > 0):
            raise ValueError(f"farthest: expected a positive number, or None, got {farthest!r}")
        self.reweigh, self.farthest = int(reweigh), farthest

    @property
    def weights(self) -> Floats:
        """Weights (channels, K) of the members, after an axis of horizons if there are several."""
        return self.state.weights[0].copy() if self.horizons is None else self.state.weights.copy()

    @property
    def warmup(self) -> int:
        """Number of samples until all members but the slowest forecast."""
        return sorted(int(getattr(member, "warmup", 0)) for member in self.members)[-2:][0]

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew with all members."""
        for member in self.members:
            member.begin(shape)
        H, channels, K = len(horizons_of(self)), shape[0], len(self.members)
        self.state = MixtureState(
            shape=shape,
            sample=np.full(shape, np.nan),
            observed=np.zeros(channels, dtype=bool),
            made=deque(maxlen=self.horizon + 1),
            covariance=np.zeros((H, channels, K, K)),
            weights=np.full((H, channels, K), 1.0 / K),
            power=np.zeros((H, channels)),
            joined=np.zeros((H, K), dtype=bool),
            count=np.zeros((H, channels), dtype=np.int64),
            low=np.full(shape, np.inf),
            high=np.full(shape, -np.inf),
            unseen=np.zeros(channels, dtype=np.int64),
        )

    def forecast(self, sample: Floats, observed: Bools) -> Floats:
        """Take in the newest sample and return the weighted mean of the members' forecasts."""
        state = self.state
        # A member may write into the sample that it gets.
        given = [(m, m.forecast(sample.copy(), observed.copy())) for m in self.members]
        made = [positions_of(m, forecast, sample.shape)[None] for m, forecast in given]
        forecasts = np.concatenate(made)
        usable = np.abs(forecasts) <= LARGEST
        if not usable.all():
            forecasts[~usable] = np.nan
        if self.farthest is not None and state.count.min() < self.memory:
            forecasts = self._limited(forecasts, self.farthest, sample)
        state.made.append(forecasts)
        state.sample, state.observed = sample, observed
        self._fade()
        if self.learn_first:
            self._weigh()
        mixed = self._mix(forecasts)
        return mixed[0] if self.horizons is None else mixed

    def learn_some(self, limit: int | None) -> None:
        """Let all members learn, then weigh them."""
        super().learn_some(limit)
        if not self.learn_first:
            self._weigh()

    def _limited(self, forecasts: Floats, times: float, sample: Floats) -> Floats:
        """Shorten displacements that are longer than a multiple of the range of the signal so far."""
        moved = forecasts - sample
        length = np.sqrt(np.sum(moved * moved, axis=-1, keepdims=True))
        extent = np.maximum(self.state.high - self.state.low, 0.0)
        farthest = times * np.sqrt(np.sum(extent * extent, axis=-1, keepdims=True))
        return np.where(length > farthest, sample + moved * (farthest / np.maximum(length, TINY)), forecasts)

    def _fade(self) -> None:
        """Let the earlier errors of channels that are observed again after a gap count for little."""
        state = self.state
        if self.gap is not None and (back := state.observed & (state.unseen >= self.gap)).any():
            state.covariance = np.where(back[:, None, None], FADED * state.covariance, state.covariance)
            state.count = np.where(back, np.minimum(state.count, round(FADED * self.memory)), state.count)
        state.unseen = np.asarray((state.unseen + 1) * ~state.observed)

    def _weigh(self) -> None:
        """Count the errors of the forecasts of the newest sample, and weigh the members anew if it is time."""
        state, column = self.state, self.state.observed[:, None]
        state.age += 1
        state.low = np.where(column, np.minimum(state.low, state.sample), state.low)
        state.high = np.where(column, np.maximum(state.high, state.sample), state.high)
        covariance, weights, count = state.covariance.copy(), state.weights.copy(), state.count.copy()
        ahead = horizons_of(self)
        for i, (h, rho) in enumerate(zip(ahead, np.broadcast_to(self.shrinkage, len(ahead)), strict=True)):
            if len(state.made) <= h:
                continue
            before = np.count_nonzero(state.joined[i])
            judged = self._count(i, state.sample - state.made[-1 - h][:, i], covariance[i])
            if judged is None:
                continue
            members, covariance[i] = judged
            count[i] += state.observed
            early = state.age < FEW * self.reweigh or len(members) > before
            if early or state.age % self.reweigh == 0:
                C, active = covariance[i][:, members][..., members], weights[i][:, members] > 0
                stronger = np.minimum(STRONGEST, rho * self.memory / np.maximum(count[i], 1))
                weights[i] = 0.0
                weights[i][:, members] = blend(C, np.maximum(rho, stronger), active)
        state.covariance, state.weights, state.count = covariance, weights, count

    def _count(self, i: int, errors: Floats, C: Floats) -> tuple[NDArray[np.intp], Floats] | None:
        """Count errors (K, channels, dimensions) of horizon i; return which members have errors, and C (channels, …).

        None if there are no errors.
        """
        state = self.state
        known = np.asarray(np.isfinite(errors).all(axis=(-2, -1)))
        if not known.any():
            return None
        joined = state.joined[i]
        if (known & ~joined).any():
            C = _join(C, joined, known & ~joined)
            state.joined = state.joined.copy()
            state.joined[i] = joined = joined | known
        # A member that has failed counts as much as the worst of the others.
        worst = errors[np.where(known, np.sum(errors**2, axis=(-2, -1)), -1.0).argmax()]
        e = np.where(known[:, None, None], errors, worst).swapaxes(0, 1)
        e = np.where(joined[:, None], e / self._usual_size(i, e[:, known])[:, None, None], 0.0)
        decayed = (1.0 - 1.0 / self.memory) * C + e @ e.mT
        return np.flatnonzero(joined), np.where(state.observed[:, None, None], decayed, C)

    def _usual_size(self, i: int, errors: Floats) -> Floats:
        """Return s (channels,) of horizon i with the newest errors (channels, members, dimensions)."""
        state, power = self.state, np.add.reduce(errors * errors, axis=-1)
        median = np.sort(power, axis=-1)[:, (power.shape[1] - 1) // 2]
        # Where half of the members are exact, the errors of the others must not overflow.
        median = np.maximum(median, NEGLIGIBLE**2 * power.max(axis=-1))
        gain = state.observed / np.minimum(state.count[i] + 1, max(1.0, LOCAL * self.memory))
        state.power = state.power.copy()
        state.power[i] += gain * (median - state.power[i])
        return np.asarray(np.sqrt(np.maximum(state.power[i], TINY)))

    def _mix(self, forecasts: Floats) -> Floats:
        """Return the weighted mean of those forecasts (K, horizons, channels, dimensions) that exist."""
        finite, shares = np.isfinite(forecasts), self.state.weights
        if not finite.all():
            known = finite.all(axis=(-3, -2, -1))
            if not known.any():
                return np.full(forecasts.shape[1:], np.nan)
            forecasts, weights = forecasts[known], shares[..., known]
            weights = np.where(weights.any(axis=-1, keepdims=True), weights, 1.0)
            shares = weights / weights.sum(axis=-1, keepdims=True)
        mixed: Floats = np.einsum("hck,khcd->hcd", shares, forecasts)
        return mixed


def _join(C: Floats, joined: Bools, new: Bools) -> Floats:
    """Return C (channels, K, K) with new members, each taken for a near copy of the best one so far."""
    if not joined.any():
        return C
    power = np.diagonal(C, axis1=-2, axis2=-1)
    best = np.where(joined, power, np.inf).argmin(axis=-1)
    C, each = DISCOUNT * C, np.arange(len(C))
    row = ALIKE * C[each, best]
    least = C[each, best, best]
    row[:, new] = ALIKE * least[:, None]
    C[:, new, :] = row[:, None, :]
    C[:, :, new] = row[:, :, None]
    fresh = np.flatnonzero(new)
    C[:, fresh, fresh] = least[:, None]
    return C
