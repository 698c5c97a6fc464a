"""Registries: things that any module can add and that users select by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, TypeVar


class Entry(Protocol):
    """What a registry holds: something with a name, and the module that it comes from."""

    @property
    def name(self) -> str:
        """Word by which the entry is selected."""

    @property
    def module(self) -> str:
        """Name of the module that defines the entry."""


E = TypeVar("E", bound=Entry)


class Registry(dict[str, E]):
    """Entries by name, in the order in which they were registered.

    Parameters
    ----------
    kind
        What an entry is called in messages.
    argument
        The argument, or the option, by which users select an entry; messages begin with it.

    Examples
    --------
    >>> from quatcast.data import Source
    >>> registry = Registry[Source]("source", "data")
    >>> registry.register(Source("none", "no recordings", lambda **_: []))
    >>> registry.find("none").title
    'no recordings'
    >>> registry.find("some")
    Traceback (most recent call last):
    ...
    ValueError: data: expected one of none, got 'some'
    """

    def __init__(self, kind: str, argument: str) -> None:
        super().__init__()
        self.kind, self.argument = kind, argument

    def register(self, entry: E) -> None:
        """Add an entry, or replace one that the same module has registered before."""
        present = self.get(entry.name, entry)
        if present.module != entry.module:
            raise ValueError(
                f"name: module {present.module!r} has already registered a {self.kind} {entry.name!r}; "
                f"choose another name in module {entry.module!r}"
            )
        self[entry.name] = entry

    def find(self, name: str) -> E:
        """Return the entry of a name; the error for an unknown one lists the names that there are."""
        if not isinstance(name, str) or name not in self:
            raise ValueError(f"{self.argument}: expected one of {', '.join(self)}, got {name!r}")
        return self[name]


def module_of(function: Callable[..., Any]) -> str:
    """Return the name of the module that defines a function.

    Examples
    --------
    >>> module_of(module_of)
    'quatcast.basics.registry'
    """
    # A functools.partial object belongs to the module of the function that it wraps.
    return str(getattr(function, "func", function).__module__)
