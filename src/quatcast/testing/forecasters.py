"""Checks of forecasters: what everything that satisfies the online contract promises."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.forecasting.contract import OnlineForecaster, mark_of, rewind_to, satisfies_contract
from quatcast.learners import Learner
from quatcast.testing.tools import fingerprint, interrupted, interruption_points, require
from quatcast.typing import Floats

Make = Callable[[], Any]
ForecasterCheck = Callable[[Make, Floats], None]

POINTS = 12
"""Number of places at which one step is interrupted, and number of moments at which a forecaster is saved."""
AFTERWARDS = 5
"""Number of samples over which two forecasters are compared after such a moment."""


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
    x = smooth_positions() if positions is None else np.array(positions, dtype=float)
    for check in forecaster_checks():
        check(make, x)


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


def forecaster_checks() -> tuple[ForecasterCheck, ...]:
    """Return the checks that `check_forecaster` runs, to run them one by one.

    Examples
    --------
    >>> forecaster_checks()[0].__name__
    'satisfies_the_contract'
    """
    return (
        satisfies_the_contract,
        forecasts_are_finite_after_warm_up,
        forecasts_depend_on_the_past_only,
        begin_begins_anew,
        update_is_forecast_and_learn,
        run_is_update_row_by_row,
        learning_may_be_skipped,
        samples_are_neither_changed_nor_kept,
        unobserved_channels_are_not_learnt_from,
        copies_continue_alike,
        saved_forecasters_continue_alike,
        clones_know_nothing,
        bad_samples_are_refused,
        rewind_undoes_every_step,
        interrupted_steps_change_nothing,
    )


def _begun(make: Make, x: Floats) -> Any:
    forecaster = make()
    forecaster.begin((x.shape[1], x.shape[2]))
    return forecaster


def _update(forecaster: Any, sample: Floats) -> Floats:
    """Do one step and return the forecast."""
    if isinstance(forecaster, OnlineForecaster):
        return np.array(forecaster.update(sample), dtype=float)
    made = np.array(forecaster.forecast(sample.copy(), np.ones(len(sample), dtype=bool)), dtype=float)
    forecaster.learn()
    return made


def _forecasts(forecaster: Any, x: Floats) -> Floats:
    """Return the forecasts that are made at each sample, without a run axis: their mean over runs."""
    made = [_update(forecaster, row) for row in x]
    return np.stack([one.mean(axis=0) if one.ndim == 3 else one for one in made])


def _same_rows(one: Floats, other: Floats, promise: str) -> None:
    for t, (a, b) in enumerate(zip(one, other, strict=True)):
        require(fingerprint(a) == fingerprint(b), f"{promise}, but at sample {t} one is {a} and the other {b}")


def _moments(x: Floats) -> Iterator[int]:
    """Yield the numbers of samples after which to look closely: the first two, and some spread over the recording."""
    yield from sorted({0, 1, *np.linspace(2, len(x) - AFTERWARDS, POINTS).astype(int).tolist()})


# What is forecast.


def satisfies_the_contract(make: Make, x: Floats) -> None:
    """Check methods, horizon, and the shape of forecasts."""
    forecaster = make()
    require(satisfies_contract(forecaster), "a forecaster must have horizon, begin, forecast and learn, but has not")
    require(make() is not forecaster, "make must return a new forecaster at each call, but it returned the same one")
    require(forecaster.horizon >= 1, f"horizon must be a positive number of samples, but it is {forecaster.horizon}")
    if isinstance(forecaster, OnlineForecaster):
        require(not forecaster.begun, "a new forecaster must not have begun, but this one has a state")
    forecaster.begin((x.shape[1], x.shape[2]))
    for row in x[:3]:
        made = np.asarray(forecaster.forecast(row, np.ones(len(row), dtype=bool)), dtype=float)
        nothing = forecaster.learn()
        expected = f"{row.shape}, or (runs, {row.shape[0]}, {row.shape[1]})"
        require(
            made.ndim in (2, 3) and made.shape[-2:] == row.shape,
            f"a forecast must have shape {expected}, but it has {made.shape}",
        )
        require(nothing is None, f"learn must return None, but it returned {nothing!r}")


def forecasts_are_finite_after_warm_up(make: Make, x: Floats) -> None:
    """Check that forecasts of a smooth signal begin at some time, are finite from then on, and follow the signal."""
    forecaster = _begun(make, x)
    h, made = forecaster.horizon, _forecasts(forecaster, x)
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


def forecasts_depend_on_the_past_only(make: Make, x: Floats) -> None:
    """Check that `run` makes no use of samples that come after a forecast was made."""
    forecaster = make()
    if not isinstance(forecaster, OnlineForecaster):
        return
    expected = np.moveaxis(np.asarray(forecaster.run(x), dtype=float), -3, 0)
    for t in (len(x) // 4, len(x) // 2, len(x) - 2):
        other = x.copy()
        other[t:] = other[t:][::-1] * 1.5 + 2.0
        made = np.moveaxis(np.asarray(make().run(other), dtype=float), -3, 0)
        until = t + forecaster.horizon
        promise = f"a forecast must not depend on later samples, here those from sample {t} on"
        _same_rows(expected[:until], made[:until], promise)


# The methods of the contract agree.


def begin_begins_anew(make: Make, x: Floats) -> None:
    """Check that `begin` forgets everything, and that a run repeats itself."""
    new = _begun(make, x)
    expected = _forecasts(new, x)
    for known in (len(x), len(x) // 3):
        used = _begun(make, x)
        _forecasts(used, x[:known] + 1.0)
        used.begin((x.shape[1], x.shape[2]))
        _same_rows(expected, _forecasts(used, x), f"begin must forget everything, here {known} samples")
    require(fingerprint(used) == fingerprint(new), "begin must forget everything, but the state is different")


def update_is_forecast_and_learn(make: Make, x: Floats) -> None:
    """Check that `update` gives what `begin`, `forecast` and `learn` give."""
    if not isinstance(make(), OnlineForecaster):
        return
    by_update, by_hand = make(), _begun(make, x)
    observed = np.ones(x.shape[1], dtype=bool)
    for t, row in enumerate(x):
        made = np.array(by_update.update(row.tolist()), dtype=float)
        answer = np.array(by_hand.forecast(row.copy(), observed.copy()), dtype=float)
        by_hand.learn()
        require(
            fingerprint(made) == fingerprint(answer),
            f"update must be forecast and learn, but at sample {t} it gives {made} instead of {answer}",
        )
    require(fingerprint(by_update) == fingerprint(by_hand), "update must be forecast and learn, but the states differ")


def run_is_update_row_by_row(make: Make, x: Floats) -> None:
    """Check that `run` begins anew and puts the forecast made at sample t into row t + horizon, twice the same."""
    forecaster = make()
    if not isinstance(forecaster, OnlineForecaster):
        return
    first = forecaster.run(x)
    again = np.asarray(forecaster.run(x), dtype=float)
    rows = np.asarray(first, dtype=float)
    h = forecaster.horizon
    require(rows.shape[-3:] == x.shape, f"run must return positions of shape {x.shape}, but they have {rows.shape}")
    require(first.horizon == h, f"run must report the horizon {h}, but it reports {first.horizon}")
    require(fingerprint(rows) == fingerprint(again), "run must begin anew and repeat itself, but it gives other values")
    require(np.isnan(rows[..., :h, :, :]).all(), f"the first {h} samples cannot be forecast, but run gives numbers")
    live = _begun(make, x)
    for t, row in enumerate(x):
        made = _update(live, row)
        expected = made if t + h >= len(x) else rows[..., t + h, :, :]
        require(
            fingerprint(made) == fingerprint(np.ascontiguousarray(expected)),
            f"run must do what update does, but the forecast made at sample {t} is {expected} instead of {made}",
        )
    require(fingerprint(forecaster) == fingerprint(live), "run must end like update row by row, but the states differ")


def learning_may_be_skipped(make: Make, x: Floats) -> None:
    """Check that `learn` may be left out after any forecast, and that learning goes on afterwards."""
    forecaster, observed = _begun(make, x), np.ones(x.shape[1], dtype=bool)
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


# Samples.


def samples_are_neither_changed_nor_kept(make: Make, x: Floats) -> None:
    """Check that `update` writes into no sample and that writing into it or into a forecast afterwards is harmless."""
    if not isinstance(make(), OnlineForecaster):
        return
    undisturbed, disturbed = make(), make()
    for t, row in enumerate(x):
        expected = np.array(undisturbed.update(row), dtype=float)
        lent, observed = row.copy(), np.ones(len(row), dtype=bool)
        made = disturbed.update(lent, observed)
        require(fingerprint(lent) == fingerprint(row), f"update must not write into the sample, but did at sample {t}")
        require(
            fingerprint(np.array(made, dtype=float)) == fingerprint(expected),
            f"a forecaster must copy samples and return copies, but writing into these arrays changed forecast {t}",
        )
        lent[...], observed[...] = np.nan, False
        if isinstance(made, np.ndarray) and made.flags.writeable:
            made[...] = np.nan


def _learners(value: Any) -> list[Learner]:
    """Return the learners within the settings of an object."""
    if isinstance(value, Learner):
        return [value]
    if isinstance(value, OnlineForecaster):
        return _learners(value.settings())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [learner for part in parts for learner in _learners(part)]


def unobserved_channels_are_not_learnt_from(make: Make, x: Floats) -> None:
    """Check that the position of a channel that was not observed does not change what learners have learnt.

    Such a position may serve as an input, so that only a look at the learners within a forecaster tells: in the last
    quarter of the recording, when all scales are known, their parameters must not depend on it. A forecaster without
    learners is not checked.
    """
    forecaster = make()
    if not isinstance(forecaster, OnlineForecaster):
        return
    for t, row in enumerate(x):
        if t >= 0.75 * len(x) and t % 5 == 0:
            observed = np.arange(len(row)) != t % len(row)
            one, other = copy.deepcopy(forecaster), copy.deepcopy(forecaster)
            one.update(row, observed)
            other.update(np.where(observed[:, None], row, row + 10.0), observed)
            for learner, changed in zip(_learners(one), _learners(other), strict=True):
                require(
                    fingerprint(learner.parameters()) == fingerprint(changed.parameters()),
                    f"channels that were not observed must not be learnt from, but {learner!r} did at sample {t}",
                )
        forecaster.update(row)


def bad_samples_are_refused(make: Make, x: Floats) -> None:
    """Check that `update` refuses what is not a sample, also when it begins, and that nothing changes.

    NaN and infinity are either refused, or accepted as positions that are missing.
    """
    if not isinstance(make(), OnlineForecaster):
        return
    row = x[-1]
    bad = {
        "one axis less": row[0],
        "one axis more": row[None],
        "no channel": row[:0],
        "another number of channels": np.concatenate([row, row]),
        "complex numbers": row + 0j,
        "truth values": row > 0,
        "texts": row.astype(str).tolist(),
        "rows of different lengths": [[1.0, 2.0], [3.0]],
        "NaN": np.where(np.arange(row.size).reshape(row.shape) == 0, np.nan, row),
        "infinity": np.where(np.arange(row.size).reshape(row.shape) == 1, np.inf, row),
    }
    for known in (0, 2, len(x) - 1):
        forecaster = make()
        for sample in x[:known]:
            forecaster.update(sample)
        for kind, sample in bad.items():
            if kind.startswith("another") and not known:
                continue
            _refused(forecaster, sample, None, f"a sample with {kind}", kind in ("NaN", "infinity"))
        for mask in ([True], [1] * len(row), "no", np.ones((1, len(row)), dtype=bool)):
            _refused(forecaster, row, mask, f"the mask {mask!r}", len(row) == 1)


def _refused(forecaster: OnlineForecaster, sample: Any, observed: Any, what: str, may_accept: bool) -> None:
    before, mark = fingerprint(forecaster), forecaster.mark()
    try:
        forecaster.update(sample, observed)
    except ValueError as error:
        name = "sample" if observed is None else "observed"
        require(str(error).startswith(f"{name}: "), f"the error for {what} must begin with '{name}: ', but is {error}")
        require(fingerprint(forecaster) == before, f"{what} must change nothing, but the state is different afterwards")
    else:
        require(may_accept, f"{what} must be refused with a ValueError, but it was accepted")
        forecaster.rewind(mark)


# Copies, files, and steps that are undone.


def copies_continue_alike(make: Make, x: Floats) -> None:
    """Check that pickled and copied forecasters continue bit for bit, and independently of the original."""
    _check_duplicates(_begun(make, x), x, "pickled", lambda original: pickle.loads(pickle.dumps(original)))
    _check_duplicates(_begun(make, x), x, "copied", copy.deepcopy)


def saved_forecasters_continue_alike(make: Make, x: Floats) -> None:
    """Check that a forecaster that is saved and loaded, between any two samples, continues bit for bit."""
    forecaster = make()
    if not isinstance(forecaster, OnlineForecaster):
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / "forecaster"

        def reload(original: Any) -> Any:
            original.save(path)
            return type(original).load(path)

        _check_duplicates(forecaster, x, "saved and loaded", reload)


def _check_duplicates(forecaster: Any, x: Floats, how: str, duplicate: Callable[[Any], Any]) -> None:
    """Require that duplicates made at several moments do for some samples what the original does."""
    moments, duplicates = set(_moments(x)), dict[int, Any]()
    for t, row in enumerate(x):
        if t in moments:
            duplicates[t] = duplicate(forecaster)
            require(
                fingerprint(duplicates[t]) == fingerprint(forecaster),
                f"a forecaster that is {how} after {t} samples must equal the original, but its state is different",
            )
        made = _update(forecaster, row)
        for since, other in list(duplicates.items()):
            got = _update(other, row)
            require(
                fingerprint(got) == fingerprint(made),
                f"a forecaster that is {how} after {since} samples must continue like the original, but the forecast "
                f"at sample {t} is {got} instead of {made}",
            )
            if t - since == AFTERWARDS:
                del duplicates[since]


def clones_know_nothing(make: Make, x: Floats) -> None:
    """Check that a clone has the same settings and has not begun."""
    forecaster = make()
    if not isinstance(forecaster, OnlineForecaster):
        return
    _forecasts(forecaster, x[: len(x) // 2])
    clone = forecaster.clone()
    require(not clone.begun, "a clone must not have begun, but it has a state")
    require(fingerprint(clone) == fingerprint(make()), "a clone must equal a new forecaster, but it does not")
    _same_rows(_forecasts(make(), x), _forecasts(clone, x), "a clone must forecast like a new forecaster")


def rewind_undoes_every_step(make: Make, x: Floats) -> None:
    """Check that any step can be undone exactly."""
    forecaster, twin = _begun(make, x), _begun(make, x)
    for t, row in enumerate(x):
        # Every forecast is compared with that of a twin; a look at the whole state is slow and taken now and then.
        thorough = t < 10 or t % 10 == 0
        before, mark = fingerprint(forecaster) if thorough else "", mark_of(forecaster)
        _update(forecaster, row[::-1] + 0.5)
        rewind_to(forecaster, mark)
        require(
            not thorough or fingerprint(forecaster) == before,
            f"rewind must undo a step exactly, but after sample {t} the state is different",
        )
        made, expected = _update(forecaster, row), _update(twin, row)
        require(
            fingerprint(made) == fingerprint(expected),
            f"steps that were undone must not matter, but the forecast at sample {t} is {made} instead of {expected}",
        )
    require(fingerprint(forecaster) == fingerprint(twin), "steps that were undone must not matter, but states differ")


def interrupted_steps_change_nothing(make: Make, x: Floats) -> None:
    """Check that `update` happens completely or not at all, wherever an error occurs in it."""
    forecaster, moments = make(), set(_moments(x))
    if not isinstance(forecaster, OnlineForecaster):
        return
    for t, row in enumerate(x):
        if t in moments:
            for at in interruption_points(lambda: partial(copy.deepcopy(forecaster).update, row), POINTS):  # noqa: B023
                before = fingerprint(forecaster)
                if not interrupted(partial(forecaster.update, row), at):
                    break
                require(
                    fingerprint(forecaster) == before,
                    f"a step must happen completely or not at all, but one that failed after {at} calls at sample {t} "
                    "has changed the state",
                )
        forecaster.update(row)
