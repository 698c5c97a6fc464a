"""Adaptive linear prediction: each channel from its own past, by recursive least squares, from the first seconds on."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quatcast.basics.annotations import is_number, is_whole
from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.contract import ForecasterState, OnlineForecaster, horizons_of
from quatcast.forecasting.extrapolation import as_horizons

LARGEST_GAIN = 1e4
"""Mean diagonal of P, relative to its first one, beyond which nothing is forgotten."""

FARTHEST = 1.5
"""Longest displacement that is forecast, in multiples of the longest one that was learnt from."""
TINY = 1e-300
"""Prevents a division by zero."""


@dataclass
class LinearState(ForecasterState):
    """What adaptive linear prediction remembers.

    Attributes
    ----------
    past
        The last samples (n, channels, dimensions), the oldest first.
    inputs
        φ, (channels, features), of the newest sample and those before it, as far back as the longest horizon.
    origins, observed
        The samples that these inputs end with, and which channels were observed.
    P
        (channels, features, features).
    weights
        (channels, features, horizons·dimensions).
    power
        (channels, features), mean square of each input so far.
    reach
        (channels, horizons), longest displacement that was learnt from.
    center
        (channels, dimensions), mean of the samples in memory.
    count
        Number of samples so far.
    """

    past: Floats
    inputs: deque[Floats]
    origins: deque[Floats]
    observed: deque[Bools]
    P: Floats
    weights: Floats
    power: Floats
    reach: Floats
    center: Floats
    count: int


class AdaptiveLinear(OnlineForecaster):
    """Forecast each channel from its own last samples, by linear regression with forgetting.

    The input φ of a channel are the displacements of its last samples from the newest one, and that of the newest one
    from the running mean; its target is the displacement from the newest sample to the one `horizon` later. The weights
    minimise the squared errors of all targets that have arrived, older ones counting less:

        k = Pφ/(λ + φᵀPφ),    W ← W + k(d − Wᵀφ)ᵀ,    P ← (P − kφᵀP)/λ.

    Nothing is scaled beforehand: P begins with the inverse power of the first inputs. Forecast displacements are never
    much longer than all earlier ones, because a regression on few samples can have errors of any size.

    Parameters
    ----------
    horizon
        h, number of samples ahead.
    lags
        Number of samples that make an input.
    memory
        Number of samples after which an error counts 1/e.
    regularization
        Weight of the penalty, in samples of average power.
    horizons
        Several horizons to forecast, `horizon` the longest of them; by default that one alone.

    Examples
    --------
    >>> time = np.arange(200) / 10
    >>> wave = np.stack([np.sin(time), np.cos(time), 0 * time], axis=-1)[:, None, :]
    >>> errors = AdaptiveLinear(5).run(wave).positions - wave
    >>> bool(np.abs(errors[100:]).max() < 0.01)
    True

    References
    ----------
    Haykin (2014), "Adaptive Filter Theory", chapter 10.
    """

    state: LinearState

    def __init__(
        self,
        horizon: int,
        lags: int = 12,
        *,
        memory: float = 600.0,
        regularization: float = 1.0,
        horizons: Sequence[int] | None = None,
    ) -> None:
        as_horizons(horizon, horizons)
        self.horizon, self.horizons = int(horizon), horizons
        if not is_whole(lags, 2):
            raise ValueError(f"lags: expected at least 2 samples, got {lags!r}")
        for name, value, least in (("memory", memory, 1.0), ("regularization", regularization, 0.0)):
            if not (is_number(value) and value > least):
                raise ValueError(f"{name}: expected a finite number above {least:g}, got {value!r}")
        self.lags, self.memory, self.regularization = int(lags), float(memory), float(regularization)

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""
        channels, d = shape[0] // self._kinds, shape[1]
        n, displacements = sum(self._parts()) * d, len(horizons_of(self)) * self._kinds
        size = self.horizon + 1
        self.state = LinearState(
            shape=shape,
            past=np.empty((0, *shape)),
            inputs=deque(maxlen=size),
            origins=deque(maxlen=size),
            observed=deque(maxlen=size),
            P=np.zeros((channels, n, n)),
            weights=np.zeros((channels, n, displacements * d)),
            power=np.zeros((channels, n)),
            reach=np.zeros((channels, displacements)),
            center=np.zeros(shape),
            count=0,
        )

    def forecast(self, sample: Floats, observed: Bools) -> Floats:
        """Take in the newest sample and forecast; NaN until a horizon has passed after the first input."""
        state = self.state
        state.count += 1
        state.center = state.center + (sample - state.center) / min(state.count, self.memory)
        state.past = np.concatenate([state.past[1 - self.lags :], sample[None]])
        ahead = None
        if len(state.past) == self.lags:
            steps = state.past - sample
            steps[-1] = sample - state.center
            phi = self._input(steps)
            state.inputs.append(phi)
            state.origins.append(sample)
            state.observed.append(self._together(observed))
            if state.count > self.lags + self.horizon:
                moved = (phi[:, None, :] @ state.weights)[:, 0].reshape(len(phi), -1, state.shape[1])
                size, farthest = np.sqrt(np.add.reduce(moved * moved, axis=-1)), FARTHEST * state.reach
                within = farthest / np.maximum(size, farthest + TINY)
                ahead = sample + self._displacements(within[..., None] * moved, phi)
        if ahead is None:
            ahead = np.full((len(horizons_of(self)), *state.shape), np.nan)
        return np.asarray(ahead[0] if self.horizons is None else ahead)

    def learn(self) -> None:
        """Learn from the newest sample, which is the last target of the oldest input."""
        state = self.state
        if len(state.inputs) <= self.horizon:
            return
        ahead = horizons_of(self)
        phi, origin = state.inputs[0], state.origins[0]
        target = np.concatenate([self._target(state.origins[h] - origin, phi) for h in ahead], axis=-1)
        seen = np.all([state.observed[h] for h in (0, *ahead)], axis=0)
        for waiting in (state.inputs, state.origins, state.observed):
            waiting.popleft()
        state.power = state.power + (phi * phi - state.power) / (state.count - self.horizon - self.lags + 1)
        self._begin_regression()
        lam = 1.0 - 1.0 / self.memory
        column = (state.P @ phi[..., None])[..., 0]
        total = lam + np.sum(phi * column, axis=-1, keepdims=True)
        if not (total >= 0.5 * lam).all():
            column = self._begin_again(phi, ~(total[:, 0] >= 0.5 * lam))
            total = lam + np.sum(phi * column, axis=-1, keepdims=True)
        root = np.sqrt(total)
        half = seen[:, None] * column / root
        k = half / root
        moved = target.reshape(len(phi), -1, state.shape[1])
        reach = np.sqrt(np.sum(moved * moved, axis=-1))
        state.reach = np.where(seen[:, None], np.maximum(state.reach, reach), state.reach)
        error = target - (phi[:, None, :] @ state.weights)[:, 0]
        state.weights = state.weights + k[..., None] * error[:, None, :]
        # Symmetric to the last bit.
        P = half[..., None] * half[:, None, :]
        np.subtract(state.P, P, out=P)
        # Without motion P would grow without bound.
        gain = np.einsum("cii,ci->c", P, state.power)
        limit = LARGEST_GAIN * P.shape[-1] / self.regularization
        keep = np.full(len(phi), lam)
        keep[(gain >= limit) | ~seen] = 1.0
        P *= 1.0 / keep[:, None, None]
        state.P = P

    def _begin_again(self, phi: Floats, broken: Bools) -> Floats:
        """Begin anew with channels whose P has lost its sign by rounding, and return P φ.

        That happens when motion becomes a hundred million times as large as before.
        """
        state = self.state
        state.P = np.where(broken[:, None, None], 0.0, state.P)
        state.weights = np.where(broken[:, None, None], 0.0, state.weights)
        self._begin_regression()
        return np.asarray((state.P @ phi[..., None])[..., 0])

    def _begin_regression(self) -> None:
        """Let P begin with the inverse penalty of channels that have begun to move."""
        state = self.state
        idle = state.P[:, 0, 0] == 0
        if not idle.any():
            return
        # All coordinates of a sample have the same penalty, so that a rotation of space rotates the forecasts.
        power = state.power.reshape(len(idle), -1, state.shape[1]).mean(axis=-1)
        parts = np.split(power, np.cumsum(self._parts())[:-1], axis=-1)
        idle &= np.all([part.any(axis=-1) for part in parts], axis=0)
        power = np.concatenate([np.maximum(part, 1e-3 * part.mean(axis=-1, keepdims=True)) for part in parts], axis=-1)
        diagonal = 1.0 / (self.regularization * np.where(idle[:, None], power, 1.0).repeat(state.shape[1], axis=-1))
        P = np.where(np.eye(diagonal.shape[-1], dtype=bool), diagonal[..., None], 0.0)
        state.P = np.where(idle[:, None, None], P, state.P)

    # What makes an input and a target; a subclass may choose otherwise.

    _kinds = 1
    """Number of rows of a sample that are forecast together, as one channel."""

    def _parts(self) -> tuple[int, ...]:
        """Return how many vectors of each kind an input has; those of a kind have the same unit."""
        return (self.lags,)

    def _input(self, steps: Floats) -> Floats:
        """Return φ (channels, features) of displacements (lags, rows, dimensions)."""
        return steps.transpose(1, 0, 2).reshape(steps.shape[1], -1)

    def _target(self, displacement: Floats, phi: Floats) -> Floats:
        """Return a displacement (rows, dimensions) as the target (channels, …) of an input."""
        return displacement

    def _displacements(self, moved: Floats, phi: Floats) -> Floats:
        """Return forecast targets (channels, horizons, …) of an input as displacements (horizons, rows, dimensions)."""
        return moved.swapaxes(0, 1)

    def _together(self, observed: Bools) -> Bools:
        """Return which channels were observed, given which rows were."""
        return observed
