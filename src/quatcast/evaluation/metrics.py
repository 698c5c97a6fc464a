"""Metrics: scores of forecasts, and confidence intervals of their means."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.algebra.quaternion import angle
from quatcast.basics.annotations import is_whole
from quatcast.basics.typing import Bools, Floats
from quatcast.data.recording import Recording, real_numbers

SCORED = ("position", "vector", "orientation")
"""Spaces in which all coordinates of a channel have one error."""


@dataclass(frozen=True)
class Scores:
    """Scores of forecasts: numbers, or arrays over runs if the forecasts have a run axis.

    Attributes
    ----------
    rmse
        √mean|e|², where e is the error of one channel at one time.
    nrmse
        √(Σ|e|² / Σ|p − p̄|²), where p̄ is the mean position of each channel over the scored samples. A forecast of
        that mean has an nRMSE of 1.
    mae
        mean|e|.
    jitter
        mean|ŷ(t+1) − ŷ(t)|, the mean change of the forecasts from sample to sample.
    max
        max|e|.
    diverged
        Whether any forecast was not finite; the other fields are then NaN.

    Examples
    --------
    >>> actual = np.zeros((4, 1, 3))
    >>> actual[:, 0, 0] = [0.0, 1.0, 2.0, 3.0]
    >>> scores = score(actual, actual + [0.0, 3.0, 4.0], start=0)
    >>> scores.rmse, scores.max, scores.jitter
    (5.0, 5.0, 1.0)
    """

    rmse: Any
    nrmse: Any
    mae: Any
    jitter: Any
    max: Any
    diverged: Any


def score(actual: ArrayLike, forecast: ArrayLike, start: int = 600, space: str = "position") -> Scores:
    """Score the forecasts of all samples from index `start` on.

    Parameters
    ----------
    actual
        Positions (T, channels, dimensions). Missing values (NaN) of a channel are not scored.
    forecast
        Forecasts of the same shape, or with a leading run axis; row t is the forecast of sample t.
    start
        Index of the first sample that is scored, counted from 0.
    space
        What the numbers are: "position", "vector" or "orientation". The errors of an orientation are angles in degrees,
        others are Euclidean distances.

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
    if space not in SCORED:
        apart = "; score positions and orientations apart, as [..., :3] and [..., 3:]" if space == "pose" else ""
        raise ValueError(f"space: expected one of {', '.join(SCORED)}, got {space!r}{apart}")
    truth, guess, observed = _scored(actual, forecast, start, 2)
    with np.errstate(all="ignore"):
        error = distances(truth, guess, space)[..., observed]
        move = distances(guess[..., :-1, :, :], guess[..., 1:, :, :], space)
        spread = np.sum(_squares(truth[observed], _means(truth, observed, space), space))
        total = np.sum(error**2, axis=-1)
        values = {
            "rmse": np.sqrt(total / observed.sum()),
            "nrmse": np.sqrt(total / spread),
            "mae": error.mean(axis=-1),
            "jitter": move.mean(axis=(-2, -1)),
            "max": error.max(axis=-1),
        }
    diverged = ~(np.isfinite(guess).all(axis=(-3, -2, -1)) & np.isfinite(total))
    return Scores(**_of_runs(values, diverged))


def _scored(
    actual: ArrayLike, forecast: ArrayLike, start: int, least: int, axes: slice = slice(None)
) -> tuple[Floats, Floats, Bools]:
    """Return some coordinates of points and of their forecasts from a sample on, and which points were observed."""
    truth, guess = real_numbers("actual", actual), real_numbers("forecast", forecast)
    if truth.ndim != 3:
        raise ValueError(f"actual: expected shape (T, channels, dimensions), got {truth.shape}")
    if guess.shape[-3:] != truth.shape or guess.ndim not in (3, 4):
        raise ValueError(
            f"forecast: expected shape {truth.shape} as the actual points, with or without a leading run axis, got "
            f"{guess.shape}"
        )
    if not is_whole(start, 0) or start > len(truth) - least:
        raise ValueError(
            f"start: expected an index that leaves at least {least} of {len(truth)} samples, got {start!r}"
        )
    truth, guess = truth[start:, :, axes], guess[..., start:, :, axes]
    observed: Bools = np.asarray(np.isfinite(truth).all(axis=-1))
    if not observed.any():
        raise ValueError(f"actual: expected observed samples, got only missing ones from index {start} on")
    return truth, guess, observed


def _of_runs(values: dict[str, Any], diverged: Any) -> dict[str, Any]:
    """Return scores, NaN where a run has diverged, and whether it has: numbers if there is no run axis."""
    values = {name: np.where(diverged, np.nan, value) for name, value in values.items()} | {"diverged": diverged}
    return {name: value.item() if np.ndim(value) == 0 else value for name, value in values.items()}


@dataclass(frozen=True)
class GeodesicScores:
    """Scores of forecast orientations in radians: numbers, or arrays over runs if the forecasts have a run axis.

    Attributes
    ----------
    mean
        Mean angle between forecast and orientation.
    rmse
        Root mean square of the angles.
    p99
        99th percentile of the angles.
    max
        Largest angle.
    diverged
        Whether any forecast was not finite; the other fields are then NaN.

    Examples
    --------
    >>> from quatcast import quaternion
    >>> actual = np.tile(quaternion.ONE, (4, 1, 1))
    >>> turned = quaternion.from_rotation_vector([[[0.0, 0.0, 0.3]]])
    >>> scores = score_orientations(actual, np.tile(turned, (4, 1, 1)), start=0)
    >>> round(scores.mean, 9), round(scores.p99, 9)
    (0.3, 0.3)
    """

    mean: Any
    rmse: Any
    p99: Any
    max: Any
    diverged: Any


def score_orientations(actual: ArrayLike, forecast: ArrayLike, start: int = 600) -> GeodesicScores:
    """Score forecasts of orientations by the angle of the rotation that remains, from index `start` on.

    The signs of quaternions make no difference, and they need not be normalised.

    Parameters
    ----------
    actual
        Quaternions (T, channels, 4), w first, or poses (T, channels, 7), whose last four numbers they are. Missing
        values (NaN) of a channel are not scored.
    forecast
        Forecasts of the same shape, or with a leading run axis; row t is the forecast of sample t.
    start
        Index of the first sample that is scored, counted from 0.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> q = rng.standard_normal((50, 2, 4))
    >>> score_orientations(q, -3 * q, start=10).max < 1e-7
    True
    """
    if np.shape(actual)[-1:] not in ((4,), (7,)):
        raise ValueError(f"actual: expected quaternions (T, channels, 4) or poses (…, 7), got {np.shape(actual)}")
    truth, guess, observed = _scored(actual, forecast, start, 1, slice(-4, None))
    with np.errstate(all="ignore"):
        angles = angle(truth, guess)[..., observed]
        usable = np.isfinite(guess).all(axis=-1) & (np.abs(guess).max(axis=-1) > 0.0)
        values = {
            "mean": angles.mean(axis=-1),
            "rmse": np.sqrt(np.mean(angles**2, axis=-1)),
            "p99": np.percentile(angles, 99, axis=-1),
            "max": angles.max(axis=-1),
        }
    return GeodesicScores(**_of_runs(values, ~usable.all(axis=(-2, -1))))


def distances(actual: Floats, forecast: NDArray[np.floating[Any]], space: str = "position") -> Floats:
    """Return the distances (…) between points (…, coordinates): Euclidean ones, or angles in degrees of orientations.

    They are computed in double precision, also for forecasts in single precision, as stores hold them.

    Examples
    --------
    >>> distances(np.zeros((1, 3)), np.array([[0.0, 3.0, 4.0]]))
    array([5.])
    >>> distances(np.array([1.0, 0.0, 0.0, 0.0]), np.array([0.0, 0.0, 0.0, -2.0]), "orientation")
    array(180.)
    """
    guess = np.asarray(forecast, dtype=float)
    with np.errstate(all="ignore"):
        if space == "orientation":
            return np.asarray(np.degrees(angle(actual, guess)))
        return np.asarray(np.linalg.norm(guess - actual, axis=-1))


def error_unit(recording: Recording) -> str:
    """Return the unit of the errors of a recording: degrees for orientations, otherwise the unit of the recording.

    Examples
    --------
    >>> still = np.tile([1.0, 0.0, 0.0, 0.0], (9, 1, 1))
    >>> error_unit(Recording("head", still, np.arange(9) / 50, rate=50.0, space="orientation"))
    'deg'
    """
    return "deg" if recording.space == "orientation" else recording.unit


def _means(truth: Floats, observed: Bools, space: str) -> Floats:
    """Return the mean position or orientation of the channel for each observed entry."""
    if space == "orientation":
        means = np.stack([_mean_orientation(truth[observed[:, c], c]) for c in range(truth.shape[1])])
    else:
        totals = np.where(observed[..., None], truth, 0.0).sum(axis=0)
        means = totals / np.maximum(observed.sum(axis=0), 1)[:, None]
    return np.asarray(np.broadcast_to(means, truth.shape)[observed])


def _squares(points: Floats, means: Floats, space: str) -> Floats:
    """Return the squared deviations from the mean; those of positions without a root, which would round them."""
    return distances(points, means, space) ** 2 if space == "orientation" else (points - means) ** 2


def _mean_orientation(quaternions: Floats) -> Floats:
    """Return the mean of unit quaternions, whatever their signs: the main axis of the points ±q."""
    return np.asarray(np.linalg.eigh(quaternions.T @ quaternions)[1][:, -1])


@dataclass(frozen=True)
class Estimate:
    """A mean and the half-width of its 95% confidence interval.

    Attributes
    ----------
    mean, margin
        The interval is mean ± margin. Both are NaN if every run diverged.
    runs
        Number of runs in the mean.
    diverged
        Number of diverged runs, which the mean excludes.

    Examples
    --------
    >>> rmse = estimate([1.0, 3.0])
    >>> f"{rmse.mean:.2f} ± {rmse.margin:.2f} mm"
    '2.00 ± 1.39 mm'
    """

    mean: float
    margin: float
    runs: int
    diverged: int = 0


def estimate(values: Iterable[float]) -> Estimate:
    """Estimate a mean over runs as mean ± 1.96·std/√runs, with the population standard deviation.

    A value of NaN is a diverged run.

    Examples
    --------
    >>> estimate([1.0, 3.0, float("nan")])
    Estimate(mean=2.0, margin=1.3859..., runs=2, diverged=1)
    """
    given = np.asarray(list(values), dtype=float)
    finite = given[~np.isnan(given)]
    if not len(finite):
        return Estimate(math.nan, math.nan, 0, len(given))
    margin = 1.96 * finite.std() / math.sqrt(len(finite))
    return Estimate(float(finite.mean()), float(margin), len(finite), len(given) - len(finite))


def pool(estimates: Iterable[Estimate]) -> Estimate:
    """Estimate the mean over recordings of their means over runs, with equal weight for each recording.

    Runs on different recordings are independent, so the variances of n means add up and the margin of their mean
    is √(Σ margin²)/n. It is the uncertainty of the mean over these recordings due to the seeds, and says nothing about
    other recordings.

    Examples
    --------
    >>> pool([Estimate(1.0, 0.3, 10), Estimate(2.0, 0.4, 10, 2)])
    Estimate(mean=1.5, margin=0.25, runs=20, diverged=2)
    """
    given = list(estimates)
    if not given:
        raise ValueError("estimates: expected at least one, got none")
    margin = math.sqrt(sum(e.margin**2 for e in given)) / len(given)
    mean = sum(e.mean for e in given) / len(given)
    return Estimate(mean, margin, sum(e.runs for e in given), sum(e.diverged for e in given))
