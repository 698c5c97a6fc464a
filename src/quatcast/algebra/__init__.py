"""Algebra: the number systems R, C and H, quaternion functions, GHR calculus and array libraries.

- `tables` defines the algebras by their multiplication tables, with products on stacked arrays.
- `stacked` converts between the public layout of arrays and the stacked one.
- `backend` places arrays in NumPy, PyTorch, CuPy or array_api_strict.
- `quaternion` has the elementary functions of quaternions.
- `ghr` differentiates functions of quaternions.
"""

from quatcast.algebra.backend import device_of, fetch, namespace, place, reshape, total
from quatcast.algebra.stacked import pack, unpack
from quatcast.algebra.tables import Algebra, C, H, R, by_name

__all__ = [
    "Algebra",
    "C",
    "H",
    "R",
    "by_name",
    "device_of",
    "fetch",
    "namespace",
    "pack",
    "place",
    "reshape",
    "total",
    "unpack",
]
