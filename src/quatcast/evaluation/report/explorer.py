"""The data of the explorer of forecasts, packed so that one page can hold whole recordings."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.data.recording import Recording
from quatcast.evaluation.catalogue import describe, in_order
from quatcast.evaluation.protocol import validation_samples
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report.figures import coordinates
from quatcast.typing import Floats

BUDGET = 8_000_000
"""Limit on the characters of all forecasts in the page. Above it, only the coordinate that moves most is shown."""


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


def data(recordings: Sequence[Recording], traces: Sequence[Trace], first: Sequence[str]) -> dict[str, Any]:
    """Return everything that the page needs to draw forecasts.

    Parameters
    ----------
    recordings
        The recordings.
    traces
        Forecasts of these recordings at one horizon.
    first
        Predictors that are shown when the page opens.
    """
    # Two bytes per number, and four characters per three bytes.
    complete = sum(trace.forecast.size for trace in traces) * 8 / 3 <= BUDGET
    packed = []
    for recording in recordings:
        own = [trace for trace in traces if trace.recording == recording.name]
        if not own:
            continue
        axes = _axes(recording.positions, complete)
        letters = coordinates(recording.dimensions)
        packed.append(
            {
                "name": recording.name,
                "group": recording.group,
                "coordinates": [f"{recording.channels[c]} {letters[a]}" for c, a in axes],
                "channels": [c for c, _ in axes],
                "main": _main(recording.positions, axes),
                "test": float(recording.times[min(validation_samples(recording.rate), len(recording) - 1)]),
                "times": pack(recording.times, 0.001),
                "actual": [pack(recording.positions[:, c, a], 0.01) for c, a in axes],
                "traces": [_trace(trace, axes) for trace in own],
            }
        )
    return {
        "recordings": packed,
        "predictors": [
            {"name": name, "colour": describe(name).colour, "on": name in first}
            for name in in_order(trace.predictor for trace in traces)
        ],
        "labels": sorted({trace.labels for trace in traces}),
    }


def _trace(trace: Trace, axes: Sequence[tuple[int, int]]) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        squared = np.sum((trace.forecast - trace.actual) ** 2, axis=-1)
        finite = np.isfinite(squared)
        error = np.sqrt(np.where(finite, squared, 0.0).sum(axis=-1) / finite.sum(axis=-1))
    packed: dict[str, Any] = {
        "predictor": trace.predictor,
        "labels": trace.labels,
        "forecast": [pack(trace.forecast[:, c, a], 0.01) for c, a in axes],
        "error": pack(error, 0.01),
    }
    # The weight is constant under the squared error and is not shown then.
    weights = trace.weight[np.isfinite(trace.weight)]
    if weights.size and np.ptp(weights) > 1e-6:
        packed["weight"] = pack(trace.weight, 0.0001)
    if "radius" in trace.extra:
        packed["radius"] = [pack(radius, 0.01) for radius in trace.extra["radius"].T]
    return packed


def _axes(positions: Floats, complete: bool) -> list[tuple[int, int]]:
    """Return the pairs of channel and axis that are shown: all, or for each channel the axis that moves most."""
    channels, dimensions = positions.shape[1:]
    if complete:
        return [(c, a) for c in range(channels) for a in range(dimensions)]
    return [(c, int(np.argmax(np.nanstd(positions[:, c], axis=0)))) for c in range(channels)]


def _main(positions: Floats, axes: Sequence[tuple[int, int]]) -> int:
    return int(np.argmax([np.nanstd(positions[:, c, a]) for c, a in axes]))
