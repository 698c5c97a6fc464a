"""The command `quatcast forecast`: run one predictor on one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from quatcast.cli.known_faults import SENTINEL, VALID, without_known_faults
from quatcast.safety.status import GuardedForecasts

if TYPE_CHECKING:
    from quatcast.data import Recording
    from quatcast.evaluation import Batch, Predictor
    from quatcast.forecasting.contract import Forecasts, Labels


def forecast(
    file: Annotated[Path, Argument(help="Table of positions: a column of times, and 3 or 4 columns per channel.")],
    horizon: Annotated[float, Option(help="Seconds ahead.")] = 0.5,
    predictor: Annotated[str, Option(help="Name of a predictor.")] = "recommended",
    set_: Annotated[
        list[str] | None, Option("--set", help="Setting of the predictor, such as lags=10; may be repeated.")
    ] = None,
    labels: Annotated[str, Option(help="causal, or lookahead, which is impossible in a live system.")] = "causal",
    seed: Annotated[int, Option(help="Seed of the initial weights.", min=0)] = 0,
    rate: Annotated[float | None, Option(help="Samples per second, if the file has no times.")] = None,
    dimensions: Annotated[int | None, Option(help="Columns per channel, 3 or 4.")] = None,
    sentinel: Annotated[list[str] | None, Option(help=SENTINEL)] = None,
    valid: Annotated[list[str] | None, Option(help=VALID)] = None,
    out: Annotated[Path, Option(help="Folder for the output.")] = Path(),
    device: Annotated[str, Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Forecast the recording in a file, and write a table and a figure of the forecasts."""
    from dataclasses import replace

    import numpy as np

    from quatcast.algebra.backend import place
    from quatcast.cli.terminal import say
    from quatcast.data import read_csv, write_csv
    from quatcast.evaluation import Batch, find_predictor
    from quatcast.evaluation.protocol import samples_ahead
    from quatcast.evaluation.report.figures import forecast_figure
    from quatcast.evaluation.run.settings import positive

    positive("--horizon", horizon, "number of seconds")
    # Some predictors ignore the device, but it must exist for all of them.
    place(np.zeros(1), device)
    chosen = find_predictor(predictor)
    if labels not in chosen.labels:
        raise ValueError(f"--labels: expected {' or '.join(chosen.labels)} for {chosen.name}, got {labels!r}")
    rule: Labels = "causal" if labels == "causal" else "lookahead"
    configuration = {**chosen.usual, **_settings(chosen, set_ or [])}
    recording = read_csv(file, rate=rate, dimensions=dimensions)
    recording = without_known_faults(recording, sentinel or [], valid or [])
    if horizon > recording.duration:
        raise ValueError(f"--horizon: expected less than the {recording.duration:g} s of {file}, got {horizon:g} s")
    steps = samples_ahead(horizon, recording)
    batch = Batch([configuration], [seed], steps, recording.rate, rule, device, recording.channels)
    forecasts = _forecast(recording, chosen, batch)
    forecasts = replace(forecasts, positions=forecasts.positions.reshape(recording.positions.shape))
    out.mkdir(parents=True, exist_ok=True)
    stem = f"{recording.name}-{chosen.name}-{labels}-{horizon:g}s"
    table, figure = out / f"{stem}.csv", out / f"{stem}.html"
    write_csv(replace(recording, positions=forecasts.positions), table)
    forecast_figure(recording, forecasts).write_html(figure, include_plotlyjs=True)
    say(_verdict(recording, forecasts, chosen.name))
    say(f"Forecasts: {table}")
    if isinstance(forecasts, GuardedForecasts):
        guard = out / f"{stem}-status.csv"
        _write_status(recording, forecasts, guard)
        say(f"Radius and status: {guard}")
    say(f"Figure: {figure}")


def _write_status(recording: Recording, forecasts: GuardedForecasts, path: Path) -> None:
    """Write a table with one row per sample.

    A row has the status and reason at its time, and for the forecast of that time when it was made, the status at that
    moment, and the radius.
    """
    import csv

    from quatcast.escaping import csv_cell
    from quatcast.safety.status import Status

    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        names = [csv_cell(name) for name in recording.channels]
        replaced, radii = [f"{n} replaced" for n in names], [f"{n} radius" for n in names]
        rows.writerow(["time", "status", "reason", *replaced, "forecast made at", "status then", *radii])
        for t, time_ in enumerate(recording.times):
            now = [f"{time_:.6g}", Status(forecasts.status[t]).label, csv_cell(forecasts.reasons[t])]
            filled = [int(channel) for channel in forecasts.replaced[t]]
            source = t - forecasts.horizon
            then = (
                [f"{recording.times[source]:.6g}", Status(forecasts.status[source]).label] if source >= 0 else ["", ""]
            )
            around = ["" if radius != radius else f"{radius:.4g}" for radius in forecasts.radius[t]]
            rows.writerow([*now, *filled, *then, *around])


def _settings(predictor: Predictor, given: list[str]) -> dict[str, Any]:
    """Return the settings of a predictor from words such as lags=10."""
    from quatcast.evaluation.run.settings import check_setting

    pairs = []
    for word in given:
        key, equals, text = word.partition("=")
        if not equals:
            raise ValueError(f"--set: expected NAME=VALUE, got {word!r}")
        pairs.append(check_setting(f"--set {key}", predictor, key, _value(text)))
    return dict(pairs)


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _forecast(recording: Recording, predictor: Predictor, batch: Batch) -> Forecasts:
    """Forecast a recording and show the remaining time, estimated from the first samples."""
    from concurrent.futures import ThreadPoolExecutor, wait

    from quatcast.cli.terminal import ProgressDisplay
    from quatcast.evaluation.protocol import forward_fill, scaling_samples

    positions = recording.positions if predictor.takes_missing else forward_fill(recording.positions)
    try:
        began = time.monotonic()
        first = scaling_samples(recording.rate)
        predictor.build(batch).run(positions[:first])
        expected = (time.monotonic() - began) * len(positions) / first
        with ThreadPoolExecutor(1) as executor, ProgressDisplay() as display:
            began = time.monotonic()
            running = executor.submit(predictor.build(batch).run, positions)
            while wait([running], timeout=0.2).not_done:
                display.update("forecasting", min(time.monotonic() - began, 0.99 * expected), expected)
            return running.result()
    except ValueError as error:
        raise ValueError(f"recording {recording.name!r}: {error}") from error


def _verdict(recording: Recording, forecasts: Forecasts, name: str) -> str:
    """Return the RMSE of the forecasts and of persistence, the forecast that nothing moves, as text."""
    import numpy as np

    from quatcast.evaluation import score
    from quatcast.evaluation.protocol import forward_fill, scaling_samples, validation_samples

    test = validation_samples(recording.rate)
    start = test if len(recording) >= 2 * test else scaling_samples(recording.rate)
    # A forecaster that fits its scales live has its first forecast only after the warm-up.
    complete = np.isfinite(forecasts.positions).all(axis=(-2, -1))
    if not complete.any():
        return f"{recording.name}: no sample has a forecast of every channel"
    start = max(start, int(np.argmax(complete)))
    if len(recording) < start + 2:
        return f"{recording.name}: too short to score the forecasts"
    still = np.full_like(recording.positions, np.nan)
    still[forecasts.horizon :] = forward_fill(recording.positions)[: -forecasts.horizon]
    own, other = (score(recording.positions, one, start).rmse for one in (forecasts.positions, still))
    rule = "" if forecasts.labels == "causal" else " with look-ahead labels"
    errors = f"RMSE {own:.3g} mm by {name}{rule}, {other:.3g} mm by persistence"
    return f"{recording.name}: {errors}, from sample {start + 1} on"
