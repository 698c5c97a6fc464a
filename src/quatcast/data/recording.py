"""The recording of a signal: the positions, orientations or poses of one or more channels over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.typing import Floats
from quatcast.data.style import FileStyle
from quatcast.data.timing import Timing
from quatcast.data.units import split_unit
from quatcast.data.wording import counted

AXES = {3: ("x", "y", "z"), 4: ("w", "x", "y", "z"), 7: ("x", "y", "z", "qw", "qx", "qy", "qz")}
"""Number of coordinates of a channel → their names in the order in which a recording stores them."""

SPACES = {"position": (3, 4), "vector": (3, 4), "orientation": (4,), "pose": (7,)}
"""Space → the numbers of coordinates that a channel in it may have."""

CONTRADICTION = 0.03
"""Relative difference from which the duration of a recording contradicts its sampling rate."""


class Column(NamedTuple):
    """One coordinate of a recording as its file shows it.

    Attributes
    ----------
    name
        Header of the column, exactly as in the file.
    label
        The same without the unit, for figures and tables.
    unit
        Unit of the coordinate; empty if it is unknown.
    channel, axis
        Where `Recording.positions` stores the coordinate.

    Examples
    --------
    >>> Column("x [mm]", "x", "mm", channel=0, axis=0).label
    'x'
    """

    name: str
    label: str
    unit: str
    channel: int
    axis: int


def real_numbers(name: str, given: ArrayLike) -> Floats:
    """Return a copy of an array of real numbers, in which masked entries and None are NaN.

    Examples
    --------
    >>> real_numbers("positions", np.ma.masked_array([1.0, 9999.0], mask=[False, True]))
    array([ 1., nan])
    >>> real_numbers("positions", [1.0 + 2.0j])
    Traceback (most recent call last):
    ...
    ValueError: positions: expected real numbers, got an array of type complex128
    """
    if isinstance(given, Recording):
        raise ValueError(f"{name}: expected real numbers, got a Recording; give its positions")
    array = np.asanyarray(given)
    if array.dtype.kind not in "fiuO":
        raise ValueError(f"{name}: expected real numbers, got an array of type {array.dtype}")
    try:
        numbers = np.array(array.data if isinstance(array, np.ma.MaskedArray) else array, dtype=float)
    except (TypeError, ValueError):
        raise ValueError(f"{name}: expected real numbers, got an array of type {array.dtype}") from None
    return np.where(np.ma.getmaskarray(array), np.nan, numbers) if isinstance(array, np.ma.MaskedArray) else numbers


@dataclass(frozen=True, eq=False)
class Recording:
    """Positions, orientations or poses of one or more channels (markers, sensors, tools) over time.

    The arrays of a recording are read-only copies of those that are given.

    Parameters
    ----------
    name
        Name of the recording in tables and file names.
    positions
        Array (samples, channels, coordinates). NaN marks missing samples; infinite values are refused. Positions have
        the coordinates x, y, z; 4-D signals and orientations w, x, y, z; poses x, y, z, w, x, y, z.
    times
        Increasing times of the samples in seconds, array (samples,).
    rate
        Sampling rate in Hz. The times must fit it: samples that they skip are rows of NaN.
    group
        Group of the recording: "regular", "irregular" or any other word. Results are averaged per group.
    channels
        One name per channel; by default "channel1", "channel2", …
    units
        One unit per channel, such as "mm"; empty where the unit is unknown. The unit of a pose is that of its position.
        Orientations have none.
    space
        What the channels are: "position" or "vector" (points of R³ or R⁴), "orientation" (unit quaternions) or "pose"
        (position and orientation). All channels of a recording are of one kind.
    columns
        Names of the columns in the file, one per coordinate, in the order in which `positions` stores them; by default
        `CHANNEL.x`, `CHANNEL.y`, …, followed by the unit in brackets if it is known
    order
        Order of the columns in the file: for each column the index of its coordinate in `columns`; by default 0, 1, ….
    style
        Separators of the file, and the name and unit of its column of times.
    timing
        Sampling rate, jitter and gaps as measured in the file; None if they were not measured.
    notes
        What the reader assumed, ignored or converted, one sentence each.

    Raises
    ------
    ValueError
        If an argument is malformed; the message names the recording, the argument, the position and the value.

    Examples
    --------
    >>> recording = Recording("demo", np.zeros((50, 2, 3)), np.arange(50) / 10, rate=10.0, units=("mm", "mm"))
    >>> recording
    Recording('demo', 50 samples, 2 channels, 3-D, 10 Hz)
    >>> recording.channels, recording.duration
    (('channel1', 'channel2'), 4.9)
    >>> recording.layout()[3]
    Column(name='channel2.x [mm]', label='channel2.x', unit='mm', channel=1, axis=0)
    """

    name: str
    positions: Floats
    times: Floats
    rate: float
    group: str = ""
    channels: tuple[str, ...] = ()
    units: tuple[str, ...] = ()
    space: str = "position"
    columns: tuple[str, ...] = ()
    order: tuple[int, ...] = ()
    style: FileStyle = field(default_factory=FileStyle)
    timing: Timing | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        try:
            positions, times = real_numbers("positions", self.positions), real_numbers("times", self.times)
        except ValueError as error:
            raise self._error(str(error)) from None
        if self.space not in SPACES:
            raise self._error(f"space: expected one of {', '.join(SPACES)}, got {self.space!r}")
        sizes = SPACES[self.space]
        if positions.ndim != 3 or positions.shape[2] not in sizes or 0 in positions.shape:
            expected = " or ".join(map(str, sizes))
            raise self._error(f"positions: expected shape (samples, channels, {expected}), got {positions.shape}")
        for argument in ("name", "group"):
            if not isinstance(given := getattr(self, argument), str):
                raise self._error(f"{argument}: expected a text, got {given!r}")
        for argument in ("channels", "units", "columns"):
            if isinstance(given := getattr(self, argument), str):
                raise self._error(f"{argument}: expected a list of texts, got the text {given!r}")
            if not all(isinstance(text, str) for text in given):
                raise self._error(f"{argument}: expected a list of texts, got {given!r}")
        count, axes = positions.shape[1], AXES[positions.shape[2]]
        channels = tuple(self.channels) or tuple(f"channel{i + 1}" for i in range(count))
        units = tuple(self.units) or ("",) * count
        columns = tuple(self.columns) or tuple(
            f"{channel}.{axis}" + (f" [{unit}]" if unit and not self._is_rotation(i) else "")
            for channel, unit in zip(channels, units, strict=False)
            for i, axis in enumerate(axes)
        )
        order = tuple(self.order) or tuple(range(len(columns)))
        positions.flags.writeable = times.flags.writeable = False
        values = {"positions": positions, "times": times, "channels": channels, "units": units}
        for name, value in (values | {"columns": columns, "order": order, "notes": tuple(self.notes)}).items():
            object.__setattr__(self, name, value)
        self._check_names()
        self._check_arrays()

    def _check_names(self) -> None:
        _, count, size = self.positions.shape
        width = count * size
        if len(self.channels) != count or len(set(self.channels)) != count:
            raise self._error(f"channels: expected {count} different names, got {self.channels}")
        if len(self.units) != count:
            raise self._error(f"units: expected {count} units, one per channel, got {self.units}")
        if len(self.columns) != width:
            raise self._error(f"columns: expected {width} names, one per coordinate, got {len(self.columns)}")
        if sorted(self.order) != list(range(width)):
            raise self._error(f"order: expected each of the numbers 0 to {width - 1} once, got {self.order}")

    def _check_arrays(self) -> None:
        positions, times = self.positions, self.times
        if times.shape != positions.shape[:1]:
            raise self._error(f"times: expected shape ({len(positions)},), one per sample, got {times.shape}")
        if not (isinstance(self.rate, int | float | np.number) and np.isfinite(self.rate) and self.rate > 0):
            raise self._error(f"rate: expected a positive number of Hz, got {self.rate!r}")
        infinite = np.argwhere(np.isinf(positions))
        if len(infinite):
            t, c, axis = infinite[0]
            raise self._error(
                f"positions: expected finite values, or NaN for a missing sample, got {positions[t, c, axis]} "
                f"at sample {t}, channel {self.channels[c]!r}, axis {axis}"
            )
        increasing = np.isfinite(times) & (np.diff(times, prepend=-np.inf) > 0)
        if not increasing.all():
            t = int(np.argmin(increasing))
            raise self._error(f"times: expected finite increasing values, got {times[t]} at sample {t}")
        steps, duration = len(times) - 1, float(times[-1] - times[0])
        if abs(duration * self.rate - steps) > max(1.0, CONTRADICTION * steps):
            raise self._error(
                f"times: expected {steps / self.rate:.4g} s for {len(times)} samples at {self.rate:g} Hz, got "
                f"{duration:.4g} s; give another rate, or rows of NaN for samples that the times skip"
            )

    def _is_rotation(self, axis: int) -> bool:
        """Whether a coordinate is one of the four numbers of a unit quaternion."""
        return self.space == "orientation" or (self.space == "pose" and axis >= 3)

    def _error(self, message: str) -> ValueError:
        return ValueError(f"recording {self.name!r}: {message}")

    def __len__(self) -> int:
        return len(self.positions)

    def __repr__(self) -> str:
        samples, channels, dimensions = self.positions.shape
        kind = f"{dimensions}-D" if self.space in ("position", "vector") else f"{self.space}s"
        size = f"{counted(samples, 'sample')}, {counted(channels, 'channel')}"
        return f"Recording({self.name!r}, {size}, {kind}, {self.rate:g} Hz)"

    @property
    def dimensions(self) -> int:
        """Number of coordinates per channel: 3 or 4, or 7 for poses."""
        return int(self.positions.shape[2])

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the coordinates of a channel in the order in which `positions` stores them."""
        return AXES[self.dimensions]

    @property
    def unit(self) -> str:
        """The unit that all channels share; empty if they have different units, or if it is unknown."""
        return self.units[0] if len(set(self.units)) == 1 else ""

    @property
    def duration(self) -> float:
        """Time from the first to the last sample in seconds."""
        return float(self.times[-1] - self.times[0])

    def layout(self) -> list[Column]:
        """Return the coordinates in the order of the columns of the file, with names and units.

        Outputs list coordinates in this order and under these names.

        Examples
        --------
        >>> recording = Recording(
        ...     "demo", np.zeros((2, 1, 3)), [0, 1], 1.0, columns=("p_x [m]", "p_y [m]", "p_z [m]"), order=(2, 0, 1)
        ... )
        >>> [column.label for column in recording.layout()]
        ['p_z', 'p_x', 'p_y']
        """
        found = []
        for flat in self.order:
            channel, axis = divmod(flat, self.dimensions)
            label, _ = split_unit(self.columns[flat])
            unit = "" if self._is_rotation(axis) else self.units[channel]
            found.append(Column(self.columns[flat], label, unit, channel, axis))
        return found

    def select(self, channels: Sequence[str]) -> Recording:
        """Return the recording of some of the channels, in the given order.

        Examples
        --------
        >>> recording = Recording("demo", np.zeros((2, 3, 3)), [0, 1], 1.0, channels=("a", "b", "c"))
        >>> recording.select(["c", "a"]).columns
        ('c.x', 'c.y', 'c.z', 'a.x', 'a.y', 'a.z')
        """
        for name in channels:
            if name not in self.channels:
                raise self._error(f"channels: expected some of {', '.join(self.channels)}, got {name!r}")
        at = [self.channels.index(name) for name in channels]
        flat = [c * self.dimensions + axis for c in at for axis in range(self.dimensions)]
        units = tuple(self.units[c] for c in at)
        return with_columns(self, flat, positions=self.positions[:, at], channels=tuple(channels), units=units)


def with_columns(recording: Recording, kept: Sequence[int], **fields: Any) -> Recording:
    """Return a recording with other fields, and with the names and the order of some of its columns."""
    new = {old: i for i, old in enumerate(kept)}
    return replace(
        recording,
        columns=tuple(recording.columns[i] for i in kept),
        order=tuple(new[old] for old in recording.order if old in new),
        **fields,
    )
