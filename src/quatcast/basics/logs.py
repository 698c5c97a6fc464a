"""Silence for the logs of other libraries."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quiet(level: int, *loggers: logging.Logger) -> Iterator[None]:
    """Let some loggers pass only messages of a level and above, until the context ends.

    Examples
    --------
    >>> noisy = logging.getLogger("noisy")
    >>> with quiet(logging.ERROR, noisy):
    ...     noisy.isEnabledFor(logging.WARNING)
    False
    """
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(level)
    try:
        yield
    finally:
        for logger, old in zip(loggers, before, strict=True):
            logger.setLevel(old)
