"""Split activations: one real function, applied to each component of a number.

For a quaternion q = a + bi + cj + dk the split activation is Φ(q) = φ(a) + φ(b)i + φ(c)j + φ(d)k (paper,
appendix B). Component-first arrays make that φ of the array, and its derivative the array of slopes φ′.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quatcast.algebra import namespace
from quatcast.typing import Array

Pair = tuple[Callable[[Array], Array], Callable[[Array], Array]]


@dataclass(frozen=True)
class Activation:
    """A real function φ and its slope.

    `slope(f, h)` is φ′(f) where h = φ(f): most slopes are cheaper from h.
    """

    name: str
    value: Callable[[Array], Array]
    slope: Callable[[Array, Array], Array]


def _tanh(f: Array) -> Array:
    return namespace(f).tanh(f)


def _sigmoid(f: Array) -> Array:
    return 0.5 * (1.0 + namespace(f).tanh(0.5 * f))


def _relu(f: Array) -> Array:
    return namespace(f).maximum(f, 0.0 * f)


def _step(f: Array) -> Array:
    xp = namespace(f)
    return xp.astype(f > 0.0, f.dtype)


_KNOWN = {
    "tanh": Activation("tanh", _tanh, lambda f, h: 1.0 - h * h),
    "sigmoid": Activation("sigmoid", _sigmoid, lambda f, h: h * (1.0 - h)),
    "relu": Activation("relu", _relu, lambda f, h: _step(f)),
    "identity": Activation("identity", lambda f: f, lambda f, h: 0.0 * f + 1.0),
}


def activation(choice: str | Pair) -> Activation:
    """Activation by name, or from a pair of functions (φ, φ′) of one array.

    Examples
    --------
    >>> import numpy as np
    >>> activation("sigmoid").value(np.zeros(2))
    array([0.5, 0.5])
    >>> softsign = activation((lambda f: f / (1 + abs(f)), lambda f: 1 / (1 + abs(f)) ** 2))
    >>> softsign.value(np.ones(1))
    array([0.5])
    """
    if isinstance(choice, str):
        if choice not in _KNOWN:
            raise ValueError(f"activation: {choice!r} is not one of {', '.join(_KNOWN)}")
        return _KNOWN[choice]
    functions: Any = choice
    if not (isinstance(functions, tuple) and len(functions) == 2 and all(callable(f) for f in functions)):
        raise ValueError(f"activation: a name or a pair (function, derivative), not {choice!r}")
    function, derivative = functions
    return Activation("custom", function, lambda f, h: derivative(f) + 0.0 * f)
