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

from quatcast.escaping import one_line
from quatcast.forecasting.contract import learn_with
from quatcast.live.clock import DeviceClock
from quatcast.live.coordinates import fitted
from quatcast.live.fields import MAX_CHANNELS
from quatcast.live.frames import ForecastFrame, Frame, PathPoint
from quatcast.live.grid import Grid, GridSample, Taken
from quatcast.live.rate import detect_rate, enough
from quatcast.live.settings import COMPUTING, LiveSettings
from quatcast.live.timebase import base_of, passed_over, times_of
from quatcast.safety.guard import Guarded
from quatcast.safety.recommendation import recommended
from quatcast.safety.status import Forecast
from quatcast.typing import Floats

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
        self.frames = 0
        self.rate = settings.rate or 0.0
        self.horizons = settings.horizon
        self.names, self.unit = settings.names, settings.unit
        self._measuring: list[Frame] = []
        self._grid: Grid | None = None
        self._forecaster: Guarded | None = None

    @property
    def measured(self) -> bool:
        """Whether rate and horizon are known, so that forecasts are made."""
        return self._grid is not None

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

    def take(self, frame: Frame) -> Taken:
        """Take in a frame, and return the samples to be forecast from, in order."""
        self.frames += 1
        fit = fitted(frame, self.settings.space)
        if fit is None:
            return Taken(dropped="coordinates")
        if self._grid is not None:
            return self._watch(self._grid, fit) if self._measuring else self._grid.take(self._cleaned(fit))
        self._measuring.append(fit)
        if self.rate and self.horizons:
            return self._begin()
        return self._begin() if self._enough() else Taken()

    def _enough(self) -> bool:
        """Return whether the waiting frames show the rate, by the times of the device if it gives them."""
        if self._measuring[0].device_time is not None and enough(times_of(self._measuring, "device")):
            return True
        return enough([one.received for one in self._measuring])

    def _cleaned(self, frame: Frame) -> Frame:
        """Return a frame with NaN where it is known to be faulty, so that nothing is interpolated from such values."""
        values = np.where(np.isfinite(frame.values), frame.values, np.nan)
        if values.shape[0] == len(self.names):  # the grid drops frames of another shape
            values = self.settings.faults.remove(values, self.names, self.settings.space)
        return replace(frame, values=values)

    def _begin(self) -> Taken:
        """Begin the grid and the forecaster, and take in the frames that have been waiting."""
        waiting, self._measuring = self._measuring, []
        first = waiting[0]
        if len(first.values) > MAX_CHANNELS:
            raise ValueError(f"sample: expected at most {MAX_CHANNELS} channels, got {len(first.values)}")
        base = base_of(waiting)
        if not self.rate:
            self.rate = detect_rate(times_of(waiting, base))
        if not self.horizons:
            self.horizons = (self._needed(waiting, base),)
        self.names = self.names or first.names or tuple(f"channel {i + 1}" for i in range(len(first.values)))
        self.unit = self.unit or first.unit
        if len(self.names) != len(first.values):
            raise ValueError(f"names: expected {len(first.values)} names for as many channels, got {len(self.names)}")
        self._forecaster = self.build(self.horizons, self.rate, self.names, self.settings.space)
        self._grid = Grid(self.period, base, self.settings.input_age, self.settings.space)
        if len(waiting) == 1 and base != "received":
            # One frame does not show whether its clock advances.
            self._measuring = waiting
        samples: list[GridSample] = []
        event = passed_over(waiting, base)
        for frame in waiting:
            taken = self._grid.take(self._cleaned(frame))
            samples, event = samples + taken.samples, event or taken.event
        return Taken(samples, taken.dropped if len(waiting) == 1 else "", event)

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
            base = base_of(waiting)
            return grid.follow(base, self._cleaned(frame), passed_over(waiting, base))
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
        """Return the forecast from a sample, with what was learnt before it."""
        return self.forecaster.forecast(sample.values)

    def learn(self, limit: int | None = None) -> None:
        """Learn from the newest sample, or from at most `limit` of those that are waiting."""
        learn_with(self.forecaster, limit)

    def get_ready(self) -> None:
        """Get ready for the next sample; nothing that is remembered changes."""
        if self._forecaster is not None:
            self._forecaster.get_ready()

    def to_frame(self, forecast: Forecast, sample: GridSample, sent: float) -> ForecastFrame:
        """Return a forecast as it is sent: for the first horizon, with those for the others as its path."""
        several = len(self.horizons) > 1
        first = forecast.at(self.horizons[0]) if several else forecast
        return ForecastFrame(
            stream=self.settings.stream,
            sequence=sample.number,
            time=sample.time,
            target_time=sample.time + self.horizons[0],
            sent_time=sent,
            position=first.position,
            radius=_radius(first),
            status=first.status.label,
            reason=one_line(first.reason),
            filled=forecast.replaced,
            sample=sample.values,
            names=self.names,
            unit=self.unit,
            path=tuple(_path_point(forecast, sample.time, horizon) for horizon in sorted(self.horizons[1:])),
            angle_radius=_angle_radius(first),
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
            "measuring": [(f.sequence, f.device_time, f.received, f.values, f.names, f.unit) for f in self._measuring],
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
        self._grid, self._forecaster = tree["grid"], tree["forecaster"]


def _radius(forecast: Forecast) -> Floats:
    """Return the radius (channels,) of a forecast; of a pose, that of its position."""
    return forecast.radius if forecast.radius.ndim == 1 else np.asarray(forecast.radius[:, 0])


def _angle_radius(forecast: Forecast) -> Floats | None:
    """Return the radius (channels,) of the orientations of a forecast of poses; None in other spaces."""
    return None if forecast.radius.ndim == 1 else np.asarray(forecast.radius[:, 1])


def _path_point(forecast: Forecast, time: float, horizon: float) -> PathPoint:
    one = forecast.at(horizon)
    return PathPoint(time + horizon, one.position, _radius(one), one.status.label, _angle_radius(one))
