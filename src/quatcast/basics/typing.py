"""Array types that every part of the library shares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = Any
"""An array of any library that follows the array API standard: NumPy, CuPy, PyTorch, …"""
Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Counts = NDArray[np.int64]
