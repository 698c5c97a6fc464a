"""From the contents of a file to recordings: choice of channels, units, and an even time grid."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count
from shlex import quote

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.contents import Contents, Track, join_poses
from quatcast.data.numbering import UNEVEN, number
from quatcast.data.options import Options
from quatcast.data.recording import Recording
from quatcast.data.rotations import match_signs
from quatcast.data.timing import Timing, insert_missing, measure, resample
from quatcast.data.wording import counted

MAX_FILL_FACTOR = 2
"""Limit for the number of samples of a recording per row of its file; if more are missing, the times are wrong."""
SAME_RATE = 0.02
"""Relative difference up to which two sampling rates agree."""
REPEATED = 0.1
"""Share of rows that may repeat the time of the row before."""

LARGEST = 1e9
"""Largest coordinate that counts as a measurement, also for forecasters; the squares of larger ones could overflow."""


class UnknownChannelError(ValueError):
    """A file does not have a channel that was asked for.

    Parameters
    ----------
    expected
        Which channels were expected, and where.
    channel
        The channel that was asked for.
    """

    def __init__(self, expected: str, channel: str) -> None:
        super().__init__(expected, channel)
        self.channel = channel

    def __str__(self) -> str:
        return f"{self.args[0]}, got {self.channel!r}"


def assemble(contents: Contents, options: Options, *, name: str | None, group: str, several: bool) -> list[Recording]:
    """Return the recordings of a file, one for each kind of channels; only one if `several` is false."""
    notes = list(contents.notes)
    tracks = _choose(contents, options, notes)
    if not tracks:
        ignored = [note for note in notes if note.startswith("ignored")]
        raise ValueError("; ".join([f"{contents.path}: expected channels with coordinates, got none", *ignored]))
    kinds = _kinds(tracks)
    if len(kinds) > 1 and not several:
        raise _mixed(contents, kinds)
    stem = contents.path.stem if name is None else name
    return [
        _recording(contents, options, kind, f"{stem}-{kind[0].space}" if len(kinds) > 1 else stem, group, list(notes))
        for kind in kinds
    ]


def _choose(contents: Contents, options: Options, notes: list[str]) -> list[Track]:
    """Return the channels that were asked for, positions and orientations of the same name joined to poses."""
    tracks = _named(contents.tracks)
    apart = options.space in ("position", "vector", "orientation")
    if options.channels is None:
        tracks = tracks if apart else join_poses(tracks, notes)
        return _by_space(contents, _primary(tracks, options, notes), options)
    poses = {pose.name: pose for pose in join_poses(tracks, []) if pose.space == "pose"}
    known = {track.name: track for track in tracks}
    chosen = []
    for wanted in options.channels:
        if wanted not in known and wanted not in poses:
            listed = ", ".join(dict.fromkeys([*poses, *known]))
            raise UnknownChannelError(f"channels: expected some of {listed} in {contents.path.name}", wanted)
        chosen.append(poses[wanted] if wanted in poses else known[wanted])
    return _by_space(contents, chosen if apart else join_poses(chosen, notes), options)


def _named(tracks: Sequence[Track]) -> list[Track]:
    """Give a name to the channels that have none, and different names to all."""
    taken: dict[str, int] = {}
    made = []
    numbers = count(1)
    for track in tracks:
        name = track.name or f"channel{next(numbers)}"
        taken[name] = taken.get(name, 0) + 1
        made.append(replace(track, name=name if taken[name] == 1 else f"{name} {taken[name]}"))
    return made


def _primary(tracks: list[Track], options: Options, notes: list[str]) -> list[Track]:
    """Leave out channels that are read only if they are asked for, unless there are no others."""
    others = [track for track in tracks if not track.secondary]
    if not others or len(others) == len(tracks) or options.space == "vector":
        return tracks
    names = ",".join(track.name for track in tracks if track.secondary)
    notes.append(f"not read: {names}; name channels to read them (--channels {names!r})")
    return others


def _by_space(contents: Contents, tracks: list[Track], options: Options) -> list[Track]:
    """Keep the channels of the kind that was asked for."""
    if options.space is None:
        return tracks
    if options.space == "vector":
        return [replace(track, space="vector") for track in tracks]
    kept = [track for track in tracks if track.space == options.space]
    if not kept:
        found = ", ".join(f"{track.name} ({track.space})" for track in tracks)
        article = "an" if options.space == "orientation" else "a"
        raise ValueError(
            f"space: expected {article} {options.space} in {contents.path.name}, got {found or 'no channels'}"
        )
    return kept


def _kinds(tracks: list[Track]) -> list[list[Track]]:
    """Group channels of one kind; positions and other vectors with as many coordinates are one kind."""
    order = {"pose": 0, "position": 1, "vector": 1, "orientation": 2}
    groups: dict[tuple[int, int], list[Track]] = {}
    for track in tracks:
        groups.setdefault((order[track.space], track.values.shape[1]), []).append(track)
    return [groups[key] for key in sorted(groups)]


def _mixed(contents: Contents, kinds: list[list[Track]]) -> ValueError:
    spaces = [kind[0].space for kind in kinds]
    words = [f"{kind[0].values.shape[1]}-D vector" if kind[0].space == "vector" else kind[0].space for kind in kinds]
    parts = [
        f"{', '.join(t.name for t in kind[:6])}{' …' * (len(kind) > 6)} ({word})"
        for kind, word in zip(kinds, words, strict=True)
    ]
    first = ",".join(track.name for track in kinds[0][:6])
    # Everything can be read as a vector, so that this is no choice.
    other = "" if spaces[0] == "vector" else f", or give the kind, space={spaces[0]!r} (--space {spaces[0]})"
    return ValueError(
        f"{contents.path}: expected channels of one kind, got {'; '.join(parts)}; choose them, for example "
        f"channels={first.split(',')} (--channels {first!r}){other}"
    )


def _recording(
    contents: Contents, options: Options, tracks: list[Track], name: str, group: str, notes: list[str]
) -> Recording:
    values = _measurable(np.hstack([track.values for track in tracks]), notes)
    times, values, rate, timing = _even(contents, options, tracks, values, notes)
    columns = tuple(name for track in tracks for name in track.columns)
    places = [place for track in tracks for place in track.places]
    return Recording(
        name=name,
        positions=values.reshape(len(values), len(tracks), -1),
        times=times,
        rate=rate,
        group=group,
        channels=tuple(track.name for track in tracks),
        units=_units(contents, tracks, options),
        space="vector" if any(track.space == "vector" for track in tracks) else tracks[0].space,
        columns=columns if len(columns) == values.shape[1] else (),
        order=tuple(int(i) for i in np.argsort(places, kind="stable")) if len(places) == values.shape[1] else (),
        style=contents.style,
        timing=timing,
        notes=tuple(notes),
    )


def _measurable(values: Floats, notes: list[str]) -> Floats:
    """Return the values; those that are too large for a measurement are missing, with a note."""
    wrong = np.abs(values) > LARGEST
    if not wrong.any():
        return values
    row, column = np.argwhere(wrong)[0]
    notes.append(
        f"values beyond ±{LARGEST:g} count as missing: {int(wrong.sum())} of them, such as {values[row, column]:g}"
    )
    return np.where(wrong, np.nan, values)


def _units(contents: Contents, tracks: list[Track], options: Options) -> tuple[str, ...]:
    common, single = options.units()
    for channel in single:
        if channel not in [track.name for track in tracks]:
            listed = ", ".join(track.name for track in tracks)
            raise ValueError(f"unit: expected one of the channels {listed}, got {channel!r}")
    units = []
    for track in tracks:
        given = single.get(track.name, common)
        if track.space == "orientation":
            given = ""
        if given and track.unit and given != track.unit:
            raise ValueError(
                f"unit: {contents.path.name} says that channel {track.name!r} is in {track.unit}, got {given}; "
                "leave it out"
            )
        units.append(given or track.unit)
    return tuple(units)


def _even(
    contents: Contents, options: Options, tracks: list[Track], values: Floats, notes: list[str]
) -> tuple[Floats, Floats, float, Timing | None]:
    """Return times, values and rate on an even grid."""
    rate = options.rate or contents.rate
    times = None
    if contents.times is not None:
        times, values = _increasing(contents, contents.times, values, notes)
    if times is None or len(times) < 2:
        if rate is None:
            raise _without_rate(contents)
        return np.arange(len(values)) / rate if times is None else times, values, rate, None
    timing = replace(measure(times), given=contents.counted)
    rate = _rate(contents, options, timing, notes)
    _check_gaps(contents, times, rate)
    if timing.uneven > UNEVEN:
        notes.append(
            f"uneven times ({timing.sentence()}): resampled to {rate:.6g} Hz; each value is interpolated "
            "between the rows before and after it, and known only with the later one"
        )
        # q and −q are the same orientation; a line between them would lead far away from it.
        for turns in _orientations(values, tracks):
            match_signs(turns)
        times, values = resample(times, values, rate, np.diff(number(times)) > 1)
        for turns in _orientations(values, tracks):
            norms = np.linalg.norm(turns, axis=1, keepdims=True)
            turns /= np.where(norms > 0, norms, np.nan)
        return times, values, rate, timing
    if timing.gaps:
        notes.append(
            f"gaps: {counted(timing.missing, 'sample', 'is', 'are')} missing in {counted(timing.gaps, 'gap')} of up to "
            f"{timing.longest:.3g} s"
        )
    times, values = insert_missing(times, values, number(times))
    return times, values, rate, timing


def _without_rate(contents: Contents) -> ValueError:
    """Return the error for a file without times and rate, with the columns that may be times."""
    advice = "add a column named `time`, name the column of times (time=…, --time …)"
    if contents.time_like:
        listed = ", ".join(repr(name) for name, _ in contents.time_like)
        name, unit = contents.time_like[0]
        argument, option = f", time_unit={unit!r}" * bool(unit), f" --time-unit {unit}" * bool(unit)
        looks = "looks like one" if len(contents.time_like) == 1 else "look like one"
        advice = f"{listed} {looks}: name it, time={name!r}{argument} (--time {quote(name)}{option})"
    return ValueError(
        f"{contents.path}: expected a column of times with two or more rows to compute the rate; {advice}, or give the "
        "rate in Hz (rate=…, --rate …)"
    )


def _increasing(contents: Contents, times: Floats, values: Floats, notes: list[str]) -> tuple[Floats, Floats]:
    """Check that times increase; rows that repeat the time of the row before are left out.

    A logger that is faster than its tracker writes whole rows again, as often as it likes. Where only the times are
    repeated, they are too coarse.
    """
    steps = np.diff(times, prepend=-np.inf)
    repeated = steps == 0
    same = repeated.copy()
    same[1:] &= ((values[1:] == values[:-1]) | (np.isnan(values[1:]) & np.isnan(values[:-1]))).all(axis=1)
    coarse = (repeated & ~same).mean() > REPEATED or (len(times) > 1 and repeated[1:].all())
    wrong = np.flatnonzero(~(steps >= 0))
    if not len(wrong) and coarse:
        wrong = np.flatnonzero(repeated)
    if len(wrong):
        row = int(wrong[0])
        where = f", line {contents.lines[row]}" if contents.lines else f", row {row + 1}"
        where += f", {contents.time_column}" if contents.time_column else ""
        many = f" ({_too_coarse(contents, steps, times)})" if coarse else ""
        got = "no number" if np.isnan(times[row]) else times[row]
        raise ValueError(f"{contents.path}{where}: expected increasing times, got {got}{many}")
    if repeated.any():
        notes.append(f"{counted(int(repeated.sum()), 'row', 'repeats', 'repeat')} the time of the row before; ignored")
        return times[~repeated], values[~repeated]
    return times, values


def _too_coarse(contents: Contents, steps: Floats, times: Floats) -> str:
    """Say that many rows have the same time, how many per second there are, and what to do."""
    name = contents.style.time
    advice = f"ignore the column (ignore=[{name!r}], --ignore {name!r}) and give the rate in Hz (rate=…, --rate …)"
    # The first and the last time may have been cut.
    first, *_, last = np.flatnonzero(steps > 0)[1:] if (steps > 0).sum() > 2 else (0, 0)
    if first == last:
        return f"many rows repeat a time: it is too coarse; {advice}"
    rate = f"{(last - first) / (times[last] - times[first]):.4g}"
    advice = advice.replace("…", rate)
    return (
        f"many rows repeat a time: it is too coarse, {rate} rows per second on average; if that is the rate, {advice}"
    )


def _rate(contents: Contents, options: Options, timing: Timing, notes: list[str]) -> float:
    """Return the rate; refuse one that contradicts the times."""
    if options.rate is not None:
        even = timing.uneven <= UNEVEN
        ratio = options.rate / timing.rate
        if abs(ratio - 1.0) > SAME_RATE and (even or not 0.2 <= ratio <= 1.25):
            raise ValueError(
                f"rate: the times of {contents.path.name} say {timing.rate:.6g} Hz, got {options.rate:g} Hz; leave it "
                f"out, or ignore the times (ignore=[{contents.style.time!r}], --ignore {contents.style.time!r})"
            )
        return options.rate
    if contents.rate is not None:
        if abs(contents.rate / timing.rate - 1.0) <= SAME_RATE:
            return contents.rate
        notes.append(f"the file says {contents.rate:g} Hz, but its times say {timing.rate:.6g} Hz, which is used")
    return timing.rate


def _check_gaps(contents: Contents, times: Floats, rate: float) -> None:
    steps = np.maximum(np.rint(np.diff(times) * rate), 1.0)
    if steps.sum() >= MAX_FILL_FACTOR * len(times):
        at = int(np.argmax(steps))
        raise ValueError(
            f"{contents.path}: expected times that skip fewer samples than the file has, got {steps[at] - 1:.0f} "
            f"missing between {times[at]:g} and {times[at + 1]:g} s; split the file there"
        )


def _orientations(values: Floats, tracks: list[Track]) -> Iterator[Floats]:
    """Yield the quaternions among the values, as views: orientations, and those of poses."""
    end = 0
    for track in tracks:
        end += track.values.shape[1]
        if track.space in ("orientation", "pose"):
            yield values[:, end - 4 : end]
