"""What the forecast of one recording says in words and in a table: errors by unit, and the status of every sample."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

from quatcast.basics.escaping import csv_cell
from quatcast.basics.files import new_file
from quatcast.basics.typing import Bools
from quatcast.data.recording import Recording
from quatcast.data.times import write_times
from quatcast.data.wording import with_unit
from quatcast.evaluation.in_space import persistence, space_of
from quatcast.evaluation.protocol import scaling_samples, validation_samples
from quatcast.evaluation.report.forecast_panels import error_groups, radius_rows, row_errors, row_units
from quatcast.forecasting.contract import Forecasts
from quatcast.safety.status import GuardedForecasts, Status

FEW = 0.5
"""Share of forecasts with the status ok below which it is said."""


def verdict(recording: Recording, forecasts: Forecasts, name: str, baseline: bool = False) -> str:
    """Return the RMSE of forecasts and of persistence, the forecast that nothing moves, as text, one pair per unit.

    Samples are scored where both forecasts exist, from 60 s on, or from 30 s on in a short recording. The forecasts of
    a baseline, which are persistence themselves, are not compared with it.

    Examples
    --------
    >>> recording = Recording("demo", np.ones((50, 1, 3)), np.arange(50) / 10, rate=10.0, units=("mm",))
    >>> made = Forecasts(np.ones((50, 1, 3)), np.ones(50), horizon=5, labels="causal", truncated=0)
    >>> verdict(recording, made, "LMS")
    'demo: RMSE 0 mm by LMS, 0 mm by persistence, from 0.5 s on'
    """
    still = persistence(recording, forecasts.horizon)
    errors = [row_errors(recording, made) for made in (forecasts.positions, still)]
    both = np.isfinite(errors[0]) & np.isfinite(errors[1])
    if not both.any():
        return f"{recording.name}: no sample has both a forecast and an observation, so that nothing is scored"
    start = min(
        _start(recording), int(np.argmax(both.any(axis=1))) if not both[_start(recording) :].any() else len(both)
    )
    both[:start] = False
    first = recording.times[int(np.argmax(both.any(axis=1)))] - recording.times[0]
    rule = "" if forecasts.labels == "causal" else " with look-ahead labels"
    parts = []
    for unit, rows, group in error_groups(recording):
        if not both[:, rows].any():
            continue
        own, other = (float(np.sqrt(np.mean(error[:, rows][both[:, rows]] ** 2))) for error in errors)
        word = f" {unit}" if unit else ""
        where = f" {group}" if group else ""
        than = "" if baseline else f", {other:.3g}{word} by persistence"
        parts.append(f"RMSE {own:.3g}{word} by {name}{rule}{than}{where}")
    return f"{recording.name}: {'; '.join(parts)}, from {first:.4g} s on{_reliability(forecasts, both)}"


def _reliability(forecasts: Forecasts, scored: Bools) -> str:
    """Return which share of the scored forecasts had the status ok when they were made, if it is small.

    The commonest other status is named.
    """
    if not isinstance(forecasts, GuardedForecasts):
        return ""
    made = forecasts.status[np.flatnonzero(scored.any(axis=1)) - forecasts.horizon]
    shares = np.bincount(made, minlength=len(Status)) / len(made)
    share = float(shares[Status.OK])
    if share >= FEW:
        return ""
    shares[Status.OK] = 0.0
    other = Status(int(shares.argmax()))
    said = f"{100 * share:.0f} % of these forecasts have the status ok"
    return f"; {said}, and {100 * shares[other]:.0f} % the status {other.label}"


def _start(recording: Recording) -> int:
    """Return the index of the first sample that is scored."""
    long = len(recording) >= 2 * validation_samples(recording.rate)
    return validation_samples(recording.rate) if long else scaling_samples(recording.rate)


def write_status(recording: Recording, forecasts: GuardedForecasts, path: Path) -> None:
    """Write a table with one row per sample, with the separators and the times of the file of the recording.

    A row has the status and reason at its time, and for the forecast of that time when it was made, the status at that
    moment, and the radius, which is in radians for orientations as everywhere in the library.
    """
    style = recording.style
    names = [csv_cell(name) for name in space_of(recording).names(recording.channels)]
    units = row_units(recording, angle="rad")
    times = write_times(recording.times, style)
    radius = radius_rows(recording, forecasts.radius)
    with new_file(path) as file:
        rows = csv.writer(file, delimiter=style.delimiter if style.delimiter != " " else ",")
        replaced = [f"{csv_cell(name)} replaced" for name in recording.channels]
        radii = [with_unit(f"{name} radius", csv_cell(unit)) for name, unit in zip(names, units, strict=True)]
        time_name = csv_cell(style.time)
        rows.writerow([time_name, "status", "reason", *replaced, "forecast made at", "status then", *radii])
        for t, time in enumerate(times):
            now = [time, Status(forecasts.status[t]).label, csv_cell(forecasts.reasons[t])]
            filled = [int(channel) for channel in forecasts.replaced[t]]
            source = t - forecasts.horizon
            then = [times[source], Status(forecasts.status[source]).label] if source >= 0 else ["", ""]
            around = ["" if value != value else f"{value:.4g}".replace(".", style.decimal) for value in radius[t]]
            rows.writerow([*now, *filled, *then, *around])
