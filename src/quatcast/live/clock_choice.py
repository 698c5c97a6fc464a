"""Which clock gives frames their time: that of the device, its sequence numbers, or the times of arrival.

A tracker may fill in the same time, or the same number, in every message, or times in milliseconds. Such a clock is of
no use and is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quatcast.live.clock_speed import TOO_FAST, too_fast
from quatcast.live.fields import MAX_TIME
from quatcast.live.frames import Frame
from quatcast.live.rate import LOWEST

FEWEST = 3
"""Number of different times that a clock must have shown, if there were as many frames."""
WORDS = {"device": "device time", "sequence": "sequence number", "received": "times of arrival"}


NAMES = {"device": "device_time", "sequence": "sequence"}
"""Names of the clocks in a frame, the better one first."""
FEWEST_STEPS = 8
"""Number of frames from which on their median step is known."""
LARGEST = {"device": MAX_TIME, "sequence": 2**40}
"""Largest times and numbers; a larger number is a time in milliseconds or less, and not a count."""


def _usable(value: float | None, largest: float) -> float | None:
    return value if value is not None and abs(value) <= largest else None


def base_of(frames: Sequence[Frame], rate: float = 0.0) -> str:
    """Return what gives frames their time: "device", "sequence" or "received", the first of them that is a clock.

    Parameters
    ----------
    frames
        Frames in the order of arrival.
    rate
        Rate of the stream in Hz, 0 if it is to be detected; a clock must then advance at a possible rate.

    Examples
    --------
    >>> frames = [Frame("chest", i, 7.0, 500.0 + i / 10, np.zeros((1, 3))) for i in range(30)]
    >>> base_of(frames[:1]), base_of(frames)
    ('device', 'sequence')
    """
    return next((base for base in NAMES if not _fault(frames, base, rate)), "received")


def next_base(base: str, frame: Frame, before: int) -> str:
    """Return what gives a frame its time if not `base`: numbers, if they have grown by 1 or 2 since the one before.

    Examples
    --------
    >>> frame = Frame("chest", 7, 700.0, 500.0, np.zeros((1, 3)))
    >>> next_base("device", frame, 6), next_base("device", frame, -1), next_base("sequence", frame, 6)
    ('sequence', 'received', 'received')
    """
    number = _usable(frame.sequence, LARGEST["sequence"])
    counts = number is not None and before >= 0 and 1 <= number - before <= 2
    return "sequence" if base == "device" and counts else "received"


def _fault(frames: Sequence[Frame], base: str, rate: float) -> str:
    """Return in words why a clock cannot be used; empty if it can."""
    times = [getattr(frame, NAMES[base]) for frame in frames]
    usable = [_usable(time, LARGEST[base]) for time in times]
    if usable[0] is None:
        return "is too large" if times[0] is not None else "is missing"
    different = sorted({time for time in usable if time is not None})
    if len(different) < min(FEWEST, len(frames)):
        return "does not advance"
    if rate or len(frames) < FEWEST_STEPS:
        return ""
    step, arrival = (float(np.median(np.diff(each))) for each in (different, sorted(one.received for one in frames)))
    if base == "sequence":
        return too_fast(base, step) if step >= TOO_FAST[base] else ""
    # A recording that is sent at once arrives faster than it was measured, but shows a possible rate.
    slow = step * LOWEST > 1 and 0 < arrival < step / TOO_FAST[base]
    return too_fast(base, step / arrival) if slow else ""


def passed_over(frames: Sequence[Frame], base: str, rate: float = 0.0) -> str:
    """Return a sentence about a clock that frames have and that cannot be used, nothing if there is none.

    Examples
    --------
    >>> passed_over([Frame("chest", None, 7.0, 500.0, np.zeros((1, 3)))] * 3, "received")
    'the device time does not advance, so that times of arrival are used instead'
    """
    given = "device" if frames[0].device_time is not None else "sequence" if frames[0].sequence is not None else base
    if base == given:
        return ""
    return used_instead(given, _fault(frames, given, rate), base)


def used_instead(given: str, why: str, base: str) -> str:
    """Return a sentence that says what is wrong with a clock, and which one is used instead.

    Examples
    --------
    >>> used_instead("device", "does not advance", "sequence")
    'the device time does not advance, so that sequence numbers are used instead'
    """
    return f"the {WORDS[given]} {why}, so that {WORDS[base]}{'s' * (base == 'sequence')} are used instead"


def times_of(frames: Sequence[Frame], base: str) -> list[float]:
    """Return times from which the rate is detected; with numbered frames, times of arrival are smoothed by a line."""
    if base == "device":
        return [frame.device_time for frame in frames if frame.device_time is not None]
    if base == "received":
        return [frame.received for frame in frames]
    pairs = [(frame.sequence, frame.received) for frame in frames if frame.sequence is not None]
    first, began = pairs[0]
    slope = np.polyfit([number - first for number, _ in pairs], [received - began for _, received in pairs], 1)[0]
    return [float(slope) * (number - first) for number, _ in pairs]
