"""The protocol, as far as both experiments and reports need it: its constants and its rules.

The scaling is fitted to the first 30 s of a recording. Validation learns online over the first 60 s with every
configuration of the grid and scores the forecasts of the second 30 s. The configuration with the smallest mean RMSE
over the seeds is chosen separately for each recording, predictor, horizon and label rule. The test learns online over
the whole recording with that configuration and scores the forecasts from 60 s on. At 10 Hz this is the published
protocol, which counts samples: 1…300, 301…600, and 601 and later.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.recording import Recording
from quatcast.evaluation.records import Configuration, ValidationResult, canonical
from quatcast.forecasting.contract import Labels

SCALING = 30.0
"""Seconds that the scaling is fitted to; validation scores those after them."""
TEST = 60.0
"""Seconds before the test, which are those of the validation."""
NEAR = 0.01
"""Relative difference between a horizon and its whole samples above which the difference is reported."""

QUICK_SECONDS = 120.0
"""Seconds to which the quick profile cuts recordings."""
CUT = "cut to its first"
"""Words with which the note of a recording that was cut begins."""

Case = tuple[Labels, float, str, str]
"""Labels, horizon in seconds, predictor and recording: what a configuration is chosen for."""


def scaling_samples(rate: float) -> int:
    """Return the number of samples that the scaling is fitted to, at a sampling rate in Hz.

    Examples
    --------
    >>> scaling_samples(10.0), scaling_samples(1.28)
    (300, 38)
    """
    return max(2, round(SCALING * rate))


def validation_samples(rate: float) -> int:
    """Return the number of samples of the validation, after which the test begins, at a sampling rate in Hz.

    Examples
    --------
    >>> validation_samples(10.0), validation_samples(50.0)
    (600, 3000)
    """
    return max(scaling_samples(rate) + 2, round(TEST * rate))


def samples_ahead(horizon: float, recording: Recording) -> int:
    """Convert a horizon in seconds to the nearest whole number of samples of a recording.

    Examples
    --------
    >>> slow = Recording("demo", np.zeros((9, 1, 3)), np.arange(9) / 5, rate=5.0)
    >>> samples_ahead(0.4, slow), samples_ahead(0.5, slow)
    (2, 3)
    """
    exact = horizon * recording.rate
    # Half a sample, as far as a measured rate is exact, is rounded up: a forecast further ahead is the harder one.
    steps = math.floor(exact + 0.5 + 1e-6)
    if steps < 1:
        raise ValueError(
            f"horizons: expected at least one sample, got {horizon:g} s, which are {exact:.3g} samples of recording "
            f"{recording.name!r} at {recording.rate:g} Hz; its shortest horizon is {1 / recording.rate:.4g} s"
        )
    return steps


def rounded_horizons(horizons: Iterable[float], recordings: Sequence[Recording]) -> list[str]:
    """Return one sentence for every horizon and sampling rate where the nearest whole sample is not the horizon.

    Examples
    --------
    >>> slow = Recording("buoy", np.zeros((9, 1, 3)), np.arange(9) / 1.28, rate=1.28)
    >>> rounded_horizons([2.0], [slow])
    ['At 1.28 Hz a horizon of 2 s is taken as 3 samples, which are 2.344 s.']
    """
    rates = {f"{recording.rate:.6g}": recording for recording in recordings}
    sentences = []
    for horizon in horizons:
        for recording in rates.values():
            steps = samples_ahead(horizon, recording)
            seconds = steps / recording.rate
            if abs(seconds - horizon) > NEAR * horizon:
                samples = f"{steps} sample{'s' if steps > 1 else ''}, which {'are' if steps > 1 else 'is'}"
                sentences.append(
                    f"At {recording.rate:.4g} Hz a horizon of {horizon:g} s is taken as {samples} {seconds:.4g} s."
                )
    return sentences


def applicable(configurations: Iterable[Configuration], horizon: float, recording: Recording) -> list[Configuration]:
    """Return the configurations whose lags and horizon together fit into the samples of the scaling.

    Examples
    --------
    >>> slow = Recording("buoy", np.zeros((9, 1, 3)), np.arange(9) / 1.28, rate=1.28)
    >>> applicable([{"lags": 10}, {"lags": 30}, {"lags": 90}], 2.0, slow)
    [{'lags': 10}, {'lags': 30}]
    """
    most = scaling_samples(recording.rate) - samples_ahead(horizon, recording)
    return [configuration for configuration in configurations if configuration.get("lags", 1) <= most]


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
