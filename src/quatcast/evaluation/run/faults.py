"""Faults in what the predictors see, for experiments on robustness.

Each sample of each channel is independently displaced with probability `glitches` and missing with probability
`missing`. The forecasts are scored against the recording without these faults, so that the scores are those of the
forecasts and not of the faults. The scaling, the inputs and the targets of learning all have the faults, as in a live
system.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.corruption import corrupt
from quatcast.data.recording import Recording
from quatcast.evaluation.protocol import scaling_samples


@dataclass(frozen=True)
class Faults:
    """Which faults a recording gets.

    Parameters
    ----------
    glitches, missing
        Probabilities of a displaced and of a missing sample.
    size
        Distance of a displacement, in multiples of the spread of the channel: the root mean square distance from its
        mean position over the first 30 s.

    Examples
    --------
    >>> positions = np.zeros((600, 1, 3))
    >>> positions[::2, 0, 0] = 2.0
    >>> walk = Recording("walk", positions, np.arange(600) / 10, rate=10.0)
    >>> seen = Faults(glitches=0.1, size=5.0).apply(walk).positions
    >>> moved = np.linalg.norm(seen - positions, axis=-1)
    >>> int((moved > 0).sum()), float(moved.max().round(9))
    (58, 5.0)
    """

    glitches: float = 0.0
    missing: float = 0.0
    size: float = 5.0

    def __bool__(self) -> bool:
        return self.glitches > 0 or self.missing > 0

    def check(self, recording: Recording) -> None:
        """Raise a ValueError if a recording cannot have these faults."""
        if self.glitches and recording.space not in ("position", "vector"):
            raise ValueError(
                f"glitches: expected positions or vectors, which can be displaced, got recording {recording.name!r} of "
                f"{recording.space}s; leave its channels out (--channels) or use --missing alone"
            )

    def apply(self, recording: Recording) -> Recording:
        """Return a recording with the faults. Their times depend on its name and its number of channels only."""
        if not self:
            return recording
        scale = spread(recording) if self.glitches else np.ones(recording.positions.shape[1])
        scale = np.where(scale > 0, scale, 1.0)[:, None]
        scaled = replace(recording, positions=recording.positions / scale)
        seed = crc32(recording.name.encode("utf-8", "replace"))
        faulty = corrupt(scaled, glitches=self.glitches, dropouts=self.missing, magnitude=self.size, seed=seed)
        # Samples without a fault keep exactly the same values.
        same = faulty.positions == scaled.positions
        return replace(recording, positions=np.where(same, recording.positions, faulty.positions * scale))


NO_FAULTS = Faults()


def spread(recording: Recording) -> Floats:
    """Return the root mean square distance of each channel from its mean position over the first 30 s."""
    first = recording.positions[: scaling_samples(recording.rate)]
    distance = np.linalg.norm(first - np.nanmean(first, axis=0), axis=-1)
    return np.asarray(np.sqrt(np.nanmean(distance**2, axis=0)))
