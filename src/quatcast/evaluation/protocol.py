"""The published protocol, as far as both experiments and reports need it: its constants and its rules.

Samples are counted from 1 here, as in the paper. The scaling is fitted to samples 1…300. Validation learns online over
samples 1…600 with every configuration of the grid and scores the forecasts of samples 301…600. The configuration with
the smallest mean RMSE over the seeds is chosen separately for each recording, predictor, horizon and label rule. The
test learns online over the whole recording with that configuration and scores the forecasts of samples 601 and later.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from quatcast.data.recording import Recording
from quatcast.evaluation.records import Configuration, ValidationResult, canonical
from quatcast.forecasting.contract import Labels
from quatcast.typing import Floats

TRAIN = 300
"""Samples that the scaling is fitted to; validation scores those after them."""
VALIDATION = 600
"""Samples of the validation; the test scores those after them."""
TRACED_HORIZONS = 4
"""With more horizons than this, traces are stored for the first and the last only."""

Case = tuple[Labels, float, str, str]
"""Labels, horizon in seconds, predictor and recording: what a configuration is chosen for."""


def traced_horizons(horizons: Sequence[float]) -> list[float]:
    """Return the horizons whose forecasts are stored and shown in detail.

    Examples
    --------
    >>> traced_horizons([0.5, 1.0, 1.5, 2.0, 2.5])
    [0.5, 2.5]
    """
    return list(horizons) if len(horizons) <= TRACED_HORIZONS else [horizons[0], horizons[-1]]


def samples_ahead(horizon: float, recording: Recording) -> int:
    """Convert a horizon in seconds to samples of a recording.

    Examples
    --------
    >>> samples_ahead(0.5, Recording("demo", np.zeros((9, 1, 3)), np.arange(9) / 10, rate=10.0))
    5
    """
    exact = horizon * recording.rate
    if round(exact) < 1 or abs(exact - round(exact)) > 0.25:
        raise ValueError(
            f"horizons: expected a whole number of samples, to within a quarter, got {horizon:g} s, which are "
            f"{exact:.3g} samples of recording {recording.name!r} at {recording.rate:g} Hz"
        )
    return round(exact)


def forward_fill(positions: Floats) -> Floats:
    """Replace missing values by the last observed value, or at the start by the first one.

    Examples
    --------
    >>> forward_fill(np.array([np.nan, 1.0, np.nan, 3.0]))
    array([1., 1., 1., 3.])
    """
    observed = np.isfinite(positions)
    index = np.where(observed, np.arange(len(positions)).reshape(-1, *(1,) * (positions.ndim - 1)), 0)
    last = np.maximum.accumulate(index, axis=0)
    last = np.where(np.maximum.accumulate(observed, axis=0), last, np.argmax(observed, axis=0))
    return np.take_along_axis(positions, last, axis=0)


def choose(results: Iterable[ValidationResult]) -> dict[Case, Configuration]:
    """Return the best configuration of each case: the fewest diverged runs, then the smallest mean RMSE."""
    cases: dict[Case, list[ValidationResult]] = defaultdict(list)
    for result in results:
        cases[result.labels, result.horizon, result.predictor, result.recording].append(result)
    return {case: min(tried, key=_rank).configuration for case, tried in cases.items()}


def _rank(result: ValidationResult) -> tuple[int, float, str]:
    # Where every step is clipped, kernels of different widths give the same RMSE up to rounding, which must not decide.
    rmse = np.inf if np.isnan(result.rmse) else float(f"{result.rmse:.12g}")
    return result.diverged, rmse, canonical(result.configuration)
