"""Learners whose scaling is fitted to the beginning of a recording before they forecast it, as in the paper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.evaluation.catalogue import Batch
from quatcast.evaluation.protocol import scaling_samples
from quatcast.forecasting.contract import Forecasts
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import Learner


@dataclass(frozen=True)
class ScaledFirst:
    """A learner that forecasts recordings, with a scaling that is fitted before the first sample.

    Parameters
    ----------
    learner, batch
        The learner, and what it is to forecast.
    options
        Further arguments of `Forecaster`.
    """

    learner: Learner
    batch: Batch
    options: Mapping[str, Any]

    @property
    def fitted(self) -> int:
        """Number of samples that the scaling is fitted to, and that forecasts depend on from the first one on."""
        return 0 if self.learner.repeats else scaling_samples(self.batch.sampling_rate)

    def run(self, positions: ArrayLike, /) -> Forecasts:
        """Forecast a recording; the scaling is fitted to its first 30 seconds."""
        rows, train = np.asarray(positions), max(1, self.fitted)
        forecaster = Forecaster(self.learner, horizon=self.batch.horizon, train=train, **self.options)
        return forecaster.run(rows, training=rows[:train])
