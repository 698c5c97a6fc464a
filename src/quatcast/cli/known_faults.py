"""The options `--sentinel` and `--valid`: what a tracker sends for a lost channel, and the range of real values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quatcast.data.recording import Recording
from quatcast.safety.channels import usable
from quatcast.typing import Floats

SENTINEL = "Value that means lost, such as 9999 or 0,0,0; may be repeated."
VALID = "Range of real coordinates, LOW:HIGH or CHANNEL=LOW:HIGH; others mean lost; may be repeated."


def without_known_faults(recording: Recording, sentinels: list[str], valid: list[str]) -> Recording:
    """Return a recording in which samples that are known to be faulty are missing.

    Parameters
    ----------
    recording
        Recording in the units of the file.
    sentinels, valid
        The words that follow the options.

    Examples
    --------
    >>> recording = Recording("demo", [[[9999.0] * 3], [[1.0, 2.0, 3.0]]], [0.0, 0.1], rate=10.0)
    >>> without_known_faults(recording, ["9999"], ["channel1=0:10"]).positions[:, 0]
    array([[nan, nan, nan],
           [ 1.,  2.,  3.]])
    """
    if not sentinels and not valid:
        return recording
    x = recording.positions
    good = usable(x, [_sentinel(word, recording.dimensions) for word in sentinels], _range(valid, recording.channels))
    return replace(recording, positions=np.where(good[..., None], x, np.nan))


def _sentinel(word: str, dimensions: int) -> list[float]:
    """Return the coordinates of a sentinel: one number for all, or one per dimension."""
    try:
        values = [float(part) for part in word.split(",")]
    except ValueError:
        values = []
    if len(values) not in (1, dimensions):
        raise ValueError(f"--sentinel: expected a number, or {dimensions} separated by commas, got {word!r}")
    return values


def _range(words: list[str], channels: tuple[str, ...]) -> tuple[Floats, Floats]:
    """Return the smallest and largest valid coordinates (channels, 1); the last word for a channel counts."""
    low, high = np.full((len(channels), 1), -np.inf), np.full((len(channels), 1), np.inf)
    for word in words:
        name, equals, limits = word.rpartition("=")
        if equals and name not in channels:
            raise ValueError(f"--valid: expected a channel of {', '.join(channels)}, got {name!r}")
        try:
            smallest, largest = (float(limit) for limit in limits.split(":"))
        except ValueError:
            raise ValueError(f"--valid: expected LOW:HIGH or CHANNEL=LOW:HIGH, got {word!r}") from None
        if not smallest <= largest:
            raise ValueError(f"--valid: expected LOW below HIGH, got {word!r}")
        which = channels.index(name) if equals else slice(None)
        low[which], high[which] = smallest, largest
    return low, high
