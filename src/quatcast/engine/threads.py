"""One thread for the linear algebra of a step.

The products of a step take microseconds. A BLAS that spreads them over threads spends far longer waiting for those
threads, ten times as long on a busy machine, and a forecast that has to come in time is late. So whoever forecasts
sample by sample holds the BLAS to one thread meanwhile; work that can be spread is spread over processes.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cache
from typing import Any

from threadpoolctl import ThreadpoolController


@cache
def _controller() -> ThreadpoolController:
    """Thread pools that are loaded; looking for them takes milliseconds, so it is done once."""
    return ThreadpoolController().select(user_api="blas")


def one_thread() -> AbstractContextManager[Any]:
    """Context in which linear algebra runs on one thread; afterwards the process is as it was.

    Examples
    --------
    >>> with one_thread():
    ...     all(pool["num_threads"] == 1 for pool in _controller().info())
    True
    """
    limits: AbstractContextManager[Any] = _controller().limit(limits=1)
    return limits
