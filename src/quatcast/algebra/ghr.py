"""GHR calculus: derivatives of functions of quaternions.

The left GHR derivatives of f with respect to q^μ = μ q μ⁻¹ and to its conjugate are combinations of the partial
derivatives of f with respect to the four real components of q = a + bi + cj + dk:

    ∂f/∂q^μ  = ¼ (∂f/∂a − ∂f/∂b i^μ − ∂f/∂c j^μ − ∂f/∂d k^μ)
    ∂f/∂q^μ* = ¼ (∂f/∂a + ∂f/∂b i^μ + ∂f/∂c j^μ + ∂f/∂d k^μ)

The partial derivatives are quaternions and stand to the left of the units. They are computed numerically, by central
differences that are extrapolated to step size zero, so that f can be any NumPy function that is smooth near q. The
results usually have eleven or more correct digits. This module serves to derive and to check formulas; the learners
compute their gradients in closed form.

**Functions.** f takes a float array of the shape of q. It returns either quaternions, shape (…, 4), or one real number,
which is a Python float or an array without axes. Results of other shapes are refused.

References
----------
D. Xu, C. Jahanchahi, C. C. Took and D. P. Mandic, "Enabling quaternion derivatives: the generalized HR
calculus", Royal Society Open Science 2(8), 2015.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra.quaternion import ONE, I, J, K, Quaternion, as_quaternion, conjugate, modulus, product, rotation
from quatcast.basics.typing import Floats

Function = Callable[[Quaternion], ArrayLike]
"""A function that takes quaternions (…, 4) and returns quaternions (…, 4) or one real number."""

_HALVINGS = 6
"""Number of times that the step of the differences is halved for the extrapolation."""


def derivative(f: Function, q: ArrayLike, mu: ArrayLike = ONE) -> Quaternion:
    """Compute the left GHR derivative ∂f/∂q^μ of a function f: H → H or f: H → R.

    Parameters
    ----------
    f
        Function of one quaternion (4,) that returns one quaternion (4,) or a real number.
    q
        Point, or array (…, 4) of points, at which f is differentiated.
    mu
        The rotation μ ≠ 0, of any modulus. Its leading axes broadcast with those of q.

    Returns
    -------
    Quaternion
        The derivative ∂f/∂q^μ at each point.

    Examples
    --------
    The derivative ∂q/∂q is 1. Unlike in complex analysis, ∂q*/∂q is not zero but −½:

    >>> q = [1.0, 2.0, 3.0, 4.0]
    >>> derivative(lambda q: q, q).round(9) + 0.0
    array([1., 0., 0., 0.])
    >>> derivative(conjugate, q).round(9) + 0.0
    array([-0.5,  0. ,  0. ,  0. ])
    """

    def at_one(q: Quaternion, mu: Quaternion) -> Quaternion:
        result = jacobian(f, q, mu)
        if result.shape != (4,):
            raise ValueError(
                f"f: expected a value of shape (4,) or () for one quaternion, got {result.shape}; "
                "use jacobian() for functions with several values"
            )
        return result

    return np.asarray(
        np.vectorize(at_one, otypes=[float], signature="(n),(n)->(n)")(as_quaternion(q), as_quaternion(mu, "mu"))
    )


def conjugate_derivative(f: Function, q: ArrayLike, mu: ArrayLike = ONE) -> Quaternion:
    """Compute the left conjugate GHR derivative ∂f/∂q^μ* of a function f: H → H or f: H → R.

    It is the derivative with respect to the conjugate variable, ∂f/∂q^μ* = ∂(f ∘ *)/∂p^μ at p = q*. The parameters
    and the result are those of `derivative`.

    Examples
    --------
    >>> conjugate_derivative(conjugate, [1.0, 2.0, 3.0, 4.0]).round(9) + 0.0
    array([1., 0., 0., 0.])
    """
    return derivative(lambda p: f(conjugate(p)), conjugate(q), mu)


def gradient(f: Function, q: ArrayLike) -> Quaternion:
    """Compute the quaternion gradient ∇_q* f of a real function f: Hⁿ → R, its direction of steepest ascent.

        ∇_q* f = (∂f/∂q*)ᵀ = (∂f/∂q)ᴴ = ¼ (∂f/∂a + ∂f/∂b i + ∂f/∂c j + ∂f/∂d k)

    The gradient is a quarter of the real gradient, with its four components written as a quaternion. Its conjugate is
    ∇_q f = (∂f/∂q)ᵀ. The paper defines both and uses ∇_q* for gradient descent, so this function returns ∇_q*.

    Parameters
    ----------
    f
        Function of an array of the shape of q that returns a real number.
    q
        Point at which f is differentiated, shape (…, 4).

    Returns
    -------
    Quaternion
        The gradient, with the shape of q.

    Examples
    --------
    >>> gradient(lambda q: modulus(q) ** 2, [2.0, 4.0, 6.0, 8.0]).round(9)
    array([1., 2., 3., 4.])
    """
    q = as_quaternion(q)
    shape = np.shape(f(q.copy()))
    if shape != ():
        raise ValueError(f"f: expected one real number, got a value of shape {shape}; use jacobian() instead")
    return conjugate(jacobian(f, q))


def jacobian(f: Function, q: ArrayLike, mu: ArrayLike = ONE) -> Quaternion:
    """Compute the quaternion Jacobian matrix ∂f/∂q^μ of a function f: Hⁿ → Hᵐ, with elements ∂f_m/∂q_n^μ.

    Parameters
    ----------
    f
        Function of an array of the shape of q that returns quaternions (…, 4) or one real number.
    q
        Point at which f is differentiated, shape (…, 4): (n, 4) for a vector, but any leading axes are allowed.
    mu
        The rotation μ ≠ 0, one quaternion of any modulus.

    Returns
    -------
    Quaternion
        Array with the leading axes of f(q), then those of q, then the four components: (m, n, 4) for f: Hⁿ → Hᵐ. A
        single quaternion or a real number has no leading axes.

    Examples
    --------
    The Jacobian matrix of f(q) = A q with a real matrix A is A:

    >>> A = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> D = jacobian(lambda q: A @ q, np.ones((3, 4)))
    >>> D.shape
    (2, 3, 4)
    >>> D[..., 0].round(9)
    array([[1., 2., 3.],
           [4., 5., 6.]])
    """
    q = as_quaternion(q)
    units = rotation(np.stack([I, J, K]), mu)
    real, *imaginary = np.moveaxis(_partials(f, q), -1, 0)
    terms = (product(part, unit) for part, unit in zip(imaginary, units, strict=True))
    return np.asarray(0.25 * (real - sum(terms)))


def _partials(f: Function, q: Quaternion) -> Floats:
    """Return the partial derivatives of f with respect to every real component of q, as quaternions.

    The shape is (*leading axes of f, *leading axes of q, 4, 4). The last axis but one holds the components of the
    quaternion ∂f/∂q_α, and the last axis runs over α = a, b, c, d.
    """

    def value(q: Quaternion) -> Quaternion:
        result = np.asarray(f(q), dtype=float)
        if result.ndim == 0:
            return result * ONE
        if result.shape[-1] != 4:
            raise ValueError(f"f: expected quaternions, shape (…, 4), or one real number, got shape {result.shape}")
        return result

    columns = np.stack([_partial(value, q, index) for index in np.ndindex(q.shape)], axis=-1)
    axes = columns.shape[:-2]
    partials = columns.reshape(*axes, 4, *q.shape)
    return np.moveaxis(partials, len(axes), -2)


def _partial(f: Callable[[Quaternion], Quaternion], q: Quaternion, index: tuple[int, ...]) -> Quaternion:
    """Return the partial derivative of f with respect to the real component q[index].

    The error of a central difference D(h) has terms in h², h⁴, … Halving h and extrapolating removes them one by one:
    Dₖ(h) = Dₖ₋₁(h) + (Dₖ₋₁(h) − Dₖ₋₁(2h)) / (4ᵏ − 1). Large steps suffer from the curvature of f and small steps from
    rounding. Each component of the result therefore comes from the entry of this table that agrees best with its
    neighbours (Ridders, Advances in Engineering Software 4(2), 1982).
    """

    def difference(h: float) -> Quaternion:
        ahead, behind = q.copy(), q.copy()
        ahead[index] += h
        behind[index] -= h
        return (f(ahead) - f(behind)) / (2.0 * h)

    # Division by a power of two is exact, so that rounding errors arise in q ± h only.
    scale = np.clip(modulus(q[index[:-1]]), 1 / 16, 4.0)
    h = float(2.0 ** np.round(np.log2(scale / 32.0)))
    row = [difference(h)]
    best, error = row[0], np.full(row[0].shape, np.inf)
    for _ in range(_HALVINGS):
        h /= 2.0
        previous, row = row, [difference(h)]
        for k, coarse in enumerate(previous, start=1):
            fine = row[-1]
            row.append(fine + (fine - coarse) / (4.0**k - 1.0))
            change = np.maximum(np.abs(row[-1] - fine), np.abs(row[-1] - coarse))
            best = np.where(change < error, row[-1], best)
            error = np.fmin(change, error)
    return best
