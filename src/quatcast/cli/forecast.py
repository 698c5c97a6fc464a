"""The command `quatcast forecast`: run one predictor on one file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from typer import Argument, Option

from quatcast.cli import reading
from quatcast.cli.choices import words
from quatcast.cli.known_faults import SENTINEL, VALID, suspected_codes, without_known_faults
from quatcast.safety.status import GuardedForecasts

if TYPE_CHECKING:
    from quatcast.data import Recording
    from quatcast.evaluation import Batch, Predictor
    from quatcast.forecasting.contract import Forecasts, Labels

FIGURES = ("html", "svg", "pdf", "png")
"""Formats of figures."""
SOONER = "use a longer file, or a predictor that starts sooner (--predictor constant-velocity)"


def forecast(
    file: Annotated[
        Path, Argument(help="Recording: a table of positions or poses, or a file of a motion capture system.")
    ],
    horizon: Annotated[float, Option(help="Seconds ahead.")] = 0.5,
    predictor: Annotated[str, Option(help="Name of a predictor.")] = "recommended",
    set_: Annotated[
        list[str] | None, Option("--set", help="Setting of the predictor, such as lags=10; may be repeated.")
    ] = None,
    labels: Annotated[str, Option(help="causal, or lookahead, which is impossible in a live system.")] = "causal",
    seed: Annotated[int, Option(help="Seed of the initial weights.", min=0)] = 0,
    rate: reading.Rate = None,
    dimensions: reading.Dimensions = None,
    channels: reading.Channels = None,
    columns: reading.Columns = None,
    ignore: reading.Ignore = None,
    time_column: reading.Time = None,
    time_unit: reading.TimeUnit = None,
    unit: reading.Unit = None,
    space: reading.Space = None,
    encoding: reading.Encoding = None,
    sentinel: Annotated[list[str] | None, Option(help=SENTINEL)] = None,
    valid: Annotated[list[str] | None, Option(help=VALID)] = None,
    figure: Annotated[
        str, Option(help="Formats of the figure: html, svg, pdf, png, separated by commas, or none.")
    ] = "html",
    out: Annotated[Path, Option(help="Folder for the output.")] = Path(),
    device: Annotated[str, Option(help="cpu or cuda.")] = "cpu",
) -> None:
    """Forecast the recording in a file, and write a table and a figure of the forecasts."""
    options = reading.given(locals())
    import numpy as np

    from quatcast.algebra.backend import place
    from quatcast.data import read
    from quatcast.evaluation import Batch, find_predictor
    from quatcast.evaluation.in_space import space_of
    from quatcast.evaluation.protocol import rounded_horizons, samples_ahead
    from quatcast.evaluation.run.settings import positive

    positive("--horizon", horizon, "number of seconds")
    formats = _formats(figure)
    # Some predictors ignore the device, but it must exist for all of them.
    place(np.zeros(1), device)
    chosen = find_predictor(predictor)
    if labels not in chosen.labels:
        raise ValueError(f"--labels: expected {' or '.join(chosen.labels)} for {chosen.name}, got {labels!r}")
    rule: Labels = "causal" if labels == "causal" else "lookahead"
    configuration = {**chosen.usual, **_settings(chosen, set_ or [])}
    recording = without_known_faults(read(file, **options), sentinel or [], valid or [])
    _introduce(recording)
    _note(f"{said}; if this means lost, add --sentinel {code}" for said, code in suspected_codes(recording))
    _note(_never_seen(recording))
    if horizon > recording.duration:
        raise ValueError(f"--horizon: expected less than the {recording.duration:g} s of {file}, got {horizon:g} s")
    steps = samples_ahead(horizon, recording)
    if rounded := rounded_horizons([horizon], [recording]):
        _note(rounded)
        horizon = steps / recording.rate
    names = recording.channels if chosen.takes_spaces else space_of(recording).names(recording.channels)
    batch = Batch([configuration], [seed], steps, recording.rate, rule, device, names, recording.space)
    _check_output(out, formats)
    fitted = _fitted(recording, chosen, batch)
    forecasts = _forecast(recording, chosen, batch)
    if batch.labels == "causal" and fitted:
        forecasts = _without_future(recording, forecasts, chosen, fitted - 1 + batch.horizon)
    _write(recording, forecasts, chosen, out, f"{recording.name}-{chosen.name}-{labels}-{horizon:g}s", formats)


def _introduce(recording: Recording) -> None:
    """Print what was read, and on standard error what the reader assumed, ignored or converted."""
    from quatcast.cli.terminal import say
    from quatcast.data.wording import with_unit

    channels = ", ".join(map(with_unit, recording.channels, recording.units))
    kind = f"{recording.dimensions}-D" if recording.space in ("position", "vector") else f"{recording.space}s"
    timing = recording.timing.sentence() if recording.timing else f"{recording.rate:g} Hz"
    say(f"{recording.name}: {len(recording)} samples in {recording.duration:.4g} s, {kind}: {channels}; {timing}")
    _note(recording.notes)


def _note(sentences: Iterable[str]) -> None:
    """Print sentences on standard error, one line each."""
    from quatcast.cli.terminal import warn

    for sentence in sentences:
        warn(f"note: {sentence}")


def _never_seen(recording: Recording) -> list[str]:
    """Return which channels have no sample with all coordinates, of which nothing can be forecast.

    Position and orientation of a pose are forecast one without the other. A recording without any is refused.
    """
    import numpy as np

    parts = np.split(recording.positions, [3], axis=-1) if recording.space == "pose" else [recording.positions]
    seen = np.any([np.isfinite(part).all(axis=-1).any(axis=0) for part in parts], axis=0)
    lost = [name for name, found in zip(recording.channels, seen, strict=True) if not found]
    if len(lost) == len(recording.channels):
        raise ValueError(f"recording {recording.name!r}: expected samples with all coordinates, got none")
    return [f"no sample of {name} has all its coordinates: nothing can be forecast of it" for name in lost]


def _check_output(out: Path, formats: list[str]) -> None:
    """Refuse a folder that cannot be written to, and figures that cannot be drawn, before forecasts are computed."""
    import os
    from errno import EACCES, EEXIST
    from importlib.util import find_spec

    drawn = [suffix for suffix in formats if suffix != "html"]
    if drawn and find_spec("matplotlib") is None:
        raise ValueError(f"--figure {drawn[0]}: needs Matplotlib; install quatcast[figures]")
    present = next(path for path in (out, *out.absolute().parents) if path.exists())
    if not present.is_dir():
        raise FileExistsError(EEXIST, os.strerror(EEXIST), str(present))
    if not os.access(present, os.W_OK):
        raise PermissionError(EACCES, f"{os.strerror(EACCES)}; --out names another folder", str(present))


def _write(
    recording: Recording, forecasts: Forecasts, predictor: Predictor, out: Path, stem: str, formats: list[str]
) -> None:
    """Write the table, the status and the figures of the forecasts."""
    from dataclasses import replace

    import numpy as np

    from quatcast.cli.terminal import say
    from quatcast.data import write_csv
    from quatcast.evaluation.report.forecast_panels import forecast_panels
    from quatcast.evaluation.report.forecast_tables import verdict, write_status

    if not np.isfinite(forecasts.positions).any():
        raise ValueError(
            f"recording {recording.name!r}: {predictor.name} made no forecast in {recording.duration:.3g} s; {SOONER}"
        )
    out.mkdir(parents=True, exist_ok=True)
    table = out / f"{stem}.csv"
    write_csv(replace(recording, positions=forecasts.positions), table)
    say(verdict(recording, forecasts, predictor.name, predictor.baseline))
    say(f"Forecasts: {table}")
    if isinstance(forecasts, GuardedForecasts):
        write_status(recording, forecasts, out / f"{stem}-status.csv")
        say(f"Radius and status: {out / f'{stem}-status.csv'}")
    contents = forecast_panels(recording, forecasts, predictor.name, predictor.colour)
    for suffix in formats:
        path = out / f"{stem}.{suffix}"
        if suffix == "html":
            from quatcast.evaluation.report.forecast_figure import draw, write_html

            write_html(draw(contents), path, contents.title)
        else:
            from quatcast.evaluation.report.forecast_static import write_static

            write_static(contents, path)
        say(f"Figure: {path}")


def _formats(given: str) -> list[str]:
    """Return the formats of figures from words separated by commas; none for an empty text or the word none."""
    formats = [word for word in words([given]) or [] if word != "none"]
    for word in formats:
        if word not in FIGURES:
            raise ValueError(f"--figure: expected some of {', '.join(FIGURES)}, or none, got {word!r}")
    return formats


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


def _fitted(recording: Recording, predictor: Predictor, batch: Batch) -> int:
    """Return to how many samples a predictor fits its scaling before it begins; a shorter recording is refused."""
    fitted = predictor.fitted(batch)
    if len(recording) < fitted:
        raise ValueError(
            f"recording {recording.name!r}: expected at least {fitted / recording.rate:g} s, to which {predictor.name} "
            f"fits its scaling, got {recording.duration:.3g} s; {SOONER}"
        )
    return fitted


def _without_future(recording: Recording, forecasts: Forecasts, predictor: Predictor, first: int) -> Forecasts:
    """Leave out forecasts that were made before the samples had arrived that they depend on.

    `compare` scores later samples only.
    """
    from dataclasses import replace

    import numpy as np

    seconds = min(len(recording), first) / recording.rate
    _note([f"no forecasts of the first {seconds:.4g} s, because {predictor.name} fits its scaling before it begins"])
    kept = np.arange(len(recording)) >= first
    return replace(forecasts, positions=np.where(kept[:, None, None], forecasts.positions, np.nan))


def _forecast(recording: Recording, predictor: Predictor, batch: Batch) -> Forecasts:
    """Forecast a recording and show how many of its samples are done."""
    from quatcast.cli.terminal import ProgressDisplay
    from quatcast.evaluation.in_space import run_in_space
    from quatcast.forecasting.progress import watched

    count = len(recording)
    try:
        with (
            ProgressDisplay() as display,
            watched(lambda samples: display.update("forecasting", min(samples, count), count)),
        ):
            return run_in_space(predictor, batch, recording)
    except ValueError as error:
        raise ValueError(f"recording {recording.name!r}: {error}") from error
