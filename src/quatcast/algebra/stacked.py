"""Conversion between public arrays, components last, and the stacked arrays of `quatcast.algebra.tables`."""

from __future__ import annotations

from quatcast.algebra.backend import namespace
from quatcast.typing import Array


def pack(x: Array) -> Array:
    """Stacked matrix (…, d·q, m) of a public one (…, q, m, d)."""
    xp = namespace(x)
    q, m, d = x.shape[-3:]
    axes = (*range(x.ndim - 3), x.ndim - 1, x.ndim - 3, x.ndim - 2)
    return xp.reshape(xp.permute_dims(x, axes), (*x.shape[:-3], d * q, m))


def unpack(W: Array, d: int) -> Array:
    """Public matrix (…, q, m, d) of a stacked one (…, d·q, m)."""
    xp = namespace(W)
    rows, m = W.shape[-2:]
    x = xp.reshape(W, (*W.shape[:-2], d, rows // d, m))
    return xp.permute_dims(x, (*range(x.ndim - 3), x.ndim - 2, x.ndim - 1, x.ndim - 3))
