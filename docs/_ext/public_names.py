"""Check that the API reference covers every public name.

The names are those of `__all__` in the public packages, and every function and constant without a leading underscore
that the two public modules of the algebra define.
"""

from __future__ import annotations

import ast
import importlib.util
import inspect
from collections.abc import Iterable
from typing import TYPE_CHECKING

from sphinx.errors import SphinxError

if TYPE_CHECKING:
    from sphinx.application import Sphinx
    from sphinx.environment import BuildEnvironment

PACKAGES = ("quatcast", "quatcast.data", "quatcast.evaluation", "quatcast.live", "quatcast.testing")
MODULES = {"quatcast.quaternion": "quatcast.algebra.quaternion", "quatcast.ghr": "quatcast.algebra.ghr"}
"""Public name of a module and where it is defined. The reference documents it under either name."""


class MissingNamesError(SphinxError):
    """The API reference leaves out a public name."""

    category = "API reference"


def public_names() -> list[str]:
    """List all public names with their package, as they are imported."""
    names = []
    for package in filter(importlib.util.find_spec, PACKAGES):
        module = importlib.import_module(package)
        names += [f"{package}.{name}" for name in module.__all__ if f"{package}.{name}" not in MODULES]
    for module_name in MODULES.values():
        module = importlib.import_module(module_name)
        for node in ast.parse(inspect.getsource(module)).body:
            targets = node.targets if isinstance(node, ast.Assign) else [node]
            defined = [getattr(target, "name", getattr(target, "id", "_")) for target in targets]
            names += [f"{module_name}.{name}" for name in defined if not name.startswith("_")]
    return names


def missing(documented: Iterable[str], public: Iterable[str] | None = None) -> list[str]:
    """Return the public names that are not documented."""
    covered = set(documented)
    return sorted(name for name in (public_names() if public is None else public) if name not in covered)


def check(app: Sphinx, env: BuildEnvironment) -> None:
    """Fail the build with the list of public names that no page documents."""
    absent = missing(env.domaindata["py"]["objects"])
    if absent:
        raise MissingNamesError(f"public names without an entry in docs/api: {', '.join(absent)}")
