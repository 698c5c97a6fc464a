"""The contents of the figure of a forecast, independent of how it is drawn.

One panel per coordinate with the signal, its forecast, persistence and the radius; one panel per unit with the errors;
and a panel with the status.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data.recording import Recording
from quatcast.data.wording import with_unit
from quatcast.evaluation.in_space import persistence, space_of
from quatcast.evaluation.report.decimation import decimate
from quatcast.evaluation.summary import LABELS
from quatcast.forecasting.contract import Forecasts
from quatcast.safety.status import Status

MAX_COORDINATES = 24
"""Most coordinates in a figure; the title says if there are more."""
MAX_UNKNOWN = 6
"""Most channels without a unit whose errors are shown one by one."""
MAX_POINTS = 110_000
"""Most points of all lines of a figure."""
COLOURS = {"actual": "#333333", "persistence": "#56B4E9", "status": "#009E73"}
"""Colour of each line but the forecast, which has that of its predictor."""
FORECAST = "#D55E00"
"""Colour of a forecast whose predictor is not told."""
STATUS = tuple(status.label for status in Status)
"""Names of the numbers that stand for a status."""


@dataclass(frozen=True, eq=False)
class Line:
    """A line: its name in the legend, its colour, its points, and whether it is drawn as steps or thin and dotted."""

    name: str
    colour: str
    x: Floats
    y: Floats
    steps: bool = False
    dotted: bool = False


@dataclass(frozen=True, eq=False)
class Panel:
    """Lines over a common axis of time; `band` has the times, the lower and the upper edge of the radius."""

    title: str
    unit: str
    lines: list[Line]
    band: tuple[Floats, Floats, Floats] | None = None
    ticks: tuple[str, ...] = ()

    @property
    def label(self) -> str:
        """Title with the unit in brackets, if the unit is known."""
        return with_unit(self.title, self.unit)


@dataclass(frozen=True, eq=False)
class ForecastPanels:
    """The figure of a forecast: title, panels, and the colour of the radius."""

    title: str
    panels: list[Panel] = field(default_factory=list)
    colour: str = FORECAST


def forecast_panels(
    recording: Recording, forecasts: Forecasts, predictor: str = "", colour: str = FORECAST
) -> ForecastPanels:
    """Return the contents of the figure of a forecast.

    Parameters
    ----------
    recording
        The recording.
    forecasts
        Its forecasts; if there are several runs, the first is drawn.
    predictor
        Name of the predictor for the title, which has the recording, the horizon and the label rule too.
    colour
        Colour of the forecasts.

    Examples
    --------
    >>> rows = np.zeros((50, 1, 3))
    >>> recording = Recording("demo", rows, np.arange(50) / 10, rate=10.0, units=("mm",))
    >>> made = Forecasts(rows, np.ones(50), horizon=5, labels="causal", truncated=0)
    >>> [panel.label for panel in forecast_panels(recording, made).panels]
    ['channel1.x [mm]', 'channel1.y [mm]', 'channel1.z [mm]', 'error [mm]']
    """
    positions = np.asarray(forecasts).reshape(-1, *recording.positions.shape)[0]
    still = persistence(recording, forecasts.horizon)
    columns = recording.layout()
    shown = columns[:MAX_COORDINATES]
    # Three lines per coordinate and two edges of the radius; errors and status are a few more.
    points = max(400, MAX_POINTS // (5 * len(shown) + 6))
    times = recording.times
    panels = []
    for column in shown:
        values = {"actual": recording.positions, "persistence": still, "forecast": positions}
        lines = [
            _line(name, colour, times, array[:, column.channel, column.axis], points) for name, array in values.items()
        ]
        band = _band(recording, forecasts, positions, column.channel, column.axis, points)
        panels.append(Panel(column.label, column.unit, lines, band))
    panels += _errors(recording, positions, still, colour, points)
    panels += _status(recording, forecasts, points)
    return ForecastPanels(_title(recording, forecasts, predictor, len(columns)), panels, colour)


def _line(name: str, colour: str, times: Floats, values: Floats, points: int) -> Line:
    """Return one of the lines actual, persistence and forecast; the last one has the given colour."""
    return Line(name, COLOURS.get(name, colour), *decimate(times, values, points), dotted=name == "persistence")


def _title(recording: Recording, forecasts: Forecasts, predictor: str, columns: int) -> str:
    ahead = forecasts.horizon / recording.rate
    by = f" by {predictor}" if predictor else ""
    cut = f", the first {MAX_COORDINATES} of {columns} coordinates" if columns > MAX_COORDINATES else ""
    return f"{recording.name}: forecasts{by} {ahead:.4g} s ahead, {LABELS[forecasts.labels]}{cut}"


def _band(
    recording: Recording, forecasts: Forecasts, positions: Floats, channel: int, axis: int, points: int
) -> tuple[Floats, Floats, Floats] | None:
    """Return the edges of the radius around a coordinate; the radius of an orientation is an angle and has none."""
    radius = getattr(forecasts, "radius", None)
    if radius is None or recording.space == "orientation" or (recording.space == "pose" and axis > 2):
        return None
    width = radius_rows(recording, radius)[:, channel]
    middle = positions[:, channel, axis]
    x, low = decimate(recording.times, middle - width, points)
    # Both edges at the same times, so that the area between them can be filled.
    at = np.searchsorted(recording.times, x)
    return x, low, (middle + width)[at]


def _errors(recording: Recording, positions: Floats, still: Floats, colour: str, points: int) -> list[Panel]:
    """Return one panel per unit with the errors: the root mean square over the channels at each time."""
    panels = []
    for unit, rows, name_of_group in error_groups(recording):
        lines = []
        for name, made in (("persistence", still), ("forecast", positions)):
            squared = row_errors(recording, made)[:, rows] ** 2
            counted = np.isfinite(squared)
            mean = np.where(counted, squared, 0.0).sum(axis=1) / np.maximum(counted.sum(axis=1), 1)
            error = np.where(counted.any(axis=1), np.sqrt(mean), np.nan)
            lines.append(_line(name, colour, recording.times, error, points))
        panels.append(Panel(f"error {name_of_group}".rstrip(), unit, lines))
    return panels


def radius_rows(recording: Recording, radius: Floats) -> Floats:
    """Return the radius (T, rows) of the first run: one row per channel, for poses those of the orientations below."""
    kinds = 2 if recording.space == "pose" else 1
    shape = (-1, len(recording), len(recording.channels), kinds)
    return np.asarray(radius.reshape(shape)[0].swapaxes(1, 2).reshape(len(recording), -1))


def row_units(recording: Recording, angle: str = "deg") -> tuple[str, ...]:
    """Return the units of the errors of a recording: one per channel, and that of angles for orientations.

    Examples
    --------
    >>> row_units(Recording("r", np.zeros((2, 1, 7)), [0, 1], rate=1.0, units=("mm",), space="pose"))
    ('mm', 'deg')
    """
    if recording.space == "orientation":
        return (angle,) * len(recording.channels)
    return recording.units + ((angle,) * len(recording.channels) if recording.space == "pose" else ())


def row_errors(recording: Recording, positions: Floats) -> Floats:
    """Return the errors (T, rows) of forecasts of a recording in the units of the rows, with angles in degrees."""
    space = space_of(recording)
    errors = space.distance(positions, recording.positions)
    turned = [kind == "orientation" for kind in space.rows(len(recording.channels))]
    return np.asarray(np.where(turned, np.degrees(errors), errors))


def error_groups(recording: Recording) -> list[tuple[str, list[int], str]]:
    """Return unit, rows and name of each group of errors that may be averaged.

    Rows of the same known unit are one group. Channels without a unit may be of different kinds, so that each is a
    group of its own, unless there are more than six. The name is empty if there is one group only.

    Examples
    --------
    >>> recording = Recording("r", np.zeros((2, 2, 3)), [0, 1], rate=1.0, channels=("tumour", "angle"))
    >>> error_groups(recording)
    [('', [0], '(tumour)'), ('', [1], '(angle)')]
    """
    units = row_units(recording)
    names = space_of(recording).names(recording.channels)
    apart = units.count("") <= MAX_UNKNOWN
    keys = [unit or (f"\0{i}" if apart else "") for i, unit in enumerate(units)]
    groups = [[i for i, other in enumerate(keys) if other == key] for key in dict.fromkeys(keys)]
    single = len(groups) == 1
    return [(units[rows[0]], rows, "" if single else f"({_listed([names[i] for i in rows])})") for rows in groups]


def _listed(names: list[str]) -> str:
    more = len(names) - 3
    return ", ".join(names[:3]) + (f" and {more} more" if more > 0 else "")


def _status(recording: Recording, forecasts: Forecasts, points: int) -> list[Panel]:
    status = getattr(forecasts, "status", None)
    if status is None:
        return []
    codes = np.asarray(status, dtype=float).reshape(-1, len(recording))[0]
    line = Line("status", COLOURS["status"], *decimate(recording.times, codes, points), steps=True)
    return [Panel("status", "", [line], ticks=STATUS)]
