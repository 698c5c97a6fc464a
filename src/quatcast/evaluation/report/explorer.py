"""Forecasts of whole recordings for the report, packed so that one page can hold all of them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.data.recording import Recording
from quatcast.evaluation.figures import colour, coordinates
from quatcast.evaluation.protocol import VALIDATION
from quatcast.evaluation.records import Trace
from quatcast.evaluation.summary import in_order

BUDGET = 8_000_000
"""Characters that the forecasts may take up in the page. With more, only the coordinate that moves most is kept."""


def pack(values: ArrayLike, step: float) -> dict[str, Any]:
    """Numbers rounded to a step, as base64 of 16-bit integers, or of 32 bits where they are too large for that.

    The smallest integer stands for what is not a finite number.

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
    """Everything that the page needs to draw forecasts.

    Parameters
    ----------
    recordings
        What was forecast.
    traces
        Forecasts of one horizon.
    first
        Predictors to show at first.
    """
    # Two bytes a number, and four characters for three bytes.
    whole = sum(trace.forecast.size for trace in traces) * 8 / 3 <= BUDGET
    shown = []
    for recording in recordings:
        own = [trace for trace in traces if trace.recording == recording.name]
        if not own:
            continue
        kept = _kept(recording.positions, whole)
        axes = coordinates(recording.dimensions)
        shown.append(
            {
                "name": recording.name,
                "group": recording.group,
                "coordinates": [f"{recording.channels[c]} {axes[a]}" for c, a in kept],
                "channels": [c for c, _ in kept],
                "main": _main(recording.positions, kept),
                "test": float(recording.times[min(VALIDATION, len(recording) - 1)]),
                "times": pack(recording.times, 0.001),
                "actual": [pack(recording.positions[:, c, a], 0.01) for c, a in kept],
                "traces": [_trace(trace, kept) for trace in own],
            }
        )
    return {
        "recordings": shown,
        "predictors": [
            {"name": name, "colour": colour(name), "on": name in first}
            for name in in_order(trace.predictor for trace in traces)
        ],
        "labels": sorted({trace.labels for trace in traces}),
    }


def _trace(trace: Trace, kept: Sequence[tuple[int, int]]) -> dict[str, Any]:
    with np.errstate(all="ignore"):
        squared = np.sum((trace.forecast - trace.actual) ** 2, axis=-1)
        known = np.isfinite(squared)
        error = np.sqrt(np.where(known, squared, 0.0).sum(axis=-1) / known.sum(axis=-1))
    packed: dict[str, Any] = {
        "predictor": trace.predictor,
        "labels": trace.labels,
        "forecast": [pack(trace.forecast[:, c, a], 0.01) for c, a in kept],
        "error": pack(error, 0.01),
    }
    # A weight that never changes is that of the square error.
    weights = trace.weight[np.isfinite(trace.weight)]
    if weights.size and np.ptp(weights) > 1e-6:
        packed["weight"] = pack(trace.weight, 0.0001)
    if "radius" in trace.more:
        packed["radius"] = [pack(radius, 0.01) for radius in trace.more["radius"].T]
    return packed


def _kept(positions: np.typing.NDArray[np.float64], whole: bool) -> list[tuple[int, int]]:
    """Channels and axes that are shown: all, or of each channel the one that moves most."""
    channels, dimensions = positions.shape[1:]
    if whole:
        return [(c, a) for c in range(channels) for a in range(dimensions)]
    return [(c, int(np.argmax(np.nanstd(positions[:, c], axis=0)))) for c in range(channels)]


def _main(positions: np.typing.NDArray[np.float64], kept: Sequence[tuple[int, int]]) -> int:
    return int(np.argmax([np.nanstd(positions[:, c, a]) for c, a in kept]))
