"""The documentation site: the API reference is complete, and every example of the gallery has text and a figure."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import re
import runpy
import shutil
import subprocess
import sys
import types
from pathlib import Path

import pytest
from blocks import ROOT

from quatcast.evaluation import Settings

pytest.importorskip("sphinx", reason="the documentation needs the extra 'docs'")
sys.path.append(str(ROOT / "docs" / "_ext"))
import offline
import plain_docstrings
import public_names

EXAMPLES = sorted((ROOT / "examples" / "gallery").glob("*.py"))


def listed() -> set[str]:
    """Names that the pages of the API reference list, with their packages."""
    names = set()
    for page in (ROOT / "docs" / "api").glob("*.rst"):
        package = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                package = match[1]
            elif match := re.match(r"(?:   |\.\. data:: )(\w+)$", line):
                names.add(f"{package}.{match[1]}")
    return names


def test_reference_lists_every_public_name() -> None:
    """The same check as in the build, in a second."""
    assert public_names.missing(listed()) == []


@pytest.mark.parametrize(
    "gone", ["quatcast.QRNN", "quatcast.data.corrupt", "quatcast.evaluation.pool", "quatcast.algebra.ghr.jacobian"]
)
def test_missing_name_is_found(gone: str) -> None:
    names = listed()
    assert set(public_names.missing(names - {gone})) - set(public_names.missing(names)) == {gone}


def test_build_fails_without_a_name(tmp_path: Path) -> None:
    """A build of one page of the reference, in which one line is missing, fails and names it and not its neighbours."""
    docs = tmp_path / "docs"
    shutil.copytree(ROOT / "docs" / "_ext", docs / "_ext")
    shutil.copytree(ROOT / "docs" / "_templates", docs / "_templates")
    shutil.copytree(ROOT / "docs" / "_static", docs / "_static")
    shutil.copy(ROOT / "docs" / "conf.py", docs)
    (docs / "index.rst").write_text("Index\n=====\n\n.. toctree::\n\n   api/safety\n", encoding="utf-8")
    (docs / "api").mkdir()
    text = (ROOT / "docs" / "api" / "safety.rst").read_text(encoding="utf-8")
    (docs / "api" / "safety.rst").write_text(text.replace("   Gated\n", ""), encoding="utf-8")
    build = [sys.executable, "-m", "sphinx", "-q", "-b", "dummy", "-t", "no-gallery", str(docs), str(tmp_path / "out")]
    environment = {"PYTHONPATH": str(ROOT / "src"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    failed = subprocess.run(build, capture_output=True, text=True, env=environment, timeout=240, check=False)
    assert failed.returncode != 0
    missing = failed.stderr.rpartition("public names without an entry in docs/api: ")[2]
    assert {"quatcast.Gated", "quatcast.Guarded", "quatcast.Gate"} & set(re.findall(r"[\w.]+", missing)) == {
        "quatcast.Gated"
    }


@pytest.mark.parametrize(
    ("html", "found"),
    [
        ('<a href="https://example.org">text</a>', 0),
        ('<script src="_static/theme.js"></script>', 0),
        ('<script defer src="https://example.org/mathjax.js"></script>', 1),
        ('<link rel="stylesheet" href="//example.org/style.css">', 1),
    ],
)
def test_what_needs_a_network_is_found(html: str, found: int) -> None:
    assert len(offline.loaded(html)) == found


def test_public_classes_have_examples() -> None:
    lacking = set()
    for name in public_names.public_names():
        package, _, last = name.rpartition(".")
        thing = getattr(importlib.import_module(package), last)
        if inspect.isclass(thing) and ">>>" not in (thing.__doc__ or ""):
            lacking.add(last)
    assert not lacking


def test_examples_and_pages_import_public_names_only() -> None:
    """What the reference does not list may change, so that nobody is shown it."""
    named = set(public_names.public_names())
    public = named | public_names.MODULES.keys() | set(public_names.PACKAGES)
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md"), *(ROOT / "docs").glob("*/*.md"), *EXAMPLES]
    shown = {path.name: path.read_text(encoding="utf-8") for path in pages}
    for name in sorted(named):
        package, _, last = name.rpartition(".")
        shown[name] = inspect.getdoc(getattr(importlib.import_module(package), last)) or ""
    imports = re.compile(r"^(?:    )?(?:>>> |\.\.\. )?from (quatcast[\w.]*) import ([\w, ]+)", re.MULTILINE)
    private = [
        f"{where}: {package}.{name}"
        for where, text in shown.items()
        for package, names in imports.findall(text)
        for name in names.replace(" ", "").split(",")
        if f"{package}.{name}" not in public
    ]
    assert not private


@pytest.mark.parametrize("module", [offline, plain_docstrings], ids=lambda module: module.__name__)
def test_examples_of_the_extensions(module: types.ModuleType) -> None:
    results = doctest.testmod(module)
    assert results.attempted > 0
    assert results.failed == 0


def test_formulas_and_bars_in_docstrings() -> None:
    """A formula becomes a literal block without escapes; examples stay as they are."""
    lines = ["The loss |e| is", "", "    J = |e|²,", "", "Examples", "--------", ">>> 1 | 2", "3"]
    plain_docstrings.process(None, "function", "loss", None, None, lines)
    assert lines == [r"The loss \|e\| is", "", "::", "", "    J = |e|²,", "", "Examples", "--------", ">>> 1 | 2", "3"]


def test_live_example_runs(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(ROOT / "examples" / "live.py"), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 25
    assert "ok" in lines[-1] or "degraded" in lines[-1]


def test_settings_example_is_valid() -> None:
    settings = Settings.read(ROOT / "examples" / "adaptive-kernel.toml")
    assert list(settings.predictors) == ["QRNN-MCC", "QRNN-MSE"]


def test_gallery_has_examples() -> None:
    assert len(EXAMPLES) >= 8


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_example_has_text_and_figure(example: Path) -> None:
    """sphinx-gallery runs files called plot_…; the docstring becomes title and introduction."""
    assert example.stem.startswith("plot_")
    tree = ast.parse(example.read_text(encoding="utf-8"))
    title, underline, *rest = (ast.get_docstring(tree) or "").splitlines()
    assert set(underline) == {"="}
    assert len(underline) >= len(title) > 0
    assert len(" ".join(rest)) > 100, "the docstring says what the example shows"
    calls = {node.func.attr for node in ast.walk(tree) if isinstance(node, ast.Call) and hasattr(node.func, "attr")}
    assert calls & {"subplots", "figure"}
    assert "show" in calls
