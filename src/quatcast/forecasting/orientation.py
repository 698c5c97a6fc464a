"""Orientations: unit quaternions, developed into Euclidean coordinates and back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra.quaternion import ONE, angle, from_rotation_vector, product, rotation_vector
from quatcast.basics.typing import Bools, Floats
from quatcast.forecasting.charts import Chart, Space

UNIT_NORM = 0.1
"""Distance of a norm from 1 beyond which four numbers are not an orientation."""
BEND = 1.0 / 9.0
"""Factor of the second Magnus term; 1/6 if the angular velocity changes linearly, less if it changes early."""

_NEXT, _AFTER = [1, 2, 0], [2, 0, 1]


@dataclass
class Development(Chart):
    """Current state of the development of orientations, per channel.

    Attributes
    ----------
    reference
        Last accepted orientation (channels, 4), with the sign that the sample had; 1 before the first one.
    coordinates
        Its coordinates (channels, 3).
    seen
        Whether there has been an accepted sample.
    age
        Number of samples since the last accepted one.
    mean_velocity, gap
        Mean angular velocity between the last two accepted samples in rad/s, and the samples from one to the other.
    velocity
        ω, angular velocity at the last accepted sample, extrapolated from the last two means.
    """

    reference: Floats
    coordinates: Floats
    seen: Bools
    age: Floats
    mean_velocity: Floats
    gap: Floats
    velocity: Floats


class Orientation(Space):
    r"""Orientations, unit quaternions w, x, y, z, developed into R³.

    With q_r the last accepted sample and y_r its coordinates, a sample q has the coordinates

        y = y_r + log(q_r⁻¹ q),

    where log is the rotation vector in radians, in the frame of the body, of whichever of ±q is nearer to q_r. The
    first sample has the coordinates 0. If the room is turned, q → rq, coordinates stay as they are; if the sensor is
    mounted in another way, q → qb, they turn with it. So y is the integral of the angular velocity ω in the frame of
    the body.

    **Back to a quaternion.** Let D = ŷ − y_r be the forecast displacement in h seconds. If the axis stays the same, the
    rotation is exp(D). Otherwise q' = q ω/2 is solved by q_r exp(Ω) with the Magnus series

        Ω = ∫ ω(s) ds + ½ ∬ ω(s₂) × ω(s₁) ds₂ ds₁ + …,    0 < s₂ < s₁ < h.

    The first term is D. If ω goes from ω₀ to ω₁ as (s/h)^p, then D = h(pω₀ + ω₁)/(p + 1), and the second term is

        p / (2 (p + 1) (p + 2)) · h² ω₀ × ω₁ = p / (2 (p + 2)) · h ω₀ × D,

    (h/6) ω₀ × D for a linear change, p = 1. Real motion that turns back within the horizon changes early, and the
    factor is smaller. It is 1/9 here, a compromise between slow and fast motion captured optically; see
    :doc:`/spaces`. ω₀ is estimated from the last two accepted increments. The series converges for rotations by less
    than π only, so h|ω₀| is limited to π.

    **Sign.** q and −q are the same orientation. Results have a non-negative scalar product with the last accepted
    sample, so that they continue the signs of the input.

    Samples whose norm differs from 1 by more than 10 % are not valid, and become NaN; others are normalised.

    Examples
    --------
    A body turns by 0.1 rad per sample about a fixed axis, and its coordinates move on a straight line. Changes of the
    sign of the quaternion make no difference:

    >>> from quatcast.algebra.quaternion import from_rotation_vector, rotation_vector
    >>> space = Orientation(rate=10.0)
    >>> chart = space.begin(1)
    >>> for t in range(4):
    ...     sample = (-1) ** t * from_rotation_vector([[0.0, 0.0, 0.1 * t]])
    ...     y = space.to_coordinates(chart, sample)
    ...     space.accept(chart, sample, y, accepted=np.array([True]))
    >>> np.abs(y).round(9)
    array([[0. , 0. , 0.3]])
    >>> forecast = space.from_coordinates(chart, y + [[0.0, 0.0, 0.2]], seconds=0.2)
    >>> np.abs(rotation_vector(forecast)).round(9)
    array([[0. , 0. , 0.5]])
    >>> bool(np.sum(forecast * sample) > 0)
    True

    Four numbers that are not a unit quaternion are missing:

    >>> chart = space.begin(2)
    >>> space.to_coordinates(chart, np.array([[2.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.0]]))
    array([[nan, nan, nan],
           [ 0.,  0.,  0.]])
    """

    name, components, kinds = "orientation", 4, ("orientation",)

    def begin(self, channels: int) -> Development:
        """Return a chart in which no channel has been seen."""
        zero, none = np.zeros((channels, 3)), np.zeros(channels)
        one = np.tile(ONE, (channels, 1))
        return Development(channels, one, zero, none > 0, none, mean_velocity=zero, gap=none, velocity=zero)

    def to_coordinates(self, chart: Development, sample: Floats) -> Floats:
        """Return the coordinates (channels, 3) of quaternions (channels, 4), with NaN where they are not valid."""
        q, valid = _normalised(sample)
        y = chart.coordinates + np.where(chart.seen[:, None], _turn(chart.reference, q), 0.0)
        return np.where(valid[:, None], y, np.nan)

    def accept(self, chart: Development, sample: Floats, coordinates: Floats, accepted: Bools) -> None:
        """Move the references of accepted channels to the sample, and estimate their angular velocities."""
        q, valid = _normalised(sample)
        taken = valid & accepted & np.isfinite(coordinates).all(axis=-1)
        age = chart.age + 1.0
        gap = np.where(chart.seen, age, 0.0)
        usable = gap > 0.0
        step = np.where((taken & usable)[:, None], coordinates - chart.coordinates, 0.0)
        mean = step * (self.rate / np.where(usable, gap, 1.0))[:, None]
        # Each mean belongs to the middle of its interval; ω is extrapolated from there to the newest sample.
        share = np.where(chart.gap > 0.0, gap / np.maximum(gap + chart.gap, 1.0), 0.0)
        velocity = mean + share[:, None] * (mean - chart.mean_velocity)
        column = taken[:, None]
        chart.reference = np.where(column, q, chart.reference)
        chart.coordinates = np.where(column, coordinates, chart.coordinates)
        chart.mean_velocity = np.where(column, mean, chart.mean_velocity)
        chart.velocity = np.where(column, velocity, chart.velocity)
        chart.gap = np.where(taken, gap, chart.gap)
        chart.age = np.where(taken, 0.0, age)
        chart.seen = chart.seen | taken

    def from_coordinates(self, chart: Development, coordinates: Floats, seconds: ArrayLike = 0.0) -> Floats:
        """Return unit quaternions (…, channels, 4), with the sign of the last accepted ones; see the class."""
        D = coordinates - chart.coordinates
        ahead = np.asarray(seconds, dtype=float)[..., None] + chart.age / self.rate
        turned = ahead[..., None] * chart.velocity
        length = np.sqrt(np.sum(turned * turned, axis=-1, keepdims=True))
        turned = turned * (np.pi / np.maximum(length, np.pi))
        q = product(chart.reference, from_rotation_vector(D + BEND * _cross(turned, D)))
        q = q / np.sqrt(np.sum(q * q, axis=-1, keepdims=True))
        backwards = np.sum(q * chart.reference, axis=-1, keepdims=True) < 0.0
        return np.asarray(np.where(backwards, -q, q))

    def distance(self, a: Floats, b: Floats) -> Floats:
        """Return the angles (…, channels) between orientations, in radians."""
        return angle(a, b)


def is_orientation(sample: Floats) -> Bools:
    """Return which four numbers (…, 4) are an orientation: their norm is about 1.

    Examples
    --------
    >>> is_orientation(np.array([[0.0, 0.0, 0.0, 0.0], [0.0, 0.6, 0.8, 0.0]]))
    array([False,  True])
    """
    return _normalised(sample)[1]


def _normalised(sample: Floats) -> tuple[Floats, Bools]:
    """Return unit quaternions, 1 in place of those that are not valid, and which are valid."""
    with np.errstate(over="ignore", invalid="ignore"):
        norm = np.sqrt(np.sum(sample * sample, axis=-1))
        valid = np.abs(norm - 1.0) <= UNIT_NORM  # False for NaN
    if valid.all():
        return sample / norm[..., None], valid
    return np.where(valid[..., None], sample, ONE) / np.where(valid, norm, 1.0)[..., None], valid


def _turn(p: Floats, q: Floats) -> Floats:
    """Return the rotation vector of p⁻¹q. It is exactly zero for p = ±q, so that repeated samples are recognised."""
    v = p[..., :1] * q[..., 1:] - q[..., :1] * p[..., 1:] - _cross(p[..., 1:], q[..., 1:])
    w = np.sum(p * q, axis=-1, keepdims=True)
    return rotation_vector(np.concatenate([w, v], axis=-1))


def _cross(a: Floats, b: Floats) -> Floats:
    return np.asarray(a[..., _NEXT] * b[..., _AFTER] - a[..., _AFTER] * b[..., _NEXT])
