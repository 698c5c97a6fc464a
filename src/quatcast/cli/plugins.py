"""Plugins: modules outside the package that register predictors and data sources when they are imported."""

from __future__ import annotations

import importlib
import sys
from importlib import import_module
from importlib.metadata import entry_points
from pathlib import Path
from traceback import extract_tb

from quatcast.cli.terminal import warn

GROUP = "quatcast.plugins"
"""Group of the entry points of installed plugins."""

FILES: list[Path] = []
"""Plugin files that have been imported, to be sent to the workers of a cluster."""


def load_plugin(name: str) -> None:
    """Import a plugin, given as the name of a module or as the path of a Python file.

    Raises
    ------
    ValueError
        If the plugin cannot be imported; the message is one line.
    """
    try:
        if name.endswith(".py"):
            _import_file(Path(name).resolve())
        else:
            import_module(name)
    except (Exception, SystemExit) as error:
        raise ValueError(f"--plugin {name}: cannot be imported ({_reason(error)})") from error


def load_entry_points() -> None:
    """Import all installed plugins. One that fails is reported on standard error and skipped."""
    for point in entry_points(group=GROUP):
        try:
            point.load()
        except (Exception, SystemExit) as error:
            warn(f"plugin {point.name}: skipped, cannot be imported ({_reason(error)})")


def _import_file(path: Path) -> None:
    """Import a file as a module of its own name.

    Its folder is added to the end of the module search path, which worker processes inherit, so that they can import
    the module too.
    """
    if not path.is_file():
        raise FileNotFoundError(f"there is no file {path}")
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    module = import_module(path.stem)
    if Path(module.__file__ or "").resolve() != path:
        raise ImportError(f"another module is called {path.stem!r}; rename the file")
    if path not in FILES:
        FILES.append(path)


def _reason(error: BaseException) -> str:
    """Return the error in one line, and where in the code of the plugin it was raised."""
    what = " ".join(f"{type(error).__name__}: {error}".split())
    ours = (str(Path(__file__).parents[1]), str(Path(importlib.__file__).parent), "<")
    frames = [frame for frame in extract_tb(error.__traceback__) if not frame.filename.startswith(ours)]
    return f"{what}, line {frames[-1].lineno} of {Path(frames[-1].filename).name}" if frames else what
