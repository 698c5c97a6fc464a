"""How a gradient becomes a step: stochastic gradient descent and Adam.

Parameters and gradients are lists of arrays (runs, …). `step` is pure but for the gradients, which it may use
up: it returns new parameters, the norm of the gradient as it came, and the next state. Where steps are multiples of
the gradient, a parameter may also be `LowRankWeights` and its gradient a `FactoredGradient`; such a parameter is
changed in place.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra import namespace, reshape
from quatcast.engine.low_rank import FactoredGradient
from quatcast.typing import Array

State = dict[str, Any]


class OptimizerResult(NamedTuple):
    """New parameters, the norm of the gradient before clipping (runs,), and the next state."""

    parameters: list[Array]
    norm: Array
    state: State


def global_norm(arrays: list[Array]) -> Array:
    """Euclidean norm of all arrays together, run by run."""
    squared = 0.0
    for a in arrays:
        if isinstance(a, FactoredGradient):
            squared = squared + a.squared_norm()
        else:
            flat = reshape(a, (a.shape[0], -1))
            squared = squared + namespace(flat).vecdot(flat, flat)
    return namespace(squared).sqrt(squared)


def _length(rate: Any, norm: Array, clip: float | None) -> Array:
    """Return what a gradient of a norm is to be multiplied by, (runs, 1, 1): no step is longer than rate·clip."""
    xp = namespace(norm)
    factor = xp.asarray(rate, dtype=norm.dtype, device=norm.device)
    if clip is not None:
        factor = factor * (clip / xp.maximum(norm, clip))
    return reshape(factor, (-1, 1, 1))


def _check(rate: Any, clip: float | None) -> None:
    given = np.asarray(rate)
    if given.dtype.kind not in "fiu" or not np.all((given > 0) & np.isfinite(given)):
        raise ValueError(f"rate: must be positive and finite, not {rate!r}")
    if clip is not None and not 0 < clip < math.inf:
        raise ValueError(f"clip: must be positive and finite, or None for no clipping, not {clip!r}")


@dataclass(frozen=True)
class SGD:
    """Stochastic gradient descent with the global norm of the gradient clipped.

    θ ← θ − η·min(1, clip/‖g‖)·g, the norm taken over all parameters together.

    Parameters
    ----------
    rate
        η; an array gives each run its own.
    clip
        Largest norm of a gradient (2.0 as published); None for no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> SGD(rate=0.5, clip=None).step([np.ones((1, 1, 2))], [np.full((1, 1, 2), 0.2)], {}).parameters
    [array([[[0.9, 0.9]]])]
    """

    rate: float | ArrayLike = 0.05
    clip: float | None = 2.0

    def __post_init__(self) -> None:
        _check(self.rate, self.clip)

    def run_arrays(self) -> dict[str, Any]:
        """Return the parameters that may differ from run to run."""
        return {"rate": self.rate}

    def step(self, parameters: list[Array], gradients: list[Array], state: State) -> OptimizerResult:
        """One step down the gradient."""
        norm = global_norm(gradients)
        factor = -_length(self.rate, norm, self.clip)
        # The gradient's memory becomes that of the new parameters: it is still in the cache.
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


@dataclass(frozen=True)
class Adam:
    """Adam: steps normalised by running moments of the gradient.

    m ← β₁m + (1−β₁)g,  v ← β₂v + (1−β₂)g²,  θ ← θ − η·m̂/(√v̂ + ε), with m̂ = m/(1−β₁ᵗ) and v̂ = v/(1−β₂ᵗ).

    Parameters
    ----------
    rate
        η; an array gives each run its own.
    beta1, beta2
        Memories of the two moments.
    epsilon
        ε.
    clip
        Largest norm of a gradient; None for no clipping.

    Examples
    --------
    >>> import numpy as np
    >>> Adam(rate=0.1).step([np.ones((1, 1, 2))], [np.full((1, 1, 2), 7.0)], {}).parameters[0].round(6)
    array([[[0.9, 0.9]]])

    References
    ----------
    Kingma and Ba (2015), "Adam: a method for stochastic optimization".
    """

    rate: float | ArrayLike = 0.001
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    clip: float | None = None

    def __post_init__(self) -> None:
        _check(self.rate, self.clip)
        if not (0 <= self.beta1 < 1 and 0 <= self.beta2 < 1 and self.epsilon > 0):
            raise ValueError("Adam: needs 0 <= beta1, beta2 < 1 and epsilon > 0")

    def run_arrays(self) -> dict[str, Any]:
        """Return the parameters that may differ from run to run."""
        return {"rate": self.rate}

    def step(self, parameters: list[Array], gradients: list[Array], state: State) -> OptimizerResult:
        """One step along the normalised moments."""
        xp = namespace(gradients[0])
        norm = global_norm(gradients)
        clipping = _length(1.0, norm, self.clip)
        t = state.get("t", 0) + 1
        first = state.get("first") or [xp.zeros_like(g) for g in gradients]
        second = state.get("second") or [xp.zeros_like(g) for g in gradients]
        step_size = _length(self.rate, norm, None) / (1.0 - self.beta1**t)
        root = (1.0 - self.beta2**t) ** 0.5
        moved, firsts, seconds = [], [], []
        for theta, g, m, v in zip(parameters, gradients, first, second, strict=True):
            g *= clipping
            m = self.beta1 * m + (1.0 - self.beta1) * g
            v = self.beta2 * v + (1.0 - self.beta2) * g * g
            moved.append(theta - step_size * m / (xp.sqrt(v) / root + self.epsilon))
            firsts.append(m)
            seconds.append(v)
        return OptimizerResult(moved, norm, {"t": t, "first": firsts, "second": seconds})


Optimizer = SGD | Adam
