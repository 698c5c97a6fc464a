"""Packages that only some parts of the library need."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def require(module: str, install: str, what: str = "") -> Any:
    """Import a module of an optional package, or say how to install it.

    Examples
    --------
    >>> require("there_is_no_such_package.part", "quatcast[live]", "a.c3d: ")
    Traceback (most recent call last):
    ImportError: a.c3d: there_is_no_such_package is not installed; install quatcast[live]
    """
    try:
        return import_module(module)
    except ModuleNotFoundError:
        raise ImportError(f"{what}{module.partition('.')[0]} is not installed; install {install}") from None
