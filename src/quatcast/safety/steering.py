"""How a channel that is lost continues by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from quatcast.basics.typing import Counts, Floats

DAMPING = 0.85
"""Factor by which a forecast displacement shrinks with every sample of a gap if nothing better is known."""


class Target(NamedTuple):
    """Where channels were forecast to be (channels, dimensions), and how far that can be trusted.

    Attributes
    ----------
    position
        NaN if there was no forecast, or no errors of such forecasts are known.
    left
        (channels,), number of samples from the newest one to the target.
    horizon
        (channels,), number of samples from the forecast to its target.
    power
        (channels,), mean square of recent errors of forecasts of this horizon; NaN where the position is.
    """

    position: Floats
    left: Counts
    horizon: Counts
    power: Floats

    def uncertainty(self, lost: Counts) -> Floats:
        """Return the mean square error to expect (channels,) at the sample after `lost` ones were not observed.

        Position and velocity are known at first: errors grow faster than the time.
        """
        return np.asarray(self.power * ((lost + 1) / self.horizon) ** 3)

    def approach(self, last: Floats, step: Floats, lost: Counts, scale: Floats) -> Floats:
        """Return where channels are next on their way from `last`.

        A one-step forecast `step` is as good as its usual errors `scale` (channels,), but only for a few samples; the
        target has its share as far as its errors are likely to be smaller.
        """
        alone, known = scale**2 * (lost + 1.0) ** 4, self.uncertainty(lost)
        share = np.divide(alone, alone + known, out=np.ones_like(known), where=alone + known > 0)
        return last + step + share[:, None] * (steered(last, step, self.position, self.left) - last - step)


Aim = Callable[[Counts], Target]
"""Tells where channels (channels,) that were last observed some samples before the newest one will be."""


def damped(last: Floats, step: Floats, lost: Counts) -> Floats:
    """Return the next positions of channels that were last observed `lost` samples before `last`: their step decays.

    Examples
    --------
    >>> damped(np.zeros((2, 1)), np.ones((2, 1)), lost=np.array([0, 2])).round(4)
    array([[1.    ],
           [0.7225]])
    """
    return np.asarray(last + DAMPING ** np.minimum(lost, 1000)[:, None] * step)


def steered(last: Floats, step: Floats, target: Floats, left: Counts) -> Floats:
    """Return the next positions of channels that reach a target (channels, dimensions) in `left` samples (channels,).

    The acceleration falls with the square of what is left: if the steps are s + a, s + a + a(1 − 1/n)², …, n of them
    cover n·s + a(n + 1)²/4. A path that is less smooth would disturb forecasts more than one that is less exact. But
    with constant acceleration a wrong velocity would reach the target with its sign changed and its size unchanged, and
    a long gap would be filled with growing oscillations; here a third of it is left.

    Examples
    --------
    >>> last, step = np.zeros((1, 1)), np.ones((1, 1))
    >>> for left in (3, 2, 1):
    ...     before, last = last, steered(last, step, np.full((1, 1), 11.0), np.array([left]))
    ...     step = last - before
    ...     print(round(last.item(), 3))
    3.0
    6.889
    11.0
    """
    n = left[:, None]
    return np.asarray(last + step + 4.0 * (target - last - n * step) / (n + 1.0) ** 2)
