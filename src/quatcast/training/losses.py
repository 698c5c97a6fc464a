"""What a learner descends: the mean square error and the maximum correntropy criterion.

Both are functions of the error e = d − y whose gradient with respect to the output y is −w·e. For the mean
square error w = 1; for the correntropy w = exp(−|e|²/2σ²) is the kernel weight that makes outliers count for
little.

Inside the library errors are stacked arrays (…, runs, d, p): d components of p numbers. `evaluate` is pure: it
takes the state of the loss (empty unless the kernel adapts) and returns the next one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.algebra import Algebra, H, namespace, reshape, total
from quatcast.typing import Array

FLOOR = 1e-3
"""Of the largest scale that there was: the least that an adaptive kernel narrows down to."""
Scope = Literal["joint", "channel"]
State = dict[str, Array]


class LossResult(NamedTuple):
    """What a loss says of one error: its value (runs,), the weight (runs, 1, 1 or p) and the next state."""

    value: Array
    weight: Array
    state: State


class Widths(NamedTuple):
    """Kernel widths of runs, (runs or 1, 1, 1): σ² where it is fixed, and which are adaptive, and infinite, if any."""

    variance: Array
    adaptive: Array | None
    infinite: Array | None


def squared_modulus(e: Array, scope: Scope) -> Array:
    """|e|² of each run, over the whole output vector or a channel at a time: (runs, 1, 1 or p)."""
    if scope == "channel":
        return namespace(e).sum(e * e, axis=-2, keepdims=True)
    flat = reshape(e, (*e.shape[:-2], -1))
    return reshape(namespace(e).vecdot(flat, flat), (*e.shape[:-2], 1, 1))


def kernel(error: ArrayLike, sigma: ArrayLike, algebra: Algebra = H) -> NDArray[np.float64]:
    """Gaussian kernel of the correntropy, κσ(e) = d/(√(2π)σ)·exp(−|e|²/2σ²).

    The factor d = 1, 2, 4 is the dimension of the algebra (paper, equations 10 and 11).

    Parameters
    ----------
    error
        Array (…, d) of complex numbers or quaternions, or (…) of real numbers.
    sigma
        Kernel width.
    algebra
        R, C or H.

    Examples
    --------
    >>> from quatcast.algebra import R
    >>> float(kernel(0.0, 1.0, R).round(6)), float(kernel([0.0, 0.0, 0.0, 0.0], 1.0).round(6))
    (0.398942, 1.595769)

    References
    ----------
    Ogunfunmi and Paul (2015), "The quaternion maximum correntropy algorithm".
    """
    e, d = np.asarray(error, dtype=float), algebra.dimension
    if d > 1 and (e.ndim == 0 or e.shape[-1] != d):
        raise ValueError(f"error: the last axis must hold the {d} components of {algebra}, not {e.shape}")
    squared = e * e if d == 1 else np.sum(e * e, axis=-1)
    return np.asarray(d / (math.sqrt(2 * math.pi) * np.asarray(sigma)) * np.exp(-squared / (2 * np.square(sigma))))


def correntropy(desired: ArrayLike, output: ArrayLike, sigma: float, algebra: Algebra = H) -> float:
    """Estimate of the correntropy from N samples, V̂ = 1/N Σ κσ(d − y) (paper, section III-B).

    Examples
    --------
    >>> round(correntropy([[0, 1, 2, 3]], [[0, 1, 2, 3]], sigma=2.0), 6)
    0.797885
    """
    error = np.asarray(desired, dtype=float) - np.asarray(output, dtype=float)
    return float(np.mean(kernel(error, sigma, algebra)))


@dataclass(frozen=True)
class MSE:
    """Mean square error, ½|e|².

    Examples
    --------
    >>> import numpy as np
    >>> MSE().evaluate(np.array([[[3.0, 4.0]]]), {}).value
    array([12.5])
    """

    def run_arrays(self) -> dict[str, Any]:
        """Return the parameters that may differ from run to run: none."""
        return {}

    def evaluate(self, e: Array, state: State, present: Array | None = None) -> LossResult:
        """Value and weight of the error e (runs, d, p); `present` is as for `MCC`, and changes nothing."""
        squared = squared_modulus(e, "joint")
        return LossResult(0.5 * squared[..., 0, 0], 0.0 * squared + 1.0, state)


@dataclass(frozen=True)
class MCC:
    """Maximum correntropy criterion, as the loss σ²(1 − exp(−|e|²/2σ²)).

    Its gradient with respect to the output is −e·exp(−|e|²/2σ²). It is the negative correntropy of the paper up
    to a factor that makes it tend to the mean square error as σ → ∞, so that learning rates mean the same under
    both, and a shift that makes it zero at e = 0.

    With `sigma="adaptive"` the width follows the errors, σ = c·s, where

        s ← s + β(min(|e|, κ·s) − s)

    is a running scale of |e|. One outlier moves s by no more than the factor 1 + β(κ − 1); a lasting shift lets
    it grow geometrically, until the errors count again. However long the errors stay at zero, s stays above a
    thousandth of the largest it has been, so that growing back takes seconds and not hours. A fixed kernel has no
    way back: when |e| ≫ σ the weight vanishes and nothing is learnt ever again.

    Parameters
    ----------
    sigma
        Kernel width, in the units of the error, or "adaptive". An infinite one weighs every error 1: the mean square
        error, to the last bit. A sequence has one of these for each run.
    scope
        "joint": |e|² over the whole output vector, as published. "channel": each output number has its own weight.
    factor
        c, the adaptive width in multiples of the scale.
    memory
        β, the step of the running scale.
    bound
        κ, how much of one error counts, in multiples of the scale.

    Examples
    --------
    >>> import numpy as np
    >>> e = np.array([[[3.0, 4.0]]])
    >>> MCC(sigma=5.0).evaluate(e, {}).weight.round(4)
    array([[[0.6065]]])
    >>> MCC(sigma=[5.0, np.inf, "adaptive"]).evaluate(np.concat([e, e, e]), {}).weight.ravel().round(4)
    array([0.6065, 1.    , 0.8825])

    References
    ----------
    Liu, Pokharel and Principe (2006), "Correntropy: a localized similarity measure".
    """

    sigma: float | ArrayLike | Literal["adaptive"] = 2.0
    scope: Scope = "joint"
    factor: float = 2.0
    memory: float = 0.05
    bound: float = 3.0

    def __post_init__(self) -> None:
        for sigma in np.asarray(self.sigma, dtype=object).flat:
            # The square of a smaller one would be zero.
            if sigma != "adaptive" and not (isinstance(sigma, Real) and float(sigma) > 1e-150):
                raise ValueError(f'sigma: must be positive or "adaptive", not {sigma!r}')
        if self.scope not in ("joint", "channel"):
            raise ValueError(f'scope: "joint" or "channel", not {self.scope!r}')
        if not (self.factor > 0 and 0 < self.memory < 1 and self.bound > 1):
            raise ValueError("adaptive kernel: needs factor > 0, 0 < memory < 1 and bound > 1")

    def run_arrays(self) -> dict[str, Any]:
        """Return the parameters that may differ from run to run."""
        return {"sigma": self.sigma}

    def evaluate(self, e: Array, state: State, present: Array | None = None) -> LossResult:
        """Value and weight of the error e (runs, d, p), and the running scale after it.

        Where `present` (p,) is 0 rather than 1, e is 0 because the target was not there, which the scale leaves out.
        """
        xp = namespace(e)
        squared = squared_modulus(e, self.scope)
        variance, adaptive, infinite = self._widths_beside(e)
        if adaptive is not None:
            sigma, state = self._follow(squared, state, present)
            variance = xp.where(adaptive, sigma * sigma, variance)
        exponent = -0.5 * squared / variance
        if infinite is None:
            value = -variance * xp.expm1(exponent)
        else:
            finite = xp.where(infinite, xp.ones_like(variance), variance)
            value = xp.where(infinite, 0.5 * squared, -finite * xp.expm1(exponent))
        return LossResult(total(reshape(value, (*value.shape[:-2], -1)), axis=-1), xp.exp(exponent), state)

    def _follow(self, squared: Array, state: State, present: Array | None) -> tuple[Array, State]:
        """Adaptive width in force for an error of squared modulus |e|², and the running scale after it."""
        xp = namespace(squared)
        there = None
        if present is not None:
            share = xp.ones_like(squared) * (xp.mean(present) if self.scope == "joint" else present)
            there = share > 0.0
            squared = squared / xp.where(there, share, xp.ones_like(share))
        modulus = xp.sqrt(squared)
        scale = state.get("scale", modulus)
        # A scale of exactly zero has nothing to grow from.
        scale = xp.where(scale > 0.0, scale, modulus)
        moved = scale + self.memory * (xp.minimum(modulus, self.bound * scale) - scale)
        largest = xp.maximum(state.get("largest", scale), moved)
        after = xp.maximum(moved, FLOOR * largest)
        if there is not None:
            after = xp.where(there, after, scale)
        sigma = xp.where(scale > 0.0, self.factor * scale, xp.ones_like(scale))
        return sigma, {"scale": after, "largest": largest}

    def _widths_beside(self, e: Array) -> Widths:
        """Widths beside the array e, made once: copying them to a GPU takes as long as an operation there."""
        key = (type(e), e.dtype, str(e.device))
        if key not in self._beside:
            given = np.asarray(self.sigma, dtype=object).reshape(-1, 1, 1)
            adaptive = given == "adaptive"
            with np.errstate(over="ignore"):
                variance = np.square(np.where(adaptive, 1.0, given).astype(float))
            infinite = np.isinf(variance)
            xp = namespace(e)
            self._beside[key] = Widths(
                xp.asarray(variance, dtype=e.dtype, device=e.device),
                xp.asarray(adaptive, device=e.device) if adaptive.any() else None,
                xp.asarray(infinite, device=e.device) if infinite.any() else None,
            )
        return self._beside[key]

    @cached_property
    def _beside(self) -> dict[Any, Widths]:
        return {}

    def __getstate__(self) -> dict[str, Any]:
        # Arrays of a device stay behind; they are made again where they are needed.
        return {name: value for name, value in self.__dict__.items() if name != "_beside"}


Loss = MSE | MCC
