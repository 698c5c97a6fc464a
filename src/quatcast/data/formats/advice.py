"""Errors for the header of a text table that is not clear, with the option to give."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from shlex import quote

from quatcast.data.headers import Group, euler_angles, incomplete
from quatcast.data.options import Options
from quatcast.data.wording import counted

EULER_ADVICE = (
    "convert them to quaternions in columns qw, qx, qy, qz, with the order of rotations of your system (for example "
    "with scipy.spatial.transform.Rotation.from_euler)"
)


def refuse_namesakes(path: Path, names: Sequence[str], groups: Sequence[Group], skip: frozenset[int]) -> None:
    """Refuse a table in which another column has the name of a coordinate: either could be meant."""
    used = {i: group for group in groups for i in group.at}
    for i in set(range(len(names))) - used.keys() - skip:
        same = [k for k in used if names[k] == names[i]]
        if same:
            first, second = sorted((same[0], i))
            example = _columns_option(",".join(str(k + 1) for k in used[same[0]].at))
            raise ValueError(
                f"{path}: expected different names of columns, got {names[i]!r} in columns {first + 1} and "
                f"{second + 1}; give the numbers of the columns of each channel, for example {example}, or leave one "
                f"of them out, ignore=['{i + 1}'] (--ignore {i + 1})"
            )


def no_coordinates(path: Path, left: list[str], has_times: bool, options: Options) -> ValueError:
    """Return the error for a header with these names, none of which is a coordinate, with the option to give."""
    size = options.dimensions or 3
    if angles := euler_angles(left):
        listed = ",".join(angles[:3])
        return ValueError(
            f"{path}: expected positions or quaternions, got Euler angles ({', '.join(angles)}), which are not read; "
            f"{EULER_ADVICE}, or read them as plain numbers, {_columns_option(listed)}"
        )
    if pairs := incomplete(left):
        channel, listed = next(iter(pairs.values())), ",".join(left[:3])
        named = f", or name the columns of each channel, for example {_columns_option(f'a={listed}')}"
        return ValueError(
            f"{path}: expected 3 or 4 coordinates per channel, got {len(channel)} ({', '.join(channel)}); add a column "
            f"for the others (of zeros, if there are none){named if len(left) >= 3 else ''}"
        )
    if has_times and options.dimensions is None and len(left) % 4 == 0 and len(left) % 3:
        listed = "a=" + ",".join(left[:4])
        return ValueError(
            f"{path}: expected columns named CHANNEL.w, CHANNEL.x, CHANNEL.y, CHANNEL.z, got {', '.join(left[:8])}; "
            f"name the coordinates in the order w, x, y, z, for example {_columns_option(listed)}"
        )
    if len(left) >= size:
        # Times under another name are often in the first column.
        listed = ",".join(left[len(left) % size :][:size])
        return ValueError(
            f"{path}: expected columns named CHANNEL.x, CHANNEL.y, CHANNEL.z, got {', '.join(left[:8])}; name the "
            f"coordinates, for example {_columns_option(listed)}"
        )
    listed, others = (f" ({', '.join(left)})", " for the others (of zeros, if there are none)") if left else ("", "")
    names = ", ".join(f"CHANNEL.{axis}" for axis in "wxyz"[-size:])
    return ValueError(
        f"{path}: expected {size} columns of positions per channel, got {counted(len(left), 'column')}{listed} in all; "
        f"add columns{others}, and name them {names}"
    )


def _columns_option(words: str) -> str:
    """Return the argument and the option that name columns, as they can be typed."""
    return f"columns={[words]} (--columns {quote(words)})"
