"""GHR calculus: derivatives of functions of quaternions.

The left GHR derivative of f with respect to q^μ = μ q μ⁻¹, and to its conjugate, are made of the partial
derivatives of f in the four real components of q = a + bi + cj + dk:

    ∂f/∂q^μ  = ¼ (∂f/∂a − ∂f/∂b i^μ − ∂f/∂c j^μ − ∂f/∂d k^μ)
    ∂f/∂q^μ* = ¼ (∂f/∂a + ∂f/∂b i^μ + ∂f/∂c j^μ + ∂f/∂d k^μ)

The partial derivatives are quaternions and stand to the left of the units. They are found numerically, by
central differences extrapolated to step zero, so that f may be anything written with NumPy that is smooth
near q: as a rule eleven digits or more are right. This module is for deriving and checking; the learners
have their gradients in closed form.

**Functions.** f takes a float array of the shape of q, and returns quaternions, shape (…, 4), or one real
number, a Python float or an array without axes. No other shape is taken for real.

References
----------
D. Xu, C. Jahanchahi, C. C. Took and D. P. Mandic, "Enabling quaternion derivatives: the generalized HR
calculus", Royal Society Open Science 2(8), 2015.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.algebra.quaternion import ONE, I, J, K, Quaternion, as_quaternion, conjugate, modulus, product, rotation

Function = Callable[[Quaternion], ArrayLike]
"""A function of quaternions: takes (…, 4), returns (…, 4) or one real number."""

_HALVINGS = 6


def derivative(f: Function, q: ArrayLike, mu: ArrayLike = ONE) -> Quaternion:
    """Left GHR derivative ∂f/∂q^μ of f: H → H or f: H → R.

    Parameters
    ----------
    f
        Takes one quaternion (4,), returns one quaternion (4,) or a real number.
    q
        Where to differentiate. With leading axes, f is differentiated at each quaternion on its own.
    mu
        The rotation μ ≠ 0, of any modulus; its axes broadcast with those of q.

    Returns
    -------
    Quaternion
        ∂f/∂q^μ at each q.

    Examples
    --------
    ∂q/∂q = 1 and, unlike the complex case, ∂q*/∂q = −½:

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
                f"f returned shape {result.shape} for one quaternion: derivative() takes f: H → H or H → R; "
                "use jacobian() for functions of several quaternions"
            )
        return result

    return np.asarray(
        np.vectorize(at_one, otypes=[float], signature="(n),(n)->(n)")(as_quaternion(q), as_quaternion(mu, "mu"))
    )


def conjugate_derivative(f: Function, q: ArrayLike, mu: ArrayLike = ONE) -> Quaternion:
    """Left conjugate GHR derivative ∂f/∂q^μ* of f: H → H or f: H → R; parameters as `derivative`.

    Computed as the derivative along the conjugate variable, ∂f/∂q^μ* = ∂(f ∘ *)/∂p^μ at p = q*.

    Examples
    --------
    >>> conjugate_derivative(conjugate, [1.0, 2.0, 3.0, 4.0]).round(9) + 0.0
    array([1., 0., 0., 0.])
    """
    return derivative(lambda p: f(conjugate(p)), conjugate(q), mu)


def gradient(f: Function, q: ArrayLike) -> Quaternion:
    """Quaternion gradient ∇_q* f of a real function f: Hⁿ → R, the direction in which f grows fastest.

        ∇_q* f = (∂f/∂q*)ᵀ = (∂f/∂q)ᴴ = ¼ (∂f/∂a + ∂f/∂b i + ∂f/∂c j + ∂f/∂d k)

    It is a quarter of the real gradient with its four components packed as a quaternion. ∇_q f =
    (∂f/∂q)ᵀ is its conjugate. The paper defines both and descends along ∇_q*, so that is the gradient here.

    Parameters
    ----------
    f
        Takes an array of the shape of q, returns a real number.
    q
        Where to differentiate, shape (…, 4).

    Returns
    -------
    Quaternion
        The gradient, of the shape of q.

    Examples
    --------
    >>> gradient(lambda q: modulus(q) ** 2, [2.0, 4.0, 6.0, 8.0]).round(9)
    array([1., 2., 3., 4.])
    """
    q = as_quaternion(q)
    shape = np.shape(f(q.copy()))
    if shape != ():
        raise ValueError(f"f returned shape {shape}: the gradient is that of one real number; use jacobian() instead")
    return conjugate(jacobian(f, q))


def jacobian(f: Function, q: ArrayLike, mu: ArrayLike = ONE) -> Quaternion:
    """Quaternion Jacobian matrix ∂f/∂q^μ of f: Hⁿ → Hᵐ, with elements ∂f_m/∂q_n^μ.

    Parameters
    ----------
    f
        Takes an array of the shape of q, returns quaternions (…, 4) or one real number.
    q
        Where to differentiate, shape (…, 4): (n, 4) for a vector, but any leading axes do.
    mu
        The rotation μ ≠ 0, one quaternion of any modulus.

    Returns
    -------
    Quaternion
        The axes of f, then those of q, then four components: (m, n, 4) for f: Hⁿ → Hᵐ. A single quaternion
        or a real number has no axes.

    Examples
    --------
    f(q) = A q for a real matrix A has A for its Jacobian matrix:

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


def _partials(f: Function, q: Quaternion) -> NDArray[np.float64]:
    """Partial derivatives of f as quaternions, in every real component of q: (*axes of f, *axes of q, 4, 4).

    The next to last axis is the quaternion ∂f/∂q_α, the last is α = a, b, c, d.
    """

    def value(q: Quaternion) -> Quaternion:
        result = np.asarray(f(q), dtype=float)
        if result.ndim == 0:
            return result * ONE
        if result.shape[-1] != 4:
            raise ValueError(f"f returned shape {result.shape}: return quaternions, shape (…, 4), or one real number")
        return result

    columns = np.stack([_partial(value, q, index) for index in np.ndindex(q.shape)], axis=-1)
    axes = columns.shape[:-2]
    partials = columns.reshape(*axes, 4, *q.shape)
    return np.moveaxis(partials, len(axes), -2)


def _partial(f: Callable[[Quaternion], Quaternion], q: Quaternion, index: tuple[int, ...]) -> Quaternion:
    """Partial derivative of f in the real component q[index].

    Central differences D(h) have errors in h², h⁴, …; halving h and extrapolating removes them one by one:
    Dₖ(h) = Dₖ₋₁(h) + (Dₖ₋₁(h) − Dₖ₋₁(2h)) / (4ᵏ − 1). Each component of the result is taken from where two
    neighbours of that table agree best, as small steps lose to rounding what large ones lose to curvature
    (Ridders, Advances in Engineering Software 4(2), 1982).
    """

    def difference(h: float) -> Quaternion:
        ahead, behind = q.copy(), q.copy()
        ahead[index] += h
        behind[index] -= h
        return (f(ahead) - f(behind)) / (2.0 * h)

    # A power of two leaves no rounding in the division, only in q ± h.
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
