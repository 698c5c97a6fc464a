"""The one-step forecast of each channel from its own last displacements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from quatcast.basics.typing import Bools, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import every, norm, some
from quatcast.safety.companions import RIDGE, TINY

ORDER = 4
"""Number of displacements that the one-step forecast is made from."""
_IDENTITY = np.eye(ORDER)


class Step(NamedTuple):
    """A forecast displacement (channels, dimensions), its inputs (channels, order, dimensions), the largest of them."""

    step: Floats
    inputs: Floats
    largest: Floats


@dataclass
class OneStep(State):
    """Linear forecast Δ̂(t) = Σₖ aₖ Δ(t−k) of each channel, fitted by least squares with forgetting.

    The coefficients are the same for all coordinates, so that a rotation of space changes nothing.

    Attributes
    ----------
    gram, cross
        Normal equations of each channel: (channels, order, order) and (channels, order).

    Examples
    --------
    >>> one_step = OneStep.begin(1)
    >>> past = np.cumsum(0.5 ** np.arange(6.0))[:, None, None]
    >>> for _ in range(2):
    ...     made = one_step.forecast(past[:5])
    ...     one_step.learn(past[5] - past[4], made.inputs, np.array([True]), forget=0.01)
    >>> made.step.round(3), (past[5] - past[4]).round(3)
    (array([[0.031]]), array([[0.031]]))
    """

    gram: Floats
    cross: Floats

    @classmethod
    def begin(cls, channels: int) -> OneStep:
        """Return the initial state: no motion is expected."""
        return cls(np.zeros((channels, ORDER, ORDER)), np.zeros((channels, ORDER)))

    def forecast(self, past: Floats) -> Step:
        """Forecast the next displacement from at least order + 1 positions (…, channels, dimensions).

        The forecast never exceeds the largest of its inputs, so that it cannot diverge.
        """
        recent = past[-ORDER - 1 :]
        inputs = (recent[1:] - recent[:-1]).transpose(1, 0, 2)
        ridge = RIDGE * self.gram.trace(axis1=1, axis2=2) / ORDER + TINY
        weights = np.linalg.solve(self.gram + ridge[:, None, None] * _IDENTITY, self.cross[..., None])
        step: Floats = np.add.reduce(weights * inputs, axis=1)
        largest, size = np.maximum.reduce(norm(inputs), axis=1), norm(step)
        if some(size > largest):
            step = step * np.where(size > largest, largest / np.maximum(size, TINY), 1.0)[:, None]
        return Step(step, inputs, largest)

    def learn(self, displacement: Floats, inputs: Floats, steady: Bools, forget: float) -> None:
        """Learn the displacement that followed the inputs, in channels that are steady."""
        if every(steady):
            keep = 1.0 - forget
            self.gram = keep * self.gram + inputs @ inputs.transpose(0, 2, 1)
            self.cross = keep * self.cross + np.add.reduce(inputs * displacement[:, None, :], axis=-1)
        elif some(steady):
            u, kept = np.where(steady[:, None, None], inputs, 0.0), 1.0 - forget * steady
            self.gram = kept[:, None, None] * self.gram + u @ u.transpose(0, 2, 1)
            self.cross = kept[:, None] * self.cross + np.add.reduce(u * displacement[:, None, :], axis=-1)

    def begin_anew(self, which: Bools) -> None:
        """Forget what was learnt of some channels."""
        self.gram = np.where(which[:, None, None], 0.0, self.gram)
        self.cross = np.where(which[:, None], 0.0, self.cross)
