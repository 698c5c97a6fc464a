"""The tables of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from quatcast.evaluation import published
from quatcast.evaluation.figures import STATUS, within_radius
from quatcast.evaluation.metrics import Estimate
from quatcast.evaluation.protocol import VALIDATION
from quatcast.evaluation.records import Configuration, Timing, Trace
from quatcast.evaluation.summary import (
    ALL,
    LABELS,
    METRICS,
    PUBLISHED_HORIZON,
    RMSE,
    Metric,
    Summary,
    in_order,
)
from quatcast.evaluation.tables import Cell, Column, Number, Table
from quatcast.forecasting.forecaster import Labels

OTHER_DATA = (
    "The paper's numbers are of other data, the ExtMarker recordings: they are here to show the order of size, and "
    "the difference says nothing of agreement."
)


def number(found: Estimate | None, metric: Metric = RMSE, best: float = math.nan, recordings: int = 1) -> Cell:
    """Cell of an estimate; the margin is left out where each recording was run once."""
    if found is None:
        return "not done"
    if math.isnan(found.mean):
        return "diverged"
    margin = found.margin if found.runs > recordings else None
    return Number(found.mean, metric.decimals, margin, best=found.mean == best)


def errors(summary: Summary, labels: Labels, horizon: float, data: str) -> Table:
    """The paper's Table I: every error of every predictor in every group, and the paper's beside it."""
    compared = horizon == PUBLISHED_HORIZON and data in (published.DATA_SET, "simulated")
    columns = [Column("Error", words=True), Column("Predictor", words=True)]
    for group in summary.groups:
        count = len(summary.members(group))
        over = f"{group} ({count} recording{'s' if count > 1 else ''})"
        columns += [Column("ours", over)]
        columns += [Column("paper", over), Column("difference", over)] if compared else []
    rows = [
        tuple(_error_row(summary, labels, horizon, metric, predictor, compared))
        for metric in METRICS
        for predictor in summary.predictors
        if any(result.labels == labels and result.predictor == predictor for result in summary.results)
    ]
    notes = ["Mean over runs and recordings ± 95% interval over runs; best value in bold."]
    if compared:
        notes.append("Difference is ours less the paper's.")
        notes += [OTHER_DATA] if data != published.DATA_SET else []
    caption = f"Test errors {horizon:g} s ahead, {LABELS[labels]}"
    return Table(f"errors-{labels}-{horizon:g}s", caption, tuple(columns), tuple(rows), tuple(notes), grouped=True)


def _error_row(
    summary: Summary, labels: Labels, horizon: float, metric: Metric, predictor: str, compared: bool
) -> Iterator[Cell]:
    yield f"{metric.title} [{metric.unit}]" if metric.unit else metric.title
    yield predictor
    for group in summary.groups:
        ranking = summary.ranking(labels, horizon, group, metric)
        best = ranking[0][1].mean if ranking else math.nan
        ours = summary.of_group(labels, horizon, predictor, group, metric)
        yield number(ours, metric, best, len(summary.members(group)))
        if compared:
            theirs = published.printed(metric.field, predictor, group)
            yield Number(theirs[0], metric.decimals, theirs[1]) if theirs else ""
            apart = ours.mean - theirs[0] if theirs and ours else math.nan
            yield "" if math.isnan(apart) else Number(apart, metric.decimals, signed=True)


def recordings(summary: Summary, labels: Labels, horizon: float) -> Table:
    """RMSE of every predictor on every recording."""
    predictors = [
        p for p in summary.predictors if any(r.labels == labels and r.predictor == p for r in summary.results)
    ]
    columns = (Column("Recording", words=True), Column("Group", words=True), *map(Column, predictors))
    rows = []
    for name, group in summary.recordings:
        found = [summary.of_recording(labels, horizon, predictor, name) for predictor in predictors]
        best = min((one.mean for one in found if one and not math.isnan(one.mean)), default=math.nan)
        rows.append((name, group, *(number(one, best=best) for one in found)))
    notes = ("Mean over runs ± 95% interval; best value of a recording in bold.",)
    caption = f"Test RMSE [mm] of each recording {horizon:g} s ahead, {LABELS[labels]}"
    return Table(f"recordings-{labels}-{horizon:g}s", caption, columns, tuple(rows), notes)


def horizons(summary: Summary, labels: Labels) -> Table:
    """RMSE of every predictor against the horizon, in every group."""
    columns = [Column("Group", words=True), Column("Predictor", words=True)]
    columns += [Column(f"{horizon:g} s", "horizon") for horizon in summary.horizons]
    rows: list[tuple[Cell, ...]] = []
    for group in summary.groups:
        best = {h: ranking[0][1].mean for h in summary.horizons if (ranking := summary.ranking(labels, h, group))}
        count = len(summary.members(group))
        for predictor in summary.predictors:
            found = {h: summary.of_group(labels, h, predictor, group) for h in summary.horizons}
            if any(found.values()):
                cells = (number(one, best=best.get(h, math.nan), recordings=count) for h, one in found.items())
                rows.append((group, predictor, *cells))
    caption = f"Test RMSE [mm] against the horizon, {LABELS[labels]}"
    return Table(f"horizons-{labels}", caption, tuple(columns), tuple(rows), ("Best value in bold.",), grouped=True)


def times(timings: Sequence[Timing]) -> Table:
    """The paper's Table II: milliseconds a step, and the paper's beside it."""
    by_name = {timing.predictor: timing for timing in timings}
    rows = []
    for name in in_order({*by_name, *published.TABLE_II}):
        ours, paper = by_name.get(name), published.TABLE_II.get(name)
        rows.append(
            (
                name,
                words(ours.configuration) if ours else "",
                Number(ours.milliseconds, 3) if ours else "",
                Number(paper, 1 if paper > 10 else 3) if paper else "",
                Number(paper / ours.milliseconds, 0) if ours and paper else "",
            )
        )
    columns = (
        Column("Predictor", words=True),
        Column("Ours at", words=True),
        Column("Ours [ms]"),
        Column("Paper [ms]"),
        Column("Times faster"),
    )
    notes = (
        "Median time of one sample on one core, learning and forecasting. The paper's times are of "
        "an i7-10700K with an RTX 3080, at sizes that it does not name.",
    )
    return Table("times", "Milliseconds a step, look-ahead labels", columns, tuple(rows), notes)


def configurations(summary: Summary, labels: Labels, horizon: float) -> Table:
    """What the validation chose, for every predictor and recording."""
    chosen: dict[tuple[str, str], Configuration] = {
        (result.predictor, result.recording): result.configuration
        for result in summary.results
        if result.labels == labels and result.horizon == horizon and result.configuration
    }
    predictors = in_order(predictor for predictor, _ in chosen)
    columns = (Column("Recording", words=True), *(Column(name, words=True) for name in predictors))
    rows = tuple(
        (name, *(words(chosen.get((predictor, name), {})) for predictor in predictors))
        for name, _ in summary.recordings
    )
    caption = f"Configurations that the validation chose {horizon:g} s ahead, {LABELS[labels]}"
    return Table(f"configurations-{labels}-{horizon:g}s", caption, columns, rows)


def coverage(traces: Sequence[Trace]) -> Table:
    """How often the truth was within the radius, and what the gate and the status said meanwhile."""
    rows: list[tuple[Cell, ...]] = []
    columns = (
        Column("Forecast", words=True),
        Column("Recording", words=True),
        Column("Within radius [%]"),
        Column("Median radius [mm]"),
        Column("Refused [%]"),
        Column("Degraded or hold [%]"),
    )
    cases = sorted({(trace.predictor, trace.labels, trace.horizon) for trace in traces})
    for predictor, labels, horizon in cases:
        of_case = [t for t in traces if (t.predictor, t.labels, t.horizon) == (predictor, labels, horizon)]
        about = f"{predictor}, {horizon:g} s, {LABELS[labels]}"
        rows += [(about, trace.recording, *_watched([trace])) for trace in of_case]
        rows += [(about, ALL, *_watched(of_case))] if len(of_case) > 1 else []
    notes = (
        f"Over the test, from sample {VALIDATION + 1} on; the radius should hold 95% of the positions. "
        "Refused: samples that the gate did not believe.",
    )
    return Table("coverage", "Coverage, gate and status", columns, tuple(rows), notes, grouped=True)


def _watched(traces: Sequence[Trace]) -> Iterator[Cell]:
    """Coverage, radius, refused samples and bad status of some traces, sample by sample."""
    within = [found for trace in traces if (found := within_radius(trace, VALIDATION)) is not None]
    radius, replaced, status = (
        [np.ravel(trace.more[name][VALIDATION:]) for trace in traces if name in trace.more]
        for name in ("radius", "replaced", "status")
    )
    bad = [np.isin(codes, [STATUS.index("degraded"), STATUS.index("hold")]) for codes in status]
    yield _share(within)
    known = np.concatenate([values[np.isfinite(values)] for values in radius]) if radius else np.empty(0)
    yield Number(float(np.median(known)), 2) if known.size else ""
    yield _share([values > 0 for values in replaced])
    yield _share(bad)


def _share(flags: Sequence[np.typing.NDArray[np.bool_]]) -> Cell:
    joined = np.concatenate(flags) if flags else np.empty(0)
    return Number(100 * float(joined.mean()), 1) if joined.size else ""


SETTING = {"hidden": "{} units", "lags": "{} lags", "rate": "rate {}", "sigma": "σ {}", "forgetting": "forgetting {}"}


def words(configuration: Configuration) -> str:
    """Configuration in words.

    Examples
    --------
    >>> words({"rate": 0.05, "hidden": 10, "sigma": "adaptive"})
    '10 units, rate 0.05, σ adaptive'
    """
    order = [*(key for key in SETTING if key in configuration), *sorted(set(configuration) - set(SETTING))]
    return ", ".join(SETTING.get(key, f"{key} {{}}").format(_short(configuration[key])) for key in order)


def _short(value: object) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)
