"""One thread for the linear algebra of a step.

The products of a step take microseconds. A BLAS that distributes them over threads spends far longer on waiting for
those threads, ten times as long on a busy machine, and a forecast would be late. Code that forecasts sample by sample
therefore limits the BLAS to one thread; work that can be parallelised is distributed over processes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Return the loaded thread pools; the search takes milliseconds, so it is done once."""
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Return a context in which linear algebra runs on one thread; its end restores the previous number.

    Examples
    --------
    >>> with one_thread():
    ...     all(pool["num_threads"] == 1 for pool in _controller().info())
    True
    """
    limits: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limits
