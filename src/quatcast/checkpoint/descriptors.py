"""Attributes that say so if they are used in the wrong way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class NotBegun:
    """The attribute `state` of an object that has not begun."""

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        raise ValueError(f"{type(instance).__name__} has not begun: call begin(...) first")


if TYPE_CHECKING:
    on_class = classmethod
else:

    class on_class(classmethod):  # noqa: N801
        """A class method that says so if it is called on an object, which it would leave unchanged."""

        def __get__(self, instance, owner=None):
            def refuse(*_, **__):
                name = f"{owner.__name__}.{self.__name__}"
                raise TypeError(f"{name} returns a new object and leaves this one unchanged: write … = {name}(path)")

            return refuse if instance is not None else super().__get__(None, owner)
