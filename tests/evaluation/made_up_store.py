"""A store of made-up results, with everything in it that a report may have to show."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quatcast.data import Recording
from quatcast.evaluation import Result, Store, Timing
from quatcast.evaluation.records import NewTrace

SAMPLES = 700
RECORDINGS = (("one", "irregular"), ("two", "regular"), ("three", "regular"))
CHANNELS = ("chest", "abdomen")
PREDICTORS = ("QRNN-MCC", "LMS", "recommended", "persistence")
SETTINGS = 'profile = "quick"\ndata = "simulated"\n'

BASE = {"QRNN-MCC": 3.0, "LMS": 4.0, "recommended": 2.0, "persistence": 6.0}
"""RMSE of each predictor, causal, at 2 s on the first recording."""


def rmse(predictor: str, labels: str, horizon: float, recording: int, seed: int) -> float:
    """What the made-up results say; look-ahead is a third of causal, but for persistence."""
    value = BASE[predictor] * horizon / 2.0 + 0.5 * recording + 0.1 * seed
    return value / 3.0 if labels == "lookahead" and predictor != "persistence" else value


def seeds(predictor: str) -> range:
    return range(3) if predictor == "QRNN-MCC" else range(1)


def rules(predictor: str) -> tuple[str, ...]:
    return ("causal",) if predictor == "recommended" else ("causal", "lookahead")


def grid(predictor: str) -> list[dict[str, Any]]:
    if predictor == "LMS":
        return [{"lags": lags, "learning_rate": rate} for lags in (10, 30) for rate in (0.01, 0.05)]
    if predictor == "QRNN-MCC":
        return [
            {"hidden": 10, "lags": lags, "learning_rate": rate, "sigma": sigma}
            for lags in (10, 30)
            for rate in (0.02, 0.1)
            for sigma in (2.0, "adaptive")
        ]
    return [{}]


def result(stage: Any, labels: Any, horizon: float, predictor: str, configuration: Any, at: int, seed: int) -> Result:
    name, group = RECORDINGS[at]
    lost = predictor == "QRNN-MCC" and labels == "lookahead" and (at, seed) == (0, 2)
    value = np.nan if lost else rmse(predictor, labels, horizon, at, seed)
    scores = (value, value / 10, value * 0.8, value / 20, value * 3)
    return Result(stage, labels, horizon, predictor, configuration, name, seed, group, *scores, lost, 0.001)


def results(stages: Iterable[str], predictors: Sequence[str], horizons: Sequence[float], count: int) -> list[Result]:
    rows = []
    for stage in stages:
        for predictor in predictors:
            tried = grid(predictor)
            if stage == "validation" and len(tried) == 1:
                continue
            for configuration in tried if stage == "validation" else tried[:1]:
                for labels in rules(predictor):
                    for horizon in horizons:
                        for at in range(count):
                            for seed in seeds(predictor):
                                rows.append(result(stage, labels, horizon, predictor, configuration, at, seed))
    return rows


def recording(at: int, dimensions: int = 3, unit: str = "mm") -> Recording:
    name, group = RECORDINGS[at]
    times = np.arange(SAMPLES) / 10
    waves = [np.sin(times * 1.5 + c + at)[:, None] * np.arange(1, dimensions + 1) for c in range(2)]
    positions = np.stack(waves, axis=1)
    positions[620, 0] = np.nan
    return Recording(name, positions, times, rate=10.0, group=group, channels=CHANNELS, units=(unit,) * len(CHANNELS))


def trace(labels: Any, horizon: float, predictor: str, about: Recording) -> NewTrace:
    ahead = round(10 * horizon)
    forecast = np.full_like(about.positions, np.nan)
    forecast[ahead:] = np.nan_to_num(about.positions[:-ahead])
    weight = np.where(np.arange(SAMPLES) % 50 == 0, 0.1, 1.0) if predictor == "QRNN-MCC" else np.ones(SAMPLES)
    arrays = {"forecast": forecast, "weight": weight}
    if predictor == "recommended":
        arrays["radius"] = np.full((SAMPLES, 2), 2.0)
        arrays["status"] = np.repeat([0, 1, 2, 3, 1], SAMPLES // 5)
        arrays["replaced"] = np.zeros((SAMPLES, 2))
        arrays["replaced"][[100, 650], [0, 1]] = 1
    return NewTrace(labels, horizon, predictor, {}, 0, about.name, arrays)


def make(
    path: Path,
    *,
    stages: Iterable[str] = ("validation", "test"),
    predictors: Sequence[str] = PREDICTORS,
    horizons: Sequence[float] = (0.5, 2.0),
    count: int = len(RECORDINGS),
    dimensions: int = 3,
    traces: bool = True,
    data: str = "simulated",
    settings: str | None = None,
    units: Sequence[str] = ("mm", "mm", "mm"),
) -> Path:
    """Write the store and give its path."""
    with Store(path, create=True) as store:
        abouts = [recording(at, dimensions, units[at % len(units)]) for at in range(count)]
        store.add_recordings(abouts)
        kept = [
            trace(labels, horizon, predictor, about)
            for about in abouts
            for predictor in predictors
            for labels in rules(predictor)
            for horizon in horizons
        ]
        store.add(results(stages, predictors, horizons, count), kept if traces else [])
        store.add_meta(
            settings=SETTINGS if settings is None else settings,
            version="9.9",
            data=data,
            machine="2 cores",
            started="2030-01-01T10:00:00",
        )
        store.add_meta(finished="")
        if "test" in stages:
            store.add_timing(Timing("LMS", {"lags": 90}, 0.05))
            store.add_meta(finished="2030-01-01T11:00:00", elapsed="3600.0")
    return path
