"""The grid: irregular, late, repeated and lost messages become one sample per period.

The horizon of a forecaster is a number of samples, so that samples have to be equally spaced in the time of the device.
`Grid.take` is a pure function of the frames that it is given, in their order: no timer and no random number takes part.
The same frames give the same samples, which is what recovery and replay rely on. docs/live-time.md explains the rules.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.checkpoint import State
from quatcast.live.clock import DeviceClock
from quatcast.live.clock_choice import LARGEST, next_base, used_instead
from quatcast.live.clock_speed import TOO_FAST, Tempo, too_fast
from quatcast.live.fields import MAX_TIME
from quatcast.live.frames import Frame
from quatcast.safety.status import UNIT_QUATERNIONS

EXACT = 0.05
"""Distance in periods up to which a frame is taken for a point of the grid as it is."""
EARLY = 0.25
"""Distance in periods by which a frame may come before a point of the grid; it is extrapolated that far."""
LOCK = 0.05
"""Share of that distance by which the grid follows the frames."""
BRIDGED = 2.25
"""Distance in periods between two frames up to which points between them are interpolated."""
FILLED = 1.0
"""Longest run of missing samples, in seconds, that the forecaster is given; longer gaps are shortened to it."""
STEP = 0.5
"""Seconds by which a frame may seem to arrive before it was measured. Beyond it, a clock was changed."""
OLD, OLD_PERIODS, OLD_FRAMES = 1.0, 10, 5
"""Seconds and periods of delay, and number of such frames in a row, from which on a clock was set back."""
PATIENT = 60.0
"""Seconds for which frames are put in order after one came out of order."""
REORDERED = 4
"""Delay in periods up to which a late frame counts as out of order."""
REMEMBERED = 64
"""Number of times that are remembered to recognise repetitions."""


@dataclass(frozen=True)
class GridSample:
    """One sample on the grid.

    Attributes
    ----------
    number
        Position on the grid, counted from 0 without interruption.
    time
        Time of the measurement on the clock of this machine.
    values
        (channels, dimensions), NaN where missing.
    kind
        "seen", "interpolated" or "missing".

    Examples
    --------
    >>> GridSample(3, 1763226000.3, np.zeros((1, 3)), "seen").kind
    'seen'
    """

    number: int
    time: float
    values: Floats
    kind: str


def interpolate(earlier: Floats, later: Floats, share: float, space: str) -> Floats:
    """Return values between two samples, or a little beyond; orientations stay unit quaternions.

    Examples
    --------
    >>> q = np.array([[1.0, 0.0, 0.0, 0.0]])
    >>> interpolate(q, -q, 0.5, "orientation")
    array([[1., 0., 0., 0.]])
    """
    turned = UNIT_QUATERNIONS.get(space)
    if turned is None:
        return earlier + share * (later - earlier)
    ours, theirs = earlier[:, turned], later[:, turned]
    # q and −q are the same orientation; the nearer one is meant.
    near = np.where(np.sum(ours * theirs, axis=-1, keepdims=True) < 0, -theirs, theirs)
    between = earlier + share * (later - earlier)
    chord = ours + share * (near - ours)
    between[:, turned] = chord / np.linalg.norm(chord, axis=-1, keepdims=True)
    return between


class Taken(NamedTuple):
    """What became of a frame: samples on the grid, why it was dropped, and what happened to the stream."""

    samples: list[GridSample] = []  # noqa: RUF012
    dropped: str = ""
    event: str = ""


@dataclass
class Grid(State):
    """Resample frames causally to a grid that follows the clock of the device.

    Attributes
    ----------
    period
        Seconds between points of the grid.
    base
        Where the time of a frame comes from: "device", "sequence" or "received".
    input_age
        Seconds from the measurement to the fastest arrival, if known.
    space
        What the values are; unit quaternions are interpolated along the shorter way.
    clock
        Translation of device times into times of this machine.
    due
        Device time of the next point.
    number
        Number of the next point.
    told
        Time of the newest point on the clock of this machine.
    before, values
        Device time and values of the newest frame that was used; no value before the first.
    held
        Frames that wait for an earlier one, as (time, values).
    recent
        Times and sequence numbers of the last frames, -1 without a number.
    patience
        Number of the point up to which frames are put in order.
    old
        Number of consecutive frames that were far too old.
    counts
        Number of frames and points of each kind.
    tempo
        Whether the clock of the device goes as fast as time does.

    Examples
    --------
    >>> grid = Grid(period=0.1, base="device")
    >>> for t, x in [(0.0, 1.0), (0.1, 2.0), (0.1, 2.0), (0.3, 4.0)]:
    ...     taken = grid.take(Frame("chest", None, t, 500.0 + t, np.full((1, 3), x)))
    ...     print([(sample.number, float(sample.values[0, 0]), sample.kind) for sample in taken.samples], taken.dropped)
    [(0, 1.0, 'seen')]
    [(1, 2.0, 'seen')]
    [] duplicate
    [(2, 3.0, 'interpolated'), (3, 4.0, 'seen')]
    """

    period: float
    base: str
    input_age: float = 0.0
    space: str = "position"
    clock: DeviceClock = field(default_factory=DeviceClock)
    due: float = 0.0
    number: int = 0
    told: float = -np.inf
    before: float | None = None
    values: Floats | None = None
    held: list[tuple[float, Floats]] = field(default_factory=list)
    recent: deque[tuple[float, int]] = field(default_factory=lambda: deque(maxlen=REMEMBERED))
    patience: int = -1
    old: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    tempo: Tempo = field(default_factory=Tempo)

    def take(self, frame: Frame) -> Taken:
        """Take in a frame in the order of arrival, and return the points of the grid that it completes."""
        self._count("frames")
        time = self.time_of(frame)
        if time is None:
            return self._drop("untimed")
        if self.values is None:
            return Taken(self._begin(time, frame), event="")
        if frame.values.shape != self.values.shape:
            return self._drop("shape")
        if self.base == "received" and self.before is not None:
            if self.before - time > STEP:
                return self._restart(time, frame, f"the clock of this machine went back by {self.before - time:.3g} s")
            # Times of arrival say nothing about the order of frames that arrive together.
            time = max(time, np.nextafter(self.before, np.inf))
        if self._repeated(time, frame.sequence):
            return self._drop("duplicate")
        ahead = self.clock.local(time) - frame.received
        if ahead > STEP:
            return self._step_forward(time, frame, ahead)
        if self.before is not None and time <= self.before:
            return self._late(time, frame, self.before - time)
        self.old = 0
        # A time of the device says that a message is late; a number does not.
        if self.tempo.is_pause(time, frame.received, -ahead, self._oldest()) and self.base == "sequence":
            return self._restart(time, frame, f"the sequence number stood still for {-ahead:.3g} s")
        if self._is_too_fast(speed := self.tempo.progress(time, frame.received, self.period)):
            return self._leave_clock(frame, speed)
        self.clock.observe(time, frame.received)
        self._remember(time, frame.sequence)
        return self._in_order(time, frame.values)

    def follow(self, base: str, frame: Frame, event: str) -> Taken:
        """Begin anew at a frame, with times from elsewhere."""
        self._count("frames")
        return self._follow(base, frame, event)

    def _follow(self, base: str, frame: Frame, event: str) -> Taken:
        self.base = base
        time = self.time_of(frame)
        return self._drop("untimed") if time is None else self._restart(time, frame, event)

    def _step_forward(self, time: float, frame: Frame, ahead: float) -> Taken:
        """Begin anew after a step of a clock; if it keeps stepping because its unit is wrong, follow another one."""
        speed = self.tempo.speed(frame.received, (time - self.recent[-1][0]) / self.period, self.period)
        if self._is_too_fast(speed):
            return self._leave_clock(frame, speed)
        return self._restart(time, frame, f"the clock went forward by {ahead:.3g} s")

    def _is_too_fast(self, speed: float) -> bool:
        return speed >= TOO_FAST.get(self.base, np.inf)

    def _leave_clock(self, frame: Frame, speed: float) -> Taken:
        """Begin anew with another clock, because this one advances too many periods per frame."""
        base = next_base(self.base, frame, self.recent[-1][1])
        return self._follow(base, frame, used_instead(self.base, too_fast(self.base, speed), base))

    def time_of(self, frame: Frame) -> float | None:
        """Return the time of a frame on the clock that the grid follows, or None if the frame does not have it.

        A time too large for floating-point numbers to resolve a part of a period is not used: the grid would not
        advance.
        """
        if self.base == "received":
            return frame.received
        time = frame.device_time
        if self.base == "sequence":
            number = frame.sequence
            time = None if number is None or number > LARGEST["sequence"] else number * self.period
        return time if time is not None and abs(time) <= MAX_TIME else None

    def local(self, time: float) -> float:
        """Return the time of this machine at which something was measured."""
        return self.clock.local(time) - self.input_age

    def _count(self, kind: str, n: int = 1) -> None:
        self.counts[kind] = self.counts.get(kind, 0) + n

    def _drop(self, why: str) -> Taken:
        self._count(why)
        return Taken(dropped=why)

    def _begin(self, time: float, frame: Frame) -> list[GridSample]:
        """Let a grid begin at a frame."""
        self.clock = DeviceClock()
        self.clock.observe(time, frame.received)
        self.tempo.begin(frame.received)
        self.due, self.before, self.values, self.old = time, None, frame.values, 0
        self.held, self.patience = [], -1
        self.recent.clear()
        self._remember(time, frame.sequence)
        return self._place(time, frame.values)

    def _restart(self, time: float, frame: Frame, event: str) -> Taken:
        """Begin anew after a step of a clock; the forecaster is told by missing samples."""
        self._count("steps")
        gap = self._missing(frame.values.shape)
        if self.told - frame.received > FILLED + self.period:
            # The clock of this machine was set back, so that times cannot stay in order.
            self.told = -np.inf
        return Taken(gap + self._begin(time, frame), event=f"{event}: a new segment begins")

    def _remember(self, time: float, sequence: int | None) -> None:
        self.recent.append((time, -1 if sequence is None else sequence))

    def _repeated(self, time: float, sequence: int | None) -> bool:
        """Return whether a frame has come before.

        Without a sequence number, an old time can also be that of a clock that was set back; `_late` decides.
        """
        if sequence is None and self.before is not None and self._is_old(self.before - time):
            return False
        return (time, -1 if sequence is None else sequence) in self.recent

    def _oldest(self) -> float:
        """Return the delay in seconds beyond which a clock was changed, if it lasts."""
        return max(OLD, OLD_PERIODS * self.period)

    def _is_old(self, delay: float) -> bool:
        return delay > self._oldest()

    def _late(self, time: float, frame: Frame, delay: float) -> Taken:
        """Drop a frame that is older than what was used, unless a run of them shows that a clock was set back."""
        if delay <= REORDERED * self.period:
            self.patience = self.number + round(PATIENT / self.period)
        if self._is_old(delay):
            self.old += 1
            if self.old >= OLD_FRAMES:
                return self._restart(time, frame, f"the clock went back by {delay:.3g} s")
        self._remember(time, frame.sequence)
        return self._drop("late")

    def _in_order(self, time: float, values: Floats) -> Taken:
        """Use a frame now, or let it wait for an earlier one if frames have come out of order lately.

        A frame waits until the missing one or another later one arrives, that is, about one period.
        """
        if self.number >= self.patience and not self.held:
            return self._use(time, values)
        self.held = sorted([*self.held, (time, values)], key=lambda one: one[0])
        samples: list[GridSample] = []
        event = ""
        while self.held and (len(self.held) > 1 or not self._gap_before(self.held[0][0])):
            taken = self._use(*self.held.pop(0))
            samples, event = samples + taken.samples, event or taken.event
        return Taken(samples, event=event)

    def _gap_before(self, time: float) -> bool:
        return self.before is not None and time - self.before > 1.5 * self.period

    def _use(self, time: float, values: Floats) -> Taken:
        """Complete the points of the grid up to a frame."""
        event = ""
        gap: list[GridSample] = []
        points = int((time - self.due) / self.period)
        if self._gap_before(time) and self.before is not None:
            self._count("lost", round((time - self.before) / self.period) - 1)
        if points * self.period > FILLED and points > 2:
            event = f"no sample for {points * self.period:.3g} s"
            self._count("gaps")
            gap = self._missing(values.shape)
            self.due, self.before = time, None
        return Taken(gap + self._place(time, values), event=event)

    def _missing(self, shape: tuple[int, ...]) -> list[GridSample]:
        """Return missing samples at the next points of the grid, which tell the forecaster of an interruption."""
        count = max(round(FILLED / self.period), 1)
        return [self._point(np.full(shape, np.nan), "missing") for _ in range(count)]

    def _place(self, time: float, values: Floats) -> list[GridSample]:
        """Return the points of the grid up to a frame, and let the grid follow it."""
        before, earlier = self.before, self.values
        known = before is not None and time - before <= BRIDGED * self.period
        samples = []
        while (distance := (time - self.due) / self.period) >= -EARLY:
            near = abs(distance) <= 0.5
            if abs(distance) <= EXACT or (distance < 0 and not known):
                samples.append(self._point(values, "seen"))
            elif known and before is not None and earlier is not None:
                share = (self.due - before) / (time - before)
                between = interpolate(earlier, values, share, self.space)
                samples.append(self._point(between, "seen" if near else "interpolated"))
            else:
                samples.append(self._point(np.full(values.shape, np.nan), "missing"))
            if near:
                self.due += LOCK * distance * self.period
        self.before, self.values = time, values
        return samples

    def _point(self, values: Floats, kind: str) -> GridSample:
        """Return the next point of the grid and go on to the one after it."""
        self._count(kind)
        # A better estimate of the offset moves times back; those that were given out stay in order.
        self.told = max(self.told, self.local(self.due))
        sample = GridSample(self.number, self.told, values, kind)
        self.number += 1
        self.due += self.period
        return sample
