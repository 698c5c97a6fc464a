"""The recording of a signal: the positions of one or more channels over time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.typing import Floats


@dataclass(frozen=True, eq=False)
class Recording:
    """Positions of one or more channels (markers, sensors) over time.

    The arrays of a recording are read-only copies of those that are given.

    Parameters
    ----------
    name
        Name of the recording in tables and file names.
    positions
        Array (samples, channels, 3 or 4), in mm. NaN marks missing samples; infinite values are refused.
    times
        Increasing times of the samples in seconds, array (samples,).
    rate
        Nominal sampling rate in Hz.
    group
        Group of the recording: "regular", "irregular" or any other word. Results are averaged per group.
    channels
        One name per channel; by default "channel1", "channel2", …

    Raises
    ------
    ValueError
        If an argument is malformed; the message names the recording, the argument, the position and the value.

    Examples
    --------
    >>> recording = Recording("demo", np.zeros((50, 2, 3)), np.arange(50) / 10, rate=10.0)
    >>> recording
    Recording('demo', 50 samples, 2 channels, 3-D, 10 Hz)
    >>> recording.channels, recording.duration
    (('channel1', 'channel2'), 4.9)
    """

    name: str
    positions: Floats
    times: Floats
    rate: float
    group: str = ""
    channels: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        positions = np.array(self.positions, dtype=float)
        times = np.array(self.times, dtype=float)
        if positions.ndim != 3 or positions.shape[2] not in (3, 4) or 0 in positions.shape:
            raise self._error(f"positions: expected shape (samples, channels, 3 or 4), got {positions.shape}")
        channels = tuple(self.channels) or tuple(f"channel{i + 1}" for i in range(positions.shape[1]))
        self._check(positions, times, channels)
        positions.flags.writeable = times.flags.writeable = False
        for field, value in (("positions", positions), ("times", times), ("channels", channels)):
            object.__setattr__(self, field, value)

    def _check(self, positions: Floats, times: Floats, channels: tuple[str, ...]) -> None:
        if times.shape != positions.shape[:1]:
            raise self._error(f"times: expected shape ({len(positions)},), one per sample, got {times.shape}")
        if len(channels) != positions.shape[1] or len(set(channels)) != len(channels):
            raise self._error(f"channels: expected {positions.shape[1]} different names, got {channels}")
        if not (np.isfinite(self.rate) and self.rate > 0):
            raise self._error(f"rate: expected a positive number of Hz, got {self.rate}")
        infinite = np.argwhere(np.isinf(positions))
        if len(infinite):
            t, c, axis = infinite[0]
            raise self._error(
                f"positions: expected finite values, or NaN for a missing sample, got {positions[t, c, axis]} "
                f"at sample {t}, channel {channels[c]!r}, axis {axis}"
            )
        increasing = np.isfinite(times) & (np.diff(times, prepend=-np.inf) > 0)
        if not increasing.all():
            t = int(np.argmin(increasing))
            raise self._error(f"times: expected finite increasing values, got {times[t]} at sample {t}")

    def _error(self, message: str) -> ValueError:
        return ValueError(f"recording {self.name!r}: {message}")

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        samples, channels, dimensions = self.positions.shape
        shape = f"{samples} samples, {channels} channels, {dimensions}-D"
        return f"Recording({self.name!r}, {shape}, {self.rate:g} Hz)"

    @property
    def dimensions(self) -> int:
        """Number of coordinates per channel, 3 or 4."""
        return int(self.positions.shape[2])

    @property
    def duration(self) -> float:
        """Time from the first to the last sample in seconds."""
        return float(self.times[-1] - self.times[0])
