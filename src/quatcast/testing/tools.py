"""Tools of the checks: fingerprints of objects, and steps that are undone or interrupted on purpose."""

from __future__ import annotations

import hashlib
import pickle
import struct
import sys
from collections import deque
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from quatcast.algebra import Algebra, fetch
from quatcast.checkpoint import Checkpointable
from quatcast.forecasting.contract import mark_of, rewind_to

UNTOUCHED = ("numpy", "threadpoolctl", "contextlib", "importlib", "quatcast.engine.threads", "hypothesis")
"""Modules whose functions are not interrupted: they change settings of the process, or follow its garbage collection,
which may begin at any moment."""


class Interruption(BaseException):
    """The error that `interrupted` raises; not an `Exception`, so that handlers of ordinary errors let it pass."""


def require(condition: Any, message: str) -> None:
    """Raise an AssertionError with a message unless the condition holds."""
    if not condition:
        raise AssertionError(message)


def require_same(got: Any, expected: Any, promise: str, what: str) -> None:
    """Raise an AssertionError with a promise, and with both values, unless they are equal to the last bit.

    Examples
    --------
    >>> require_same(1 + 1, 3, "a sum must be right", "this one")
    Traceback (most recent call last):
    AssertionError: a sum must be right, but this one is 2 instead of 3
    """
    if fingerprint(got) != fingerprint(expected):
        raise AssertionError(f"{promise}, but {what} is {got} instead of {expected}")


def spoilt(given: Any) -> dict[str, tuple[Any, list[str]]]:
    """Return bad versions of an array by name, each with the words that the error must contain."""
    array = np.asarray(given, dtype=float)
    middle = tuple(n // 2 for n in array.shape)
    found: dict[str, tuple[Any, list[str]]] = {
        "an array that is too long": (np.concatenate([array, array]), [str((2 * len(array), *array.shape[1:]))]),
        "an array with one axis more": (array[None], [str((1, *array.shape))]),
        "an empty array": (array[:0], [str((0, *array.shape[1:]))]),
        "complex numbers": (array + 0j, ["complex128"]),
        "truth values": (array > 0, ["bool"]),
        "texts": (array.astype(str).tolist(), ["<U"]),
        "rows of different lengths": ([[1.0, 2.0], [3.0]], ["inhomogeneous"]),
    }
    for value in ("nan", "inf", "-inf"):
        bad = array.copy()
        bad[middle] = float(value)
        found[value] = (bad, [f"[{', '.join(map(str, middle))}]", value])
    return found


def check_make(make: Any, what: str) -> None:
    """Raise a ValueError if something, such as a learner instead of a function that makes one, cannot be called.

    Examples
    --------
    >>> check_make(3, "learner")
    Traceback (most recent call last):
    ValueError: make: expected a class or a function without arguments that returns a new learner, got 3
    """
    if not callable(make):
        expected = f"a class or a function without arguments that returns a new {what}"
        raise ValueError(f"make: expected {expected}, got {make!r}")


def fingerprint(value: Any) -> str:
    """Return a checksum of everything that an object holds: equal fingerprints mean equal to the last bit.

    Objects that can be saved count with their settings and their state, all others with their attributes.

    Examples
    --------
    >>> from quatcast import RLS
    >>> one, other = RLS().begin(3, 2), RLS().begin(3, 2)
    >>> fingerprint(one) == fingerprint(other)
    True
    >>> step = other.update([1.0, 2.0, 3.0], [4.0, 5.0])
    >>> fingerprint(one) == fingerprint(other)
    False
    """
    parts: list[bytes] = []
    _describe(value, set(), parts.append)
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _describe(value: Any, within: set[int], add: Callable[[bytes], None]) -> None:
    """Add the bytes that describe a value; `within` holds the identities of the objects around it."""
    if id(value) in within:
        add(b"the same object again")
        return
    if isinstance(value, np.generic):
        value = value.item()
    add(type(value).__name__.encode())
    if isinstance(value, float):
        add(struct.pack("<d", value))
    elif value is None or isinstance(value, _PLAIN):
        add(repr(value).encode())
    elif hasattr(value, "__array_namespace__"):
        array = np.ascontiguousarray(fetch(value))
        add(f"{array.dtype.str}{array.shape}".encode())
        add(array.tobytes())
    elif isinstance(value, Algebra):
        add(value.name.encode())
    elif isinstance(value, type) or (callable(value) and not hasattr(value, "__dict__")):
        add(repr(value).encode())
    else:
        within.add(id(value))
        for part in _contents(value):
            _describe(part, within, add)
        within.remove(id(value))


_PLAIN = (bool, int, complex, str, bytes, range)


def _contents(value: Any) -> list[Any]:
    """Return the values that a value consists of."""
    if isinstance(value, list | tuple | deque):
        return list(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    if isinstance(value, np.random.Generator):
        return [value.bit_generator.state]
    if isinstance(value, Checkpointable):
        return [value.settings(), value.state] if value.begun else [value.settings()]
    return [getattr(value, "__qualname__", ""), vars(value) if hasattr(value, "__dict__") else repr(value)]


def require_undoing(
    one: Any,
    twin: Any,
    steps: Sequence[Callable[[Any], Any]],
    wrong: Callable[[Any, int, int], None],
    thorough_every: int,
) -> None:
    """Require that every step of a run can be undone exactly, and that steps that were undone do not matter.

    Parameters
    ----------
    one, twin
        Two equal objects; wrong steps are done, and undone, in the first one only.
    steps
        The steps of the run, each a function of the object.
    wrong
        Function that does another step instead: of the object, the number of the step, and that of the attempt.
    thorough_every
        Every result is compared with that of the twin. A look at the whole state is slow and taken at one in so many
        steps; there, two wrong steps are undone from one mark.
    """
    for t, step in enumerate(steps):
        thorough = t < thorough_every or t % thorough_every == 0
        before, mark = fingerprint(one) if thorough else "", mark_of(one)
        for attempt in range(1 + thorough):
            wrong(one, t, attempt)
            rewind_to(one, mark)
            require(
                not thorough or fingerprint(one) == before,
                f"rewind must undo a step exactly, but after step {t + 1} the state is different",
            )
        result, expected = step(one), step(twin)
        require_same(result, expected, "steps that were undone must not matter", f"the result of step {t + 1}")
    require(fingerprint(one) == fingerprint(twin), "steps that were undone must not matter, but the states differ")


def require_continuing(
    original: Any,
    steps: Sequence[Callable[[Any], Any]],
    moments: Collection[int],
    how: str,
    duplicate: Callable[[Any], Any],
    afterwards: int,
) -> None:
    """Require that duplicates of an object are independent of it and do what it does.

    Parameters
    ----------
    original
        The object.
    steps
        The steps of a run, each a function of the object.
    moments
        Numbers of steps after which a duplicate is made.
    how, duplicate
        How a duplicate is made, in words and as a function of the object.
    afterwards
        Number of further steps over which each duplicate is compared with the object.
    """
    duplicates = dict[int, Any]()
    for t, step in enumerate(steps):
        if t in moments:
            before, duplicates[t] = fingerprint(original), duplicate(original)
        expected = step(original)
        require(
            t not in moments or fingerprint(duplicates[t]) == before,
            f"a duplicate ({how}) after {t} steps must equal the original and be independent of it, but it is not",
        )
        for since, other in list(duplicates.items()):
            promise = f"a duplicate ({how}) after {since} steps must continue like the original"
            require_same(step(other), expected, promise, f"the result of step {t + 1}")
            if t - since == afterwards:
                del duplicates[since]


def pickled(original: Any) -> Any:
    """Return what comes back from pickling an object."""
    return pickle.loads(pickle.dumps(original))


def reloaded(original: Any) -> Any:
    """Return what comes back from saving an object and loading it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "saved"
        original.save(path)
        kind = type(Checkpointable.load(path))
        require(
            kind is type(original), f"loading must return a {type(original).__name__}, but it gives a {kind.__name__}"
        )
        return type(original).load(path)


def interruption_points(make_step: Callable[[], Callable[[], Any]], points: int) -> list[int]:
    """Return some numbers of function calls, spread over a step, after which `interrupted` can interrupt it.

    Parameters
    ----------
    make_step
        Function that returns the step, as a function without arguments, on a copy of the object.
    points
        Number of places.
    """
    # The first of two steps fills caches; the second calls as many functions as any later one.
    _profiled(make_step(), None)
    calls = 0

    def count(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += _counts(frame, event)

    _profiled(make_step(), count)
    return sorted({int(at) for at in np.linspace(0, calls - 1, points)})


def interrupted(step: Callable[[], Any], at: int) -> bool:
    """Run a step, raise an `Interruption` at one of its function calls, and return whether it came that far.

    Parameters
    ----------
    step
        Function without arguments.
    at
        Number of function calls that are let through.
    """
    calls = 0

    def interrupt(frame: Any, event: str, argument: Any) -> None:
        nonlocal calls
        calls += _counts(frame, event)
        if calls > at:
            raise Interruption

    try:
        _profiled(step, interrupt)
    except Interruption:
        return True
    return False


def _counts(frame: Any, event: str) -> bool:
    return event == "call" and not str(frame.f_globals.get("__name__")).startswith(UNTOUCHED)


def _profiled(step: Callable[[], Any], profile: Any) -> None:
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        step()
    finally:
        sys.setprofile(before)
