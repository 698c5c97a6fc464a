"""Examples in docstrings of public names: they import what they use, so that users can copy them."""

import ast
import builtins
import doctest
import importlib
import inspect
from typing import Any

import pytest

PACKAGES = ["quatcast", "quatcast.data", "quatcast.evaluation", "quatcast.live", "quatcast.testing"]


def names_used(source: str) -> set[str]:
    """Names that some code reads and does not define."""
    tree = ast.parse(source)
    found = list(ast.walk(tree))
    defined = {node.id for node in found if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    defined |= {node.name for node in found if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)}
    defined |= {node.name for node in found if isinstance(node, ast.ExceptHandler) and node.name}
    defined |= {node.arg for node in found if isinstance(node, ast.arg)}
    defined |= {
        (alias.asname or alias.name).partition(".")[0]
        for node in found
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    return {node.id for node in found if isinstance(node, ast.Name)} - defined - set(dir(builtins))


def test_an_example_without_an_import_is_seen() -> None:
    assert names_used("x = [y for y in range(3)]\nprint(np.sum(x))") == {"np"}


@pytest.mark.parametrize("package", PACKAGES)
def test_examples_import_what_they_use(package: str) -> None:
    module: Any = importlib.import_module(package)
    quatcast: Any = importlib.import_module("quatcast")
    known = {"np", "quatcast", *quatcast.__all__, *module.__all__}
    missing = {}
    for name in module.__all__:
        example = getattr(module, name)
        if inspect.isclass(example) or inspect.isfunction(example):
            source = "".join(part.source for part in doctest.DocTestParser().get_examples(example.__doc__ or ""))
            if found := names_used(source) - known:
                missing[name] = found
    assert not missing
