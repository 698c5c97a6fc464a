"""Scores of forecast orientations: angles between unit quaternions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra.quaternion import angle, as_quaternion


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
    truth, guess = np.asarray(actual, dtype=float), np.asarray(forecast, dtype=float)
    if truth.ndim != 3 or guess.shape[-3:] != truth.shape or guess.ndim not in (3, 4):
        raise ValueError(
            f"forecast: expected shape {truth.shape} as the actual orientations, with or without a leading run axis, "
            f"got {guess.shape}"
        )
    if truth.shape[-1] not in (4, 7):
        raise ValueError(f"actual: expected quaternions (T, channels, 4) or poses (…, 7), got {truth.shape}")
    if not 0 <= start <= len(truth) - 1:
        raise ValueError(f"start: expected an index of one of {len(truth)} samples, got {start!r}")
    truth, guess = as_quaternion(truth[start:, :, -4:]), as_quaternion(guess[..., start:, :, -4:])
    observed = np.isfinite(truth).all(axis=-1)
    if not observed.any():
        raise ValueError(f"actual: expected observed samples, got only missing ones from index {start} on")
    with np.errstate(all="ignore"):
        angles = angle(truth, guess)[..., observed]
        usable = np.isfinite(guess).all(axis=-1) & (np.abs(guess).max(axis=-1) > 0.0)
        diverged = ~usable.all(axis=(-2, -1))
        values = {
            "mean": angles.mean(axis=-1),
            "rmse": np.sqrt(np.mean(angles**2, axis=-1)),
            "p99": np.percentile(angles, 99, axis=-1),
            "max": angles.max(axis=-1),
        }
    values = {name: np.where(diverged, np.nan, value) for name, value in values.items()}
    if guess.ndim == 3:
        return GeodesicScores(**{name: float(value) for name, value in values.items()}, diverged=bool(diverged))
    return GeodesicScores(**values, diverged=diverged)
