"""The deterministic part of the service: frames in, samples on the grid, forecasts out.

Everything here is a function of the frames in their order. The service, recovery and replay all use it, which is why
they give the same forecasts bit for bit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

import numpy as np

from quatcast.basics.escaping import one_line
from quatcast.data.wording import counted
from quatcast.forecasting.contract import learn_with
from quatcast.live.clock import DeviceClock
from quatcast.live.clock_choice import base_of, passed_over, times_of
from quatcast.live.fields import MAX_CHANNELS
from quatcast.live.frames import ForecastFrame, Frame, PathPoint
from quatcast.live.grid import Grid, GridSample, Taken
from quatcast.live.rate import detect_rate, enough
from quatcast.live.settings import COMPUTING, LiveSettings
from quatcast.live.shapes import fitted, in_shape, usual_shape, watch
from quatcast.safety.guard import Guarded
from quatcast.safety.recommendation import recommended
from quatcast.safety.status import Forecast, Status

FORMAT = 1
"""Format of the tree of a pipeline in a checkpoint."""

Build = Callable[[tuple[float, ...], float, tuple[str, ...], str], Guarded]
"""Makes a forecaster from horizons in seconds, a rate in Hz, the names of the channels and the name of their space."""


def build_recommended(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str) -> Guarded:
    """Return the recommended forecaster.

    Examples
    --------
    >>> build_recommended((0.5,), 10.0, ("chest",), "position").horizon
    5
    """
    return recommended(horizons[0] if len(horizons) == 1 else horizons, rate, names=names, space=space)


class Pipeline:
    """From frames to forecasts: measure the rate, resample, forecast, learn.

    Parameters
    ----------
    settings
        Settings of the stream.
    build
        Makes the forecaster once the rate is known; by default the recommended one.

    Attributes
    ----------
    frames
        Number of frames taken so far.
    rate, horizons
        Sampling rate and horizons in seconds, 0 and empty as long as they are being measured.
    names, unit
        Names of the channels and unit of the values.
    beginnings
        How many times this object has made a forecaster: again if samples of another shape prevail at the start.

    Examples
    --------
    >>> from quatcast.data import simulated
    >>> pipeline = Pipeline(LiveSettings(rate=10.0))
    >>> for i, values in enumerate(simulated(seconds=5)[1].positions):
    ...     for sample in pipeline.take(Frame("chest", i, i / 10, 500 + i / 10, values)).samples:
    ...         forecast = pipeline.forecast(sample)
    ...         pipeline.learn()
    >>> pipeline.frames, forecast.status.label
    (50, 'warming up')
    """

    def __init__(self, settings: LiveSettings, build: Build = build_recommended) -> None:
        self.settings, self.build = settings, build
        self.frames = self.beginnings = 0
        self._forget()
        self._measuring: list[Frame] = []
        self._strange: list[Frame] = []
        self._settled = False
        self._grid: Grid | None = None
        self._forecaster: Guarded | None = None

    @property
    def measured(self) -> bool:
        """Whether rate and horizon are known, so that forecasts are made."""
        return self._grid is not None

    @property
    def settled(self) -> bool:
        """Whether there has been a forecast that can be acted on, so that the stream keeps its channels."""
        return self._settled

    @property
    def period(self) -> float:
        """Seconds between samples; 0 as long as it is being measured."""
        return 1.0 / self.rate if self.rate else 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of channels and of coordinates; empty as long as no sample has been placed on the grid."""
        return () if self._grid is None or self._grid.values is None else self._grid.values.shape

    @property
    def counts(self) -> dict[str, int]:
        """Number of frames and samples of each kind."""
        return dict(self._grid.counts) if self._grid is not None else {"frames": self.frames}

    def words(self) -> str:
        """Return rate, channels and horizons in words.

        Examples
        --------
        >>> pipeline = Pipeline(LiveSettings(rate=10.0))
        >>> _ = pipeline.take(Frame("chest", 0, 0.0, 500.0, np.zeros((1, 3))))
        >>> pipeline.words()
        '10 Hz, 1 channel, forecasts 0.5 s ahead'
        """
        ahead = ", ".join(f"{horizon:g} s" for horizon in self.horizons)
        return f"{self.rate:g} Hz, {counted(len(self.names), 'channel')}, forecasts {ahead} ahead"

    def take(self, frame: Frame) -> Taken:
        """Take in a frame, and return the samples to be forecast from, in order."""
        self.frames += 1
        fit = fitted(frame, self.settings.space)
        if fit is None:
            return Taken(dropped="coordinates")
        if self._grid is None:
            self._measuring.append(fit)
            return self._begin() if self._enough() else Taken()
        fit = in_shape(fit, self.shape)
        if not self._settled:
            self._strange, prevalent = watch(self._strange, fit, self.shape, len(self.settings.names))
            if prevalent is not None:
                return self._begin_anew(self._grid, fit)
        return self._watch(self._grid, fit) if self._measuring else self._grid.take(self._cleaned(fit))

    def end(self) -> None:
        """Raise an error if the stream ends while frames wait only because they contradict the names.

        Raises
        ------
        ValueError
            With the number of names and that of the channels.
        """
        if self._grid is None and self._measuring and self.rate and self.horizons:
            self._begin()

    def _forget(self) -> None:
        """Forget what was learnt from frames in addition to the settings."""
        self.rate, self.horizons = self.settings.rate or 0.0, self.settings.horizon
        self.names, self.unit = self.settings.names, self.settings.unit

    def _enough(self) -> bool:
        """Return whether the waiting frames show the rate, by the times of the device if it gives them.

        If nothing is to be measured, one frame is sufficient, unless it contradicts the names.
        """
        if self.rate and self.horizons and usual_shape(self._measuring, len(self.settings.names)) is not None:
            return True
        if self._measuring[0].device_time is not None and enough(times_of(self._measuring, "device")):
            return base_of(self._measuring, self.rate) == "device" or enough([one.received for one in self._measuring])
        return enough([one.received for one in self._measuring])

    def _cleaned(self, frame: Frame) -> Frame:
        """Return a frame with NaN where it is known to be faulty, so that nothing is interpolated from such values."""
        values = np.where(np.isfinite(frame.values), frame.values, np.nan)
        if values.shape[0] == len(self.names):  # the grid drops frames of another shape
            values = self.settings.faults.remove(values, self.names, self.settings.space)
        return replace(frame, values=values)

    def _begin(self) -> Taken:
        """Begin the grid and the forecaster, and take in the frames that have been waiting."""
        shape = usual_shape(self._measuring, len(self.settings.names)) or self._measuring[-1].values.shape
        waiting = [in_shape(frame, shape) for frame in self._measuring]
        usual = [frame for frame in waiting if frame.values.shape == shape]
        base, event = self._prepare(usual)
        grid = self._grid = Grid(self.period, base, self.settings.input_age, self.settings.space)
        # One frame does not show whether its clock advances.
        self._measuring = waiting if len(waiting) == 1 and base != "received" else []
        samples: list[GridSample] = []
        # The grid drops and counts the others, once it knows the shape.
        for frame in [*usual, *(one for one in waiting if one.values.shape != shape)]:
            taken = grid.take(self._cleaned(frame))
            samples, event = samples + taken.samples, event or taken.event
        return Taken(samples, taken.dropped if len(waiting) == 1 else "", event)

    def _begin_anew(self, grid: Grid, frame: Frame) -> Taken:
        """Begin again at a frame whose shape prevails; the points of the grid are counted on."""
        usual = [one for one in self._strange if one.values.shape == frame.values.shape]
        self._measuring, self._strange = [], []
        self._forget()
        base, event = self._prepare(usual)
        self._grid = Grid(
            *(self.period, base, self.settings.input_age, self.settings.space),
            number=grid.number,
            told=grid.told,
            counts=grid.counts,
        )
        taken = self._grid.take(self._cleaned(frame))
        return taken._replace(event=event or taken.event)

    def _prepare(self, frames: list[Frame]) -> tuple[str, str]:
        """Make a forecaster for frames of one shape; return what gives them their time, and what to tell about it."""
        first = frames[0]
        if len(first.values) > MAX_CHANNELS:
            raise ValueError(f"sample: expected at most {MAX_CHANNELS} channels, got {len(first.values)}")
        base = base_of(frames, self.rate)
        event = passed_over(frames, base, self.rate)
        if not self.rate:
            self.rate = detect_rate(times_of(frames, base))
        if not self.horizons:
            self.horizons = (self._needed(frames, base),)
        self.names = self.names or first.names or tuple(f"channel {i + 1}" for i in range(len(first.values)))
        self.unit = self.unit or first.unit
        if len(self.names) != len(first.values):
            raise ValueError(f"names: expected {len(first.values)} names for as many channels, got {len(self.names)}")
        self._forecaster = self.build(self.horizons, self.rate, self.names, self.settings.space)
        self.beginnings += 1
        return base, event

    def _watch(self, grid: Grid, frame: Frame) -> Taken:
        """Take in a frame while the clock has not advanced since the first one, or go over to another clock."""
        first = self._measuring[0]
        if frame.values.shape != first.values.shape:
            return grid.take(self._cleaned(frame))
        self._measuring.append(frame)
        if grid.time_of(frame) != grid.time_of(first):
            self._measuring = []
        elif enough([one.received for one in self._measuring]):
            waiting, self._measuring = self._measuring, []
            base = base_of(waiting, self.rate)
            return grid.follow(base, self._cleaned(frame), passed_over(waiting, base, self.rate))
        return grid.take(self._cleaned(frame))

    def _needed(self, frames: list[Frame], base: str) -> float:
        """Return the horizon that covers the age of the input, computing and acting, in whole samples."""
        grid, clock = Grid(self.period, base), DeviceClock()
        pairs = [(time, one.received) for one in frames if (time := grid.time_of(one)) is not None]
        for time, received in pairs:
            clock.observe(time, received)
        delay = median(received - clock.local(time) for time, received in pairs) if pairs else 0.0
        needed = self.settings.input_age + delay + COMPUTING + self.settings.act_latency
        return max(1, math.ceil(needed * self.rate - 1e-9)) / self.rate

    @property
    def forecaster(self) -> Guarded:
        """The forecaster; there is none as long as the rate is being measured."""
        if self._forecaster is None:
            raise ValueError("the pipeline has no forecaster yet: the rate is being measured")
        return self._forecaster

    def forecast(self, sample: GridSample) -> Forecast:
        """Return the forecast from a sample, with what was learnt before it.

        After the first one that can be acted on, the stream keeps its channels: receivers know them by their order.
        """
        forecast = self.forecaster.forecast(sample.values)
        if not self._settled and not {*forecast.statuses} <= {Status.WARMING_UP, Status.HOLD}:
            self._settled, self._strange = True, []
        return forecast

    def learn(self, limit: int | None = None) -> None:
        """Learn from the newest sample, or from at most `limit` of those that are waiting."""
        learn_with(self.forecaster, limit)

    def get_ready(self) -> None:
        """Get ready for the next sample; nothing that is remembered changes."""
        if self._forecaster is not None:
            self._forecaster.get_ready()

    def to_frame(self, forecast: Forecast, sample: GridSample, sent: float) -> ForecastFrame:
        """Return a forecast as it is sent: for the first horizon, with those for the others as its path."""
        first = forecast.at(self.horizons[0]) if len(self.horizons) > 1 else forecast
        main = _path_point(first, sample.time + self.horizons[0])
        return ForecastFrame(
            stream=self.settings.stream,
            sequence=sample.number,
            time=sample.time,
            target_time=main.target_time,
            sent_time=sent,
            position=main.position,
            radius=main.radius,
            status=main.status,
            reason=one_line(first.reason),
            filled=forecast.replaced,
            sample=sample.values,
            names=self.names,
            unit=self.unit,
            path=tuple(_path_point(forecast.at(one), sample.time + one) for one in sorted(self.horizons[1:])),
            angle_radius=main.angle_radius,
        )

    def tree(self) -> dict[str, Any]:
        """Return everything that the pipeline remembers, for a checkpoint."""
        return {
            "format": FORMAT,
            "settings": self.settings.to_json(),
            "frames": self.frames,
            "rate": self.rate,
            "horizons": self.horizons,
            "names": self.names,
            "unit": self.unit,
            "measuring": [_fields(frame) for frame in self._measuring],
            "strange": [_fields(frame) for frame in self._strange],
            "settled": self._settled,
            "grid": self._grid,
            "forecaster": self._forecaster,
        }

    def restore(self, tree: dict[str, Any]) -> None:
        """Continue from the tree of a checkpoint.

        Raises
        ------
        ValueError
            If the tree has another format, or belongs to other settings.
        """
        if not isinstance(tree, dict) or tree.get("format") != FORMAT:
            raise ValueError("not a checkpoint of a live session")
        other = LiveSettings.from_json(tree["settings"])
        if differences := self.settings.differences(other):
            raise ValueError(f"belongs to other settings: {'; '.join(differences)}")
        self.frames, self.rate, self.horizons = tree["frames"], tree["rate"], tree["horizons"]
        self.names, self.unit = tree["names"], tree["unit"]
        self._measuring = [Frame(self.settings.stream, *one) for one in tree["measuring"]]
        self._strange = [Frame(self.settings.stream, *one) for one in tree.get("strange", ())]
        # Earlier versions kept the shape of the first frame.
        self._settled = tree.get("settled", True)
        self._grid, self._forecaster = tree["grid"], tree["forecaster"]


def _fields(frame: Frame) -> tuple[Any, ...]:
    """Return what a checkpoint holds of a frame."""
    return frame.sequence, frame.device_time, frame.received, frame.values, frame.names, frame.unit


def _path_point(forecast: Forecast, target_time: float) -> PathPoint:
    """Return a forecast for one horizon; poses have a radius of their position and one of their orientation."""
    radius, angle_radius = (forecast.radius, None) if forecast.radius.ndim == 1 else forecast.radius.T
    return PathPoint(target_time, forecast.position, radius, forecast.status.label, angle_radius)
