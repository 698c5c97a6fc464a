"""Checks of data sources: what the recordings that a source loads must be like."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quatcast.data.recording import Recording
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
    ['has_recordings_with_different_names', 'every_channel_is_seen']
    """
    return (
        has_recordings_with_different_names,
        every_channel_is_seen,
        times_fit_the_sampling_rate,
        loading_twice_gives_equal_recordings,
    )


def _load(source: Any) -> list[Recording]:
    loaded = source.load() if hasattr(source, "load") else source()
    require(isinstance(loaded, list | tuple), f"a source must return a list of recordings, but it returned {loaded!r}")
    for recording in loaded:
        require(isinstance(recording, Recording), f"a source must return recordings, but it returned {recording!r}")
    return list(loaded)


def has_recordings_with_different_names(source: Any) -> None:
    """Check that there are recordings, each with a name of its own."""
    names = [recording.name for recording in _load(source)]
    require(names, "a source must have at least one recording, but it has none")
    for name in names:
        require(name.strip(), f"a recording must have a name, but it is {name!r}")
        require(names.count(name) == 1, f"recordings must have different names, but {names.count(name)} are {name!r}")


def every_channel_is_seen(source: Any) -> None:
    """Check that every channel is seen at some time; a `Recording` has checked everything else about positions."""
    for recording in _load(source):
        seen = np.isfinite(recording.positions).all(axis=-1).any(axis=0)
        require(
            seen.all(),
            f"recording {recording.name!r}: every channel must be seen, but channel {int(seen.argmin())} never is",
        )


def times_fit_the_sampling_rate(source: Any) -> None:
    """Check that the median interval of the times is that of the sampling rate within a quarter."""
    for recording in _load(source):
        steps = np.diff(recording.times)
        actual = 1.0 / float(np.median(steps)) if len(steps) else recording.rate
        require(
            abs(actual / recording.rate - 1.0) <= 0.25,
            f"recording {recording.name!r}: its times must fit its rate of {recording.rate:g} Hz, but they give "
            f"{actual:g} Hz",
        )


def loading_twice_gives_equal_recordings(source: Any) -> None:
    """Check that loading repeats itself."""
    first, second = _load(source), _load(source)
    require(len(first) == len(second), f"loading twice must give equal recordings, but {len(first)} and {len(second)}")
    for one, other in zip(first, second, strict=True):
        require(
            _content(one) == _content(other), f"loading twice must give equal recordings, but {one.name!r} is different"
        )


def _content(recording: Recording) -> str:
    names = ("name", "positions", "times", "rate", "group", "channels", "units", "space", "columns", "order")
    return fingerprint([getattr(recording, name) for name in names])
