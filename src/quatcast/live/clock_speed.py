"""Whether the clock of a device goes as fast as time does: clocks in a wrong unit, and numbers that stood still."""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import median

from quatcast.checkpoint import State

REPEATED = 3
"""Number of steps forward in a row, each soon after the one before, from which on a clock is too fast."""
SOON, SOON_PERIODS = 5.0, 3
"""Seconds and periods, the longer of which is soon."""
TOO_FAST = {"device": 5.0, "sequence": 1.5}
"""Periods per frame from which on a clock that keeps stepping forward is in a wrong unit. Below it, frames of a
recording may arrive faster than they were measured."""
WINDOW, WINDOW_FRAMES, WINDOWS = 2.0, 8, 2
"""Seconds and frames in which the progress of a clock is compared with that of time, and number of such windows in a
row."""
FASTER = 1.5
"""Ratio of the time of the device to elapsed time above which the clock of the device is too fast."""
STEADY, STEADY_FRAMES = 1.0, 5
"""Seconds and number of frames for which a delay must last to be a pause of the device."""
CATCHING_UP = 0.05
"""Seconds by which a delay becomes smaller while messages that were held up arrive."""
UNITS = {1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}


def too_fast(base: str, speed: float) -> str:
    """Return what is wrong with a clock, or with sequence numbers, that advance `speed` periods per frame.

    Examples
    --------
    >>> too_fast("device", 1003.2)
    'advances 1,003 times too fast, perhaps because it is in milliseconds and not in seconds'
    >>> too_fast("sequence", 2.0)
    'grows by 2 per sample and not by 1'
    """
    if base == "sequence":
        return f"grows by {speed:,.3g} per sample and not by 1"
    unit = next((unit for factor, unit in UNITS.items() if 0.8 < speed / factor < 1.25), "")
    return f"advances {speed:,.0f} times too fast" + (
        f", perhaps because it is in {unit} and not in seconds" if unit else ""
    )


@dataclass
class Tempo(State):
    """What is remembered of steps and delays of a clock.

    Attributes
    ----------
    steps
        (time of arrival, periods since the frame before) of the last steps forward.
    newest
        Time of arrival of the newest frame.
    window
        Time of arrival and time of the first frame of a window, number of frames since, and number of windows before it
        in which the clock was too fast; empty before the first frame.
    behind
        Time of arrival of the first frame after a pause, its difference to the time of the frame, and number of frames
        since; empty without a pause.

    Examples
    --------
    >>> tempo = Tempo()
    >>> [tempo.speed(500.0 + i / 10, 1000.0, period=0.1) for i in range(3)]
    [0.0, 0.0, 1000.0]
    """

    steps: list[tuple[float, float]] = field(default_factory=list)
    newest: float | None = None
    window: list[float] = field(default_factory=list)
    behind: list[float] = field(default_factory=list)

    def speed(self, received: float, periods: float, period: float) -> float:
        """Take note of a step forward; return how many periods a frame takes if such steps keep coming, else 0."""
        if self.steps and received - self.steps[-1][0] > max(SOON, SOON_PERIODS * period):
            self.steps = []
        self.steps = [*self.steps[1 - REPEATED :], (received, periods)]
        return median(step for _, step in self.steps) if len(self.steps) == REPEATED else 0.0

    def progress(self, time: float, received: float, period: float) -> float:
        """Take note of a frame; return how many periods a frame takes if the clock keeps being too fast, else 0.

        Steps that are too small to be noticed one by one would give the grid more points than there are samples.
        """
        if not self.window:
            self.window = [received, time, 0, 0]
        began, first, frames, fast = self.window
        frames += 1
        self.window = [began, first, frames, fast]
        if received - began < WINDOW or frames <= WINDOW_FRAMES:
            return 0.0
        faster = time - first >= FASTER * (received - began)
        fast = fast + 1 if faster else 0
        self.window = [received, time, 1, fast]
        return (time - first) / (frames - 1) / period if fast >= WINDOWS else 0.0

    def is_pause(self, time: float, received: float, delay: float, longest: float) -> bool:
        """Take note of a frame; return whether its delay lasts since nothing had arrived for a long time.

        Messages that were held up arrive faster than they were sent, so that their delay becomes smaller. A delay
        that stays is that of a device which paused and then went on with its numbers.
        """
        # The delay also changes with the estimate of the drift, and this does not.
        offset = received - time
        silent = received - (received if self.newest is None else self.newest)
        self.newest = received
        if delay <= longest:
            self.behind = []
        elif silent > longest or (self.behind and offset < self.behind[1] - CATCHING_UP):
            self.behind = [received, offset, 1]
        elif self.behind:
            self.behind = [*self.behind[:2], self.behind[2] + 1]
        return bool(self.behind) and self.behind[2] >= STEADY_FRAMES and received - self.behind[0] >= STEADY

    def begin(self, received: float) -> None:
        """Forget delays and progress, because the clock is measured anew."""
        self.newest, self.behind, self.window = received, [], []
