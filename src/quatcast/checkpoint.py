"""Files that keep a learner or a forecaster: one NumPy archive, nothing in it that could run code.

A state is a tree of dictionaries, lists, tuples, deques, arrays, numbers, strings, None, and objects of the library
that are `Kept`. Its arrays become members of the archive, and the rest a JSON text that says where each belongs.
"""

from __future__ import annotations

import json
import os
import zipfile
from collections import deque
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

_FORMAT = "quatcast-3"


class Kept:
    """Base of what a file keeps as it is: an object is its attributes, and comes back with them bit for bit."""

    _kinds: ClassVar[dict[str, type[Kept]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Kept._kinds[cls.__name__] = cls

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file: settings, what was learnt, what is waited for, and random states."""
        write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; it goes on bit for bit where it was."""
        found = read(path)
        if not isinstance(found, cls):
            raise ValueError(f"{path}: holds a {type(found).__name__}, not a {cls.__name__}")
        return found

    def _attributes(self) -> dict[str, Any]:
        """Attributes as a tree; what a tree cannot hold must be put differently here."""
        return vars(self)

    def _restore(self, attributes: dict[str, Any]) -> None:
        """Take back what `_attributes` gave."""
        vars(self).update(attributes)


def write(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree to a file, whole or not at all."""
    arrays: dict[str, np.ndarray[Any, Any]] = {}

    def describe(node: Any) -> Any:
        if isinstance(node, np.ndarray):
            arrays[f"a{len(arrays)}"] = node
            return {"array": f"a{len(arrays) - 1}"}
        if isinstance(node, dict):
            return {"dict": [[key, describe(value)] for key, value in node.items()]}
        if isinstance(node, Kept):
            return {"object": [type(node).__name__, describe(node._attributes())]}
        if isinstance(node, deque):
            return {"deque": [node.maxlen, [describe(value) for value in node]]}
        if isinstance(node, list | tuple):
            return {"tuple" if isinstance(node, tuple) else "list": [describe(value) for value in node]}
        if node is None or isinstance(node, bool | int | float | str | np.generic):
            return {"value": node.item() if isinstance(node, np.generic) else node}
        raise TypeError(f"a checkpoint cannot keep {node!r} of type {type(node).__name__}")

    outline = json.dumps({"format": _FORMAT, "tree": describe(tree)})
    target = Path(path)
    partial = target.with_name(target.name + ".part")
    with partial.open("wb") as file:
        np.savez(file, outline=np.array(outline), **arrays)  # type: ignore[arg-type]
    partial.replace(target)


def read(path: str | os.PathLike[str]) -> Any:
    """Read a tree back."""
    try:
        with Path(path).open("rb") as file, np.load(file, allow_pickle=False) as archive:
            outline = json.loads(str(archive["outline"]))
            arrays = {name: archive[name] for name in archive.files if name != "outline"}
    except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise ValueError(f"{path}: not a file that quatcast saved, or not the whole of it") from error
    if outline.get("format") != _FORMAT:
        raise ValueError(f"{path}: format {outline.get('format')!r}, this version reads {_FORMAT!r}")

    def restore(node: dict[str, Any]) -> Any:
        kind, content = next(iter(node.items()))
        if kind == "array":
            return arrays[content]
        if kind == "dict":
            return {key: restore(value) for key, value in content}
        if kind == "object":
            if content[0] not in Kept._kinds:
                raise ValueError(f"{path}: holds a {content[0]!r}, which this version does not know")
            kept = object.__new__(Kept._kinds[content[0]])
            kept._restore(restore(content[1]))
            return kept
        if kind == "deque":
            return deque((restore(value) for value in content[1]), maxlen=content[0])
        if kind in ("list", "tuple"):
            items = [restore(value) for value in content]
            return tuple(items) if kind == "tuple" else items
        return content

    return restore(outline["tree"])
