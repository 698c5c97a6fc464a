"""The data of the explorer of forecasts, packed so that one page can hold whole recordings."""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quatcast.data.recording import Column, Recording
from quatcast.evaluation.catalogue import describe, in_order
from quatcast.evaluation.metrics import distances, error_unit
from quatcast.evaluation.protocol import validation_samples
from quatcast.evaluation.records import Trace

BUDGET = 8_000_000
"""Limit on the characters of all forecasts in the page. Above it, the page shows less of them; see `Extent`."""


class Extent(NamedTuple):
    """How much of the forecasts the page shows.

    Attributes
    ----------
    axes
        "all" coordinates, the one that moves most of each "channel", or of each "recording".
    horizons
        The horizons.
    samples
        Limit on the samples of a recording; None for all.
    """

    axes: str
    horizons: tuple[float, ...]
    samples: int | None = None

    def words(self, horizons: Sequence[float]) -> str:
        """Return what is left out of traces of some horizons, as sentences."""
        found = []
        if self.axes != "all":
            found.append(
                f"To limit the size of this file, only the coordinate of each {self.axes} that moves most is shown."
            )
        if hidden := [f"{horizon:g}" for horizon in horizons if horizon not in self.horizons]:
            found.append(f"Horizons that are not shown: {', '.join(hidden)} s.")
        if self.samples is not None:
            found.append(f"Of each recording the first {self.samples:,} samples are shown.")
        return " ".join(found)


def pack(values: ArrayLike, step: float) -> dict[str, Any]:
    """Pack numbers, rounded to a step, as base64 of 16-bit integers, or of 32-bit integers if they are too large.

    The smallest integer represents values that are not finite.

    Examples
    --------
    >>> pack([0.0, 0.014, float("nan")], 0.01)
    {'step': 0.01, 'bits': 16, 'data': 'AAABAACA'}
    """
    given = np.asarray(values, dtype=float)
    finite = np.isfinite(given)
    whole = np.where(finite, np.round(np.where(finite, given, 0.0) / step), 0.0)
    bits = 16 if np.abs(whole).max(initial=0.0) < 2**15 else 32
    limit = 2 ** (bits - 1)
    clipped = np.where(finite, np.clip(whole, 1 - limit, limit - 1), -limit)
    return {"step": step, "bits": bits, "data": base64.b64encode(clipped.astype(f"<i{bits // 8}").tobytes()).decode()}


def data(
    recordings: Sequence[Recording], traces: Sequence[Trace], first: Sequence[str], horizon: float | None = None
) -> dict[str, Any]:
    """Return everything that the page needs to draw forecasts.

    Parameters
    ----------
    recordings
        The recordings.
    traces
        Forecasts of these recordings.
    first
        Predictors that are shown when the page opens.
    horizon
        Horizon that is shown when the page opens; by default the longest.
    """
    horizons = sorted({trace.horizon for trace in traces})
    main = horizon if horizon in horizons else horizons[-1]
    extent = _extent(recordings, traces, main)
    shown = [trace for trace in traces if trace.horizon in extent.horizons]
    packed = []
    for recording in recordings:
        own = [trace for trace in shown if trace.recording == recording.name]
        if own:
            packed.append(_recording(recording, own, extent))
    return {
        "recordings": packed,
        "predictors": [
            {"name": name, "colour": describe(name).colour, "on": name in first}
            for name in in_order(trace.predictor for trace in shown)
        ],
        "labels": sorted({trace.labels for trace in shown}),
        "horizons": list(extent.horizons),
        "horizon": main,
        "left_out": extent.words(horizons),
    }


def _extent(recordings: Sequence[Recording], traces: Sequence[Trace], main: float) -> Extent:
    """Return the largest extent within the budget."""
    horizons = tuple(sorted({trace.horizon for trace in traces}))
    few = tuple(sorted({horizons[0], main, horizons[-1]}))
    for extent in (
        *(Extent(axes, horizons) for axes in ("all", "channel", "recording")),
        Extent("recording", few),
        Extent("recording", (main,)),
    ):
        size = _size(recordings, traces, extent)
        if size <= BUDGET:
            return extent
    longest = max(map(len, recordings))
    return extent._replace(samples=max(2, int(longest * BUDGET / size)))


def _size(recordings: Sequence[Recording], traces: Sequence[Trace], extent: Extent) -> float:
    """Return the characters that the forecasts take: two bytes per number, and four characters per three bytes."""
    by_name = {recording.name: recording for recording in recordings}
    numbers = 0
    for trace in traces:
        if trace.horizon in extent.horizons and trace.recording in by_name:
            rows, channels, dimensions = by_name[trace.recording].positions.shape
            numbers += rows * {"all": channels * dimensions, "channel": channels, "recording": 1}[extent.axes]
    return numbers * 8 / 3


def _recording(recording: Recording, traces: Sequence[Trace], extent: Extent) -> dict[str, Any]:
    columns = _columns(recording, extent.axes)
    step, stop = _step(recording), extent.samples
    spread = [np.nanstd(recording.positions[:, column.channel, column.axis]) for column in columns]
    return {
        "name": recording.name,
        "group": recording.group,
        "unit": error_unit(recording),
        "decimals": max(0, -round(math.log10(step))),
        "coordinates": [column.label for column in columns],
        "units": [column.unit for column in columns],
        "channels": [column.channel for column in columns],
        "main": int(np.argmax(spread)),
        "test": float(recording.times[min(validation_samples(recording.rate), len(recording) - 1)]),
        "times": pack(recording.times[:stop], 0.001),
        "actual": [pack(recording.positions[:stop, column.channel, column.axis], step) for column in columns],
        "traces": [_trace(trace, columns, step, stop) for trace in traces],
    }


def _trace(trace: Trace, columns: Sequence[Column], step: float, stop: int | None) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        squared = distances(trace.actual[:stop], trace.forecast[:stop], trace.space) ** 2
        finite = np.isfinite(squared)
        error = np.sqrt(np.where(finite, squared, 0.0).sum(axis=-1) / finite.sum(axis=-1))
    packed: dict[str, Any] = {
        "predictor": trace.predictor,
        "labels": trace.labels,
        "horizon": trace.horizon,
        "forecast": [pack(trace.forecast[:stop, column.channel, column.axis], step) for column in columns],
        "error": pack(error, 0.01 if trace.space == "orientation" else step),
    }
    # The weight is constant under the squared error and is not shown then.
    weights = trace.weight[np.isfinite(trace.weight)]
    if weights.size and np.ptp(weights) > 1e-6:
        packed["weight"] = pack(trace.weight[:stop], 0.0001)
    # The radius of an orientation is an angle, which its coordinates do not show.
    if "radius" in trace.extra and trace.space != "orientation":
        packed["radius"] = [pack(radius[:stop], step) for radius in trace.extra["radius"].T]
    return packed


def _columns(recording: Recording, axes: str) -> list[Column]:
    """Return the coordinates that are shown, in the order of the file."""
    columns = recording.layout()
    if axes == "all":
        return columns
    spread = [float(np.nanstd(recording.positions[:, column.channel, column.axis])) for column in columns]
    order = sorted(range(len(columns)), key=lambda i: -spread[i])
    if axes == "recording":
        return [columns[order[0]]]
    best = {columns[i].channel: i for i in reversed(order)}
    return [columns[i] for i in sorted(best.values())]


def _step(recording: Recording) -> float:
    """Return the step to which positions are rounded: a hundredth of their spread or less, a power of ten."""
    spread = float(np.nanmax(np.nanstd(recording.positions, axis=0)))
    return 10.0 ** (math.floor(math.log10(spread)) - 2) if math.isfinite(spread) and spread > 0 else 0.01
