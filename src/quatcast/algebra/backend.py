"""Where arrays live: NumPy, or the same code on a GPU.

A device is named by a word: "cpu" is NumPy; "cuda" is the GPU, through PyTorch or else CuPy; any other word is the name
of an array library that follows the array API standard, on its default device ("torch" is PyTorch on the CPU,
"array_api_strict" the reference implementation).
"""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_cupy_array, is_torch_array, to_device
from numpy.typing import NDArray

from quatcast.typing import Array

_namespaces: dict[type, Any] = {np.ndarray: np}


def namespace(x: Array) -> Any:
    """Array API namespace of an array, looked up by its type: the engine asks dozens of times a step."""
    kind = type(x)
    if kind not in _namespaces:
        _namespaces[kind] = array_namespace(x)
    return _namespaces[kind]


def reshape(x: Array, shape: tuple[int, ...]) -> Array:
    """`namespace(x).reshape(x, shape)`; NumPy's own method is three times faster on the small arrays of a step."""
    return x.reshape(shape) if type(x) is np.ndarray else namespace(x).reshape(x, shape)


def total(x: Array, axis: int) -> Array:
    """`namespace(x).sum(x, axis=axis)`, without what NumPy wraps around it."""
    return np.add.reduce(x, axis=axis) if type(x) is np.ndarray else namespace(x).sum(x, axis=axis)


def _installed(library: str) -> bool:
    return library.isidentifier() and importlib.util.find_spec(library) is not None


@cache
def _home(device: str) -> tuple[Any, str | None]:
    """Array API namespace of a device, and the device's name within it."""
    library, where = device, None
    if device == "cuda":
        library = "torch" if _installed("torch") else "cupy"
        if not _installed(library):
            raise ValueError('device: "cuda" needs PyTorch or CuPy; install one of them')
        if library == "torch":
            where = "cuda"
            if not importlib.import_module("torch").cuda.is_available():
                raise ValueError('device: "cuda" was asked for, but PyTorch sees no GPU')
    elif not _installed(library):
        raise ValueError(f'device: "cpu", "cuda" or an installed array library, not {device!r}')
    module = importlib.import_module(library)
    if not hasattr(module, "asarray"):
        raise ValueError(f"device: {library!r} is not an array library")
    return array_namespace(module.asarray(0.0)), where


def place(array: NDArray[Any], device: str) -> Array:
    """Array on a device, copied there unless it is the CPU."""
    if device == "cpu":
        return array
    xp, where = _home(device)
    return xp.asarray(np.ascontiguousarray(array), device=where, copy=True)


def fetch(array: Array) -> NDArray[Any]:
    """Array as a NumPy array."""
    if isinstance(array, np.ndarray):
        return array
    on_gpu = is_cupy_array(array) or is_torch_array(array)
    return np.asarray(np.from_dlpack(to_device(array, "cpu") if on_gpu else array))
