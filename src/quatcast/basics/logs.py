"""Silence for the logs of other libraries."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(level: int, *names: str) -> Iterator[None]:
    """Let the loggers of some names pass only messages of a level and above, until the context ends.

    Examples
    --------
    >>> with quiet(logging.ERROR, "noisy"):
    ...     logging.getLogger("noisy").isEnabledFor(logging.WARNING)
    False
    """
    loggers = [logging.getLogger(name) for name in names]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger, old in zip(loggers, before, strict=True):
            logger.setLevel(old)
