"""Loading the recordings that settings name: a registered source, or files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from glob import escape, glob, has_magic
from itertools import islice
from pathlib import Path
from typing import Any

from quatcast.basics.messages import message_of
from quatcast.data import Recording, find_source, read_all, sources
from quatcast.data.assembly import UnknownChannelError
from quatcast.data.recording import with_columns
from quatcast.evaluation.protocol import CUT

SUFFIXES = frozenset({".csv", ".tsv", ".txt", ".c3d", ".xdf", ".mha", ".mhd", ".nrrd", ".trc"})
"""Suffixes of the files of a folder that are recordings."""
MOST_BELOW = 10_000
"""Most files and folders below a folder that are examined for recordings."""


def load(
    data: str | Sequence[str] = "simulated",
    *,
    data_dir: str | None = None,
    seconds: float = 0.0,
    progress: bool = False,
    rates: Mapping[str, float] | None = None,
    units: Mapping[str, str] | None = None,
    channels: Sequence[str] | None = None,
    groups: Mapping[str, Sequence[str]] | None = None,
    reading: Mapping[str, Any] | None = None,
) -> list[Recording]:
    """Load the recordings of a registered source or of files.

    Every recording that is returned has one unit. A recording whose channels have different units becomes one recording
    per unit, because errors in different units can be neither added nor compared.

    Parameters
    ----------
    data
        Name of a source, such as "simulated" or "extmarker", or files for `quatcast.data.read_all`.
    data_dir
        Folder of the files of a source; None for its default place, such as the cache of downloads.
    seconds
        Length to which longer recordings are cut; 0 keeps them whole. A note of the recording states its whole length.
    progress
        Whether to show the progress of a download on standard error.
    rates
        Pattern of file names → sampling rate in Hz, for files without times.
    units
        Pattern of file names or of channels → unit, where the file does not name it.
    channels
        Channels to read; of several files, each must have one of them. None reads all positions and orientations.
    groups
        Group → patterns of its file names.
    reading
        Other arguments of `quatcast.data.read_all` for files that are not clear, such as `time_unit` or `columns`.

    Examples
    --------
    >>> [len(recording) for recording in load(seconds=80.0)]
    [800, 800, 800, 800, 800, 800, 730, 800, 800]
    >>> load(seconds=80.0, channels=["chest"], groups={"deep": ["sim-5*"]})[4].group
    'deep'
    """
    reading = reading or {}
    used: set[str] = set()
    if isinstance(data, str) and is_source(data):
        if reading:
            raise ValueError(f"{next(iter(reading))}: applies to files only, got the data source {data!r}")
        loaded: Any = find_source(data).load(data_dir=data_dir, progress=progress)
        if not (isinstance(loaded, list | tuple) and loaded and all(isinstance(one, Recording) for one in loaded)):
            raise ValueError(f"data: expected a list of recordings from the source {data!r}, got {loaded!r}")
        used |= {name for recording in loaded for name in recording.channels}
        found = [(recording.name, _select(recording, channels)) for recording in loaded]
    else:
        files = [data] if isinstance(data, str) else data
        found = _read_files(files, rates or {}, channels, reading, used)
        _check_patterns("rates", rates or {}, [(file,) for file in files])
    for name in channels or []:
        if name not in used:
            raise ValueError(f"channels: expected channels of the recordings, got {name!r}, which none of them has")
    if channels is None:  # otherwise a unit may be that of a channel that was not chosen
        _check_patterns("units", units or {}, [(file, *recording.channels) for file, recording in found])
    patterns = [pattern for group in (groups or {}).values() for pattern in group]
    _check_patterns("groups", patterns, [(file, recording.name) for file, recording in found])
    found = [(file, _with_units(file, recording, units or {})) for file, recording in found]
    if groups:
        found = [(file, replace(recording, group=_group(file, recording, groups))) for file, recording in found]
    recordings = [part for recording in _distinct(recording for _, recording in found) for part in parts(recording)]
    return [cut(recording, seconds) for recording in recordings]


def is_source(name: str) -> bool:
    """Tell whether a data source of the given name is registered."""
    return name in {source.name for source in sources()}


def find_files(words: Sequence[str]) -> list[str]:
    """Return the files that words name: a file itself, the tables in a folder, or the files that match a pattern.

    Raises
    ------
    ValueError
        If a word names nothing.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     for name in ("b.csv", "a.csv", "notes.md"):
    ...         _ = Path(folder, name).write_text("")
    ...     [Path(file).name for file in find_files([folder])]
    ['a.csv', 'b.csv']
    """
    files: list[str] = []
    for word in words:
        path = Path(word)
        if path.is_dir():
            inside = sorted(str(file) for file in path.iterdir() if file.suffix.lower() in SUFFIXES)
            if not inside:
                listed = ", ".join(sorted(SUFFIXES))
                raise ValueError(f"{word}: expected a folder with recordings ({listed}), got none{_below(path)}")
            files += inside
        elif has_magic(word) and not path.exists():
            matching = sorted(file for file in glob(word, recursive=True) if Path(file).is_file())
            if not matching:
                raise ValueError(f"{word}: no file matches this pattern")
            files += matching
        else:
            files.append(word)
    return list(dict.fromkeys(files))


def _below(folder: Path) -> str:
    """Return the pattern that finds recordings in the subfolders of a folder, as advice; "" if there are none."""
    for path in islice(folder.rglob("*"), MOST_BELOW):
        if path.suffix.lower() in SUFFIXES:
            pattern = Path(escape(str(folder)), "**", f"*{path.suffix}")
            return f"; its subfolders have some: give {str(pattern)!r}"
    return ""


def matches(pattern: str, file: str) -> bool:
    """Tell whether a pattern matches a file: its path, its name, or its name without the suffix.

    Examples
    --------
    >>> matches("liver*", "data/liver_1.csv"), matches("data/*", "data/liver_1.csv"), matches("1", "data/liver_1.csv")
    (True, True, False)
    """
    path = Path(file)
    return any(fnmatch(name, pattern) for name in (file, path.name, path.stem))


def parts(recording: Recording) -> list[Recording]:
    """Return a recording as recordings of one unit each; their names contain the unit if there are several.

    Poses become positions and orientations, each forecast by itself.

    Examples
    --------
    >>> import numpy as np
    >>> units = {"channels": ("tumour", "rotation"), "units": ("mm", "deg")}
    >>> mixed = Recording("day 1", np.zeros((9, 2, 3)), np.arange(9) / 10, rate=10.0, **units)
    >>> [(part.name, part.channels) for part in parts(mixed)]
    [('day 1 [mm]', ('tumour',)), ('day 1 [deg]', ('rotation',))]
    """
    if recording.space == "pose":
        notes = (*recording.notes, "position and orientation of the poses are compared each by itself")
        position = _axes(recording, range(3), name=f"{recording.name} (position)", space="position", notes=notes)
        turned = {"space": "orientation", "units": ("",) * len(recording.channels)}
        return [*parts(position), _axes(recording, range(3, 7), name=f"{recording.name} (orientation)", **turned)]
    if len(set(recording.units)) == 1:
        return [recording]
    found = []
    for unit in dict.fromkeys(recording.units):
        own = [name for name, other in zip(recording.channels, recording.units, strict=True) if other == unit]
        label = f"[{unit}]" if unit else f"({', '.join(own)})"
        found.append(replace(recording.select(own), name=f"{recording.name} {label}"))
    return found


def _axes(recording: Recording, axes: Sequence[int], **fields: Any) -> Recording:
    """Return a recording of some coordinates of every channel."""
    flat = [c * recording.dimensions + axis for c in range(len(recording.channels)) for axis in axes]
    return with_columns(recording, flat, positions=recording.positions[..., list(axes)], **fields)


def cut(recording: Recording, seconds: float) -> Recording:
    """Return the first seconds of a recording, with a note of its whole length if it was longer; 0 keeps it whole.

    Examples
    --------
    >>> import numpy as np
    >>> long = Recording("walk", np.zeros((900, 1, 3)), np.arange(900) / 5, rate=5.0)
    >>> cut(long, 120.0).notes
    ('cut to its first 120 s of 180 s',)
    """
    count = round(seconds * recording.rate)
    if not seconds or len(recording) <= count:
        return recording
    whole = len(recording) / recording.rate
    return replace(first_samples(recording, count), notes=(*recording.notes, f"{CUT} {seconds:g} s of {whole:.4g} s"))


def first_samples(recording: Recording, count: int) -> Recording:
    """Return the first samples of a recording."""
    return replace(recording, positions=recording.positions[:count], times=recording.times[:count])


def _read_files(
    files: Sequence[str],
    rates: Mapping[str, float],
    channels: Sequence[str] | None,
    reading: Mapping[str, Any],
    used: set[str],
) -> list[tuple[str, Recording]]:
    """Return the recordings of files with their files; the error for several files contains the messages of all."""
    found = []
    errors: dict[str, Exception] = {}
    bad = 0
    for file in files:
        try:
            found += [(file, recording) for recording in _read(file, rates, channels, reading, used)]
        except (ValueError, ImportError, OSError) as error:
            bad += 1
            errors.setdefault(message_of(error), error)
    if len(errors) == 1:
        raise next(iter(errors.values()))
    if errors:
        raise ValueError(f"{bad} of {len(files)} files cannot be read: {'; '.join(errors)}")
    return found


def _read(
    file: str, rates: Mapping[str, float], channels: Sequence[str] | None, reading: Mapping[str, Any], used: set[str]
) -> list[Recording]:
    """Read a file, and add to `used` those of the channels that it has."""
    if not Path(file).is_file():
        names = [source.name for source in sources()]
        if file in names:
            raise ValueError(f"data: expected a file, got the source {file!r}; give it by --data {file}")
        raise ValueError(f"data: expected a source ({', '.join(names)}) or a file; there is no file {file!r}")
    rate = next((rate for pattern, rate in rates.items() if matches(pattern, file)), None)
    if channels is None:
        return read_all(file, **{"rate": rate, **reading})
    # Of several files, each has some of the channels.
    wanted = list(channels)
    while True:
        try:
            found = read_all(file, **{"rate": rate, **reading, "channels": wanted})
            used |= {*wanted}
            return found
        except UnknownChannelError as error:
            if len(wanted) == 1:
                raise
            wanted.remove(error.channel)


def _check_patterns(setting: str, patterns: Iterable[str], names: Sequence[tuple[str, ...]]) -> None:
    """Refuse a pattern that matches neither a file nor another name; it has a typing error."""
    for pattern in patterns:
        if pattern != "*" and not any(
            matches(pattern, file) or any(fnmatch(other, pattern) for other in others) for file, *others in names
        ):
            what = "a file or a channel" if setting == "units" else "a file"
            raise ValueError(f"{setting}: expected patterns that match {what}, got {pattern!r}, which matches none")


def _select(recording: Recording, channels: Sequence[str] | None) -> Recording:
    if channels is None:
        return recording
    kept = [name for name in channels if name in recording.channels]
    if not kept:
        known = ", ".join(recording.channels)
        raise ValueError(
            f"channels: expected some of {known} in recording {recording.name!r}, got {', '.join(channels)}"
        )
    return recording.select(kept)


def _with_units(file: str, recording: Recording, units: Mapping[str, str]) -> Recording:
    """Return a recording with the given units where it does not name its own; others must agree with it."""
    given = tuple(
        _unit(file, recording.name, channel, old, units)
        for channel, old in zip(recording.channels, recording.units, strict=True)
    )
    return recording if given == recording.units else replace(recording, units=given)


def _unit(file: str, name: str, channel: str, old: str, units: Mapping[str, str]) -> str:
    """Return the unit of a channel; a pattern that matches the channel precedes one of the file."""
    own = {pattern: unit for pattern, unit in units.items() if pattern != "*"}
    by_channel = (unit for pattern, unit in own.items() if fnmatch(channel, pattern))
    by_file = (unit for pattern, unit in own.items() if matches(pattern, file))
    special = next(by_channel, next(by_file, ""))
    if old and special and old != special:
        raise ValueError(
            f"units: expected {old!r}, the unit of channel {channel!r} in the file of recording {name!r}, got "
            f"{special!r}"
        )
    return old or special or units.get("*", "")


def _group(file: str, recording: Recording, groups: Mapping[str, Sequence[str]]) -> str:
    for group, patterns in groups.items():
        if any(matches(pattern, file) or fnmatch(recording.name, pattern) for pattern in patterns):
            return group
    return ""


def _distinct(recordings: Iterable[Recording]) -> list[Recording]:
    """Number recordings that have the same name, such as files of the same name in different folders."""
    given = list(recordings)
    counts, numbers = Counter(recording.name for recording in given), Counter[str]()
    named = []
    for recording in given:
        numbers[recording.name] += 1
        name = f"{recording.name} ({numbers[recording.name]})" if counts[recording.name] > 1 else recording.name
        named.append(replace(recording, name=name))
    return named
