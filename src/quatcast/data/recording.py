"""What every source of data gives: positions of some channels over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Recording:
    """Positions of one or more channels (markers, sensors) over time. Its arrays are read-only copies.

    Parameters
    ----------
    name
        What to call it in tables and file names.
    positions
        Array (samples, channels, 3 or 4), in mm. NaN is a missing sample; infinity is refused.
    times
        Array (samples,) in seconds, increasing.
    rate
        Nominal sampling rate in Hz.
    group
        Recordings of one group are averaged together: "regular", "irregular" or any other word.
    channels
        One name a channel; "channel1", "channel2", … when left out.

    Examples
    --------
    >>> recording = Recording("demo", np.zeros((50, 2, 3)), np.arange(50) / 10, rate=10.0)
    >>> recording
    Recording('demo', 50 samples, 2 channels, 3-D, 10 Hz)
    >>> recording.channels, recording.duration
    (('channel1', 'channel2'), 4.9)
    """

    name: str
    positions: NDArray[np.float64]
    times: NDArray[np.float64]
    rate: float
    group: str = ""
    channels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positions = np.array(self.positions, dtype=float)
        times = np.array(self.times, dtype=float)
        if positions.ndim != 3 or positions.shape[2] not in (3, 4) or 0 in positions.shape:
            raise self._refusal(f"positions must have shape (samples, channels, 3 or 4), got {positions.shape}")
        channels = tuple(self.channels) or tuple(f"channel{i + 1}" for i in range(positions.shape[1]))
        self._check(positions, times, channels)
        positions.flags.writeable = times.flags.writeable = False
        for field, value in (("positions", positions), ("times", times), ("channels", channels)):
            object.__setattr__(self, field, value)

    def _check(self, positions: NDArray[np.float64], times: NDArray[np.float64], channels: tuple[str, ...]) -> None:
        if times.shape != positions.shape[:1]:
            raise self._refusal(f"{len(positions)} samples need times of shape ({len(positions)},), got {times.shape}")
        if len(channels) != positions.shape[1] or len(set(channels)) != len(channels):
            raise self._refusal(f"{positions.shape[1]} channels need as many different names, got {channels}")
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise self._refusal(f"rate must be a positive number of Hz, got {self.rate}")
        infinite = np.argwhere(np.isinf(positions))
        if len(infinite):
            t, c, axis = infinite[0]
            raise self._refusal(
                f"infinity at sample {t}, channel {channels[c]!r}, axis {axis}; NaN marks a missing sample"
            )
        increasing = np.isfinite(times) & (np.diff(times, prepend=-np.inf) > 0)
        if not increasing.all():
            t = int(np.argmin(increasing))
            raise self._refusal(f"times must be finite and increase, but not so at sample {t}: {times[t]}")

    def _refusal(self, what: str) -> ValueError:
        return ValueError(f"recording {self.name!r}: {what}")

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        samples, channels, dimensions = self.positions.shape
        shape = f"{samples} samples, {channels} channels, {dimensions}-D"
        return f"Recording({self.name!r}, {shape}, {self.rate:g} Hz)"

    @property
    def dimensions(self) -> int:
        """Coordinates a channel: 3 or 4."""
        return int(self.positions.shape[2])

    @property
    def duration(self) -> float:
        """Seconds from the first sample to the last."""
        return float(self.times[-1] - self.times[0])
