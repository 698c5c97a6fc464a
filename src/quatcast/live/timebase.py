"""What gives frames their time: the clock of the device, its sequence numbers, or the times of arrival.

A tracker may fill in the same time, or the same number, in every message. Such a clock is of no use and is passed over.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quatcast.live.fields import MAX_TIME
from quatcast.live.frames import Frame

FEWEST = 3
"""Number of different times that a clock must have shown, if there were as many frames."""
WORDS = {"device": "device time", "sequence": "sequence number", "received": "times of arrival"}


LARGEST = {"device": MAX_TIME, "sequence": 2**40}
"""Largest times and numbers; a larger number is a time in milliseconds or less, and not a count."""


def _usable(value: float | None, largest: float) -> float | None:
    return value if value is not None and abs(value) <= largest else None


def base_of(frames: Sequence[Frame]) -> str:
    """Return what gives frames their time: "device", "sequence" or "received", the first of them that advances.

    Examples
    --------
    >>> frames = [Frame("chest", i, 7.0, 500.0 + i / 10, np.zeros((1, 3))) for i in range(30)]
    >>> base_of(frames[:1]), base_of(frames)
    ('device', 'sequence')
    """
    for base, name in (("device", "device_time"), ("sequence", "sequence")):
        times = [_usable(getattr(frame, name), LARGEST[base]) for frame in frames]
        if times[0] is not None and len(set(times) - {None}) >= min(FEWEST, len(frames)):
            return base
    return "received"


def passed_over(frames: Sequence[Frame], base: str) -> str:
    """Return a sentence about a clock that frames have and that does not advance, nothing if there is none.

    Examples
    --------
    >>> passed_over([Frame("chest", None, 7.0, 500.0, np.zeros((1, 3)))], "received")
    'the device time does not advance, so that times of arrival are used instead'
    """
    given = "device" if frames[0].device_time is not None else "sequence" if frames[0].sequence is not None else base
    if base == given:
        return ""
    first = frames[0].device_time if given == "device" else frames[0].sequence
    why = "is too large" if _usable(first, LARGEST[given]) is None else "does not advance"
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
