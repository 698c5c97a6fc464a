"""The options `--sentinel` and `--valid`: what a tracker sends for a lost channel, and the range of real values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quatcast.data.recording import Recording
from quatcast.safety.known_faults import KnownFaults, Sentinel, Valid

SENTINEL = "Value that means lost, such as 9999 or 0,0,0; may be repeated."
VALID = "Range of real coordinates, LOW:HIGH or CHANNEL=LOW:HIGH; others mean lost; may be repeated."

REPEATED, FAR = 3, 20.0
"""How often a value must occur, and its distance to others in interquartile ranges, to be taken for a code."""


def suspected_codes(recording: Recording) -> list[tuple[str, str]]:
    """Return what may mean lost: positions that occur several times exactly, far from all others.

    Each is a sentence and the value of `--sentinel`.

    Examples
    --------
    >>> positions = np.arange(60.0).reshape(20, 1, 3)
    >>> positions[5:8] = 9999
    >>> suspected_codes(Recording("demo", positions, np.arange(20) / 10, rate=10.0))
    [('3 samples of channel1 are 9999, 9999, 9999, far from all others', '9999')]
    """
    found: list[tuple[str, str]] = []
    if recording.space == "orientation":
        return found
    for i, name in enumerate(recording.channels):
        x = recording.positions[:, i, : 3 if recording.space == "pose" else None]
        x = x[np.isfinite(x).all(axis=1)]
        values, counts = np.unique(x, axis=0, return_counts=True)
        values, counts = values[counts >= REPEATED], counts[counts >= REPEATED]
        if not len(values):
            continue
        # Codes are few and far out.
        outermost = np.argsort(-np.abs(values - np.median(x, axis=0)).max(axis=1))[:REPEATED]
        for value, count in zip(values[outermost], counts[outermost], strict=True):
            distances = np.abs(x - value).max(axis=1)
            others = x[distances > 0]
            spread = np.subtract(*np.quantile(others, [0.75, 0.25], axis=0)).max() if len(others) else 0.0
            if spread > 0 and distances[distances > 0].min() > FAR * spread:
                words = [f"{number:.12g}" for number in value]
                option = words[0] if len(set(words)) == 1 else ",".join(words)
                found.append((f"{count} samples of {name} are {', '.join(words)}, far from all others", option))
    return found


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
    faults = KnownFaults(tuple(map(parse_sentinel, sentinels)), tuple(map(parse_valid, valid)))
    return replace(recording, positions=faults.remove(recording.positions, recording.channels, recording.space))


def parse_sentinel(word: str) -> Sentinel:
    """Return a sentinel: one number for all coordinates, or one per coordinate.

    Examples
    --------
    >>> parse_sentinel("9999"), parse_sentinel("0,0,0")
    (9999.0, (0.0, 0.0, 0.0))
    """
    try:
        values = tuple(float(part) for part in word.split(","))
    except ValueError:
        raise ValueError(f"--sentinel: expected a number, or several separated by commas, got {word!r}") from None
    return values[0] if len(values) == 1 else values


def parse_valid(word: str) -> Valid:
    """Return a valid range.

    Examples
    --------
    >>> parse_valid("chest=-5:5")
    ('chest', -5.0, 5.0)
    """
    name, _, limits = word.rpartition("=")
    try:
        smallest, largest = (float(limit) for limit in limits.split(":"))
    except ValueError:
        raise ValueError(f"--valid: expected LOW:HIGH or CHANNEL=LOW:HIGH, got {word!r}") from None
    return name, smallest, largest
