"""Reading recordings from files of any known format."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from quatcast.data.assembly import assemble
from quatcast.data.contents import Contents
from quatcast.data.formats import c3d, metaimage, motive, qualisys, table, trc, vicon, xdf
from quatcast.data.options import Options
from quatcast.data.recording import Recording
from quatcast.data.text import head_of

FORMATS: tuple[ModuleType, ...] = (c3d, xdf, metaimage, motive, vicon, qualisys, trc, table)
"""Formats in the order in which they are tried; a text table is what nothing else recognises."""
ARCHIVES = {
    b"PK\x03\x04": "an Excel workbook or another zip archive",
    b"\xd0\xcf\x11\xe0": "an old Excel workbook",
    b"\x1f\x8b": "a compressed file",
    b"\x89HDF": "an HDF5 file",
}
"""First bytes of files that people try, and what they are."""


def read(
    path: str | os.PathLike[str],
    *,
    rate: float | None = None,
    channels: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    time: str | int | None = None,
    time_unit: str | None = None,
    unit: str | None = None,
    space: str | None = None,
    dimensions: int | None = None,
    encoding: str | None = None,
    name: str | None = None,
    group: str = "",
) -> Recording:
    r"""Read a recording from a file, whose format is recognised by its contents.

    Known are text tables (CSV and others, EuRoC and TUM trajectories), exports of OptiTrack Motive, Vicon and Qualisys,
    TRC files, sequence files of 3D Slicer and PLUS, and, with the extras `c3d` and `xdf`, C3D and XDF. What the reader
    assumes, ignores or converts is in `Recording.notes`. If the contents are not clear, an error names the argument to
    give.

    Parameters
    ----------
    path
        Path of the file.
    rate
        Sampling rate in Hz, for files without times. If it contradicts the times of the file, it is refused.
    channels
        Names of the channels to read; by default all positions and orientations.
    columns
        Columns of a text table, for headers that are not understood: "a,b,c", or "hip=a,b,c" with the name of the
        channel. Columns are given by their name, or by their number from 1.
    ignore
        Columns of a text table to ignore.
    time
        The column of times of a text table, by its name, or by its number from 1.
    time_unit
        Unit of the times: "s", "ms", "us", "ns", "min" or "h".
    unit
        Unit of all channels, "mm", or of single ones, "hip=mm,angle=deg".
    space
        Read only this kind of channels: "position", "vector", "orientation" or "pose". With "vector", quaternions are
        4-D signals like any other.
    dimensions
        Number of columns per channel, 3 or 4, if the header does not say it.
    encoding
        Encoding of a text file; by default UTF-8, or UTF-16 with a byte order mark.
    name
        Name of the recording; by default the name of the file without folder and suffix.
    group
        Group of the recording.

    Raises
    ------
    FileNotFoundError
        If the file does not exist.
    ValueError
        If the file is malformed or not clear. The message names the file, the line and the column, or the argument that
        makes it clear.
    ImportError
        If the format needs an extra that is not installed.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "tool.csv"
    ...     _ = file.write_text(
    ...         "timestamp_ms,quality,z [mm],x [mm],y [mm]\n0,9,3,1,2\n20,9,3,1,2\n40,8,3,1,2\n60,8,3,1,2\n"
    ...     )
    ...     recording = read(file)
    >>> recording, recording.units, recording.positions[0, 0].tolist()
    (Recording('tool', 4 samples, 1 channel, 3-D, 50 Hz), ('mm',), [1.0, 2.0, 3.0])
    >>> recording.notes
    ('ignored columns: quality',)
    """
    options = Options(rate, channels, columns, ignore, time, time_unit, unit, space, dimensions, encoding)
    contents = read_contents(Path(path), options)
    (recording,) = assemble(contents, options, name=name, group=group, several=False)
    return recording


def read_all(
    path: str | os.PathLike[str],
    *,
    rate: float | None = None,
    channels: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    ignore: Sequence[str] = (),
    time: str | int | None = None,
    time_unit: str | None = None,
    unit: str | None = None,
    space: str | None = None,
    dimensions: int | None = None,
    encoding: str | None = None,
    name: str | None = None,
    group: str = "",
) -> list[Recording]:
    r"""Read all recordings of a file: one for each kind of channels.

    A recording holds channels of one kind. A file that mixes them, such as markers and rigid bodies, is refused by
    `read` and split by this function. The parameters are those of `read`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "imu.csv"
    ...     rows = "".join(f"{t / 50},1,0,0,0,1,2,3\n" for t in range(5))
    ...     _ = file.write_text("time,sensor.qw,sensor.qx,sensor.qy,sensor.qz,hip.x,hip.y,hip.z\n" + rows)
    ...     read_all(file)
    [Recording('imu-position', 5 samples, 1 channel, 3-D, 50 Hz),
     Recording('imu-orientation', 5 samples, 1 channel, orientations, 50 Hz)]
    """
    options = Options(rate, channels, columns, ignore, time, time_unit, unit, space, dimensions, encoding)
    return assemble(read_contents(Path(path), options), options, name=name, group=group, several=True)


def read_csv(
    path: str | os.PathLike[str],
    *,
    dimensions: int | None = None,
    rate: float | None = None,
    name: str | None = None,
    group: str = "",
) -> Recording:
    r"""Read a recording from a text table.

    This is `read` with fewer arguments; where a message names another one, use `read`.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "walk.csv"
    ...     _ = file.write_text("t;hip.x;hip.y;hip.z\n0;1,5;0;2\n0,1;1,75;;2\n")
    ...     recording = read_csv(file)
    >>> recording, recording.channels
    (Recording('walk', 2 samples, 1 channel, 3-D, 10 Hz), ('hip',))
    >>> recording.positions[:, 0]
    array([[1.5 , 0.  , 2.  ],
           [1.75,  nan, 2.  ]])
    """
    options = Options(rate=rate, dimensions=dimensions)
    contents = table.read(Path(path), options)
    (recording,) = assemble(contents, options, name=name, group=group, several=False)
    return recording


def read_contents(path: Path, options: Options) -> Contents:
    """Read a file with the first format that recognises it."""
    head = head_of(path)
    for mark, kind in ARCHIVES.items():
        if head.startswith(mark):
            raise ValueError(
                f"{path}: expected a text table or a recording, got {kind}; save or unpack it as a text file"
            )
    reader = next(one for one in FORMATS if one.recognises(head))
    contents: Contents = reader.read(path, options)
    return contents
