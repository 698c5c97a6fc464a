"""Packages that only some transports need."""

from __future__ import annotations

import importlib
from typing import Any


def require(module: str, extra: str) -> Any:
    """Import a module of an optional package, or say how to install it.

    Examples
    --------
    >>> require("json", "live").dumps([1])
    '[1]'
    >>> require("there_is_no_such_package", "live")
    Traceback (most recent call last):
        ...
    ImportError: there_is_no_such_package is not installed; run: pip install 'quatcast[live]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        package = module.partition(".")[0]
        raise ImportError(f"{package} is not installed; run: pip install 'quatcast[{extra}]'") from None
