"""The validation as heat maps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np
import plotly.graph_objects as go

from quatcast.evaluation.figures import grid_map
from quatcast.evaluation.protocol import TRACED_HORIZONS, choose
from quatcast.evaluation.records import Configuration, Tried, canonical
from quatcast.evaluation.store import Store
from quatcast.evaluation.summary import LABELS, in_order
from quatcast.forecasting.forecaster import Labels

ACROSS = {"lags": "lags [samples]", "hidden": "hidden [units]"}
UNITS = {"rate": "rate [–]", "sigma": "σ [std]", "forgetting": "forgetting [–]"}


def heat_maps(store: Store) -> list[tuple[tuple[str, ...], go.Figure]]:
    """Heat map of every predictor, label rule and horizon that a grid was tried for, by these in words.

    Of many horizons the first and the last are shown, as for traces.
    """
    cases: dict[tuple[str, Labels, float], list[Tried]] = defaultdict(list)
    for one in store.tried():
        cases[one.predictor, one.labels, one.horizon].append(one)
    horizons = sorted({horizon for _, _, horizon in cases})
    if len(horizons) > TRACED_HORIZONS:
        horizons = [horizons[0], horizons[-1]]
    order = product(in_order(name for name, _, _ in cases), LABELS, horizons)
    return [((case[0], LABELS[case[1]], f"{case[2]:g} s"), heat_map(cases[case])) for case in order if case in cases]


def heat_map(tried: Sequence[Tried]) -> go.Figure:
    """Mean validation RMSE of every configuration of one predictor, label rule and horizon."""
    names = {key for one in tried for key in one.configuration}
    across = [key for key in ACROSS if key in names]
    up = [*(key for key in UNITS if key in names), *sorted(names - set(UNITS) - set(ACROSS))]
    by_setting: dict[str, list[Tried]] = defaultdict(list)
    for one in sorted(tried, key=lambda one: _rank(one.configuration, across + up)):
        by_setting[canonical(one.configuration)].append(one)
    picked = Counter(canonical(configuration) for configuration in choose(tried).values())
    count = len({one.recording for one in tried})
    cells = {}
    for text, found in by_setting.items():
        words = f"chosen for {picked[text]} of {count} recordings"
        if diverged := sum(one.diverged for one in found):
            words += f"; {diverged} of {sum(one.runs for one in found)} runs diverged"
        at = _label(found[0].configuration, across), _label(found[0].configuration, up)
        cells[at] = (sum(one.rmse for one in found) / len(found), words)
    x_title = " / ".join(ACROSS[key] for key in across) or "configuration"
    y_title = ", ".join(UNITS.get(key, key) for key in up) or "configuration"
    labels = LABELS[tried[0].labels]
    return grid_map(cells, x_title, y_title, f"RMSE, {labels} [mm]")


def _label(configuration: Configuration, keys: Sequence[str]) -> str:
    """Values of some settings; a space keeps the browser from reading a number."""
    values = [configuration.get(key, "") for key in keys]
    shown = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    return " / ".join(shown) or "the only one"


def _rank(configuration: Configuration, keys: Sequence[str]) -> tuple[Any, ...]:
    """Order of configurations: by their numbers, words last."""
    values = (configuration.get(key, -np.inf) for key in keys)
    return tuple((1, 0.0, value) if isinstance(value, str) else (0, float(value), "") for value in values)
