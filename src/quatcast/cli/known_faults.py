"""The options `--sentinel` and `--valid`: what a tracker sends for a lost channel, and the range of real values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from quatcast.basics.typing import Counts
from quatcast.data.recording import Recording
from quatcast.data.wording import counted
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
    """Return a recording in which samples that are known to be faulty are missing, with a note for each option.

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
    >>> without_known_faults(recording, ["9999", "0"], []).notes
    ('--sentinel 9999: 1 sample of channel1 is missing', '--sentinel 0: no sample has it')

    Raises
    ------
    ValueError
        If a word is malformed, or if no sample remains.
    """
    if not sentinels and not valid:
        return recording
    codes, ranges = tuple(map(parse_sentinel, sentinels)), tuple(map(parse_valid, valid))
    removed = {
        **{f"--sentinel {word}": _removed(recording, KnownFaults((codes[i],))) for i, word in enumerate(sentinels)},
        **{f"--valid {word}": _outside(recording, ranges, i) for i, word in enumerate(valid)},
    }
    positions = KnownFaults(codes, ranges).remove(recording.positions, recording.channels, recording.space)
    if not np.isfinite(positions).any() and (used := [option for option, counts in removed.items() if counts.any()]):
        low, high = np.nanmin(recording.positions), np.nanmax(recording.positions)
        raise ValueError(
            f"{', '.join(used)}: expected samples of recording {recording.name!r} that remain, got none; its "
            f"coordinates are from {low:g} to {high:g}"
        )
    notes = [f"{option}: {_effect(recording, option, counts)}" for option, counts in removed.items()]
    return replace(recording, positions=positions, notes=(*recording.notes, *notes))


def _removed(recording: Recording, faults: KnownFaults) -> Counts:
    """Return how many samples of each channel known faults make missing."""
    before, after = (
        np.isfinite(known.remove(recording.positions, recording.channels, recording.space)).any(axis=-1)
        for known in (KnownFaults(), faults)
    )
    counts: Counts = np.count_nonzero(before & ~after, axis=0)
    return counts


def _outside(recording: Recording, ranges: tuple[Valid, ...], i: int) -> Counts:
    """Return how many samples of each channel are outside a range, if no later range replaces it for the channel."""
    replaced = {name for name, _, _ in ranges[i + 1 :]}
    applies = [not replaced & {"", name} for name in recording.channels]
    return np.where(applies, _removed(recording, KnownFaults(valid=(ranges[i],))), 0)


def _effect(recording: Recording, option: str, counts: Counts) -> str:
    """Describe what an option has made missing, from the number of samples of each channel."""
    parts = [
        f"{counted(int(count), 'sample')} of {name}"
        for name, count in zip(recording.channels, counts, strict=True)
        if count
    ]
    if parts:
        return f"{', '.join(parts)} {'is' if counts.sum() == 1 else 'are'} missing"
    return "no sample has it" if option.startswith("--sentinel") else "no sample is outside of it"


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
