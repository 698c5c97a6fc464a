"""Split activations: one real function, applied to each component of a number.

For a quaternion q = a + bi + cj + dk the split activation is Φ(q) = φ(a) + φ(b)i + φ(c)j + φ(d)k (paper,
appendix B). On component-first arrays this is φ of the array, and its derivative is the array of slopes φ′.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from quatcast.algebra import namespace
from quatcast.basics.registry import module_of
from quatcast.basics.typing import Array

Function = Callable[[Array], Array]
Pair = tuple[Function, Function]


@dataclass(frozen=True)
class Activation:
    """A real function φ and its slope.

    `slope(f, h)` is φ′(f) where h = φ(f): most slopes are cheaper to compute from h.

    Examples
    --------
    >>> import numpy as np
    >>> square = Activation("square", lambda f: f * f, lambda f, h: 2 * f)
    >>> square.slope(np.array([3.0]), np.array([9.0]))
    array([6.])
    """

    name: str
    value: Function
    slope: Callable[[Array, Array], Array]


def tanh(f: Array) -> Array:
    """Hyperbolic tangent."""
    return namespace(f).tanh(f)


def sigmoid(f: Array) -> Array:
    """Logistic function 1/(1 + exp(−f)), in a form that does not overflow."""
    return 0.5 * (1.0 + namespace(f).tanh(0.5 * f))


_registry = {
    "tanh": Activation("tanh", tanh, lambda f, h: 1.0 - h * h),
    "sigmoid": Activation("sigmoid", sigmoid, lambda f, h: h * (1.0 - h)),
    "relu": Activation(
        "relu", lambda f: namespace(f).maximum(f, 0.0 * f), lambda f, h: namespace(f).astype(f > 0.0, f.dtype)
    ),
    "identity": Activation("identity", lambda f: f, lambda f, h: 0.0 * f + 1.0),
}


def register_activation(name: str, function: Function, derivative: Function) -> None:
    """Make an activation available by name, so that learners that use it can be saved and loaded.

    Parameters
    ----------
    name
        A name that is not taken yet. The module that defines the function may register it again, which replaces it;
        this happens when the module is reloaded.
    function, derivative
        φ and φ′, functions of one array of any library. The derivative may return a single number.

    Examples
    --------
    >>> def softsign(f):
    ...     return f / (1 + abs(f))
    >>> def softsign_slope(f):
    ...     return 1 / (1 + abs(f)) ** 2
    >>> register_activation("softsign", softsign, softsign_slope)
    >>> activation("softsign").value(1.0)
    0.5
    """
    if not isinstance(name, str) or not name:
        raise ValueError(f"name: expected a word, got {name!r}")
    made = _of_pair(name, (function, derivative))
    if module_of(_registry.get(name, made).value) != module_of(function):
        raise ValueError(f"name: {name!r} is the name of another activation already, choose another one")
    _registry[name] = made


def activation(choice: str | Pair) -> Activation:
    """Return an activation by name, or build one from a pair of functions (φ, φ′) of one array.

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
        if choice not in _registry:
            known = ", ".join(_registry)
            raise ValueError(f"activation: expected one of {known}, got {choice!r}; import the module of others first")
        return _registry[choice]
    return _of_pair("custom", choice)


def _of_pair(name: str, pair: Any) -> Activation:
    if not (isinstance(pair, tuple) and len(pair) == 2 and all(callable(f) for f in pair)):
        raise ValueError(f"activation: expected a name or a pair (function, derivative), got {pair!r}")
    function, derivative = pair
    return Activation(name, function, lambda f, h: derivative(f) + 0.0 * f)
