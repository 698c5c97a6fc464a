"""Forecasting recordings of orientations and poses with predictors that know positions only."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quatcast.data.recording import Recording
from quatcast.evaluation.catalogue import RecordingForecaster
from quatcast.evaluation.coordinates import Coordinates
from quatcast.evaluation.protocol import forward_fill
from quatcast.forecasting.charts import Space
from quatcast.forecasting.contract import Forecasts
from quatcast.forecasting.spaces import find_space
from quatcast.typing import Floats


def space_of(recording: Recording) -> Space:
    """Return the space of a recording.

    Examples
    --------
    >>> space_of(Recording("r", np.zeros((2, 1, 3)), [0, 1], rate=1.0)).name
    'position'
    """
    return find_space(recording.space, recording.rate)


def run_in_space(
    forecaster: RecordingForecaster, recording: Recording, *, takes_missing: bool, takes_spaces: bool = False
) -> Forecasts:
    """Forecast a recording of any space.

    The samples are converted to coordinates, forecast there, and converted back with what was known when each forecast
    was made. For positions this changes nothing.

    Parameters
    ----------
    forecaster
        A forecaster of recordings (T, rows, coordinates).
    recording
        The recording.
    takes_missing
        Whether the forecaster accepts missing samples; otherwise they are filled with the last observed ones.
    takes_spaces
        Whether the forecaster accepts orientations and poses; otherwise they are converted.

    Examples
    --------
    >>> from quatcast import Forecaster, Persistence
    >>> turned = np.tile([1.0, 0.0, 0.0, 0.0], (40, 1, 1))
    >>> recording = Recording("still", turned, np.arange(40) / 10, rate=10.0, space="orientation")
    >>> forecasts = run_in_space(Forecaster(Persistence(), horizon=5, lags=1, train=10), recording, takes_missing=False)
    >>> forecasts.positions[-1]
    array([[1., 0., 0., 0.]])
    """
    coordinates = Coordinates(recording, filled=not takes_missing, native=takes_spaces)
    made = forecaster.run(coordinates.positions)
    back = coordinates.back(made.positions.reshape(coordinates.positions.shape), made.horizon)
    return replace(made, positions=back)


def persistence(recording: Recording, horizon: int) -> Floats:
    """Return the forecasts of a recording that nothing moves: the last observed sample of `horizon` samples earlier."""
    still = np.full_like(recording.positions, np.nan)
    still[horizon:] = forward_fill(recording.positions)[:-horizon]
    return still
