"""Estimates of what an experiment needs: one that this machine cannot do is refused before it begins."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from quatcast.basics.limits import check_memory
from quatcast.data.recording import Recording
from quatcast.evaluation.catalogue import Predictor, find_predictor
from quatcast.evaluation.run.execution import cores
from quatcast.evaluation.run.settings import Settings

STEP = 3e-5
"""Seconds of a step of a small network on one core."""
WEIGHTS = 10_000
"""Hidden weights whose arithmetic takes as long as the rest of a step."""
BYTES_PER_RUN = 500
"""Memory that the plan needs for a run before it is computed."""
WORKING_SHARE = 3
"""Memory of a worker in multiples of the past weights of its runs."""
MOST_CONFIGURATIONS = 1_000_000
MOST_SECONDS = 366 * 24 * 3600.0
"""Longest computation that is begun: a year."""


class Need(NamedTuple):
    """The runs of one predictor in one stage: how many, and the seconds that they take on one core."""

    setting: str
    runs: int
    seconds: float


def check_needs(recordings: Sequence[Recording], settings: Settings) -> None:
    """Raise a ValueError that names the setting and the estimate if an experiment is too large for this machine.

    Parameters
    ----------
    recordings, settings
        What to compute.
    """
    for name in settings.predictors:
        _check_memory(find_predictor(name), settings)
    needs = list(_needs(recordings, settings))
    runs, largest = sum(need.runs for need in needs), max(needs, key=lambda need: need.seconds)
    check_memory(largest.setting, BYTES_PER_RUN * float(runs), f"{runs:,} runs are too many to plan")
    workers = settings.workers or cores()
    seconds = sum(need.seconds for need in needs) / workers
    if settings.device == "cpu" and not settings.cluster and seconds > MOST_SECONDS:
        raise ValueError(
            f"{largest.setting}: {runs:,} runs need about {seconds / MOST_SECONDS:,.0f} years with {workers} workers, "
            "expected less than one year; use fewer seeds, fewer values in the grids, or a cluster"
        )


def _check_memory(predictor: Predictor, settings: Settings) -> None:
    """Raise a ValueError if the configurations of a predictor, or one run of it, do not fit into memory."""
    grid = settings.grids[predictor.name]
    count = math.prod(len(values) for values in grid.values())
    if count > MOST_CONFIGURATIONS:
        raise ValueError(
            f"grids.{predictor.name}: expected at most {MOST_CONFIGURATIONS:,} configurations, got {count:,}"
        )
    if "hidden" in grid and not settings.cluster and settings.device == "cpu":
        hidden = max(grid["hidden"])
        needed = WORKING_SHARE * predictor.history_bytes({"hidden": hidden})
        advice = f"got {hidden:,} hidden units; use fewer"
        check_memory(f"grids.{predictor.name}.hidden", float(needed), advice)


def _needs(recordings: Sequence[Recording], settings: Settings) -> Iterator[Need]:
    cases = len(settings.horizons) * sum(len(recording) for recording in recordings)
    lines = max(recording.positions.shape[1] for recording in recordings)
    for predictor in map(find_predictor, settings.predictors):
        grid = settings.grids[predictor.name]
        count = math.prod(len(values) for values in grid.values())
        hidden, lags = (max(grid.get(key, [1])) for key in ("hidden", "lags"))
        step = STEP * (1.0 + hidden * (hidden + lags * lines) / WEIGHTS)
        rules = sum(rule in predictor.labels for rule in settings.labels)
        for key, configurations in (("validation_seeds", count if count > 1 else 0), ("test_seeds", 1)):
            runs = configurations * rules * (getattr(settings, key) if predictor.seeded else 1)
            every = runs * len(settings.horizons) * len(recordings)
            # Runs of one shape are computed side by side, which takes a tenth of the time of one after the other.
            yield Need(key, every, 0.1 * float(runs) * cases * step)
