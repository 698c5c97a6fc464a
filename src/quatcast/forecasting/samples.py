"""Samples and recordings as they enter the library: checked once, and copied."""

from __future__ import annotations

from contextlib import suppress
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.basics.typing import Bools, Floats
from quatcast.learners.base import check_finite


def as_sample(sample: ArrayLike, *, finite: bool, dimensions: int | None = None) -> Floats:
    """Check a sample (channels, dimensions) of real numbers and copy it; NaN and infinity only if not `finite`.

    A channel may be None, which stands for NaN in all its coordinates. If every channel is, their number must be known
    from earlier samples, `dimensions`.
    """
    return _checked("sample", _filled(sample, dimensions), ("channels", "dimensions"), finite)


def as_recording(positions: ArrayLike, *, finite: bool) -> Floats:
    """Check the positions (T, channels, dimensions) of a recording and copy them; a channel of a row may be None."""
    if isinstance(positions, list | tuple):
        widths = (_width(sample) for sample in positions)
        dimensions = next((width for width in widths if width is not None), None)
        positions = [_filled(sample, dimensions) for sample in positions]
    return _checked("positions", positions, ("T", "channels", "dimensions"), finite)


def _filled(sample: Any, dimensions: int | None) -> Any:
    """Return a sample with NaN for each coordinate of the channels that are None."""
    if not (isinstance(sample, list | tuple) and any(row is None for row in sample)):
        return sample
    width = _width(sample) or dimensions
    if width is None:
        expected = "the coordinates of a channel, or NaN for each of them, because their number is not known yet"
        raise ValueError(f"sample: expected {expected}, got {sample!r}")
    return [[np.nan] * width if row is None else row for row in sample]


def _width(sample: Any) -> int | None:
    """Return the number of coordinates of the first channel of a sample that has some."""
    rows = sample if isinstance(sample, list | tuple | np.ndarray) else ()
    return next((len(row) for row in rows if isinstance(row, list | tuple | np.ndarray)), None)


def as_observed(observed: ArrayLike | None, channels: int) -> Bools:
    """Check which channels were observed, (channels,); all of them if omitted."""
    if observed is None:
        return np.ones(channels, dtype=bool)
    seen = np.array(observed)
    if seen.shape != (channels,) or seen.dtype != np.bool_:
        raise ValueError(f"observed: expected {channels} values True or False, got {observed!r}")
    return seen


def _checked(name: str, given: ArrayLike, axes: tuple[str, ...], finite: bool) -> Floats:
    expected = f"({', '.join(axes)})"
    try:
        array = _as_array(given)
    except ValueError as error:
        raise ValueError(f"{name}: expected shape {expected}, got rows of different lengths ({error})") from None
    if array.dtype.kind not in "fiu":
        whole = hasattr(given, "positions")
        instead = f"a {type(given).__name__}; give its positions" if whole else f"an array of type {array.dtype}"
        raise ValueError(f"{name}: expected real numbers, got {instead}")
    if array.ndim != len(axes) or 0 in array.shape:
        raise ValueError(f"{name}: expected shape {expected}, got {array.shape}")
    if finite:
        check_finite(name, array)
    return np.array(array, dtype=np.float64)


def _as_array(given: Any) -> NDArray[Any]:
    """Convert to an array in which masked entries, None and the missing values of pandas are NaN."""
    if isinstance(given, np.ma.MaskedArray) and given.dtype.kind in "fiu":
        return np.where(np.ma.getmaskarray(given), np.nan, given.data.astype(float))
    if hasattr(given, "to_numpy"):
        # Tables of texts cannot be converted, and those of other libraries than pandas take no such arguments.
        with suppress(TypeError, ValueError):
            return np.asarray(given.to_numpy(dtype=float, na_value=np.nan))
    array = np.asarray(given)
    if array.dtype == object and all(value is None or isinstance(value, Real) for value in array.flat):
        return np.array([_as_float(value) for value in array.flat]).reshape(array.shape)
    return array


def _as_float(value: Any) -> float:
    """Convert a real number, infinity if it is too large, or None, which is NaN."""
    try:
        return np.nan if value is None else float(value)
    except OverflowError:
        return np.inf
