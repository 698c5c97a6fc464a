"""Checks of data sources: what the recordings that a source loads must be like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quatcast.data.recording import SPACES
from quatcast.testing.tools import fingerprint, require

SourceCheck = Callable[[Any], None]


def check_source(source: Any) -> None:
    """Check the recordings of a data source.

    Parameters
    ----------
    source
        A source as `quatcast.data.register_source` takes it, or a function without arguments that returns recordings.

    Raises
    ------
    AssertionError
        If a recording is not as it must be; the message says which one, and why.

    Examples
    --------
    >>> from quatcast.data import simulated
    >>> check_source(lambda: simulated(seconds=20))
    """
    for check in source_checks():
        check(source)


def source_checks() -> tuple[SourceCheck, ...]:
    """Return the checks that `check_source` runs, to run them one by one.

    Examples
    --------
    >>> [check.__name__ for check in source_checks()][:2]
    ['has_recordings_with_different_names', 'recordings_are_well_formed']
    """
    return (
        has_recordings_with_different_names,
        recordings_are_well_formed,
        positions_are_finite_or_missing,
        times_increase_at_the_sampling_rate,
        loading_twice_gives_equal_recordings,
    )


def _load(source: Any) -> list[Any]:
    loaded = source.load() if hasattr(source, "load") else source()
    require(isinstance(loaded, list | tuple), f"a source must return a list of recordings, but it returned {loaded!r}")
    for recording in loaded:
        require(hasattr(recording, "positions"), f"a source must return recordings, but it returned {recording!r}")
    return list(loaded)


def has_recordings_with_different_names(source: Any) -> None:
    """Check that there are recordings, each with a name of its own."""
    names = [recording.name for recording in _load(source)]
    require(names, "a source must have at least one recording, but it has none")
    for name in names:
        require(isinstance(name, str) and name.strip(), f"the name of a recording must be a text, but it is {name!r}")
        require(names.count(name) == 1, f"recordings must have different names, but {names.count(name)} are {name!r}")


def recordings_are_well_formed(source: Any) -> None:
    """Check shapes and types of positions, times, sampling rate and channel names."""
    for recording in _load(source):
        prefix, positions = f"recording {recording.name!r}:", recording.positions
        require(
            isinstance(positions, np.ndarray) and positions.dtype == np.float64,
            f"{prefix} positions must be an array of floats, but they are {type(positions).__name__}",
        )
        shape, sizes = positions.shape, SPACES[getattr(recording, "space", "position")]
        require(
            positions.ndim == 3 and shape[2] in sizes and 0 not in shape,
            f"{prefix} positions must have shape (samples, channels, {' or '.join(map(str, sizes))}), but they have "
            f"{shape}",
        )
        times = np.shape(recording.times)
        require(times == shape[:1], f"{prefix} times must have shape {shape[:1]}, but they have {times}")
        names = tuple(recording.channels)
        require(
            len(names) == len(set(names)) == shape[1],
            f"{prefix} {shape[1]} channels must have as many different names, but they are {names}",
        )
        rate = recording.rate
        require(np.isfinite(rate) and rate > 0, f"{prefix} rate must be a positive number of Hz, but it is {rate}")
        require(isinstance(recording.group, str), f"{prefix} group must be a text, but it is {recording.group!r}")


def positions_are_finite_or_missing(source: Any) -> None:
    """Check that positions are finite, or NaN where missing, and that every channel is seen at some time."""
    for recording in _load(source):
        infinite = np.argwhere(np.isinf(recording.positions))
        require(
            not len(infinite),
            f"recording {recording.name!r}: positions must be finite or NaN, but there is an infinity at "
            f"{tuple(infinite[0].tolist()) if len(infinite) else ''}",
        )
        seen = np.isfinite(recording.positions).all(axis=-1).any(axis=0)
        require(
            seen.all(),
            f"recording {recording.name!r}: every channel must be seen, but channel {int(seen.argmin())} never is",
        )


def times_increase_at_the_sampling_rate(source: Any) -> None:
    """Check that times increase, and that their median interval is that of the sampling rate within a quarter."""
    for recording in _load(source):
        steps = np.diff(np.asarray(recording.times, dtype=float))
        bad = np.flatnonzero(~(steps > 0))
        require(
            np.isfinite(recording.times).all() and not len(bad),
            f"recording {recording.name!r}: times must be finite and increase, but they do not at samples {bad + 1}",
        )
        actual = 1.0 / float(np.median(steps)) if len(steps) else recording.rate
        require(
            abs(actual / recording.rate - 1.0) <= 0.25,
            f"recording {recording.name!r}: its times must fit its rate of {recording.rate:g} Hz, but they give "
            f"{actual:g} Hz",
        )


def loading_twice_gives_equal_recordings(source: Any) -> None:
    """Check that loading repeats itself, and that writing into a recording does not change the next one."""
    first = _load(source)
    before = [_content(recording) for recording in first]
    for recording in first:
        for array in (recording.positions, recording.times):
            if array.flags.writeable:
                array[...] = -1.0
    second = [_content(recording) for recording in _load(source)]
    require(
        len(before) == len(second), f"loading twice must give equal recordings, but {len(before)} and {len(second)}"
    )
    for recording, one, other in zip(first, before, second, strict=True):
        require(one == other, f"loading twice must give equal recordings, but {recording.name!r} is different")


def _content(recording: Any) -> str:
    names = ("name", "positions", "times", "rate", "group", "channels", "units", "space", "columns", "order")
    return fingerprint([getattr(recording, name, None) for name in names])
