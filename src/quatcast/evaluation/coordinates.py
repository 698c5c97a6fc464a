"""Recordings in the coordinates in which predictors forecast them, and forecasts on the way back.

Positions and vectors are their own coordinates. Orientations are developed into R³, see
`quatcast.forecasting.orientation`; each forecast is converted back with what was known when it was made.
"""

from __future__ import annotations

import copy

import numpy as np

from quatcast.data.recording import Recording
from quatcast.evaluation.protocol import forward_fill
from quatcast.forecasting.spaces import find_space
from quatcast.typing import Floats


class Coordinates:
    """The coordinates of a recording.

    Parameters
    ----------
    recording
        The recording.
    filled
        Whether to replace missing samples by the last observed ones.
    native
        Whether samples stay as they are, for predictors that accept samples of every space.

    Attributes
    ----------
    positions
        The coordinates (T, rows, d), what predictors see.

    Examples
    --------
    >>> still = np.tile([1.0, 0.0, 0.0, 0.0], (40, 1, 1))
    >>> recording = Recording("head", still, np.arange(40) / 10, rate=10.0, space="orientation")
    >>> coordinates = Coordinates(recording, filled=True)
    >>> coordinates.positions.shape
    (40, 1, 3)
    >>> coordinates.back(coordinates.positions, horizon=5)[-1]
    array([[1., 0., 0., 0.]])
    """

    def __init__(self, recording: Recording, *, filled: bool, native: bool = False) -> None:
        rows = forward_fill(recording.positions) if filled else recording.positions
        self._shape, self._rate = recording.positions.shape, recording.rate
        if native or recording.space in ("position", "vector"):
            self._space, self.positions = None, rows
            return
        self._space = find_space(recording.space, recording.rate)
        chart = self._space.begin(self._shape[1])
        self._charts, found = [], []
        for sample in rows:
            coordinates = self._space.to_coordinates(chart, sample)
            self._space.accept(chart, sample, coordinates, np.asarray(np.isfinite(coordinates).all(axis=-1)))
            self._charts.append(copy.copy(chart))
            found.append(coordinates)
        self.positions = np.stack(found)

    def back(self, forecasts: Floats, horizon: int) -> Floats:
        """Return forecasts (…, T, rows, d) of coordinates as points (…, T, channels, k) of the space."""
        if self._space is None:
            return forecasts
        points = np.full((*forecasts.shape[:-3], *self._shape), np.nan)
        for t in range(horizon, self._shape[0]):
            with np.errstate(all="ignore"):
                points[..., t, :, :] = self._space.from_coordinates(
                    self._charts[t - horizon], forecasts[..., t, :, :], horizon / self._rate
                )
        return points
