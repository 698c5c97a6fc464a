"""Checkpoints: an object and everything that it has learnt in one file, read back bit for bit.

A `Checkpointable` object is its settings, the arguments of its constructor, and, once it has begun, its `state`.
Saving, pickling, copying and undoing a step all work on these two alone.

A checkpoint holds no code. It begins with a magic word, the format version, and the length and checksums of what
follows: the bytes of the arrays, and an outline. The outline is JSON text that describes a tree of values and how
`quatcast.algebra.packing` packed the arrays. All sizes are compared with the size of the file before any memory is
allocated. Classes are looked up in a registry of classes that are already imported, so that reading a file never
imports anything.
"""

from __future__ import annotations

import inspect
import json
import os
import secrets
import struct
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from quatcast.algebra import Algebra, by_name
from quatcast.algebra.backend import device_of, fetch, place
from quatcast.algebra.packing import pack_arrays, packed_size, unpack_arrays
from quatcast.typing import Array, Floats

MAGIC = b"quatcast"
VERSION = 4
_HEAD = struct.Struct("<8sIQII")
"""Magic word, format version, length of the outline, checksum of the outline, checksum of the arrays."""
_PLAIN = (bool, int, float, str, type(None))
_FORGED = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)
"""What reading the arrays and the tree of a forged file may raise."""
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_ALONE = 1 << 16
"""Bytes from which an array is packed alone; smaller ones are packed together with all others of their shape."""


class _NotBegun:
    """The attribute `state` of an object that has not begun."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise ValueError(f"{type(instance).__name__} has not begun: call begin(...) first")


class Checkpointable:
    """Base class of everything that can be saved: an object is its settings and, once begun, its state.

    The constructor stores its arguments under their own names and does nothing else. Whatever the object remembers is
    in the attribute `state`, which does not exist before the object has begun. A state is a dataclass that is
    `Checkpointable` itself: its fields are its settings, and it has no state of its own.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from tempfile import TemporaryDirectory
    >>> @dataclass
    ... class Sum(Checkpointable):
    ...     total: float = 0.0
    >>> with TemporaryDirectory() as folder:
    ...     Sum(1.5).save(f"{folder}/sum")
    ...     Sum.load(f"{folder}/sum")
    Sum(total=1.5)
    """

    _registry: ClassVar[dict[str, dict[str, type[Checkpointable]]]] = {}
    """Name of a class → module → class."""
    state: Any = _NotBegun()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Checkpointable._registry.setdefault(cls.__name__, {})[cls.__module__] = cls

    @property
    def begun(self) -> bool:
        """Whether there is a state."""
        return "state" in self.__dict__

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {name: getattr(self, name) for name in _parameters(type(self))}

    def clone(self) -> Self:
        """Return an object with the same settings that has not begun."""
        return type(self)(**{name: _cloned(value) for name, value in self.settings().items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and state to a file.

        The file appears whole or not at all: it is written under a temporary name in the same folder, flushed to the
        disk, and then takes the place of an earlier one.
        """
        write(path, self)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read what `save` wrote; the object continues bit for bit.

        Raises
        ------
        ValueError
            If the file is damaged, is not a checkpoint, has another format version, or holds another class.
        """
        found = read(path)
        if not isinstance(found, cls):
            raise ValueError(f"{path}: expected a {cls.__name__}, got a {type(found).__name__}")
        return found

    def mark(self) -> Any:
        """Return what `rewind` needs to undo the next step.

        Arrays are remembered by reference: a step replaces the arrays of a state and does not write into them.
        """
        return {"state": _marked(self.state)} if self.begun else {}

    def rewind(self, mark: Any) -> None:
        """Go back to where `mark` was taken, at most one step ago."""
        _rewind(self, mark, ("state",))

    def __getstate__(self) -> dict[str, Any]:
        return {"settings": self.settings()} | ({"state": self.state} if self.begun else {})

    def __setstate__(self, kept: dict[str, Any]) -> None:
        self.__init__(**kept["settings"])  # type: ignore[misc]
        if "state" in kept:
            self.state = kept["state"]


class State(Checkpointable):
    """Base class of states: dataclasses whose fields are everything that an object remembers.

    A field with `init=False` is scratch memory: it is neither saved nor undone.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Counter(State):
    ...     count: int
    >>> counter = Counter(3)
    >>> mark = counter.mark()
    >>> counter.count = 4
    >>> counter.rewind(mark)
    >>> counter
    Counter(count=3)
    """

    def mark(self) -> Any:
        """Return the fields as they are."""
        fields = ((name, getattr(self, name)) for name in _parameters(type(self)))
        # Most fields are arrays and numbers; calling a function for each would take most of the time.
        return {name: (value, None) if type(value) in _IMMUTABLE else _marked(value) for name, value in fields}

    def rewind(self, mark: Any) -> None:
        """Take the fields back."""
        _rewind(self, mark, tuple(mark))


_signatures: dict[type, tuple[str, ...]] = {}


def _parameters(kind: type) -> tuple[str, ...]:
    """Names of the constructor's arguments."""
    if kind not in _signatures:
        _signatures[kind] = tuple(inspect.signature(kind).parameters)
    return _signatures[kind]


def _cloned(value: Any) -> Any:
    if isinstance(value, Checkpointable):
        return value.clone()
    return [_cloned(item) for item in value] if isinstance(value, list) else value


_IMMUTABLE = frozenset({np.ndarray, bool, int, float, str, type(None)})
"""Types of values that a step replaces and does not change; most values of a state."""


def _marked(value: Any) -> Any:
    if type(value) in _IMMUTABLE:
        return value, None
    if isinstance(value, Checkpointable):
        return value, value.mark()
    if isinstance(value, list | tuple):
        # A slice of a named tuple would be a plain tuple.
        kept = value[:] if isinstance(value, list) else value
        return kept, [item.mark() for item in value if isinstance(item, Checkpointable)]
    if isinstance(value, deque | dict):
        return value.copy(), None
    if isinstance(value, np.random.Generator):
        return value, value.bit_generator.state
    return value, None


def _rewind(target: Checkpointable, mark: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        if name not in mark:
            target.__dict__.pop(name, None)
            continue
        value, inner = mark[name]
        if isinstance(value, Checkpointable):
            value.rewind(inner)
        elif isinstance(value, list | tuple):
            parts = [item for item in value if isinstance(item, Checkpointable)]
            for item, own in zip(parts, inner, strict=True):
                item.rewind(own)
        elif isinstance(value, np.random.Generator):
            value.bit_generator.state = inner
        # A copy, so that one mark serves several attempts at a step.
        setattr(target, name, value.copy() if isinstance(value, list | deque | dict) else value)


def write(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree of plain values, arrays and `Checkpointable` objects to a file, whole or not at all."""
    Snapshot(tree, copy=False).write(path)


class Snapshot:
    """A tree of plain values, arrays and `Checkpointable` objects at one moment, to be written while they go on.

    Taking a snapshot copies the arrays, which takes milliseconds. Packing them takes ten times as long; `pack` does it
    in short pieces, between which a live forecaster can answer. `write` needs neither the objects nor the interpreter
    for most of its time and can run in a thread.

    Parameters
    ----------
    tree
        What is written; `read` reads it back.
    copy
        Copy the arrays. Without it, nothing may change until the file is written.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     snapshot = Snapshot({"weights": np.ones(3)})
    ...     for _ in snapshot.pack():
    ...         pass  # answer a sample
    ...     snapshot.write(f"{folder}/weights")
    ...     read(f"{folder}/weights")
    {'weights': array([1., 1., 1.])}
    """

    def __init__(self, tree: Any, *, copy: bool = True) -> None:
        arrays: dict[int, tuple[int, Array]] = {}
        self._described = _describe(tree, arrays)
        self._waiting: dict[Any, list[tuple[int, Floats]]] = {}
        self._packed: list[tuple[dict[str, Any], list[Any]]] = []
        for position, given in arrays.values():
            array = fetch(given)
            group = (array.dtype, array.shape, device_of(given), position if array.nbytes > _ALONE else None)
            self._waiting.setdefault(group, []).append((position, array.copy() if copy else array))

    def pack(self) -> Iterator[None]:
        """Pack the arrays, and yield after each of the larger ones."""
        while self._waiting:
            self._packed.append(self._pack_next())
            yield

    def _pack_next(self) -> tuple[dict[str, Any], list[Any]]:
        group = next(iter(self._waiting))
        members = self._waiting.pop(group)
        entry, parts = pack_arrays([array for _, array in members])
        return entry | {"device": group[2], "positions": [position for position, _ in members]}, list(parts)

    def _all_packed(self) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        yield from self._packed
        while self._waiting:
            yield self._pack_next()

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, whole or not at all; what has not been packed is packed on the way."""
        target = Path(path)
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
        try:
            with temporary.open("xb") as file:
                file.write(bytes(_HEAD.size))
                entries, checksum = [], 0
                for entry, parts in self._all_packed():
                    entries.append(entry)
                    for part in parts:
                        checksum = zlib.crc32(part, checksum)
                        file.write(part)
                outline = json.dumps({"arrays": entries, "tree": self._described}, separators=(",", ":")).encode()
                file.write(outline)
                file.seek(0)
                file.write(_HEAD.pack(MAGIC, VERSION, len(outline), zlib.crc32(outline), checksum))
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Flush the name of a new file to the disk, where the system can."""
    if hasattr(os, "O_DIRECTORY"):
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read(path: str | os.PathLike[str]) -> Any:
    """Read a tree back."""
    content = memoryview(Path(path).read_bytes())
    if len(content) < _HEAD.size or content[: len(MAGIC)] != MAGIC:
        raise ValueError(f"{path}: not a checkpoint of quatcast")
    _, version, length, outline_sum, array_sum = _HEAD.unpack_from(content)
    if version != VERSION:
        raise ValueError(f"{path}: checkpoint format {version}; this version of quatcast reads format {VERSION}")
    at = max(_HEAD.size, len(content) - length)
    body, outline = content[_HEAD.size : at], content[at:]
    if zlib.crc32(outline) != outline_sum or zlib.crc32(body) != array_sum:
        raise ValueError(f"{path}: damaged, or not complete")
    try:
        described = json.loads(bytes(outline))
        sizes = [packed_size(entry) for entry in described["arrays"]]
        if sum(sizes) != len(body):
            raise ValueError("the arrays do not fill the file")
        arrays: dict[int, Array] = {}
        for entry, size in zip(described["arrays"], sizes, strict=True):
            if len(entry["positions"]) != entry["shape"][0]:
                raise ValueError(f"{len(entry['positions'])} positions for arrays of shape {entry['shape']}")
            found = (place(array, entry["device"]) for array in unpack_arrays(entry, body[:size]))
            arrays |= zip(entry["positions"], found, strict=True)
            body = body[size:]
        return _restore(described["tree"], arrays)
    except _FORGED as error:
        raise ValueError(f"{path}: cannot be restored: {error}") from error


def _describe(node: Any, arrays: dict[int, tuple[int, Array]]) -> Any:
    """Describe a node of the tree in JSON; its arrays are added to `arrays`, by identity, with their position.

    An array that occurs twice is stored once. `arrays` holds on to every array, because Python may give the identity
    of one that has been deleted to the next one.
    """
    if isinstance(node, _PLAIN):
        return {"value": node}
    if isinstance(node, np.generic):
        return {"value": node.item()}
    if isinstance(node, Checkpointable):
        kept = node.__getstate__()
        name = [type(node).__name__, type(node).__module__]
        return {"object": name} | {key: _describe(kept[key], arrays) for key in kept}
    if isinstance(node, dict):
        return {"dict": [[_key(key), _describe(value, arrays)] for key, value in node.items()]}
    if isinstance(node, range):
        return {"range": [node.start, node.stop, node.step]}
    if isinstance(node, list | tuple | deque):
        items = [_describe(value, arrays) for value in node]
        if isinstance(node, deque):
            return {"deque": items, "maxlen": node.maxlen}
        return {"list" if isinstance(node, list) else "tuple": items}
    if isinstance(node, Algebra):
        return {"algebra": node.name}
    if isinstance(node, np.random.Generator):
        return {"generator": _describe(node.bit_generator.state, arrays)}
    if hasattr(node, "__array_namespace__") or hasattr(node, "device"):
        position, _ = arrays.setdefault(id(node), (len(arrays), node))
        return {"array": position}
    raise TypeError(f"a checkpoint cannot hold {node!r} of type {type(node).__name__}; use a named object instead")


def _key(key: Any) -> Any:
    if not isinstance(key, str | int):
        raise TypeError(f"a checkpoint cannot hold a dictionary with the key {key!r}")
    return key


def _class_of(name: str, module: str) -> type[Checkpointable]:
    """Return the class of a name, of the same module or else the only one of that name."""
    known = Checkpointable._registry.get(name, {})
    if module in known:
        return known[module]
    if len(known) != 1:
        modules = f"; there are several, in {', '.join(sorted(known))}" if known else ""
        raise ValueError(f"class {name!r} of {module} is not known; import the module that defines it first{modules}")
    return next(iter(known.values()))


def _restore(node: dict[str, Any], arrays: dict[int, Array]) -> Any:
    """Build a node of the tree from its description."""
    kind = next(iter(node), "nothing")
    content = node[kind]
    if kind == "value":
        return content
    if kind == "array":
        return arrays[content]
    if kind == "object":
        restored: Any = _class_of(*content)(**_restore(node["settings"], arrays))
        if "state" in node:
            restored.state = _restore(node["state"], arrays)
        return restored
    if kind == "dict":
        return {key: _restore(value, arrays) for key, value in content}
    if kind == "range":
        return range(*content)
    if kind == "algebra":
        return by_name(content)
    if kind == "generator":
        state = _restore(content, arrays)
        if state["bit_generator"] not in _GENERATORS:
            raise ValueError(f"generator {state['bit_generator']!r} is not known")
        generator = np.random.Generator(getattr(np.random, state["bit_generator"])())
        generator.bit_generator.state = state
        return generator
    items = [_restore(value, arrays) for value in content]
    return {"list": list, "tuple": tuple}[kind](items) if kind != "deque" else deque(items, maxlen=node["maxlen"])
