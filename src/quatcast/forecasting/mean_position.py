"""Forecasts by the running mean of a signal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.annotations import check_whole
from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.forecasting.contract import ForecasterState
from quatcast.forecasting.extrapolation import as_horizons
from quatcast.forecasting.velocity import MotionForecaster


@dataclass
class MeanState(ForecasterState):
    """Running mean (channels, dimensions), of how many observed samples of each channel, and of any channel."""

    mean: Floats
    observed: Counts
    samples: int


class MeanPosition(MotionForecaster):
    """Forecast that the signal returns to its mean: x̂(t+h) = m(t), with m ← m + (x − m)/min(n, M) at sample n.

    A signal that goes to and fro is about as likely on either side of its mean after a quarter of its period. Then the
    mean is a better forecast than the last position.

    Parameters
    ----------
    horizon
        h, number of samples ahead.
    memory
        M, number of samples after which a sample counts 1/e.
    first
        Number of observed samples up to the first forecast: the mean of a part of a period is not its mean.
    horizons
        Several horizons to forecast, `horizon` the longest of them; by default that one alone.

    Examples
    --------
    >>> line = np.arange(5.0)[:, None, None] * np.ones((1, 1, 3))
    >>> MeanPosition(1, memory=100, first=2).run(line).positions[:, 0, 0]
    array([nan, nan, 0.5, 1. , 1.5])
    """

    state: MeanState

    def __init__(
        self, horizon: int, *, memory: int = 200, first: int = 1, horizons: Sequence[int] | None = None
    ) -> None:
        as_horizons(horizon, horizons)
        self.horizon, self.horizons = int(horizon), horizons
        check_whole(memory=memory, first=first)
        self.memory, self.first = int(memory), int(first)

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""
        self.state = MeanState(shape, np.zeros(shape), np.zeros(shape[0], dtype=np.int64), samples=0)

    def _take_in(self, sample: Floats, observed: Bools) -> None:
        state = self.state
        # While nothing is learnt, the errors of a forecast that begins would not be noticed.
        state.samples += int(observed.any())
        state.observed = state.observed + observed
        # A channel that has never been observed is where it is said to be.
        gain = np.where(state.observed == 0, 1.0, observed / np.clip(state.observed, 1, self.memory))
        state.mean = state.mean + gain[:, None] * (sample - state.mean)

    def _ahead(self, horizons: ArrayLike) -> Floats:
        known = self.state.mean if self.state.samples >= self.first else np.full(self.state.shape, np.nan)
        return np.array([known] * np.size(horizons))

    def learn(self) -> None:
        """Do nothing: the mean is learnt as samples are taken in."""
