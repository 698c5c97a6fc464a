"""Checks of copies and files of a forecaster: they continue like the original, and clones begin anew."""

from __future__ import annotations

import copy

from quatcast.basics.typing import Floats
from quatcast.testing.forecasters.common import (
    AFTERWARDS,
    Make,
    begun,
    forecasts,
    moments,
    of_online_forecasters,
    same_rows,
    steps,
)
from quatcast.testing.tools import fingerprint, pickled, reloaded, require, require_continuing


def copies_continue_alike(make: Make, x: Floats) -> None:
    """Check that pickled and copied forecasters continue bit for bit, and independently of the original."""
    for how, duplicate in (("pickled", pickled), ("copied", copy.deepcopy)):
        require_continuing(begun(make, x), steps(x), moments(x), how, duplicate, AFTERWARDS)


@of_online_forecasters
def saved_forecasters_continue_alike(make: Make, x: Floats) -> None:
    """Check that a forecaster that is saved and loaded, between any two samples, continues bit for bit."""
    require_continuing(make(), steps(x), moments(x), "saved and loaded", reloaded, AFTERWARDS)


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
