"""Forecasts by velocity: zero, constant, or damped by coefficients that are learnt."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.annotations import check_whole, is_number, is_whole
from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.contract import ForecasterState, OnlineForecaster, horizons_of
from quatcast.forecasting.extrapolation import Extrapolation, as_horizons


class MotionForecaster(OnlineForecaster):
    """Base class of forecasters that estimate the motion of a signal and follow it for any number of samples."""

    def forecast(self, sample: Floats, observed: Bools) -> Floats:
        """Take in the newest sample and forecast; the forecast at the first sample repeats it."""
        self._take_in(sample, observed)
        ahead = self._ahead(horizons_of(self))
        return np.asarray(ahead[0] if self.horizons is None else ahead)

    @abstractmethod
    def _take_in(self, sample: Floats, observed: Bools) -> None:
        """Take in the newest sample."""

    @abstractmethod
    def _ahead(self, horizons: ArrayLike) -> Floats:
        """Return the positions (H, channels, dimensions) after H numbers of samples, whole or not."""


@dataclass
class LastState(ForecasterState):
    """The newest sample (channels, dimensions)."""

    last: Floats


class LastPosition(MotionForecaster):
    """Forecast that the signal stays where it is: x̂(t+h) = x(t).

    Parameters
    ----------
    horizon
        h, number of samples ahead.
    horizons
        Several horizons to forecast, `horizon` the longest of them; by default that one alone.

    Examples
    --------
    >>> line = np.arange(4.0)[:, None, None] * np.ones((1, 1, 3))
    >>> LastPosition(2).run(line).positions[:, 0, 0]
    array([nan, nan,  0.,  1.])
    """

    state: LastState

    def __init__(self, horizon: int, *, horizons: Sequence[int] | None = None) -> None:
        as_horizons(horizon, horizons)
        self.horizon, self.horizons = int(horizon), horizons

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""
        self.state = LastState(shape, np.full(shape, np.nan))

    def _take_in(self, sample: Floats, observed: Bools) -> None:
        self.state.last = sample

    def _ahead(self, horizons: ArrayLike) -> Floats:
        return np.array([self.state.last] * np.size(horizons))

    def learn(self) -> None:
        """Do nothing: there is nothing to learn."""


def slopes(spans: Sequence[int]) -> Floats:
    """Return weights (spans, longest span + 1) of the last samples, oldest first, that give the slope over each span.

    The slope is that of the straight line through the last span + 1 samples, by least squares.

    Examples
    --------
    >>> slopes([1, 2])
    array([[ 0. , -1. ,  1. ],
           [-0.5,  0. ,  0.5]])
    """
    longest = max(spans)
    weights = np.zeros((len(spans), longest + 1))
    for row, span in zip(weights, spans, strict=True):
        centred = np.arange(span + 1) - span / 2
        row[longest - span :] = centred / np.sum(centred**2)
    return weights


def _combine(weights: Floats, past: Floats) -> Floats:
    """Return sums (n, channels, dimensions) of the last samples, by weights (n, samples)."""
    recent = past[-weights.shape[1] :]
    return np.asarray((weights @ recent.reshape(len(recent), -1)).reshape(-1, *past.shape[1:]))


@dataclass
class VelocityState(ForecasterState):
    """The last samples (n, channels, dimensions), oldest first; before the first sample n = 0."""

    past: Floats


class ConstantVelocity(MotionForecaster):
    """Forecast that the signal keeps its velocity: x̂(t+h) = x(t) + h·v(t).

    Parameters
    ----------
    horizon
        h, number of samples ahead.
    span
        Number of samples over which the velocity is estimated: v is the slope of the straight line through the last
        span + 1 samples. With 1 it is the last displacement; more samples suppress noise and react later.
    horizons
        Several horizons to forecast, `horizon` the longest of them; by default that one alone.

    Examples
    --------
    >>> line = np.arange(6.0)[:, None, None] * np.ones((1, 1, 3))
    >>> ConstantVelocity(2).run(line).positions[:, 0, 0]
    array([nan, nan,  0.,  3.,  4.,  5.])
    """

    state: VelocityState

    def __init__(self, horizon: int, span: int = 1, *, horizons: Sequence[int] | None = None) -> None:
        as_horizons(horizon, horizons)
        self.horizon, self.horizons = int(horizon), horizons
        check_whole(span=span)
        self.span = int(span)
        self._slopes = [slopes([n]) for n in range(1, self.span + 1)]

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""
        self.state = VelocityState(shape, np.empty((0, *shape)))

    def _take_in(self, sample: Floats, observed: Bools) -> None:
        self.state.past = np.concatenate([self.state.past[-self.span :], sample[None]])

    def _ahead(self, horizons: ArrayLike) -> Floats:
        past, h = self.state.past, np.asarray(horizons, dtype=float)[:, None, None]
        if len(past) == 1:
            return np.asarray(past[-1] + 0.0 * h)
        return np.asarray(past[-1] + h * _combine(self._slopes[len(past) - 2], past)[0])

    def learn(self) -> None:
        """Do nothing: a constant velocity has nothing to learn."""


@dataclass
class DampedVelocityState(VelocityState):
    """The last samples, and the coefficients of the velocities."""

    extrapolation: Extrapolation


class DampedVelocity(MotionForecaster):
    """Extrapolate the velocity with learnt coefficients: x̂(t+h) = x(t) + Σᵢ bᵢ(h)·vᵢ(t).

    The velocities are slopes over one or several spans: v₁ is the first, and the other vᵢ are its differences from
    those over the other spans, which indicate the acceleration. The coefficients b are fitted to the displacements that
    have matured, as `Extrapolation` describes; they begin with half of what a constant velocity would give. With one
    span, b(h) is h for a constant velocity and 0 for a signal that does not continue as it moves.

    Parameters
    ----------
    horizon
        h, number of samples ahead.
    spans
        Numbers of samples over which velocities are estimated.
    memory
        Number of samples after which a displacement counts 1/e for the coefficients.
    horizons
        Several horizons to forecast, `horizon` the longest of them; by default that one alone.

    Examples
    --------
    >>> time = np.arange(300) / 10
    >>> wave = np.stack([np.sin(time), np.cos(time), 0 * time], axis=-1)[:, None, :]
    >>> def rmse(forecaster):
    ...     return np.sqrt(np.nanmean((forecaster.run(wave).positions - wave)[100:] ** 2)).round(3)
    >>> float(rmse(ConstantVelocity(10))), float(rmse(DampedVelocity(10))), float(rmse(DampedVelocity(10, (1, 4))))
    (0.308, 0.289, 0.006)
    """

    state: DampedVelocityState

    def __init__(
        self,
        horizon: int,
        spans: Sequence[int] = (1,),
        *,
        memory: float = 500.0,
        horizons: Sequence[int] | None = None,
    ) -> None:
        self._horizons = as_horizons(horizon, horizons)
        self.horizon, self.horizons = int(horizon), horizons
        if not spans or not all(map(is_whole, spans)) or len(set(spans)) < len(spans):
            raise ValueError(f"spans: expected different positive whole numbers of samples, got {spans!r}")
        if not (is_number(memory) and memory >= 1):
            raise ValueError(f"memory: expected a number of samples of at least 1, got {memory!r}")
        self.spans, self.memory = tuple(int(span) for span in spans), float(memory)
        self._weights = [self._differences(n) for n in range(1, max(self.spans) + 1)]

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""
        h, F = np.array(self._horizons, dtype=float), len(self.spans)
        prior = 0.5 * h[:, None] * np.eye(1, F)
        extrapolation = Extrapolation.begin(self._horizons, prior, self.memory, shape[0])
        self.state = DampedVelocityState(shape, np.empty((0, *shape)), extrapolation)

    def _differences(self, longest: int) -> Floats:
        """Return weights of the last samples that give the first velocity, and its differences from the others."""
        weights = slopes([min(span, longest) for span in self.spans])
        return np.concatenate([weights[:1], weights[:1] - weights[1:]])

    def _take_in(self, sample: Floats, observed: Bools) -> None:
        state = self.state
        past = state.past = np.concatenate([state.past[-max(self.spans) :], sample[None]])
        velocities = np.zeros((len(self.spans), *sample.shape))
        if len(past) > 1:
            velocities = _combine(self._weights[len(past) - 2], past)
        if len(past) > max(self.spans):
            # The velocity of a body at rest is zero, and not what rounding leaves of it: that would be learnt from.
            velocities = np.where((past == sample).all(axis=(0, -1))[:, None], 0.0, velocities)
        state.extrapolation.take_in(sample, velocities.swapaxes(0, 1), observed)

    def _ahead(self, horizons: ArrayLike) -> Floats:
        ahead = np.asarray(horizons, dtype=float)
        return np.asarray(self.state.past[-1] + self.state.extrapolation.displacement(ahead))

    def learn(self) -> None:
        """Learn from the displacements that end at the newest sample."""
        self.state.extrapolation.learn()
