"""Losses: the mean square error, the maximum correntropy criterion, and the interface of others.

A loss J is a function of the error e = d − y with a derivative ∂J/∂y with respect to the output y. For the two losses
here it is −w·e. For the mean square error w = 1; for the correntropy w = exp(−|e|²/2σ²) is the kernel weight, which
reduces the influence of outliers.

Inside the library errors are stacked arrays (…, runs, d, p): d components of p numbers. `evaluate` is pure: it
takes the state of the loss (empty unless the kernel adapts) and returns the next one.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.algebra import Algebra, H, namespace, reshape, total
from quatcast.basics.annotations import fits
from quatcast.basics.typing import Array
from quatcast.checkpoint import Checkpointable

FLOOR = 1e-3
"""Smallest scale of an adaptive kernel, relative to the largest so far."""
Scope = Literal["joint", "channel"]
State = dict[str, Array]


class LossResult(NamedTuple):
    """Result of a loss for one error.

    Attributes
    ----------
    value
        Value of the loss, (…, runs).
    slope
        Derivative ∂J/∂y with respect to the output, (…, runs, d, p).
    weight
        Weight in (0, 1] that the error was given, (…, runs, 1, 1) or one per channel, (…, runs, 1, p); it is reported
        in `Step.weight` and not used otherwise.
    state
        Next state of the loss.

    Examples
    --------
    >>> error = np.full((1, 1, 2), 3.0)  # one run, real numbers, two channels
    >>> loss = MSE()
    >>> result = loss.evaluate(error, State())
    >>> result.value, result.slope
    (array([9.]), array([[[-3., -3.]]]))
    """

    value: Array
    slope: Array
    weight: Array
    state: State


class Loss(Checkpointable, ABC):
    """Base class of losses. A subclass is a frozen dataclass whose fields are its settings.

    Examples
    --------
    A loss that is linear for large errors of a component:

    >>> from dataclasses import dataclass
    >>> from quatcast import LMS, Loss, LossResult, namespace
    >>> @dataclass(frozen=True)
    ... class LogCosh(Loss):
    ...     def evaluate(self, e, state, observed=None):
    ...         xp = namespace(e)
    ...         value = xp.sum(xp.log(xp.cosh(e)), axis=(-2, -1))
    ...         return LossResult(value, -xp.tanh(e), xp.ones_like(e[..., :1, :1]), state)
    >>> LMS(loss=LogCosh()).update([1.0], [0.0]).loss
    0.0
    """

    @abstractmethod
    def evaluate(self, e: Array, state: State, observed: Array | None = None) -> LossResult:
        """Evaluate the loss.

        Parameters
        ----------
        e
            Error (…, runs, d, p), zero where the target was not observed.
        state
            State that the last call returned, empty at first.
        observed
            (p,): 1 where the target was observed, otherwise 0; None if all of it was. The derivative is multiplied by
            it afterwards.
        """

    def run_arrays(self) -> dict[str, Any]:
        """Return the settings that may have one value per run, by name."""
        return {}


class Widths(NamedTuple):
    """Kernel widths (runs or 1, 1, 1): σ² of fixed kernels, and which kernels are adaptive, and infinite, if any."""

    variance: Array
    adaptive: Array | None
    infinite: Array | None


def squared_modulus(e: Array, scope: Scope) -> Array:
    """Return |e|² of each run, over the whole output vector or of each channel: (runs, 1, 1 or p)."""
    if scope == "channel":
        return namespace(e).sum(e * e, axis=-2, keepdims=True)
    flat = reshape(e, (*e.shape[:-2], -1))
    return reshape(namespace(e).vecdot(flat, flat), (*e.shape[:-2], 1, 1))


def kernel(error: ArrayLike, sigma: ArrayLike, algebra: Algebra = H) -> NDArray[np.float64]:
    """Return the Gaussian kernel of the correntropy, κσ(e) = d/(√(2π)σ)·exp(−|e|²/2σ²).

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
    >>> from quatcast import R
    >>> float(kernel(0.0, 1.0, R).round(6)), float(kernel([0.0, 0.0, 0.0, 0.0], 1.0).round(6))
    (0.398942, 1.595769)

    References
    ----------
    Ogunfunmi and Paul (2015), "The quaternion maximum correntropy algorithm".
    """
    e, d, width = np.asarray(error, dtype=float), algebra.dimension, np.asarray(sigma)
    if width.dtype.kind not in "fiu" or not np.all(width > 0):
        raise ValueError(f"sigma: expected positive numbers, got {sigma!r}")
    if d > 1 and (e.ndim == 0 or e.shape[-1] != d):
        raise ValueError(f"error: expected the {d} components of {algebra} on the last axis, got shape {e.shape}")
    squared = e * e if d == 1 else np.sum(e * e, axis=-1)
    return np.asarray(d / (math.sqrt(2 * math.pi) * width) * np.exp(-squared / (2 * np.square(width))))


def correntropy(desired: ArrayLike, output: ArrayLike, sigma: float, algebra: Algebra = H) -> float:
    """Estimate the correntropy from N samples, V̂ = 1/N Σ κσ(d − y) (paper, section III-B).

    Parameters
    ----------
    desired, output
        d and y, arrays of the same shape: (N, d) of complex numbers or quaternions, or (N,) of real numbers.
    sigma, algebra
        As for `kernel`.

    Examples
    --------
    >>> round(correntropy([[0, 1, 2, 3]], [[0, 1, 2, 3]], sigma=2.0), 6)
    0.797885
    """
    if np.shape(desired) != np.shape(output):
        raise ValueError(f"output: expected shape {np.shape(desired)} as the desired values, got {np.shape(output)}")
    error = np.asarray(desired, dtype=float) - np.asarray(output, dtype=float)
    return float(np.mean(kernel(error, sigma, algebra)))


@dataclass(frozen=True)
class MSE(Loss):
    """Mean square error, ½|e|².

    Examples
    --------
    >>> import numpy as np
    >>> MSE().evaluate(np.array([[[3.0, 4.0]]]), {}).value
    array([12.5])
    """

    def evaluate(self, e: Array, state: State, observed: Array | None = None) -> LossResult:
        """Evaluate ½|e|² and its derivative −e."""
        squared = squared_modulus(e, "joint")
        return LossResult(0.5 * squared[..., 0, 0], -e, 0.0 * squared + 1.0, state)


@dataclass(frozen=True)
class MCC(Loss):
    """Maximum correntropy criterion, as the loss σ²(1 − exp(−|e|²/2σ²)).

    Its gradient with respect to the output is −e·exp(−|e|²/2σ²). It is the negative correntropy of the paper up
    to a factor that makes it tend to the mean square error as σ → ∞, so that learning rates mean the same under
    both, and a shift that makes it zero at e = 0.

    With `sigma="adaptive"` the width follows the errors, σ = c·s, where

        s ← s + β(min(|e|, κ·s) − s)

    is a running scale of |e|. One outlier increases s at most by the factor 1 + β(κ − 1); after a lasting shift s
    grows geometrically, until the errors have an effect again. However long the errors stay at zero, s stays above a
    thousandth of its largest value so far, so that growing back takes seconds and not hours. A fixed kernel cannot
    recover: when |e| ≫ σ the weight vanishes and nothing is learnt any more.

    Parameters
    ----------
    sigma
        Kernel width, in the units of the error, or "adaptive". An infinite width gives every error the weight 1, which
        is the mean square error, to the last bit. A sequence has one width per run.
    scope
        "joint": |e|² over the whole output vector, as published. "channel": each output number has its own weight.
    factor
        c, the adaptive width in multiples of the scale.
    memory
        β, the step of the running scale.
    bound
        κ, the largest error that counts in the scale, in multiples of the scale.

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
            # The square of a smaller width would be zero.
            if sigma != "adaptive" and not (isinstance(sigma, Real) and float(sigma) > 1e-150):
                raise ValueError(f'sigma: expected a positive number or "adaptive", got {sigma!r}')
        if self.scope not in ("joint", "channel"):
            raise ValueError(f'scope: expected "joint" or "channel", got {self.scope!r}')
        numbers = all(fits(value, float) for value in (self.factor, self.memory, self.bound))
        if not (numbers and self.factor > 0 and 0 < self.memory < 1 and self.bound > 1):
            given = f"factor={self.factor!r}, memory={self.memory!r}, bound={self.bound!r}"
            raise ValueError(f"adaptive kernel: expected factor > 0, 0 < memory < 1 and bound > 1, got {given}")

    def run_arrays(self) -> dict[str, Any]:
        """Return sigma."""
        return {"sigma": self.sigma}

    def evaluate(self, e: Array, state: State, observed: Array | None = None) -> LossResult:
        """Evaluate the loss; the running scale ignores numbers that were not observed."""
        xp = namespace(e)
        squared = squared_modulus(e, self.scope)
        variance, adaptive, infinite = self._widths_beside(e)
        if adaptive is not None:
            sigma, state = self._follow(squared, state, observed)
            variance = xp.where(adaptive, sigma * sigma, variance)
        exponent = -0.5 * squared / variance
        if infinite is None:
            value = -variance * xp.expm1(exponent)
        else:
            finite = xp.where(infinite, xp.ones_like(variance), variance)
            value = xp.where(infinite, 0.5 * squared, -finite * xp.expm1(exponent))
        weight = xp.exp(exponent)
        value = value[..., 0, 0] if self.scope == "joint" else total(value[..., 0, :], axis=-1)
        return LossResult(value, -weight * e, weight, state)

    def _follow(self, squared: Array, state: State, observed: Array | None) -> tuple[Array, State]:
        """Return the adaptive width in force for an error of squared modulus |e|², and the running scale after it."""
        xp = namespace(squared)
        counts = None
        if observed is not None:
            share = xp.ones_like(squared) * (xp.mean(observed) if self.scope == "joint" else observed)
            counts = share > 0.0
            squared = squared / xp.where(counts, share, xp.ones_like(share))
        modulus = xp.sqrt(squared)
        scale = state.get("scale", modulus)
        # A scale of exactly zero cannot grow.
        scale = xp.where(scale > 0.0, scale, modulus)
        moved = scale + self.memory * (xp.minimum(modulus, self.bound * scale) - scale)
        largest = xp.maximum(state.get("largest", scale), moved)
        after = xp.maximum(moved, FLOOR * largest)
        if counts is not None:
            after = xp.where(counts, after, scale)
        sigma = xp.where(scale > 0.0, self.factor * scale, xp.ones_like(scale))
        return sigma, {"scale": after, "largest": largest}

    def _widths_beside(self, e: Array) -> Widths:
        """Return the widths on the device of e; they are cached, because copying them to a GPU is slow."""
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
