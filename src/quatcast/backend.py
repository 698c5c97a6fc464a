"""Where arrays live: NumPy, or the same code on a GPU.

A device is named by a word: "cpu" is NumPy; "cuda" is the GPU, through CuPy or else PyTorch; any other word is
the name of an array library that follows the array API standard, on its default device ("torch" is PyTorch on the
CPU, "array_api_strict" the reference implementation).
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import numpy as np
from array_api_compat import array_namespace, is_cupy_array, is_torch_array, to_device
from numpy.typing import NDArray

from quatcast.algebra import Array


def _library(device: str) -> tuple[str, str | None]:
    """Library and device within it."""
    if device == "cpu":
        return "numpy", None
    if device != "cuda":
        if not device.isidentifier() or importlib.util.find_spec(device) is None:
            raise ValueError(f'device: "cpu", "cuda" or an installed array library, not {device!r}')
        return device, None
    if importlib.util.find_spec("cupy") is not None:
        return "cupy", None
    if importlib.util.find_spec("torch") is not None:
        if not importlib.import_module("torch").cuda.is_available():
            raise ValueError('device: "cuda" was asked for, but PyTorch sees no GPU')
        return "torch", "cuda"
    raise ValueError('device: "cuda" needs CuPy or PyTorch; install one of them')


def place(array: NDArray[Any], device: str) -> Array:
    """Array on a device, copied there unless it is the CPU."""
    if device == "cpu":
        return array
    library, where = _library(device)
    module = importlib.import_module(library)
    if not hasattr(module, "asarray"):
        raise ValueError(f"device: {library!r} is not an array library")
    xp = array_namespace(module.asarray(0.0))
    return xp.asarray(np.ascontiguousarray(array), device=where, copy=True)


def fetch(array: Array) -> NDArray[Any]:
    """Array as a NumPy array."""
    if isinstance(array, np.ndarray):
        return array
    on_gpu = is_cupy_array(array) or is_torch_array(array)
    return np.asarray(np.from_dlpack(to_device(array, "cpu") if on_gpu else array))
