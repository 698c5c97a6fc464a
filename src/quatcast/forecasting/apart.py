"""Parts of a signal, each with a forecaster of its own."""

from __future__ import annotations

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.combination import Combination
from quatcast.forecasting.contract import ForecasterState, positions_of


class Apart(Combination):
    """Forecast the parts of a signal separately, each with a forecaster of its own.

    A learner takes all rows of a sample as its input. Rows that are unrelated to the others make its forecasts worse.
    So the rows are divided evenly among the members, in order. With two members for poses, whose coordinates are all
    positions and then all orientations, the first one forecasts the positions and the second one the orientations.

    Parameters
    ----------
    members
        Forecasters of the same horizons that satisfy the online contract, one per part.

    Examples
    --------
    >>> from quatcast import ConstantVelocity, LastPosition
    >>> line = np.arange(6.0)[:, None, None] * np.ones((1, 2, 3))
    >>> Apart([ConstantVelocity(2), LastPosition(2)]).run(line).positions[-1, :, 0]
    array([5., 3.])
    """

    @property
    def warmup(self) -> int:
        """Number of samples until all members forecast."""
        return max(int(getattr(member, "warmup", 0)) for member in self.members)

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew with all members, for samples of a shape (rows, dimensions)."""
        rows, n = shape[0], len(self.members)
        if rows % n:
            raise ValueError(f"sample: expected rows for {n} parts of equal size, got shape {shape}")
        for member in self.members:
            member.begin((rows // n, shape[1]))
        self.state = ForecasterState(shape)

    def forecast(self, sample: Floats, observed: Bools) -> Floats:
        """Take in the newest sample and return the forecasts of all parts."""
        n = len(self.members)
        parts = zip(self.members, np.split(sample, n), np.split(observed, n), strict=True)
        made = np.concatenate([positions_of(m, m.forecast(x, seen), x.shape) for m, x, seen in parts], axis=-2)
        return np.asarray(made[0] if self.horizons is None else made)
