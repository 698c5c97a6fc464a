"""Unit quaternions: how to recognise them, and how to compute them from rotation matrices."""

from __future__ import annotations

import numpy as np

from quatcast.basics.typing import Floats

UNIT_NORM = 0.05
"""Largest deviation of the norm of a quaternion from 1."""
UNIT_SHARE = 0.99
"""Share of the rows of an orientation that must have a norm of 1."""


def quaternions(matrices: Floats) -> Floats:
    """Return the unit quaternions (rows, 4), scalar first, of rotation matrices (rows, 3, 3).

    The largest of the four components is computed from the diagonal, and the others from it, so that nothing is divided
    by a small number. The sign is continuous from row to row. The quaternion of a matrix with NaN is NaN.

    Examples
    --------
    >>> quarter = np.array([[[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]]])
    >>> quaternions(quarter).round(3)
    array([[0.707, 0.   , 0.   , 0.707]])
    """
    m = np.asarray(matrices, dtype=float)
    a, b, c = m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]
    # Row k holds 4·q_k·q, by which any component can be the divisor.
    x, y, z = m[:, 2, 1] - m[:, 1, 2], m[:, 0, 2] - m[:, 2, 0], m[:, 1, 0] - m[:, 0, 1]
    xy, xz, yz = m[:, 0, 1] + m[:, 1, 0], m[:, 0, 2] + m[:, 2, 0], m[:, 1, 2] + m[:, 2, 1]
    rows = np.stack(
        [
            np.stack([1 + a + b + c, x, y, z], axis=-1),
            np.stack([x, 1 + a - b - c, xy, xz], axis=-1),
            np.stack([y, xy, 1 - a + b - c, yz], axis=-1),
            np.stack([z, xz, yz, 1 - a - b + c], axis=-1),
        ],
        axis=1,
    )
    diagonal = np.stack([rows[:, k, k] for k in range(4)], axis=-1)
    best = np.where(np.isnan(diagonal).any(axis=1), 0, np.argmax(np.nan_to_num(diagonal, nan=-1.0), axis=1))
    q = rows[np.arange(len(m)), best]
    q = q / np.linalg.norm(q, axis=1, keepdims=True)
    match_signs(q)
    seen = q[np.isfinite(q).all(axis=1)]
    return np.asarray(-q if len(seen) and seen[0, 0] < 0 else q)


def norms_of(values: Floats) -> Floats:
    """Return the finite norms of rows (rows, 4)."""
    with np.errstate(over="ignore", invalid="ignore"):
        norms = np.linalg.norm(values, axis=1)
    return np.asarray(norms[np.isfinite(norms)])


def are_unit(values: Floats) -> bool:
    """Tell whether rows (rows, 4) are unit quaternions: at least 99 % have a norm within 5 % of 1.

    Examples
    --------
    >>> are_unit(np.array([[0.6, 0.8, 0.0, 0.0]])), are_unit(np.array([[1.0, 2.0, 3.0, 4.0]]))
    (True, False)
    """
    norms = norms_of(values)
    return bool(len(norms)) and float(np.mean(np.abs(norms - 1.0) <= UNIT_NORM)) >= UNIT_SHARE


def match_signs(q: Floats) -> None:
    """Choose the sign of each quaternion (rows, 4), in place, so that it is near the last one before it without NaN.

    Examples
    --------
    >>> q = np.array([[1.0, 0.0, 0.0, 0.0], [np.nan] * 4, [-0.8, -0.6, 0.0, 0.0]])
    >>> match_signs(q)
    >>> q[2]
    array([ 0.8,  0.6, -0. , -0. ])
    """
    seen = np.flatnonzero(np.isfinite(q).all(axis=1))
    products = np.sum(q[seen[1:]] * q[seen[:-1]], axis=1)
    q[seen[1:]] *= np.cumprod(np.where(products < 0, -1.0, 1.0))[:, None]
