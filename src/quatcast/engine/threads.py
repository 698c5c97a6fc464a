"""One thread for the linear algebra of a step.

The products of a step take microseconds. A BLAS that distributes them over threads spends far longer on waiting for
those threads, ten times as long on a busy machine, and a forecast would be late. Code that forecasts sample by sample
therefore limits the BLAS to one thread; work that can be parallelised is distributed over processes.

Some libraries have one limit for the whole process and some one for each thread that calls them. The former is set
when the first of several threads enters `one_thread` and restored when the last one leaves it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _pools() -> tuple[list[Any], list[Any]]:
    """Return the loaded thread pools that all threads share, and those of which each thread has its own.

    The search takes milliseconds, so it is done once.
    """
    pools = ThreadpoolController().select(user_api="blas").lib_controllers
    shared = [p for p in pools if p.internal_api == "openblas" and getattr(p, "threading_layer", "") != "openmp"]
    return shared, [p for p in pools if p not in shared]


class _SharedLimit:
    """One thread for the pools that all threads share, as long as anyone uses it."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0
        self._before: list[tuple[Any, int]] = []

    def enter(self) -> None:
        with self._lock:
            if not self._users:
                self._before = _numbers(_pools()[0])
                for pool, _ in self._before:
                    _set(pool, 1)
            self._users += 1

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                for pool, number in self._before:
                    _set(pool, number)


_shared_limit = _SharedLimit()


@contextmanager
def one_thread() -> Iterator[None]:
    """Return a context in which linear algebra runs on one thread; its end restores the previous number.

    Examples
    --------
    >>> with one_thread():
    ...     all(pool.get_num_threads() == 1 for pools in _pools() for pool in pools)
    True
    """
    # Asking for the number of threads takes a microsecond, a context of threadpoolctl thirty.
    own = _numbers(_pools()[1])
    for pool, _ in own:
        _set(pool, 1)
    _shared_limit.enter()
    try:
        yield
    finally:
        _shared_limit.leave()
        for pool, number in own:
            _set(pool, number)


def _numbers(pools: list[Any]) -> list[tuple[Any, int]]:
    """Return the pools that use several threads, and how many."""
    return [(pool, number) for pool in pools if (number := pool.get_num_threads()) not in (1, None)]


def _set(pool: Any, number: int) -> None:
    """Set the number of threads of a pool, from whichever thread."""
    # Recent versions of threadpoolctl ignore all threads but the one that was first to set a number.
    anyone = getattr(pool, "clear_controlling_thread", lambda force: None)
    anyone(force=True)
    pool.set_num_threads(number)
    anyone(force=True)
