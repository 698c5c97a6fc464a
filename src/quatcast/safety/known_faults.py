"""Known faults: what a tracker sends for a lost channel, and the range of real values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.forecasting.orientation import is_orientation
from quatcast.safety.channels import usable
from quatcast.safety.status import UNIT_QUATERNIONS

Sentinel = float | tuple[float, ...]
"""Number that all coordinates of a lost channel equal, or one number per coordinate."""
Valid = tuple[str, float, float]
"""Name of a channel, empty for all of them, and the smallest and the largest coordinate of real values."""


@dataclass(frozen=True)
class KnownFaults:
    """Sentinels and valid ranges of a tracker, applied to samples as it gives them.

    Attributes
    ----------
    sentinels
        Values that mean "lost"; see `Gate`.
    valid
        Ranges of real coordinates; for a channel with several the last one counts.

    Examples
    --------
    >>> faults = KnownFaults(sentinels=(0.0,), valid=(("", -500.0, 500.0), ("chest", 0.0, 50.0)))
    >>> x = np.array([[0.0, 0.0, 0.0], [60.0, 1.0, 2.0], [60.0, 1.0, 2.0]])
    >>> faults.remove(x, ("belly", "waist", "chest"), "position")
    array([[nan, nan, nan],
           [60.,  1.,  2.],
           [nan, nan, nan]])

    Four numbers that are not a unit quaternion are no orientation, named or not:

    >>> pose = np.array([[1.0, 2.0, 3.0, 0.0, 0.0, 0.0, 0.0]])
    >>> KnownFaults().remove(pose, ("probe",), "pose")
    array([[ 1.,  2.,  3., nan, nan, nan, nan]])
    """

    sentinels: tuple[Sentinel, ...] = ()
    valid: tuple[Valid, ...] = ()

    def __post_init__(self) -> None:
        for one in self.valid:
            if not one[1] <= one[2]:
                raise ValueError(f"valid: expected the smaller number first, got {one}")

    def remove(self, x: Floats, channels: Sequence[str], space: str) -> Floats:
        """Return samples (…, channels, numbers) with NaN where they are known to be faulty."""
        if self.sentinels or self.valid:
            limits = self.limits(channels) if self.valid else None
            x = np.where(usable(x, self.sentinels, limits, space)[..., None], x, np.nan)
        turned = UNIT_QUATERNIONS.get(space)
        if turned is not None:
            good = is_orientation(x[..., turned])
            if not good.all():
                x = x.copy()
                x[..., turned] = np.where(good[..., None], x[..., turned], np.nan)
        return x

    def limits(self, channels: Sequence[str]) -> tuple[Floats, Floats]:
        """Return the smallest and the largest valid coordinates, each (channels, 1)."""
        low, high = np.full((len(channels), 1), -np.inf), np.full((len(channels), 1), np.inf)
        for name, smallest, largest in self.valid:
            if name and name not in channels:
                raise ValueError(f"valid: expected a channel of {', '.join(channels)}, got {name!r}")
            which = list(channels).index(name) if name else slice(None)
            low[which], high[which] = smallest, largest
        return low, high
