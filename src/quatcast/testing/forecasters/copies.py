"""Checks of copies and files of a forecaster: they continue like the original, and clones begin anew."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from quatcast.basics.typing import Floats
from quatcast.testing.forecasters.common import (
    AFTERWARDS,
    Make,
    begun,
    forecasts,
    moments,
    of_online_forecasters,
    same_rows,
    update,
)
from quatcast.testing.tools import fingerprint, require


def copies_continue_alike(make: Make, x: Floats) -> None:
    """Check that pickled and copied forecasters continue bit for bit, and independently of the original."""
    _check_duplicates(begun(make, x), x, "pickled", lambda original: pickle.loads(pickle.dumps(original)))
    _check_duplicates(begun(make, x), x, "copied", copy.deepcopy)


@of_online_forecasters
def saved_forecasters_continue_alike(make: Make, x: Floats) -> None:
    """Check that a forecaster that is saved and loaded, between any two samples, continues bit for bit."""
    forecaster = make()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "forecaster"

        def reload(original: Any) -> Any:
            original.save(path)
            return type(original).load(path)

        _check_duplicates(forecaster, x, "saved and loaded", reload)


def _check_duplicates(forecaster: Any, x: Floats, how: str, duplicate: Callable[[Any], Any]) -> None:
    """Require that duplicates made at several moments do for some samples what the original does."""
    when, duplicates = set(moments(x)), dict[int, Any]()
    for t, row in enumerate(x):
        if t in when:
            duplicates[t] = duplicate(forecaster)
            require(
                fingerprint(duplicates[t]) == fingerprint(forecaster),
                f"a forecaster that is {how} after {t} samples must equal the original, but its state is different",
            )
        made = update(forecaster, row)
        for since, other in list(duplicates.items()):
            got = update(other, row)
            require(
                fingerprint(got) == fingerprint(made),
                "a forecaster that is {} after {} samples must continue like the original, but the forecast at sample "
                "{} is {} instead of {}",
                *(how, since, t, got, made),
            )
            if t - since == AFTERWARDS:
                del duplicates[since]


@of_online_forecasters
def clones_know_nothing(make: Make, x: Floats) -> None:
    """Check that a clone has the same settings and has not begun."""
    forecaster = make()
    forecasts(forecaster, x[: len(x) // 2])
    clone = forecaster.clone()
    require(not clone.begun, "a clone must not have begun, but it has a state")
    require(fingerprint(clone) == fingerprint(make()), "a clone must equal a new forecaster, but it does not")
    same_rows(forecasts(make(), x), forecasts(clone, x), "a clone must forecast like a new forecaster")


CHECKS = (copies_continue_alike, saved_forecasters_continue_alike, clones_know_nothing)
