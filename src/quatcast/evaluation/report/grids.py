"""The validation as heat maps."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from quatcast.evaluation.figures import grid_map
from quatcast.evaluation.metrics import estimate, pool
from quatcast.evaluation.protocol import TRACED_HORIZONS, choose
from quatcast.evaluation.records import Configuration, Result, canonical
from quatcast.evaluation.store import Store
from quatcast.evaluation.summary import LABELS, in_order

ACROSS = {"lags": "lags [samples]", "hidden": "hidden [units]"}
UNITS = {"rate": "rate [–]", "sigma": "σ [std]", "forgetting": "forgetting [–]"}


def heat_maps(store: Store) -> list[tuple[tuple[str, ...], go.Figure]]:
    """Heat map of every predictor, label rule and horizon that a grid was tried for, by these in words.

    Of many horizons the first and the last are shown, as for traces.
    """
    stored = store.keys()
    cases = {(key[3], key[1], key[2]) for key in stored if key[0] == "validation"}
    horizons = sorted({horizon for _, _, horizon in cases})
    if len(horizons) > TRACED_HORIZONS:
        cases = {case for case in cases if case[2] in (horizons[0], horizons[-1])}
    maps: list[tuple[tuple[str, ...], go.Figure]] = []
    for predictor in in_order(name for name, _, _ in cases):
        for rule, title in LABELS.items():
            for horizon in sorted(h for name, labels, h in cases if (name, labels) == (predictor, rule)):
                tried = store.results("validation", labels=rule, horizon=horizon, predictor=predictor)
                maps.append(((predictor, title, f"{horizon:g} s"), heat_map(tried)))
    return maps


def heat_map(results: Sequence[Result]) -> go.Figure:
    """Mean validation RMSE of every configuration of one predictor, label rule and horizon."""
    names = {key for result in results for key in result.configuration}
    across = [key for key in ACROSS if key in names]
    up = [*(key for key in UNITS if key in names), *sorted(names - set(UNITS) - set(ACROSS))]
    runs: dict[str, dict[str, list[Result]]] = defaultdict(lambda: defaultdict(list))
    for result in results:
        runs[canonical(result.configuration)][result.recording].append(result)
    picked = Counter(canonical(configuration) for configuration in choose(results).values())
    count = len({result.recording for result in results})
    cells = {}
    by_setting = sorted(
        runs.items(), key=lambda item: _rank(next(iter(item[1].values()))[0].configuration, across + up)
    )
    for text, recordings in by_setting:
        configuration = next(iter(recordings.values()))[0].configuration
        found = pool(estimate(run.rmse for run in of_one) for of_one in recordings.values())
        words = f"chosen for {picked[text]} of {count} recordings"
        if found.diverged:
            words += f"; {found.diverged} of {found.runs + found.diverged} runs diverged"
        at = _label(configuration, across), _label(configuration, up)
        cells[at] = (found.mean, words)
    x_title = " / ".join(ACROSS[key] for key in across) or "configuration"
    y_title = ", ".join(UNITS.get(key, key) for key in up) or "configuration"
    labels = LABELS[results[0].labels]
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
