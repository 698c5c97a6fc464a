"""One thread for the linear algebra of a step.

The products of a step take microseconds. A BLAS that distributes them over threads spends far longer on waiting for
those threads, ten times as long on a busy machine, and a forecast would be late. Code that forecasts sample by sample
therefore limits the BLAS to one thread; work that can be parallelised is distributed over processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _pools() -> list[Any]:
    """Return the loaded thread pools; the search takes milliseconds, so it is done once."""
    return list(ThreadpoolController().select(user_api="blas").lib_controllers)


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a context in which linear algebra runs on one thread; its end restores the previous number.

    Examples
    --------
    >>> with one_thread():
    ...     all(pool.get_num_threads() == 1 for pool in _pools())
    True
    """
    # Asking for the number of threads takes a microsecond, a context of threadpoolctl thirty.
    limited = [(pool, number) for pool in _pools() if (number := pool.get_num_threads()) not in (1, None)]
    for pool, _ in limited:
        pool.set_num_threads(1)
    try:
        yield
    finally:
        for pool, number in limited:
            pool.set_num_threads(number)
