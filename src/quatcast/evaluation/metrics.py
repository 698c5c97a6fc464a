"""How good forecasts are, and how sure we are of it."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.typing import Floats


@dataclass(frozen=True)
class Scores:
    """Errors of forecasts, each a number, or an array over runs where the forecasts have a run axis.

    Attributes
    ----------
    rmse
        √mean|e|², e the error of one channel at one time.
    nrmse
        √(Σ|e|² / Σ|p − p̄|²), p̄ the mean position of each channel over the scored samples: 1 is what a forecast of
        that mean would have.
    mae
        mean|e|.
    jitter
        mean|ŷ(t+1) − ŷ(t)|: how much the forecasts move from sample to sample.
    max
        max|e|.
    diverged
        Whether a forecast was not finite; the other fields are then NaN.
    """

    rmse: Any
    nrmse: Any
    mae: Any
    jitter: Any
    max: Any
    diverged: Any


def score(actual: ArrayLike, forecast: ArrayLike, start: int = 600) -> Scores:
    """Score the forecasts of samples `start` to the last, counted from 0.

    Parameters
    ----------
    actual
        Positions (T, channels, dimensions). A channel that is missing (NaN) at some time is left out there.
    forecast
        Forecasts of the same shape, or with a leading run axis; row t is the forecast of sample t.
    start
        First sample that is scored.

    Examples
    --------
    >>> actual = np.zeros((4, 1, 3))
    >>> actual[3] = 2.0, 0.0, 0.0
    >>> forecast = np.zeros((4, 1, 3))
    >>> forecast[2] = 0.0, 3.0, 4.0
    >>> scores = score(actual, forecast, start=2)
    >>> scores.mae, scores.max, scores.jitter
    (3.5, 5.0, 5.0)
    """
    truth, made = np.asarray(actual, dtype=float), np.asarray(forecast, dtype=float)
    if truth.ndim != 3 or made.shape[-3:] != truth.shape or made.ndim not in (3, 4):
        raise ValueError(
            f"forecast: shape {truth.shape} of the actual positions expected, with or without a run axis before it, "
            f"not {made.shape}"
        )
    if not 0 <= start <= len(truth) - 2:
        raise ValueError(f"start: leaves fewer than two of {len(truth)} samples to score, at {start!r}")
    truth, made = truth[start:], made[..., start:, :, :]
    known = np.isfinite(truth).all(axis=-1)
    if not known.any():
        raise ValueError(f"actual: every sample from {start} on is missing")
    with np.errstate(all="ignore"):
        error = np.linalg.norm(made - truth, axis=-1)[..., known]
        move = np.linalg.norm(np.diff(made, axis=-3), axis=-1)
        spread = np.sum((truth[known] - _means(truth, known)) ** 2)
        total = np.sum(error**2, axis=-1)
        values = {
            "rmse": np.sqrt(total / known.sum()),
            "nrmse": np.sqrt(total / spread),
            "mae": error.mean(axis=-1),
            "jitter": move.mean(axis=(-2, -1)),
            "max": error.max(axis=-1),
        }
    diverged = ~(np.isfinite(made).all(axis=(-3, -2, -1)) & np.isfinite(total))
    values = {name: np.where(diverged, np.nan, value) for name, value in values.items()}
    if made.ndim == 3:
        return Scores(**{name: float(value) for name, value in values.items()}, diverged=bool(diverged))
    return Scores(**values, diverged=diverged)


def _means(truth: Floats, known: NDArray[np.bool_]) -> Floats:
    """Mean position of its channel for each known entry."""
    totals = np.where(known[..., None], truth, 0.0).sum(axis=0)
    means = totals / np.maximum(known.sum(axis=0), 1)[:, None]
    return np.asarray(np.broadcast_to(means, truth.shape)[known])


@dataclass(frozen=True)
class Estimate:
    """A mean, and the half-width of its 95% confidence interval.

    Attributes
    ----------
    mean, margin
        The interval is mean ± margin. Both are NaN where every run diverged.
    runs
        Runs that were averaged.
    diverged
        Runs that were left out.
    """

    mean: float
    margin: float
    runs: int
    diverged: int = 0


def estimate(values: Iterable[float]) -> Estimate:
    """Mean over runs ± 1.96·std/√runs, with the population standard deviation; NaN is a diverged run.

    Examples
    --------
    >>> estimate([1.0, 3.0, float("nan")])
    Estimate(mean=2.0, margin=1.3859..., runs=2, diverged=1)
    """
    given = np.asarray(list(values), dtype=float)
    kept = given[~np.isnan(given)]
    if not len(kept):
        return Estimate(math.nan, math.nan, 0, len(given))
    margin = 1.96 * kept.std() / math.sqrt(len(kept))
    return Estimate(float(kept.mean()), float(margin), len(kept), len(given) - len(kept))


def pool(estimates: Iterable[Estimate]) -> Estimate:
    """Mean over recordings of the means over runs, each recording counting the same.

    Runs on different recordings are independent, so the variances of n means add up and the margin of their mean
    is √(Σ margin²)/n. It tells how sure the mean over THESE recordings is, not what another recording would give.

    Examples
    --------
    >>> pool([Estimate(1.0, 0.3, 10), Estimate(2.0, 0.4, 10, 2)])
    Estimate(mean=1.5, margin=0.25, runs=20, diverged=2)
    """
    given = list(estimates)
    if not given:
        raise ValueError("estimates: at least one is needed")
    margin = math.sqrt(sum(e.margin**2 for e in given)) / len(given)
    mean = sum(e.mean for e in given) / len(given)
    return Estimate(mean, margin, sum(e.runs for e in given), sum(e.diverged for e in given))
