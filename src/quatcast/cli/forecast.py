"""`quatcast forecast`: one predictor on one file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from quatcast.safety.guard import GuardedForecasts

if TYPE_CHECKING:
    from quatcast.data import Recording
    from quatcast.evaluation.predictors import Batch, Predictor
    from quatcast.forecasting.forecaster import Forecasts, Labels


def forecast(
    file: Annotated[Path, Argument(help="Table of positions: a column of times, 3 or 4 columns a channel.")],
    horizon: Annotated[float, Option(help="Seconds ahead.")] = 0.5,
    predictor: Annotated[str | None, Option(help="Name of a predictor.", show_default="recommended")] = None,
    set_: Annotated[list[str] | None, Option("--set", help="Setting of the predictor, such as lags=10.")] = None,
    labels: Annotated[str, Option(help="causal, or lookahead, which no live system can do.")] = "causal",
    seed: Annotated[int, Option(help="Of the initial weights.", min=0)] = 0,
    rate: Annotated[float | None, Option(help="Samples a second, where the file has no times.")] = None,
    dimensions: Annotated[int | None, Option(help="Columns a channel, 3 or 4.")] = None,
    out: Annotated[Path, Option(help="Folder of what is written.")] = Path(),
    device: Annotated[str, Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Forecast the recording in a file: a table of forecasts, and a figure of them."""
    from dataclasses import replace

    import numpy as np

    from quatcast.algebra.backend import place
    from quatcast.cli.show import say
    from quatcast.data import read_csv, write_csv
    from quatcast.evaluation.predictors import Batch, find
    from quatcast.evaluation.protocol import samples_ahead
    from quatcast.evaluation.settings import positive

    positive("--horizon", horizon, "number of seconds")
    # Not every predictor computes there, but every one is asked for a device that exists.
    place(np.zeros(1), device)
    chosen = find(predictor or "recommended")
    if labels not in chosen.labels:
        raise ValueError(f"--labels: {' or '.join(chosen.labels)} with {chosen.name}, not {labels!r}")
    rule: Labels = "causal" if labels == "causal" else "lookahead"
    configuration = {**chosen.usual, **_settings(chosen, set_ or [])}
    recording = read_csv(file, rate=rate, dimensions=dimensions)
    if horizon > recording.duration:
        raise ValueError(f"--horizon: {horizon:g} s are longer than the {recording.duration:g} s of {file}")
    steps = samples_ahead(horizon, recording)
    batch = Batch([configuration], [seed], steps, recording.rate, rule, device, recording.channels)
    made = _forecast(recording, chosen, batch)
    forecasts = replace(made, positions=made.positions.reshape(recording.positions.shape))
    out.mkdir(parents=True, exist_ok=True)
    stem = f"{recording.name}-{chosen.name}-{labels}-{horizon:g}s"
    table, figure = out / f"{stem}.csv", out / f"{stem}.html"
    write_csv(replace(recording, positions=forecasts.positions), table)
    _draw(recording, forecasts, figure)
    say(_verdict(recording, forecasts, chosen.name))
    say(f"Forecasts: {table}")
    if isinstance(forecasts, GuardedForecasts):
        guard = out / f"{stem}-status.csv"
        _write_status(recording, forecasts, guard)
        say(f"Radius and status: {guard}")
    say(f"Figure: {figure}")


def _write_status(recording: Recording, forecasts: GuardedForecasts, path: Path) -> None:
    """Write for each sample what was said when it arrived, and what came with the forecast that had been made of it."""
    import csv

    from quatcast.safety.guard import Status

    with path.open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        names = recording.channels
        replaced, radii = [f"{n} replaced" for n in names], [f"{n} radius" for n in names]
        rows.writerow(["time", "status", "reason", *replaced, "forecast made at", "status then", *radii])
        for t, time_ in enumerate(recording.times):
            now = [f"{time_:.6g}", Status(forecasts.status[t]).label, forecasts.reasons[t]]
            filled = [int(channel) for channel in forecasts.replaced[t]]
            made = t - forecasts.horizon
            then = [f"{recording.times[made]:.6g}", Status(forecasts.status[made]).label] if made >= 0 else ["", ""]
            around = ["" if radius != radius else f"{radius:.4g}" for radius in forecasts.radius[t]]
            rows.writerow([*now, *filled, *then, *around])


def _settings(predictor: Predictor, given: list[str]) -> dict[str, Any]:
    """Settings of a predictor from words such as lags=10."""
    from quatcast.evaluation.settings import check_setting

    values = {}
    for word in given:
        key, equals, text = word.partition("=")
        if not equals:
            raise ValueError(f"--set: NAME=VALUE expected, not {word!r}")
        values[key] = check_setting(f"--set {key}", predictor, key, _value(text))
    return values


def _value(text: str) -> Any:
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def _forecast(recording: Recording, predictor: Predictor, batch: Batch) -> Forecasts:
    """Forecast in one run, saying how long it will take as the first samples tell."""
    from concurrent.futures import ThreadPoolExecutor, wait

    from quatcast.cli.show import Shown
    from quatcast.evaluation.protocol import TRAIN, held

    positions = recording.positions if predictor.takes_missing else held(recording.positions)
    try:
        began = time.monotonic()
        predictor.build(batch).run(positions[:TRAIN])
        expected = (time.monotonic() - began) * len(positions) / TRAIN
        with ThreadPoolExecutor(1) as executor, Shown() as shown:
            began = time.monotonic()
            running = executor.submit(predictor.build(batch).run, positions)
            while wait([running], timeout=0.2).not_done:
                shown.update("forecasting", min(time.monotonic() - began, 0.99 * expected), expected)
            return running.result()
    except ValueError as error:
        raise ValueError(f"recording {recording.name!r}: {error}") from error


def _draw(recording: Recording, forecasts: Forecasts, path: Path) -> None:
    from quatcast.evaluation.figures import forecast_figure

    forecast_figure(recording, forecasts).write_html(path, include_plotlyjs=True)


def _verdict(recording: Recording, forecasts: Forecasts, name: str) -> str:
    """How good the forecasts were, beside those that nothing moves."""
    import numpy as np

    from quatcast.evaluation import score
    from quatcast.evaluation.protocol import TRAIN, VALIDATION, held

    start = VALIDATION if len(recording) >= 2 * VALIDATION else TRAIN
    # What learns its scales live has its first forecast only when they are known.
    made = np.isfinite(forecasts.positions).all(axis=(-2, -1))
    if not made.any():
        return f"{recording.name}: no sample has a forecast of every channel"
    start = max(start, int(np.argmax(made)))
    if len(recording) < start + 2:
        return f"{recording.name}: too short to tell how good the forecasts are"
    still = np.full_like(recording.positions, np.nan)
    still[forecasts.horizon :] = held(recording.positions)[: -forecasts.horizon]
    own, other = (score(recording.positions, made, start).rmse for made in (forecasts.positions, still))
    rule = "" if forecasts.labels == "causal" else ", looking ahead"
    errors = f"RMSE {own:.3g} mm by {name}{rule}, {other:.3g} mm by persistence"
    return f"{recording.name}: {errors}, from sample {start + 1} on"
