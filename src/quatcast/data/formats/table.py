"""Plain text tables: one row per sample, with or without a header; also EuRoC and TUM trajectories."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.contents import Contents, Track
from quatcast.data.formats.advice import EULER_ADVICE, no_coordinates, refuse_namesakes
from quatcast.data.formats.cells import Rows, open_table, read_rows, texts_of
from quatcast.data.formats.long import refuse_long
from quatcast.data.headers import NOT_COORDINATES, Group, euler_angles, find_groups
from quatcast.data.options import Options
from quatcast.data.rotations import UNIT_NORM, are_unit, norms_of
from quatcast.data.style import FileStyle
from quatcast.data.text import as_number
from quatcast.data.times import (
    UNIT_WORDS,
    convert,
    fraction_column,
    is_time_cell,
    joined,
    resembling,
    time_unit,
    unit_of_chosen,
)
from quatcast.data.units import split_unit
from quatcast.data.wording import counted

DAY = re.compile(r"\d{4}[-/.]\d\d[-/.]\d\d|\d\d[-/.]\d\d[-/.]\d{4}")
"""A date without a time of day, which tells nothing about the sampling."""


def recognises(head: bytes) -> bool:
    """Tell whether a file may be a text table; asked last, so that any text is."""
    return True


def read(path: Path, options: Options) -> Contents:
    """Read a text table."""
    table = open_table(path, options.encoding)
    notes = list(table.notes)
    names = table.names
    ignored = frozenset(_index(path, names, name, "ignore") for name in options.ignore)
    time = _time_column(path, table, options, ignored, notes)
    fraction = fraction_column(names, time) if time is not None and options.time_unit in (None, "s") else None
    fraction = None if fraction in ignored else fraction
    groups, frame = _plan(path, table, options, (time, fraction), ignored, notes)
    wanted = sorted({i for group in groups for i in group.at} | ({frame} if frame is not None else set()))
    rows = read_rows(path, table, wanted, time)
    if time is not None and fraction is not None:
        options = _join_times(path, rows, time, fraction, options, notes)
    times, style = _times(path, rows, time, options, notes)
    if fraction is not None and time_unit(style.time) is None:
        style = replace(style, time="time")
    at = {column: i for i, column in enumerate(wanted)}
    frames = rows.values[:, at[frame]] if frame is not None else None
    if (clock := times if times is not None else frames) is not None:
        key = time if time is not None else frame or 0
        refuse_long(path, rows, clock, key, [i for i in range(len(names)) if i not in at and i != time])
    count = None
    if times is None and frame is not None and frames is not None and options.rate is not None:
        times = count = _count(frames, names[frame], options.rate, notes)
    tracks = []
    for group in groups:
        values = rows.values[:, [at[i] for i in group.at]]
        tracks.append(_track(path, group, values, rows, options, notes))
    place = f"column {time + 1} ({names[time]})" if time is not None else ""
    others = [name for i, name in enumerate(names) if i not in at and i not in ignored] if time is None else []
    found = Contents(path, tracks, times, rows.lines, place, None, style, notes, counted=count is not None)
    return replace(found, time_like=resembling(others))


def _plan(
    path: Path, table: Rows, options: Options, clock: Sequence[int | None], ignored: frozenset[int], notes: list[str]
) -> tuple[list[Group], int | None]:
    """Return the channels, and the number of a column that counts samples, or None.

    `clock` are the numbers of the columns of the times and of their fractions.
    """
    names, time = table.names, clock[0]
    skip = ignored | {i for i in clock if i is not None}
    frame = next((i for i, name in enumerate(names) if name.strip().lower() in ("frame", "frames")), None)
    frame = None if frame in skip else frame
    if options.columns:
        return _distinct(names, _given(path, names, options), time), None
    if not table.has_header:
        return _by_number(path, table, options, time, skip, notes), None
    groups = find_groups(names, frozenset(skip))
    free = [i for i in range(len(names)) if i not in skip and names[i].strip().lower() not in NOT_COORDINATES]
    if not groups and options.dimensions and free and len(free) % options.dimensions == 0:
        groups = _in_order(free, options.dimensions)
        notes.append(f"columns {', '.join(names[i] for i in free)} are read in groups of {options.dimensions}")
    if not groups:
        raise no_coordinates(path, [names[i] for i in free], time is not None, options)
    refuse_namesakes(path, names, groups, skip)
    left_out = {"position": True, "orientation": False}.get(options.space or "")
    wanted = [group for group in groups if not group.secondary and group.orientation != left_out]
    others = [group for group in wanted if len(group.at) != options.dimensions]
    if options.dimensions and others:
        listed = ", ".join(names[i] for i in others[0].at)
        raise ValueError(
            f"dimensions: the names of the columns of {path.name} give {len(others[0].at)} coordinates per channel "
            f"({listed}), got {options.dimensions}; leave it out, and choose channels with space=… (--space …) or "
            "columns=… (--columns …)"
        )
    for group in groups:
        if group.orientation and len(group.at) == 3:
            listed = ", ".join(names[i] for i in group.at)
            notes.append(f"{listed} are angles or a rotation vector by their names, not a position; {EULER_ADVICE}")
    used = {i for group in groups for i in group.at}
    if angles := euler_angles([names[i] for i in free if i not in used]):
        notes.append(f"Euler angles are not read: {', '.join(angles)}; {EULER_ADVICE}")
    left = [i for i in range(len(names)) if i not in used and i not in clock and names[i] not in angles]
    rest = [names[i] or f"number {i + 1}" for i in left]
    if rest:
        notes.append(f"ignored columns: {', '.join(rest)}")
    return groups, frame


def _in_order(columns: Sequence[int], size: int) -> list[Group]:
    return [Group("", tuple(columns[i : i + size]), part=None) for i in range(0, len(columns), size)]


def _given(path: Path, names: Sequence[str], options: Options) -> list[Group]:
    """Return the channels that the argument `columns` describes: `a,b,c` or `hip=a,b,c`."""
    groups, known = list[Group](), find_groups(names)
    size = options.dimensions or (7 if options.space == "pose" else 4 if options.space == "orientation" else 3)
    for word in options.columns or ():
        name, equals, listed = word.partition("=")
        name, listed = (name.strip(), listed) if equals else ("", word)
        columns = [part.strip() for part in listed.split(",") if part.strip()]
        at = [_index(path, names, column, "columns") for column in columns]
        width = len(at) if equals and len(at) in (3, 4, 7) else size
        if not at or len(at) % width or (equals and len(at) != width):
            raise ValueError(
                f"columns: expected {width} columns per channel, got {len(at)} in {word!r}; give NAME=COLUMN,COLUMN,… "
                "once per channel, with 7 columns for a pose, or the number of dimensions, 3 or 4"
            )
        for i in range(0, len(at), width):
            part = at[i : i + width]
            if width == 7:
                pose = name or f"pose{i // width + 1}" * (len(at) > width)
                position, turn = (
                    _described(names, known, columns, label)
                    for columns, label in ((part[:3], pose), (part[3:], f"{pose} q".strip()))
                )
                groups += [replace(position, part=pose), replace(turn, orientation=True, part=pose)]
            else:
                groups.append(_described(names, known, part, name))
    return groups


def _described(names: Sequence[str], known: Sequence[Group], columns: list[int], name: str) -> Group:
    """Return a channel of some columns, in the order that their names say, or else in the order given.

    `known` are the channels that the names of all columns describe.
    """
    for group in known:
        if sorted(group.at) == sorted(columns):
            return replace(group, name=name or group.name)
    found = find_groups([names[k] for k in columns])
    if len(found) == 1 and len(found[0].at) == len(columns):
        return replace(found[0], at=tuple(columns[k] for k in found[0].at), name=name or found[0].name)
    return Group(name, tuple(columns), part=name or None)


def _distinct(names: Sequence[str], groups: list[Group], time: int | None) -> list[Group]:
    """Refuse channels that use a column twice, or that of the times."""
    used: set[int] = set() if time is None else {time}
    for i in (i for group in groups for i in group.at):
        if i in used:
            name = names[i] or str(i + 1)
            what = "the column of the times" if i == time else "used twice"
            advice = f"; to use it as a coordinate, give ignore={[name]} (--ignore {name!r}) and the rate"
            raise ValueError(f"columns: expected each column once, got {name!r}, which is {what}{advice * (i == time)}")
        used.add(i)
    return groups


def _by_number(
    path: Path, table: Rows, options: Options, time: int | None, skip: frozenset[int] | set[int], notes: list[str]
) -> list[Group]:
    """Return the channels of a table without a header."""
    free = [i for i in range(len(table.names)) if i not in skip]
    if time is not None and len(free) == 7 and options.dimensions is None:
        x, y, z, *quaternion = free
        qx, qy, qz, qw = quaternion
        notes.append("no header: read as a TUM trajectory, that is time, x, y, z, qx, qy, qz, qw")
        return [Group("", (x, y, z), part=""), Group("q", (qw, qx, qy, qz), orientation=True, part="")]
    size = options.dimensions or 3
    zeros = ", or add columns of zeros for the coordinates that are missing" if len(free) < size else ""
    if not free or len(free) % size:
        raise ValueError(
            f"{path}: expected {size} columns of positions per channel, got {counted(len(free), 'column')} in all and "
            "no header; give the number of dimensions, 3 or 4 (--dimensions 4), the number of the column of times "
            f"(--time 1), or the columns of the channels (--columns 2,3,4){zeros}"
        )
    count = len(free) // size
    notes.append(
        f"no header: columns {free[0] + 1} to {free[-1] + 1} are read as {counted(count, 'channel')} of {size} "
        "coordinates"
    )
    return _in_order(free, size)


def _time_column(path: Path, table: Rows, options: Options, ignored: frozenset[int], notes: list[str]) -> int | None:
    if options.time is not None:
        return _index(path, table.names, str(options.time), "time")
    names, first = table.names, table.first
    candidates = [
        i
        for i, name in enumerate(names)
        if i not in ignored
        and (time_unit(name) is not None or fraction_column(names, i) is not None)
        and not DAY.fullmatch(first[i].strip())
    ]
    fractions = {fraction_column(names, i) for i in candidates}
    candidates = [i for i in candidates if i not in fractions]
    candidates += [i for i, cell in enumerate(first) if is_time_cell(cell) and i not in ignored and i not in candidates]
    # Beside another column of times, `ms` may be its fractions.
    candidates.sort(key=lambda i: names[i].strip().lower() == "ms")
    if not candidates and not table.has_header and _is_trajectory(table):
        return 0
    if len(candidates) > 1:
        notes.append(f"the times are those of the column {names[candidates[0]]!r}")
    return candidates[0] if candidates else None


def _is_trajectory(table: Rows) -> bool:
    """Tell whether a table without a header has eight columns, the last four of which are a unit quaternion (TUM)."""
    numbers = [as_number(cell) for cell in table.first]
    if len(numbers) != 8 or None in numbers:
        return False
    return abs(float(np.linalg.norm(np.array(numbers[4:], dtype=float))) - 1.0) <= UNIT_NORM


def _join_times(path: Path, rows: Rows, time: int, fraction: int, options: Options, notes: list[str]) -> Options:
    """Put the fractions of another column behind whole seconds, and return the options with their unit."""
    seconds, other = rows.names[time], rows.names[fraction]
    texts = joined(rows.times, texts_of(path, rows, fraction), other)
    if texts is None:
        notes.append(f"ignored columns: {other}")
        return options
    rows.times = texts
    notes.append(f"{seconds}, {other}: read as one time")
    return replace(options, time_unit="s")


def _times(
    path: Path, rows: Rows, time: int | None, options: Options, notes: list[str]
) -> tuple[Floats | None, FileStyle]:
    if time is None:
        return None, rows.style
    name = rows.names[time]
    known, given = UNIT_WORDS.get(rows.units[time].lower()) or time_unit(name), options.time_unit
    if options.time is not None and not given:
        known = known or unit_of_chosen(name)
    if given and known and given != known:
        raise ValueError(f"time_unit: {path.name} says that {name!r} is in {known}, got {given}; leave it out")
    try:
        column = convert(rows.times, name if rows.has_header else "", given or known, rows.style)
    except ValueError as error:
        message, row = error.args
        if row is None:
            raise ValueError(f"{path}: {message}") from None
        where = f"{path}, line {rows.lines[row]}, column {time + 1} ({name})"
        # If the first time cannot be read, the others probably cannot either.
        advice = f"; or ignore the column (ignore=[{name!r}], --ignore {name!r}) and give the rate" * (row == 0)
        raise ValueError(f"{where}: {message}, got {rows.times[row].strip()!r}{advice}") from None
    notes += column.notes
    below = rows.units[time] if any(rows.units) else None
    made = replace(column.style, time_unit_below=below)
    return column.seconds, made if rows.has_header else replace(made, time="time")


def _count(frames: Floats, name: str, rate: float, notes: list[str]) -> Floats | None:
    """Return times from a column that counts samples, if it does; then the times show where samples are missing."""
    steps = np.diff(frames)
    if len(steps) and np.isfinite(steps).all() and (steps > 0).all() and np.median(steps) == 1.0:
        notes.append(f"{name}: counts samples, so that skipped numbers are missing samples")
        return np.asarray((frames - frames[0]) / rate)
    return None


def _track(path: Path, group: Group, values: Floats, rows: Rows, options: Options, notes: list[str]) -> Track:
    name, names = group.name, rows.names
    found = {rows.units[i] or split_unit(names[i])[1] for i in group.at}
    if len(group.at) == 3 and len(found) > 1:
        listed = ", ".join(names[i] for i in group.at)
        raise ValueError(f"{path}: expected one unit per channel, got {', '.join(sorted(found))} in {listed}")
    space = "vector" if group.secondary else "position"
    if len(group.at) == 4:
        # Trackers write four zeros for an orientation that they have lost.
        lost = np.all(values == 0.0, axis=1) & (group.orientation or options.space in ("orientation", "pose"))
        space = _kind(name or "channel", group, values[~lost], options, notes)
        if space == "orientation" and lost.any():
            notes.append(f"{name or 'channel'}: {counted(int(lost.sum()), 'row')} of four zeros count as missing")
            values = np.where(lost[:, None], np.nan, values)
    unit = "" if space == "orientation" else next(iter(found)) if len(found) == 1 else ""
    header = () if not any(names[i] for i in group.at) else tuple(names[i] for i in group.at)
    part = group.part if space in ("orientation", "position") else None
    secondary = group.secondary and not options.columns
    return Track(name, space, values, header, group.at, unit, part, secondary)


def _kind(name: str, group: Group, values: Floats, options: Options, notes: list[str]) -> str:
    """Tell whether four coordinates are an orientation or another 4-D signal, by their norms."""
    if options.space in ("vector", "position"):
        return "vector"
    norms, is_unit = norms_of(values), are_unit(values)
    if options.space in ("orientation", "pose") and not is_unit and len(norms):
        raise ValueError(
            f"space: expected unit quaternions in channel {name!r}, got norms from {norms.min():.3g} to "
            f"{norms.max():.3g}; leave it out, or give space='vector' (--space vector)"
        )
    if is_unit and not group.orientation and options.space is None:
        notes.append(f"{name}: unit quaternions w, x, y, z, read as orientations (--space vector reads a 4-D signal)")
    if not is_unit and group.orientation and len(norms):
        notes.append(
            f"{name}: read as a 4-D signal, not as orientations, because the norms are {norms.min():.3g} to "
            f"{norms.max():.3g}"
        )
    return "orientation" if is_unit else "vector"


def _index(path: Path, names: Sequence[str], given: str, argument: str) -> int:
    """Return the number of a column that the user has named, by its name with or without the unit, or by its number."""
    given = given.strip()
    for key in (str.strip, lambda name: split_unit(name)[0], lambda name: name.strip().lower()):
        matches = [i for i, name in enumerate(names) if key(name) == given or key(name) == given.lower()]
        if len(matches) == 1:
            return matches[0]
    if given.isdigit() and 1 <= int(given) <= len(names):
        return int(given) - 1
    listed = ", ".join(name or str(i + 1) for i, name in enumerate(names[:12]))
    raise ValueError(f"{argument}: expected a column of {path.name} ({listed}), got {given!r}")
