"""Heat maps of the validation."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go

from quatcast.data.wording import with_unit
from quatcast.evaluation.catalogue import Predictor, describe, in_order
from quatcast.evaluation.protocol import choose
from quatcast.evaluation.records import Configuration, ValidationResult, canonical
from quatcast.evaluation.report.figures import grid_map
from quatcast.evaluation.summary import LABELS
from quatcast.forecasting.contract import Labels

MOST_HORIZONS = 4
"""With more horizons than this, heat maps are drawn for the first and the last only."""


def heat_maps(tried: Sequence[ValidationResult], unit: str = "") -> list[tuple[tuple[str, ...], go.Figure]]:
    """Return the heat map of every predictor, label rule and horizon with a validation, after these three as words.

    If there are many horizons, the first and the last are shown.
    """
    cases: dict[tuple[str, Labels, float], list[ValidationResult]] = defaultdict(list)
    for result in tried:
        cases[result.predictor, result.labels, result.horizon].append(result)
    horizons = sorted({horizon for _, _, horizon in cases})
    horizons = horizons if len(horizons) <= MOST_HORIZONS else [horizons[0], horizons[-1]]
    order = product(in_order(name for name, _, _ in cases), LABELS, horizons)
    return [
        ((case[0], LABELS[case[1]], f"{case[2]:g} s"), heat_map(cases[case], unit)) for case in order if case in cases
    ]


def heat_map(results: Sequence[ValidationResult], unit: str = "") -> go.Figure:
    """Draw the mean validation RMSE of every configuration of one predictor, label rule and horizon.

    Settings that determine the shape of arrays are on the horizontal axis, the others on the vertical one.
    """
    predictor = describe(results[0].predictor)
    names = {key for result in results for key in result.configuration}
    up = [key for key in predictor.along_runs if key in names]
    order = [*reversed(list(predictor.grid)), *sorted(names - set(predictor.grid))]
    across = [key for key in order if key in names and key not in up]
    by_setting: dict[str, list[ValidationResult]] = defaultdict(list)
    for result in sorted(results, key=lambda result: _rank(result.configuration, across + up)):
        by_setting[canonical(result.configuration)].append(result)
    chosen = Counter(canonical(configuration) for configuration in choose(results).values())
    count = len({result.recording for result in results})
    cells = {}
    for text, same in by_setting.items():
        words = f"chosen for {chosen[text]} of {count} recordings"
        if diverged := sum(result.diverged for result in same):
            words += f"; {diverged} of {sum(result.runs for result in same)} runs diverged"
        at = _label(same[0].configuration, across), _label(same[0].configuration, up)
        cells[at] = (sum(result.rmse for result in same) / len(same), words)
    rule = LABELS[results[0].labels]
    return grid_map(cells, _title(predictor, across), _title(predictor, up), f"RMSE, {rule}", unit)


def _title(predictor: Predictor, keys: Sequence[str]) -> str:
    return " / ".join(with_unit(key.replace("_", " "), predictor.units.get(key, "")) for key in keys) or "configuration"


def _label(configuration: Configuration, keys: Sequence[str]) -> str:
    """Return the values of some settings as text."""
    values = [configuration.get(key, "") for key in keys]
    return " / ".join(f"{value:g}" if isinstance(value, float) else str(value) for value in values) or "single"


def _rank(configuration: Configuration, keys: Sequence[str]) -> tuple[Any, ...]:
    """Return the sort key of a configuration: numbers in their order, words last."""
    values = (configuration.get(key, -np.inf) for key in keys)
    return tuple((1, 0.0, value) if isinstance(value, str) else (0, float(value), "") for value in values)
