"""Checks of forecasters: what everything that satisfies the online contract promises, one file per kind of promise."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from quatcast.testing.forecasters import copies, methods, samples, undoing
from quatcast.testing.forecasters.common import ForecasterCheck, Make, smooth_positions
from quatcast.testing.tools import check_make

__all__ = ["check_forecaster", "forecaster_checks", "smooth_positions"]


def check_forecaster(make: Make, positions: ArrayLike | None = None) -> None:
    """Check that a forecaster keeps every promise of the online contract; see `quatcast.OnlineForecaster`.

    A forecaster that is not derived from `OnlineForecaster` has only `begin`, `forecast` and `learn`, and is not
    checked for what the base class adds.

    Parameters
    ----------
    make
        Function without arguments that returns a new forecaster.
    positions
        A smooth recording (T, channels, dimensions) without gaps, long enough for several seconds of forecasts after
        the warm-up. By default 480 samples of two channels in three dimensions.

    Raises
    ------
    AssertionError
        If a promise is broken; the message says which one, and how.

    Examples
    --------
    >>> from quatcast import RLS, Forecaster
    >>> check_forecaster(lambda: Forecaster(RLS(), horizon=3, lags=4, train=50), smooth_positions(120))
    """
    check_make(make, "forecaster")
    x = smooth_positions() if positions is None else np.array(positions, dtype=float)
    for check in forecaster_checks():
        check(make, x)


def forecaster_checks() -> tuple[ForecasterCheck, ...]:
    """Return the checks that `check_forecaster` runs, to run them one by one.

    Examples
    --------
    >>> forecaster_checks()[0].__name__
    'satisfies_the_contract'
    """
    return (*methods.CHECKS, *samples.CHECKS, *copies.CHECKS, *undoing.CHECKS)
