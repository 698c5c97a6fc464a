"""Clocks: the time of this machine, and how the time of a device is translated into it.

A message arrives some time after the device has measured, and never before. The smallest difference between the time of
arrival and the time of the device is therefore the best estimate of the offset between the two clocks: it belongs to
the message that was delayed least. Two clocks also run at slightly different speeds, so the smallest differences of
consecutive intervals lie on a line, whose slope is the drift.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from itertools import combinations
from statistics import median

from quatcast.checkpoint import State

INTERVAL = 10.0
"""Seconds of which the smallest offset is remembered."""
INTERVALS = 12
"""Number of intervals that are remembered."""
LEARNT = 4
"""Number of intervals from which on a drift is estimated."""
FASTEST = 0.02
"""Largest drift, as a fraction. Real clocks differ by less than 0.0002; a rate that was estimated differs by more."""

_STARTED = time.time() - time.monotonic()


def now() -> float:
    """Return seconds since 1970 on a clock that never jumps while the program runs.

    It is set when the program starts. A later correction of the clock of the system does not change it.

    Examples
    --------
    >>> before = now()
    >>> bool(now() >= before)
    True
    """
    return _STARTED + time.monotonic()


@dataclass
class DeviceClock(State):
    """Translate times of a device into times of this machine.

    Attributes
    ----------
    minima
        [start of the interval, device time, offset] of the message with the smallest offset, one per interval, the
        oldest first.
    drift
        Change of the offset per second of device time.

    Examples
    --------
    A device whose clock started at zero when ours showed 500 s; messages take 3 ms or more.

    >>> clock = DeviceClock()
    >>> for device_time, delay in [(0.0, 0.008), (0.1, 0.003), (0.2, 0.020)]:
    ...     clock.observe(device_time, 500.0 + device_time + delay)
    >>> round(clock.local(0.2), 6)
    500.203
    """

    minima: list[list[float]] = field(default_factory=list)
    drift: float = 0.0

    def observe(self, device: float, received: float) -> None:
        """Take in a time of the device and the time of arrival."""
        offset = received - device
        if not self.minima or device >= self.minima[-1][0] + INTERVAL:
            self.minima = [*self.minima[-INTERVALS + 1 :], [device, device, offset]]
            self.drift = self._slope()
        elif offset <= self.minima[-1][2] + self.drift * (device - self.minima[-1][1]):
            self.minima = [*self.minima[:-1], [self.minima[-1][0], device, offset]]

    def local(self, device: float) -> float:
        """Return the time of this machine at which a message of a device time arrives if nothing delays it."""
        return device + min(offset + self.drift * (device - at) for _, at, offset in self.minima)

    def _slope(self) -> float:
        """Return the median slope between pairs of finished intervals, which single delayed intervals cannot move."""
        known = [(at, offset) for _, at, offset in self.minima[:-1]]
        if len(known) < LEARNT:
            return 0.0
        slopes = [(o2 - o1) / (t2 - t1) for (t1, o1), (t2, o2) in combinations(known, 2) if t2 > t1]
        return max(-FASTEST, min(FASTEST, median(slopes))) if slopes else 0.0
