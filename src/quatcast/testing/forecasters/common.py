"""What the checks of forecasters have in common: the signal, single steps, and the comparison of forecasts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.forecasting.contract import OnlineForecaster, horizons_of
from quatcast.testing.tools import require_same

Make = Callable[[], Any]
ForecasterCheck = Callable[[Make, Floats], None]
POINTS = 12
"""Number of places at which one step is interrupted, and number of moments at which a forecaster is saved."""
AFTERWARDS = 5
"""Number of samples over which two forecasters are compared after such a moment."""


def smooth_positions(samples: int = 480, channels: int = 2, dimensions: int = 3) -> Floats:
    """Return a smooth and almost periodic signal (samples, channels, dimensions).

    Examples
    --------
    >>> smooth_positions(10).shape
    (10, 2, 3)
    """
    time = np.arange(samples)[:, None, None] / 10
    phase = np.arange(channels)[:, None] + 0.7 * np.arange(dimensions)
    return np.asarray(5.0 * np.sin(1.6 * time + phase) + 1.5 * np.sin(3.3 * time + 2.0 * phase) + phase)


def of_online_forecasters(check: ForecasterCheck) -> ForecasterCheck:
    """Return a check that passes whatever is not derived from `OnlineForecaster`."""

    @wraps(check)
    def of_online_forecaster(make: Make, x: Floats) -> None:
        if isinstance(make(), OnlineForecaster):
            check(make, x)

    return of_online_forecaster


def begun(make: Make, x: Floats) -> Any:
    """Return a new forecaster that has begun with the shape of a recording."""
    forecaster = make()
    forecaster.begin((x.shape[1], x.shape[2]))
    return forecaster


def update(forecaster: Any, sample: Floats) -> Floats:
    """Do one step and return the forecast."""
    if isinstance(forecaster, OnlineForecaster):
        return np.array(forecaster.update(sample), dtype=float)
    made = np.array(forecaster.forecast(sample.copy(), np.ones(len(sample), dtype=bool)), dtype=float)
    forecaster.learn()
    return made


def forecasts(forecaster: Any, x: Floats) -> Floats:
    """Return the forecasts that are made at each sample, without a run axis: their mean over runs."""
    made = [update(forecaster, row) for row in x]
    return np.stack([one.mean(axis=0) if one.ndim == 3 else one for one in made])


def by_horizon(forecaster: Any, found: Any) -> dict[int, Floats]:
    """Return the positions (…, T, channels, dimensions) that `run` has found for each horizon."""
    rows = np.asarray(found, dtype=float)
    if getattr(forecaster, "horizons", None) is None:
        return {forecaster.horizon: rows}
    return {h: rows[..., i, :, :, :] for i, h in enumerate(horizons_of(forecaster))}


def same_rows(one: Floats, other: Floats, promise: str) -> None:
    """Require that two series of forecasts are equal, bit for bit."""
    for t, (a, b) in enumerate(zip(one, other, strict=True)):
        require_same(b, a, promise, f"the one at sample {t}")


def steps(x: Floats) -> list[Callable[[Any], Floats]]:
    """Return the updates with the samples of a recording, each a function of the forecaster."""
    return [partial(update, sample=row) for row in x]


def moments(x: Floats) -> set[int]:
    """Return the numbers of samples after which to look closely: the first two, and some spread over the recording."""
    return {0, 1, *np.linspace(2, len(x) - AFTERWARDS, POINTS).astype(int).tolist()}
