"""Files that keep a learner: one NumPy archive, nothing in it that could run code.

A state is a tree of dictionaries, lists, arrays, numbers, strings and None. Its arrays become members of the
archive, and the rest a JSON text that says where each array belongs.
"""

from __future__ import annotations

import json
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np

_FORMAT = "quatcast-1"


def write(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree to a file, whole or not at all."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}

    def describe(node: Any) -> Any:
        if isinstance(node, np.ndarray):
            arrays[f"a{len(arrays)}"] = node
            return {"array": f"a{len(arrays) - 1}"}
        if isinstance(node, dict):
            return {"dict": [[key, describe(value)] for key, value in node.items()]}
        if isinstance(node, list | tuple):
            return {"list": [describe(value) for value in node]}
        if node is None or isinstance(node, bool | int | float | str):
            return {"value": node}
        raise TypeError(f"a checkpoint cannot keep {node!r} of type {type(node).__name__}")

    outline = json.dumps({"format": _FORMAT, "tree": describe(tree)})
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    with partial.open("wb") as file:
        np.savez(file, outline=np.array(outline), **arrays)  # type: ignore[arg-type]
    partial.replace(target)


def read(path: str | os.PathLike[str]) -> Any:
    """Read a tree back; lists and tuples come back as lists."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            outline = json.loads(str(archive["outline"]))
            arrays = {name: archive[name] for name in archive.files if name != "outline"}
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a file that quatcast saved ({error})") from error
    if outline.get("format") != _FORMAT:
        raise ValueError(f"{path}: format {outline.get('format')!r}, this version reads {_FORMAT!r}")

    def restore(node: dict[str, Any]) -> Any:
        kind, content = next(iter(node.items()))
        if kind == "array":
            return arrays[content]
        if kind == "dict":
            return {key: restore(value) for key, value in content}
        if kind == "list":
            return [restore(value) for value in content]
        return content

    return restore(outline["tree"])
