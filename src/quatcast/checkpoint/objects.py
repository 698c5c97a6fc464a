"""Objects that can be saved: settings, state, and the tree of plain values and arrays that they become."""

from __future__ import annotations

import copy
import inspect
import os
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar, Self, get_type_hints

import numpy as np

from quatcast.algebra import Algebra, by_name
from quatcast.basics.annotations import fits
from quatcast.basics.escaping import one_line
from quatcast.basics.typing import Array
from quatcast.checkpoint.container import Container, read_container, unpack
from quatcast.checkpoint.descriptors import NotBegun, on_class

_PLAIN = (bool, int, float, str, type(None))
_GENERATORS = ("MT19937", "PCG64", "PCG64DXSM", "Philox", "SFC64")
_LONGEST_RANGE = 1_000_000
_LONGEST_MESSAGE = 300
_signatures: dict[type, Mapping[str, inspect.Parameter]] = {}
_annotations: dict[type, dict[str, Any]] = {}


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
    state: Any = NotBegun()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Checkpointable._registry.setdefault(cls.__name__, {})[cls.__module__] = cls

    @property
    def begun(self) -> bool:
        """Whether there is a state."""
        return "state" in self.__dict__

    def settings(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        try:
            return {name: getattr(self, name) for name in _parameters(type(self))}
        except AttributeError as error:
            expected = "a constructor that lists its arguments and stores each under its own name"
            raise AttributeError(f"{type(self).__name__}: expected {expected} ({error})") from None

    def __repr__(self) -> str:
        """Show the settings that differ from the defaults."""
        try:
            shown = [_shown(name, value) for name, value in self.settings().items() if self._differs(name, value)]
        except AttributeError:
            # An error message may show an object whose constructor has not finished.
            return object.__repr__(self)
        return f"{type(self).__name__}({', '.join(shown)})"

    def _differs(self, name: str, value: Any) -> bool:
        # The texts are compared, because == between arrays gives an array.
        return repr(value) != repr(_parameters(type(self))[name].default)

    def clone(self) -> Self:
        """Return an object with the same settings that has not begun."""
        return type(self)(**{name: _cloned(value) for name, value in self.settings().items()})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write settings and state to a file.

        The file appears whole or not at all: it is written under a temporary name in the same folder, flushed to the
        disk, and then takes the place of an earlier one.
        """
        write(path, self)

    @on_class
    def load(cls, path: str | os.PathLike[str]) -> Self:  # noqa: N805
        """Return the object that `save` wrote, which continues bit for bit: `forecaster = Guarded.load(path)`.

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
        return _marked(self.state) if self.begun else None

    def rewind(self, mark: Any) -> None:
        """Go back to where `mark` was taken, at most one step ago."""
        if mark is None:
            self.__dict__.pop("state", None)
        else:
            self.state = _rewound(*mark)

    def rehearse(self) -> None:
        """Make the next step with made-up input. `load` does this with a copy, to find a state that does not work.

        A class that overrides this raises an error if the state does not fit the settings.
        """

    def __copy__(self) -> Self:
        return copy.deepcopy(self)  # two objects that share buffers would disturb each other

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
        fields = self.__dict__.copy()
        # Most are arrays and numbers; to call a function for each would take most of the time.
        return fields, {name: _marked(value) for name, value in fields.items() if type(value) not in _IMMUTABLE}

    def rewind(self, mark: Any) -> None:
        """Take the fields back."""
        fields, inner = mark
        for name in _parameters(type(self)):
            value, own = inner.get(name, (fields[name], None))
            setattr(self, name, _rewound(value, own))


def _parameters(kind: type) -> Mapping[str, inspect.Parameter]:
    """Return the constructor's arguments by name."""
    if kind not in _signatures:
        _signatures[kind] = inspect.signature(kind).parameters
    return _signatures[kind]


def _shown(name: str, value: Any) -> str:
    """Return a setting as text; of several objects only their number, and of an array only its shape."""
    if isinstance(value, np.ndarray):
        return f"{name}=array of shape {value.shape}"
    if isinstance(value, list | tuple) and any(isinstance(item, Checkpointable) for item in value):
        return f"{len(value)} {name}"
    return f"{name}={value!r}"


def _cloned(value: Any) -> Any:
    if isinstance(value, Checkpointable):
        return value.clone()
    return [_cloned(item) for item in value] if isinstance(value, list) else value


_IMMUTABLE = frozenset({np.ndarray, bool, int, float, str, type(None)})
"""Types of values that a step replaces and does not change; most values of a state."""
_COPIED = (deque, dict)
_SEQUENCES = (list, tuple)


def _marked(value: Any) -> Any:
    if isinstance(value, Checkpointable):
        return value, value.mark()
    if isinstance(value, _COPIED):
        return value.copy(), None
    if isinstance(value, _SEQUENCES):
        # A slice of a named tuple would be a plain tuple.
        marks = [item.mark() for item in value if isinstance(item, Checkpointable)]
        return value[:] if isinstance(value, list) else value, marks
    if isinstance(value, np.random.Generator):
        return value, value.bit_generator.state
    return value, None


def _rewound(value: Any, inner: Any) -> Any:
    """Return a value as it was when `_marked` returned it and what is inside."""
    if isinstance(value, Checkpointable):
        value.rewind(inner)
    elif isinstance(value, list | tuple):
        parts = [item for item in value if isinstance(item, Checkpointable)]
        for item, own in zip(parts, inner, strict=True):
            item.rewind(own)
    elif isinstance(value, np.random.Generator):
        value.bit_generator.state = inner
    # A copy, so that one mark serves several attempts at a step.
    return value.copy() if isinstance(value, list | deque | dict) else value


def write(path: str | os.PathLike[str], tree: Any) -> None:
    """Write a tree of plain values, arrays and `Checkpointable` objects to a file, whole or not at all."""
    Snapshot(tree, copy=False).write(path)


class Snapshot(Container):
    """A tree of plain values, arrays and `Checkpointable` objects at one moment, to be written while they go on.

    Taking a snapshot copies the arrays, which takes milliseconds; packing them takes ten times as long.

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
        described = _describe(tree, arrays)
        super().__init__(described, dict(arrays.values()), copy=copy)


def read(path: str | os.PathLike[str]) -> Any:
    """Read a tree back; see `Checkpointable.load`."""
    outline, body = read_container(path)
    try:
        return _restore(*unpack(outline, body))
    except Exception as error:
        # The checksums are right, so the file was made to look like this. It may contain anything, and any error that
        # it causes means the same.
        reason = one_line(str(error))[:_LONGEST_MESSAGE] or type(error).__name__
        raise ValueError(f"{path}: cannot be restored: {reason}") from error


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
        _check(restored)
        return restored
    if kind == "dict":
        return {key: _restore(value, arrays) for key, value in content}
    if kind == "range":
        found = range(*content)
        if len(found) > _LONGEST_RANGE:
            raise ValueError(f"{found} is longer than {_LONGEST_RANGE:,}")
        return found
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


def _hints(kind: type) -> dict[str, Any]:
    """Return the annotations of a class of quatcast, inherited ones included."""
    if kind not in _annotations:
        _annotations[kind] = get_type_hints(kind)
    return _annotations[kind]


def _check(restored: Checkpointable) -> None:
    """Raise an error if the state of an object of quatcast has other types than its class says, or does not work.

    Classes from outside are left alone: their annotations need not be right.
    """
    kind = type(restored)
    if kind.__module__.partition(".")[0] != __name__.partition(".")[0]:
        return
    name, expected = kind.__name__, _hints(kind)
    if isinstance(restored, State):
        for field in _parameters(kind):
            if not fits(value := getattr(restored, field), expected.get(field, Any)):
                raise ValueError(f"{name}.{field} is a {type(value).__name__}, expected {expected[field]}")
    elif restored.begun:
        if not fits(restored.state, expected.get("state", Any)):
            raise ValueError(f"{name}.state is a {type(restored.state).__name__}, expected {expected['state']}")
        with np.errstate(all="ignore"):
            copy.deepcopy(restored).rehearse()
