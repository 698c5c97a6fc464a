"""Forecasting recordings of orientations and poses with predictors that know positions only.

Positions and vectors are their own coordinates. Orientations are developed into R³, see
`quatcast.forecasting.orientation`; each forecast is converted back with what was known when it was made.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.recording import Recording
from quatcast.evaluation.catalogue import Batch, Predictor
from quatcast.evaluation.protocol import forward_fill, samples_ahead
from quatcast.evaluation.records import Configuration
from quatcast.forecasting.charts import Space
from quatcast.forecasting.contract import Forecasts, Labels
from quatcast.forecasting.spaces import find_space


def space_of(recording: Recording) -> Space:
    """Return the space of a recording.

    Examples
    --------
    >>> space_of(Recording("r", np.zeros((2, 1, 3)), [0, 1], rate=1.0)).name
    'position'
    """
    return find_space(recording.space, recording.rate)


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
        self._space = space_of(recording)
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


def batch_for(
    predictor: Predictor,
    recording: Recording,
    horizon: float,
    labels: Labels,
    configurations: Sequence[Configuration],
    seeds: Sequence[int] = (0,),
    device: str = "cpu",
) -> Batch:
    """Return runs of a predictor on a recording, with forecasts `horizon` seconds ahead."""
    steps, space = samples_ahead(horizon, recording), recording.space if predictor.takes_spaces else "position"
    return Batch(configurations, seeds, steps, recording.rate, labels, device, recording.channels, space)


def coordinates_for(predictor: Predictor, recording: Recording) -> Coordinates:
    """Return the coordinates of a recording as a predictor needs them."""
    return Coordinates(recording, filled=not predictor.takes_missing, native=predictor.takes_spaces)


def run_in_space(predictor: Predictor, batch: Batch, recording: Recording) -> Forecasts:
    """Forecast a recording of any space with one run of a predictor.

    Samples are converted to coordinates, unless the predictor accepts all spaces, and forecasts are converted back with
    what was known when each was made. For positions this changes nothing.

    Examples
    --------
    >>> from quatcast.evaluation.catalogue import find_predictor
    >>> turned = np.tile([1.0, 0.0, 0.0, 0.0], (400, 1, 1))
    >>> recording = Recording("still", turned, np.arange(400) / 10, rate=10.0, space="orientation")
    >>> batch = Batch([{}], seeds=[0], horizon=5, sampling_rate=10.0, labels="causal")
    >>> run_in_space(find_predictor("persistence"), batch, recording).positions[-1]
    array([[1., 0., 0., 0.]])
    """
    coordinates = coordinates_for(predictor, recording)
    forecasts = predictor.run(batch, coordinates.positions)
    back = coordinates.back(forecasts.positions.reshape(coordinates.positions.shape), forecasts.horizon)
    return replace(forecasts, positions=back)


def persistence(recording: Recording, horizon: int) -> Floats:
    """Return the forecasts of a recording that nothing moves: the last observed sample of `horizon` samples earlier."""
    still = np.full_like(recording.positions, np.nan)
    still[horizon:] = forward_fill(recording.positions)[:-horizon]
    return still
