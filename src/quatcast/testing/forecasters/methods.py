"""Checks of forecasts and of the methods that make them: what they return, and that they agree."""

from __future__ import annotations

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.forecasting.contract import OnlineForecaster, horizons_of, satisfies_contract
from quatcast.testing.forecasters.common import (
    Make,
    begun,
    by_horizon,
    forecasts,
    of_online_forecasters,
    same_rows,
    update,
)
from quatcast.testing.tools import fingerprint, require, require_same


def satisfies_the_contract(make: Make, x: Floats) -> None:
    """Check methods, horizons, the shape of forecasts, and that a sample, which others may use, is not written into."""
    forecaster = make()
    require(satisfies_contract(forecaster), "a forecaster must have horizon, begin, forecast and learn, but has not")
    require(make() is not forecaster, "make must return a new forecaster at each call, but it returned the same one")
    require(forecaster.horizon >= 1, f"horizon must be a positive number of samples, but it is {forecaster.horizon}")
    if isinstance(forecaster, OnlineForecaster):
        require(not forecaster.begun, "a new forecaster must not have begun, but this one has a state")
    horizons = horizons_of(forecaster)
    require(
        horizons[-1] == forecaster.horizon, f"horizon must be the longest of {horizons}, but is {forecaster.horizon}"
    )
    shape = x.shape[1:] if getattr(forecaster, "horizons", None) is None else (len(horizons), *x.shape[1:])
    forecaster.begin((x.shape[1], x.shape[2]))
    shapes = set()
    for row in x:
        given = row.copy(), np.ones(len(row), dtype=bool)
        before = fingerprint(given)
        made = np.asarray(forecaster.forecast(*given), dtype=float)
        nothing = forecaster.learn()
        shapes.add(made.shape)
        require(
            len(shapes) == 1 and made.ndim - len(shape) in (0, 1) and made.shape[-len(shape) :] == shape,
            f"a forecast must have shape {shape}, always after a run axis or never, but there are {sorted(shapes)}",
        )
        require(nothing is None, f"learn must return None, but it returned {nothing!r}")
        require(fingerprint(given) == before, "forecast must not write into its arguments, but they have changed")


def forecasts_are_finite_after_warm_up(make: Make, x: Floats) -> None:
    """Check that forecasts of a smooth signal begin at some time, are finite from then on, and stay near the signal."""
    forecaster = begun(make, x)
    h, made = forecaster.horizon, forecasts(forecaster, x)
    finite = np.asarray(np.isfinite(made).all(axis=(-2, -1)))
    require(finite.any(), f"a smooth signal must be forecast, but there is no forecast after {len(x)} samples")
    first = int(finite.argmax())
    gaps = np.flatnonzero(~finite[first:])
    require(
        not len(gaps),
        f"forecasts of a smooth signal must be finite from the first on, at sample {first}, but not at {gaps + first}",
    )
    if len(x) > first + 2 * h:
        size, reach = np.abs(x).max(), np.abs(made[first:]).max()
        require(reach < 1e3 * size, f"forecasts must stay near the signal, below {size:g}, but one is {reach:g}")


@of_online_forecasters
def forecasts_depend_on_the_past_only(make: Make, x: Floats) -> None:
    """Check that `run` makes no use of samples that come after a forecast was made."""
    expected = by_horizon(make(), make().run(x))
    for t in (len(x) // 4, len(x) // 2, len(x) - 2):
        other = x.copy()
        other[t:] = other[t:][::-1] * 1.5 + 2.0
        promise = f"a forecast must not depend on later samples, here those from sample {t} on"
        for h, rows in by_horizon(make(), make().run(other)).items():
            same_rows(np.moveaxis(expected[h], -3, 0)[: t + h], np.moveaxis(rows, -3, 0)[: t + h], promise)


def begin_begins_anew(make: Make, x: Floats) -> None:
    """Check that `begin` forgets everything, and that a run repeats itself."""
    new = begun(make, x)
    expected = forecasts(new, x)
    for known in (len(x), len(x) // 3):
        used = begun(make, x)
        forecasts(used, x[:known] + 1.0)
        used.begin((x.shape[1], x.shape[2]))
        same_rows(expected, forecasts(used, x), f"begin must forget everything, here {known} samples")
    require(fingerprint(used) == fingerprint(new), "begin must forget everything, but the state is different")


@of_online_forecasters
def update_is_forecast_and_learn(make: Make, x: Floats) -> None:
    """Check that `update` gives what `begin`, `forecast` and `learn` give, and that `get_ready` changes nothing.

    Without samples that wait, `learn_some` is the same as `learn`.
    """
    by_update, by_hand = make(), begun(make, x)
    observed = np.ones(x.shape[1], dtype=bool)
    for t, row in enumerate(x):
        made = np.array(by_update.update(row.tolist()), dtype=float)
        answer = np.array(by_hand.forecast(row.copy(), observed.copy()), dtype=float)
        by_hand.learn_some(len(x))
        by_hand.get_ready()
        require_same(made, answer, "update must be forecast and learn", f"its result at sample {t}")
    require(fingerprint(by_update) == fingerprint(by_hand), "update must be forecast and learn, but the states differ")


@of_online_forecasters
def run_is_update_row_by_row(make: Make, x: Floats) -> None:
    """Check that `run` begins anew and puts the forecast made at sample t into row t + horizon, twice the same."""
    forecaster = make()
    first = forecaster.run(x)
    found, again = by_horizon(forecaster, first), by_horizon(forecaster, forecaster.run(x))
    require_same(again, found, "run must begin anew and repeat itself", "its second result")
    longest = forecaster.horizon
    require(first.horizon == longest, f"run must report the horizon {longest}, but it reports {first.horizon}")
    for h, rows in found.items():
        require(rows.shape[-3:] == x.shape, f"run must return positions of shape {x.shape}, but they have {rows.shape}")
        require(np.isnan(rows[..., :h, :, :]).all(), f"the first {h} samples cannot be forecast, but run gives numbers")
        weights, expected = np.shape(first.weights), (*rows.shape[:-3], len(x))
        require(weights == expected, f"run must return weights of shape {expected}, but they have {weights}")
    live = begun(make, x)
    for t, row in enumerate(x):
        made = update(live, row)
        for i, (h, rows) in enumerate(found.items()):
            answer = made if getattr(live, "horizons", None) is None else made[..., i, :, :]
            placed = answer if t + h >= len(x) else rows[..., t + h, :, :]
            require_same(placed, answer, "run must do what update does", f"the forecast made at sample {t}")
    require(fingerprint(forecaster) == fingerprint(live), "run must end like update row by row, but the states differ")


def learning_may_be_skipped(make: Make, x: Floats) -> None:
    """Check that `learn` may be left out after any forecast, and that learning goes on afterwards."""
    forecaster, observed = begun(make, x), np.ones(x.shape[1], dtype=bool)
    ready = False
    for t, row in enumerate(x):
        made = np.asarray(forecaster.forecast(row.copy(), observed), dtype=float)
        finite = bool(np.isfinite(made).all())
        require(
            finite or not ready, f"forecasts must go on if learn is left out now and then, but there is none at {t}"
        )
        ready = finite
        if t % 50 < 40 or t % 3 == 0:
            forecaster.learn()
    require(ready, "forecasts must begin even if learn is left out now and then, but there is none")


CHECKS = (
    satisfies_the_contract,
    forecasts_are_finite_after_warm_up,
    forecasts_depend_on_the_past_only,
    begin_begins_anew,
    update_is_forecast_and_learn,
    run_is_update_row_by_row,
    learning_may_be_skipped,
)
