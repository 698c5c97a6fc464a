"""The meaning of column names: which columns are coordinates, of which channel, and along which axis.

Columns are grouped by what their names have in common. `hip.x`, `hip.y`, `hip.z` are a channel because all three axes
are there; `quality` is none although it ends with a y. A group with a fourth coordinate w is a quaternion or another
4-D signal; the numbers decide which, see `quatcast.data.formats.table`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from quatcast.data.units import split_unit

SEPARATORS = " ._:/-"

ORIENTATION = ("quaternion", "quat", "q", "orientation", "orient", "ori", "rotation", "rot")
"""Words for the orientation part of a pose, longest first."""
POSITION = ("position", "pos", "p", "translation", "trans", "t", "location", "loc")
"""Words for the position part of a pose, longest first."""
SENSORS = (
    "acc", "accel", "acceleration", "linear_acceleration", "gyr", "gyro", "gyroscope", "angular_velocity", "mag",
    "magnetometer", "vel", "velocity", "omega",
)  # fmt: skip
"""Words for quantities that are no positions."""
ANGLES = ("euler", "angle", "angles", "rotvec", "rvec")
"""Words for orientations of three coordinates."""
EUROC_SENSOR = re.compile(r"(v|a|w|b_w|b_a)_[A-Z]{2}(_[A-Z])?")
"""Velocities and biases in the EuRoC convention."""

TRIPLES = (
    ("lr", "si", "ap"), ("rl", "si", "ap"), ("lr", "cc", "ap"), ("rl", "cc", "ap"), ("ml", "si", "ap"),
    ("north", "east", "up"), ("north", "east", "down"), ("east", "north", "up"), ("north", "west", "heave"),
    ("north", "west", "up"), ("surge", "sway", "heave"),
)  # fmt: skip
"""Names of the three axes of a channel that is not described by x, y and z."""
EULER = re.compile(r"(?i)(?P<axis>roll|pitch|yaw)(?:[\s._-]*(?:angle|deg|rad))?$")
"""What the name of an Euler angle ends with."""

NOT_COORDINATES = frozenset({
    "frame", "frames", "frame number", "frame#", "framenumber", "sub frame", "subframe", "index", "idx", "id", "no",
    "nr", "number", "sample", "samples", "seq", "sequence", "counter", "row", "quality", "status", "state", "valid",
    "validity", "residual", "error", "err", "rms", "confidence", "tracked", "tracking", "visible", "flag", "flags",
    "label", "labels", "marker", "name", "comment", "event", "trigger", "temperature", "temp", "battery", "phase",
    "gate", "beam", "beamon", "beam on",
})  # fmt: skip
"""Names of columns that are no coordinates; the reader ignores them with a message."""


@dataclass(frozen=True)
class Group:
    """Columns that are the coordinates of one channel.

    Attributes
    ----------
    name
        What the names of the columns have in common; empty if there is nothing.
    at
        Numbers of the columns, from 0, in the order of storage: x y z, or w x y z.
    orientation
        Whether the names say that this is an orientation; three coordinates are then angles or a rotation vector.
    part
        The name without the word for position or orientation; None if this is no part of a pose.
    secondary
        Whether this is read only if it is asked for: sensor readings and angles, which are no positions.
    """

    name: str
    at: tuple[int, ...]
    orientation: bool = False
    part: str | None = ""
    secondary: bool = False


def find_groups(names: Sequence[str], skip: frozenset[int] = frozenset()) -> list[Group]:
    """Return the channels that the names of columns describe, in the order of the file.

    Parameters
    ----------
    names
        Names of all columns, with units.
    skip
        Numbers of columns that are no coordinates, such as the times.

    Examples
    --------
    >>> [(group.name, group.at) for group in find_groups(["time", "p_z", "p_x", "p_y", "quality"], frozenset({0}))]
    [('p', (2, 3, 1))]
    >>> find_groups(["qx", "qy", "qz", "qw"])
    [Group(name='q', at=(3, 0, 1, 2), orientation=True, part='', secondary=False)]
    """
    labels = [split_unit(name)[0] for name in names]
    free = [i for i in range(len(labels)) if i not in skip and labels[i].strip().lower() not in NOT_COORDINATES]
    groups: list[Group] = []
    for find in (_by_last_letter, _by_index, _by_first_letter, _by_triple):
        found = list(find(labels, free))
        groups += found
        taken = {i for group in found for i in group.at}
        free = [i for i in free if i not in taken]
    return sorted(_with_angles(groups, labels), key=lambda group: min(group.at))


def _with_angles(groups: list[Group], labels: list[str]) -> Iterator[Group]:
    """Recognise rx, ry, rz beside x, y, z as angles, and qx, qy, qz without qw; beside lx, ly, lz they are positions.

    With a separator, as in hip_r.x, they belong to a channel of that name.
    """
    positions = {group.part for group in groups if len(group.at) == 3 and not group.secondary}
    for group in groups:
        stem = labels[group.at[0]][:-1]
        is_letter = len(group.at) == 3 and stem[-1:] in set("rRqQ") and last_word(stem) in ("r", "q")
        beside = is_letter and stem[:-1].rstrip(SEPARATORS) in positions
        yield replace(group, orientation=True, secondary=True) if beside else group


def euler_angles(names: Sequence[str]) -> list[str]:
    """Return the names of Euler angles; their convention differs between tools, so that they are not read.

    Examples
    --------
    >>> euler_angles(["x", "y", "z", "roll [deg]", "pitch [deg]", "yaw [deg]"])
    ['roll [deg]', 'pitch [deg]', 'yaw [deg]']
    """
    axes: dict[str, dict[str, str]] = {}
    for name in names:
        label = split_unit(name)[0]
        if match := EULER.search(label):
            axes.setdefault(label[: match.start()].rstrip(SEPARATORS), {})[match["axis"].lower()] = name
    return [name for found in axes.values() if len(found) == 3 for name in found.values()]


def incomplete(names: Sequence[str]) -> dict[str, list[str]]:
    """Return the names that look like coordinates of the same channel, although they are too few: x1, y1 of channel 1.

    Examples
    --------
    >>> incomplete(["x1", "x2", "y1", "y2"])
    {'1': ['x1', 'y1'], '2': ['x2', 'y2']}
    """
    found: dict[str, list[str]] = {}
    for name in names:
        label = split_unit(name)[0].strip()
        if label[:1].lower() in "wxyz" and (label[1:].strip(SEPARATORS).isdigit() or len(label) == 1):
            found.setdefault(label[1:].strip(SEPARATORS), []).append(name)
        elif len(label) > 2 and label[-1].lower() in "wxyz" and label[-2] in SEPARATORS:
            found.setdefault(label[:-1].strip(SEPARATORS), []).append(name)
    return {channel: columns for channel, columns in found.items() if len(columns) > 1}


def _by_last_letter(labels: list[str], free: list[int]) -> Iterator[Group]:
    """Group names such as hip.x, hip_x, hip x, hipX, qx, x; also Q0, Qx, Qy, Qz, of which Q0 is the scalar part."""
    parts = {i: (labels[i][:-1], labels[i][-1:]) for i in free}
    stems = {stem for stem, axis in parts.values() if axis.lower() == "w"}
    for i, (stem, axis) in parts.items():
        if axis == "0" and stem not in stems and last_word(stem) in ORIENTATION:
            parts[i] = stem, "w"
    yield from _by_axis(free, parts)


def _by_first_letter(labels: list[str], free: list[int]) -> Iterator[Group]:
    """Group names such as x1, x_hip, X hip."""
    yield from _by_axis(free, {i: (labels[i][1:], labels[i][:1]) for i in free})


def _by_axis(free: list[int], parts: dict[int, tuple[str, str]]) -> Iterator[Group]:
    # The same name twice begins a second channel: x, y, z, x, y, z.
    runs: dict[str, list[dict[str, int]]] = {}
    for i in free:
        stem, axis = parts[i]
        axis = axis.lower()
        if axis not in ("w", "x", "y", "z"):
            continue
        known = runs.setdefault(stem, [{}])
        if axis in known[-1]:
            known.append({})
        known[-1][axis] = i
    for stem, found in runs.items():
        for axes in found:
            if {"x", "y", "z"} <= axes.keys():
                yield _group(stem, tuple(axes[axis] for axis in "wxyz" if axis in axes))


def _by_index(labels: list[str], free: list[int]) -> Iterator[Group]:
    """Group q0, q1, q2, q3, also q.r or q.w with q.i, q.j, q.k; the scalar part is q0, q.r or q.w."""
    stems: dict[str, dict[str, int]] = {}
    for i in free:
        if match := re.fullmatch(r"(?i)(.*?)[\s._\[-]?([0-3rwijk])\]?", labels[i]):
            stems.setdefault(match[1], {})[match[2].lower()] = i
    for stem, found in stems.items():
        if last_word(stem) in ORIENTATION and "".join(sorted(found)) in ("0123", "ijkr", "ijkw"):
            # The scalar part is the first of 0123, and the last of ijkr and ijkw.
            scalar = "0" if "0" in found else max(found)
            yield _group(stem, tuple(found[part] for part in sorted(found, key=lambda part: (part != scalar, part))))


def _by_triple(labels: list[str], free: list[int]) -> Iterator[Group]:
    """Group names of anatomical and other axes: LR, SI, AP."""
    where = {labels[i].strip().lower(): i for i in free}
    for triple in TRIPLES:
        if all(name in where for name in triple):
            yield Group("", tuple(sorted(where[name] for name in triple)))
            return


def _group(stem: str, at: tuple[int, ...]) -> Group:
    name = _without_separator(stem)
    word = last_word(name)
    if len(at) == 4:
        return Group(
            name, at, orientation=word in ORIENTATION or bool(_euroc(name, "q")), part=_part(name, ORIENTATION, "q")
        )
    # ax, ay, az are accelerations, but a.x, a.y, a.z belong to a channel called a.
    is_sensor = word in SENSORS or stem in ("a", "v", "g", "m") or bool(EUROC_SENSOR.fullmatch(name))
    are_angles = len(word) > 1 and word in (*ORIENTATION, *ANGLES)
    return Group(name, at, are_angles, _part(name, POSITION, "p"), secondary=is_sensor or are_angles)


def _without_separator(stem: str) -> str:
    """Return what is left of the name of a column without its axis and one separator."""
    stem = stem.strip()
    if stem[-1:] in SEPARATORS:
        return stem[:-1].strip()
    return stem[1:].strip() if stem[:1] in SEPARATORS else stem


def last_word(name: str) -> str:
    """Return the last word of a name in lower case.

    Examples
    --------
    >>> last_word("hand.quat"), last_word("handQuat")
    ('quat', 'quat')
    """
    spaced = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", name.strip(SEPARATORS))
    return re.split(r"[\s._:/-]+", spaced)[-1].lower()


def _euroc(name: str, letter: str) -> str:
    """Return the frames in a name of the EuRoC convention, p_RS_R or q_RS; empty for other names."""
    match = re.fullmatch(rf"{letter}_([A-Z]{{2}})(_[A-Z])?", name)
    return match[1] if match else ""


def _part(name: str, words: tuple[str, ...], letter: str) -> str:
    """Return a name without the word for position or orientation at its end."""
    if frames := _euroc(name, letter):
        return frames
    if last_word(name) not in words:
        return name
    return name[: len(name) - len(last_word(name))].rstrip(SEPARATORS)
