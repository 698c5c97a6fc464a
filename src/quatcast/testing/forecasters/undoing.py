"""Checks of steps that are interrupted or taken back: nothing of them remains in a forecaster."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

from quatcast.basics.typing import Floats
from quatcast.testing.forecasters.common import POINTS, Make, begun, moments, of_online_forecasters, steps, update
from quatcast.testing.tools import fingerprint, interrupted, interruption_points, require, require_undoing

CALLS = (0, 50, 1000, 10_000)
"""Numbers of function calls after which a run is interrupted."""


def rewind_undoes_every_step(make: Make, x: Floats) -> None:
    """Check that any step can be undone exactly, also twice from one mark."""

    def wrong(forecaster: Any, t: int, attempt: int) -> None:
        update(forecaster, x[t, ::-1] + 0.5 + attempt)

    require_undoing(begun(make, x), begun(make, x), steps(x), wrong, thorough_every=10)


@of_online_forecasters
def interrupted_steps_change_nothing(make: Make, x: Floats) -> None:
    """Check that `update` happens completely or not at all, wherever an error occurs in it."""
    forecaster, when = make(), moments(x)
    for t, row in enumerate(x):
        if t in when:
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


@of_online_forecasters
def interrupted_runs_change_nothing(make: Make, x: Floats) -> None:
    """Check that a run that fails leaves the forecaster as it was before, not half way through the recording."""
    forecaster = make()
    for row in x[:5]:
        forecaster.update(row)
    before = fingerprint(forecaster)
    for at in CALLS:
        if not interrupted(partial(forecaster.run, x), at):
            break
        require(
            fingerprint(forecaster) == before,
            f"a run must leave nothing behind if it fails, but one that failed after {at} calls has changed the state",
        )


CHECKS = (rewind_undoes_every_step, interrupted_steps_change_nothing, interrupted_runs_change_nothing)
