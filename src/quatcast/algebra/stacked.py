"""Conversion between the public layout of matrices, components last, and the stacked layout of the engine.

`quatcast.algebra.tables` describes the stacked layout.
"""

from __future__ import annotations

from quatcast.algebra.backend import namespace
from quatcast.basics.typing import Array


def pack(x: Array) -> Array:
    """Convert a matrix from the public layout (…, q, m, d) to the stacked layout (…, d·q, m).

    Examples
    --------
    A matrix of one row and two complex numbers, 1 + 2i and 3 + 4i, becomes a row of real and a row of imaginary parts:

    >>> import numpy as np
    >>> pack(np.array([[[1.0, 2.0], [3.0, 4.0]]]))
    array([[1., 3.],
           [2., 4.]])
    """
    xp = namespace(x)
    q, m, d = x.shape[-3:]
    axes = (*range(x.ndim - 3), x.ndim - 1, x.ndim - 3, x.ndim - 2)
    return xp.reshape(xp.permute_dims(x, axes), (*x.shape[:-3], d * q, m))


def unpack(W: Array, d: int) -> Array:
    """Convert a matrix of numbers with d components from the stacked layout (…, d·q, m) to the public (…, q, m, d).

    Examples
    --------
    >>> import numpy as np
    >>> unpack(np.array([[1.0, 3.0], [2.0, 4.0]]), 2)
    array([[[1., 2.],
            [3., 4.]]])
    """
    xp = namespace(W)
    rows, m = W.shape[-2:]
    x = xp.reshape(W, (*W.shape[:-2], d, rows // d, m))
    return xp.permute_dims(x, (*range(x.ndim - 3), x.ndim - 2, x.ndim - 1, x.ndim - 3))
