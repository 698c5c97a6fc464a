"""Functions of quaternions, which are stored as float arrays of shape (…, 4).

The last axis holds the components (a, b, c, d) = (w, x, y, z) of q = a + bi + cj + dk. Every function works element by
element over the leading axes, which follow the broadcasting rules of NumPy, and returns a new array.

Infinity and NaN follow the rules of floating-point arithmetic and are not replaced. If one component of a factor is
infinite or NaN, all components of the product are NaN, because a product combines every component with every other.

Examples
--------
Rotate the point (1, 0, 0) by 90° about the z axis, with a multiple of μ = cos 45° + k sin 45°:

>>> mu = [1.0, 0.0, 0.0, 1.0]
>>> vector(rotation(pure([1.0, 0.0, 0.0]), mu))
array([0., 1., 0.])
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra.tables import H
from quatcast.basics.typing import Floats

Quaternion = Floats
"""A float array of shape (…, 4)."""


def _unit(index: int) -> Quaternion:
    unit: Quaternion = np.eye(4)[index]
    unit.flags.writeable = False
    return unit


ONE = _unit(0)
"""The quaternion 1."""
I = _unit(1)
"""The imaginary unit i."""
J = _unit(2)
"""The imaginary unit j."""
K = _unit(3)
"""The imaginary unit k."""

_INVOLUTIONS = {"i": (1.0, 1.0, -1.0, -1.0), "j": (1.0, -1.0, 1.0, -1.0), "k": (1.0, -1.0, -1.0, 1.0)}


def as_quaternion(q: ArrayLike, name: str = "q") -> Quaternion:
    """Convert the argument called `name` to a float array, and check that its shape is (…, 4).

    Examples
    --------
    >>> as_quaternion([1, 2, 3, 4])
    array([1., 2., 3., 4.])
    """
    q = np.asarray(q, dtype=float)
    if q.ndim == 0 or q.shape[-1] != 4:
        raise ValueError(f"{name}: expected quaternions, shape (…, 4), got {q.shape}; pure() converts 3-D points")
    return q


def product(p: ArrayLike, q: ArrayLike) -> Quaternion:
    """Return the Hamilton product p q, which depends on the order of the factors.

    Examples
    --------
    >>> product(I, J)
    array([0., 0., 0., 1.])
    >>> product(J, I)
    array([ 0.,  0.,  0., -1.])
    """
    return H.multiply(as_quaternion(p, "p"), as_quaternion(q, "q"))


def conjugate(q: ArrayLike) -> Quaternion:
    """Return the conjugate q* = a − bi − cj − dk.

    Examples
    --------
    >>> conjugate([1.0, 2.0, 3.0, 4.0])
    array([ 1., -2., -3., -4.])
    """
    return as_quaternion(q) * (1.0, -1.0, -1.0, -1.0)


def modulus(q: ArrayLike) -> Floats:
    """Return the modulus |q| = √(q q*), computed without intermediate overflow or underflow.

    Examples
    --------
    >>> float(modulus([1.0, 1.0, 1.0, 1.0]))
    2.0
    """
    return np.asarray(np.hypot.reduce(as_quaternion(q), axis=-1))


def inverse(q: ArrayLike) -> Quaternion:
    """Return the inverse q⁻¹ = q*/|q|², for which q q⁻¹ = q⁻¹ q = 1.

    Raises
    ------
    ZeroDivisionError
        If one of the quaternions is zero; the message gives its index.

    Examples
    --------
    >>> inverse([0.0, 2.0, 0.0, 0.0])
    array([ 0. , -0.5, -0. , -0. ])
    """
    q = as_quaternion(q)
    length = modulus(q)[..., np.newaxis]
    zeros = np.argwhere(length[..., 0] == 0.0)
    if len(zeros):
        where = f" at index {tuple(zeros[0].tolist())}" if q.ndim > 1 else ""
        raise ZeroDivisionError(f"the zero quaternion{where} has no inverse")
    # Two divisions by |q| instead of one by |q|², which could overflow or underflow.
    return conjugate(q) / length / length


def rotation(q: ArrayLike, mu: ArrayLike) -> Quaternion:
    """Return the rotation q^μ = μ q μ⁻¹ of q by a quaternion μ ≠ 0 of any modulus.

    The real part of q does not change. The vector part is rotated about the vector part of μ, by twice the angle of μ.

    Examples
    --------
    >>> rotation([1.0, 2.0, 3.0, 4.0], I)
    array([ 1.,  2., -3., -4.])
    """
    mu = as_quaternion(mu, "mu")
    return product(product(mu, q), inverse(mu))


def involution(q: ArrayLike, axis: Literal["i", "j", "k"]) -> Quaternion:
    """Return the involution q^i, q^j or q^k: the rotation by 180° about an axis, without rounding errors.

    Examples
    --------
    >>> involution([1.0, 2.0, 3.0, 4.0], "k")
    array([ 1., -2., -3.,  4.])
    """
    if axis not in _INVOLUTIONS:
        raise ValueError(f'axis: expected "i", "j" or "k", got {axis!r}; rotation() accepts any quaternion')
    return as_quaternion(q) * _INVOLUTIONS[axis]


def pure(points: ArrayLike) -> Quaternion:
    """Convert 3-D points (…, 3) to the pure quaternions xi + yj + zk.

    Examples
    --------
    >>> pure([1.0, 2.0, 3.0])
    array([0., 1., 2., 3.])
    """
    points = np.asarray(points, dtype=float)
    if points.ndim == 0 or points.shape[-1] != 3:
        raise ValueError(f"points: expected 3-D points, shape (…, 3), got {points.shape}")
    return np.concatenate([np.zeros_like(points[..., :1]), points], axis=-1)


def vector(q: ArrayLike) -> Floats:
    """Return the vector part (b, c, d), shape (…, 3). It is the inverse of `pure`.

    Examples
    --------
    >>> vector([0.0, 1.0, 2.0, 3.0])
    array([1., 2., 3.])
    """
    return as_quaternion(q)[..., 1:].copy()


def scalar(q: ArrayLike) -> Floats:
    """Return the real part a, shape (…).

    Examples
    --------
    >>> float(scalar([5.0, 1.0, 2.0, 3.0]))
    5.0
    """
    return np.asarray(as_quaternion(q)[..., 0].copy())


def rotation_vector(q: ArrayLike) -> Floats:
    """Return the rotation vector (…, 3) of unit quaternions: the axis of the rotation times its angle in radians.

    It is twice the vector part of the logarithm of q or −q, which are the same rotation, whichever is nearer to 1. The
    angle is therefore at most π. If it is π, both are equally near, and the first component that is not zero is
    positive in the result.

    Examples
    --------
    A rotation by 90° about the z axis:

    >>> rotation_vector([np.sqrt(0.5), 0.0, 0.0, -np.sqrt(0.5)]) / np.pi
    array([ 0. ,  0. , -0.5])
    """
    q = as_quaternion(q)
    w, v = q[..., :1], q[..., 1:]
    sine = np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    # 2 arctan(s/|w|)/s tends to 2/|w| as s tends to zero.
    small = sine < 1e-8
    factor = np.where(small, 2.0, 2.0 * np.arctan2(sine, np.abs(w)) / np.where(small, 1.0, sine))
    backwards = w < 0.0
    if (w == 0.0).any():
        first = np.take_along_axis(v, np.argmax(v != 0.0, axis=-1)[..., np.newaxis], axis=-1)
        backwards = backwards | ((w == 0.0) & (first < 0.0))
    return np.asarray(np.where(backwards, -factor, factor) * v)


def from_rotation_vector(vectors: ArrayLike) -> Quaternion:
    """Return the unit quaternion exp(v/2) of rotation vectors v (…, 3). It is the inverse of `rotation_vector`.

    Examples
    --------
    >>> from_rotation_vector([0.0, 0.0, np.pi]).round(15)
    array([0., 0., 0., 1.])
    """
    v = 0.5 * np.asarray(vectors, dtype=float)
    if v.ndim == 0 or v.shape[-1] != 3:
        raise ValueError(f"vectors: expected rotation vectors, shape (…, 3), got {v.shape}")
    half = np.sqrt(np.sum(v * v, axis=-1, keepdims=True))
    return np.concatenate([np.cos(half), np.sinc(half / np.pi) * v], axis=-1)


def rotation_matrix(q: ArrayLike) -> Floats:
    """Return the matrix R (…, 3, 3) of a unit quaternion: the vector part of q v q⁻¹ is R v.

    Examples
    --------
    >>> rotation_matrix([0.0, 1.0, 0.0, 0.0])
    array([[ 1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0., -1.]])
    """
    # The lower right parts of the matrices of v ↦ qv and v ↦ vq*.
    q = as_quaternion(q)
    return np.asarray((left_matrix(q) @ right_matrix(conjugate(q)))[..., 1:, 1:] + 0.0)


def angle(p: ArrayLike, q: ArrayLike) -> Floats:
    """Return the angle between two orientations, unit quaternions (…, 4), in radians from 0 to π.

    It is the angle of the rotation that takes one orientation to the other. The signs of p and q do not matter.

    Examples
    --------
    >>> float(angle(ONE, from_rotation_vector([0.0, -0.3, 0.0])))
    0.3
    >>> float(angle(ONE, -ONE))
    0.0
    """
    turn = product(conjugate(as_quaternion(p, "p")), as_quaternion(q, "q"))
    return np.asarray(2.0 * np.arctan2(modulus(pure(turn[..., 1:])), np.abs(turn[..., 0])))


def left_matrix(q: ArrayLike) -> Floats:
    """Return the real matrix L(q), shape (…, 4, 4), of the multiplication by q from the left: L(q) @ p = q p.

    Examples
    --------
    >>> left_matrix(I) @ J
    array([0., 0., 0., 1.])
    """
    return np.asarray(np.einsum("...a,abc->...cb", as_quaternion(q), H.table))


def right_matrix(q: ArrayLike) -> Floats:
    """Return the real matrix R(q), shape (…, 4, 4), of the multiplication by q from the right: R(q) @ p = p q.

    Examples
    --------
    >>> right_matrix(I) @ J
    array([ 0.,  0.,  0., -1.])
    """
    return np.asarray(np.einsum("...b,abc->...ca", as_quaternion(q), H.table))


def random_unit(rng: int | np.random.Generator | None = None, size: int | tuple[int, ...] = ()) -> Quaternion:
    """Draw random unit quaternions from the uniform distribution on the unit sphere.

    Used as μ in `rotation`, they give uniformly distributed rotations.

    Parameters
    ----------
    rng
        Random generator, or the seed of a new one.
    size
        Leading axes of the result; by default one quaternion of shape (4,) is drawn.

    Examples
    --------
    >>> mu = random_unit(rng=0, size=3)
    >>> mu.shape
    (3, 4)
    >>> bool(np.allclose(modulus(mu), 1.0))
    True
    """
    shape = (size,) if isinstance(size, int) else size
    q = np.random.default_rng(rng).standard_normal((*shape, 4))
    return q / modulus(q)[..., np.newaxis]
