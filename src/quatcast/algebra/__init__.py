"""Numbers: the algebras R, C and H, quaternion functions, GHR calculus, and products on stacked arrays."""

from quatcast.algebra.backend import fetch, namespace, place, reshape, total
from quatcast.algebra.stacked import pack, unpack
from quatcast.algebra.tables import Algebra, C, H, R, by_name

__all__ = [
    "Algebra",
    "C",
    "H",
    "R",
    "by_name",
    "fetch",
    "namespace",
    "pack",
    "place",
    "reshape",
    "total",
    "unpack",
]
