"""Optimizers, which turn a gradient into a step: stochastic gradient descent, Adam, and the interface of others.

Parameters and gradients are lists of arrays (runs, …, …): the parameters one by one, or one array of all of them.
`step` returns new parameters and a new state and does not write into the old ones; gradients may be overwritten.
"""

from __future__ import annotations

import functools
import warnings
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra import namespace, reshape
from quatcast.basics.annotations import is_number
from quatcast.basics.typing import Array
from quatcast.checkpoint import Checkpointable
from quatcast.engine.low_rank import FactoredGradient

State = dict[str, Any]
Kind = TypeVar("Kind", bound="type[Optimizer]")


class OptimizerResult(NamedTuple):
    """New parameters, the norm of the gradient before clipping (runs,), and the next state.

    Examples
    --------
    >>> result = SGD(learning_rate=0.5).step([np.zeros((1, 1, 2))], [np.array([[[0.6, 0.8]]])], {})
    >>> result.norm.round(9)
    array([1.])
    """

    parameters: list[Array]
    norm: Array
    state: State


class Optimizer(Checkpointable, ABC):
    """Base class of optimizers. A subclass is a frozen dataclass whose fields are its settings.

    Examples
    --------
    Steps of constant length in each component:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from quatcast import LMS
    >>> from quatcast import OptimizerResult, global_norm
    >>> @dataclass(frozen=True)
    ... class SignDescent(Optimizer):
    ...     learning_rate: float = 0.01
    ...
    ...     def step(self, parameters, gradients, state):
    ...         moved = [theta - self.learning_rate * np.sign(g) for theta, g in zip(parameters, gradients)]
    ...         return OptimizerResult(moved, global_norm(gradients), state)
    >>> learner = LMS(optimizer=SignDescent())
    >>> round(learner.update([1.0], [1.0]).gradient_norm, 3)
    1.414
    >>> learner.predict([1.0])
    array([0.02])
    """

    proportional: ClassVar[bool] = False
    """Whether every step is a multiple of the gradient.

    If so, networks train faster, because a parameter may then be in low-rank form, which `step` has to support: see
    `SGD`. Leave it False in an optimizer of your own.
    """

    @abstractmethod
    def step(self, parameters: list[Array], gradients: list[Array], state: State) -> OptimizerResult:
        """Make one step.

        Parameters
        ----------
        parameters, gradients
            Lists of arrays with three axes, the runs first.
        state
            State that the last call returned, empty at first.
        """

    def run_arrays(self) -> dict[str, Any]:
        """Return the settings that may have one value per run, by name."""
        return {}


def global_norm(arrays: list[Array]) -> Array:
    """Return the Euclidean norm of all arrays together, for each run.

    Examples
    --------
    >>> global_norm([np.array([[[3.0]]]), np.array([[[4.0]]])])
    array([5.])
    """
    squared = 0.0
    for a in arrays:
        if isinstance(a, FactoredGradient):
            squared = squared + a.squared_norm()
        else:
            flat = reshape(a, (a.shape[0], -1))
            squared = squared + namespace(flat).vecdot(flat, flat)
    return namespace(squared).sqrt(squared)


def _length(learning_rate: Any, norm: Array, clip: float | None) -> Any:
    """Return the factor of a gradient, (runs, 1, 1) or a number: no step is longer than learning_rate·clip."""
    xp, factor = namespace(norm), learning_rate
    if not isinstance(factor, float):
        factor = reshape(xp.asarray(factor, dtype=norm.dtype, device=norm.device), (-1, 1, 1))
    return factor if clip is None else factor * reshape(clip / xp.maximum(norm, clip), (-1, 1, 1))


def _check(learning_rate: Any, clip: float | None) -> None:
    given = np.asarray(learning_rate)
    if given.dtype.kind not in "fiu" or not np.all((given > 0) & np.isfinite(given)):
        raise ValueError(f"learning_rate: expected positive finite numbers, got {learning_rate!r}")
    if clip is not None and not (is_number(clip) and clip > 0):
        raise ValueError(f"clip: expected a positive finite number, or None for no clipping, got {clip!r}")


def _accepts_rate(kind: Kind) -> Kind:
    """Let a class accept `rate`, the former name of `learning_rate`, with a DeprecationWarning."""
    initialize = kind.__init__

    @functools.wraps(initialize)
    def accept(self: Any, *args: Any, **kwargs: Any) -> None:
        if "rate" in kwargs:
            warnings.warn(f"{kind.__name__}: rate is now called learning_rate", DeprecationWarning, stacklevel=2)
            kwargs["learning_rate"] = kwargs.pop("rate")
        initialize(self, *args, **kwargs)

    kind.__init__ = accept  # type: ignore[method-assign]
    return kind


@_accepts_rate
@dataclass(frozen=True)
class SGD(Optimizer):
    """Stochastic gradient descent with the global norm of the gradient clipped.

    θ ← θ − η·min(1, clip/‖g‖)·g, with the norm over all parameters together.

    Parameters
    ----------
    learning_rate
        η; a sequence has one value per run.
    clip
        Largest norm of a gradient (2.0 as published); None for no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> SGD(learning_rate=0.5, clip=None).step([np.ones((1, 1, 2))], [np.full((1, 1, 2), 0.2)], {}).parameters
    [array([[[0.9, 0.9]]])]
    """

    learning_rate: float | ArrayLike = 0.05
    clip: float | None = 2.0
    proportional = True

    def __post_init__(self) -> None:
        _check(self.learning_rate, self.clip)

    def run_arrays(self) -> dict[str, Any]:
        """Return the learning rate."""
        return {"learning_rate": self.learning_rate}

    def step(self, parameters: list[Array], gradients: list[Array], state: State) -> OptimizerResult:
        """Make one step down the gradient."""
        norm = global_norm(gradients)
        factor = -_length(self.learning_rate, norm, self.clip)
        # The memory of the gradient, which is still in the cache, becomes that of the new parameters.
        moved = []
        for theta, g in zip(parameters, gradients, strict=True):
            if isinstance(g, FactoredGradient):
                g.add(factor)
                moved.append(theta)
            else:
                g *= factor
                g += theta
                moved.append(g)
        return OptimizerResult(moved, norm, state)


@_accepts_rate
@dataclass(frozen=True)
class Adam(Optimizer):
    """Adam: steps normalised by running moments of the gradient.

    m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  θ ← θ − η·m̂/(√v̂ + ε), with m̂ = m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ).

    Parameters
    ----------
    learning_rate
        η; a sequence has one value per run.
    beta1, beta2
        Decay factors of the two moments.
    epsilon
        ε.
    clip
        Largest norm of a gradient; None for no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> Adam(learning_rate=0.1).step([np.ones((1, 1, 2))], [np.full((1, 1, 2), 7.0)], {}).parameters[0].round(6)
    array([[[0.9, 0.9]]])

    References
    ----------
    Kingma and Ba (2015), "Adam: a method for stochastic optimization".
    """

    learning_rate: float | ArrayLike = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip: float | None = None

    def __post_init__(self) -> None:
        _check(self.learning_rate, self.clip)
        numbers = map(is_number, (self.beta1, self.beta2, self.epsilon))
        if not (all(numbers) and 0 <= self.beta1 < 1 and 0 <= self.beta2 < 1 and self.epsilon > 0):
            given = f"beta1={self.beta1!r}, beta2={self.beta2!r}, epsilon={self.epsilon!r}"
            raise ValueError(f"Adam: expected 0 <= beta1, beta2 < 1 and epsilon > 0, got {given}")

    def run_arrays(self) -> dict[str, Any]:
        """Return the learning rate."""
        return {"learning_rate": self.learning_rate}

    def step(self, parameters: list[Array], gradients: list[Array], state: State) -> OptimizerResult:
        """Make one step along the normalised moments.

        The state holds the sums Σβ₁ⁿg and Σβ₂ⁿg² over past gradients; the factors 1−β are applied to the step instead.
        """
        xp = namespace(gradients[0])
        norm = global_norm(gradients)
        t = state.get("t", 0) + 1
        first = state.get("first") or [xp.zeros_like(g) for g in gradients]
        second = state.get("second") or [xp.zeros_like(g) for g in gradients]
        root = ((1.0 - self.beta2) / (1.0 - self.beta2**t)) ** 0.5
        length = -(1.0 - self.beta1) / (1.0 - self.beta1**t) / root * _length(self.learning_rate, norm, None)
        moved, firsts, seconds = [], [], []
        for theta, g, m, v in zip(parameters, gradients, first, second, strict=True):
            if self.clip is not None:
                g *= _length(1.0, norm, self.clip)
            m, v = self.beta1 * m, self.beta2 * v
            m += g
            g *= g
            v += g
            # The memory of the gradient is still in the cache.
            scale = np.sqrt(v, out=g) if type(v) is np.ndarray else xp.sqrt(v)
            scale += self.epsilon / root
            step = m / scale
            step *= length
            step += theta
            moved.append(step)
            firsts.append(m)
            seconds.append(v)
        return OptimizerResult(moved, norm, {"t": t, "first": firsts, "second": seconds})
