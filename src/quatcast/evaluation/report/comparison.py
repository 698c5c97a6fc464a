"""The tables of the report."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from quatcast.evaluation.catalogue import describe, in_order, predictors
from quatcast.evaluation.metrics import Estimate
from quatcast.evaluation.protocol import TEST, validation_samples
from quatcast.evaluation.records import Configuration, Timing, Trace
from quatcast.evaluation.report import published
from quatcast.evaluation.report.figures import STATUS, within_radius
from quatcast.evaluation.report.tables import Cell, Column, Number, Table
from quatcast.evaluation.summary import ALL, LABELS, METRICS, PUBLISHED_HORIZON, RMSE, Metric, Summary
from quatcast.forecasting.contract import Labels
from quatcast.typing import Bools

OTHER_DATA = (
    "The paper's numbers are for other data, the ExtMarker recordings. They show the order of magnitude; the "
    "difference does not measure agreement."
)


def estimate_cell(given: Estimate | None, metric: Metric = RMSE, best: float = math.nan, recordings: int = 1) -> Cell:
    """Return the cell of an estimate; it has no margin if each recording was run once."""
    if given is None:
        return "incomplete"
    if math.isnan(given.mean):
        return "diverged"
    margin = given.margin if given.runs > recordings else None
    return Number(given.mean, metric.decimals, margin, best=given.mean == best)


def errors(summary: Summary, labels: Labels, horizon: float, data: str) -> Table:
    """Return the paper's Table I: every score of every predictor in every group, beside the paper's value."""
    compared = horizon == PUBLISHED_HORIZON and data in (published.DATA_SET, "simulated")
    columns = [Column("Score", words=True), Column("Predictor", words=True)]
    for group in summary.groups:
        count = len(summary.members(group))
        over = f"{group} ({count} recording{'s' if count > 1 else ''})"
        columns += [Column("ours", over)]
        columns += [Column("paper", over), Column("difference", over)] if compared else []
    rows = [
        tuple(_error_row(summary, labels, horizon, metric, predictor, compared))
        for metric in METRICS
        for predictor in _tested(summary, labels)
    ]
    notes = ["Mean over runs and recordings ± half-width of the 95% interval over runs. The best value is in bold."]
    if compared:
        notes.append("The difference is our value minus the paper's.")
        notes += [OTHER_DATA] if data != published.DATA_SET else []
    caption = f"Test errors {horizon:g} s ahead, {LABELS[labels]}"
    return Table(f"errors-{labels}-{horizon:g}s", caption, tuple(columns), tuple(rows), tuple(notes), grouped=True)


def _tested(summary: Summary, labels: Labels) -> list[str]:
    """Return the predictors with results under a label rule."""
    return in_order(result.predictor for result in summary.results if result.labels == labels)


def _error_row(
    summary: Summary, labels: Labels, horizon: float, metric: Metric, predictor: str, compared: bool
) -> Iterator[Cell]:
    yield f"{metric.title} [{metric.unit}]" if metric.unit else metric.title
    yield predictor
    for group in summary.groups:
        ranking = summary.ranking(labels, horizon, group, metric)
        best = ranking[0][1].mean if ranking else math.nan
        ours = summary.of_group(labels, horizon, predictor, group, metric)
        yield estimate_cell(ours, metric, best, len(summary.members(group)))
        if compared:
            theirs = published.printed(metric.field, describe(predictor).paper, group)
            yield Number(theirs[0], metric.decimals, theirs[1]) if theirs else ""
            apart = ours.mean - theirs[0] if theirs and ours else math.nan
            yield "" if math.isnan(apart) else Number(apart, metric.decimals, signed=True)


def recordings(summary: Summary, labels: Labels, horizon: float) -> Table:
    """Return the RMSE of every predictor on every recording."""
    tested = _tested(summary, labels)
    columns = (Column("Recording", words=True), Column("Group", words=True), *map(Column, tested))
    rows = []
    for name, group in summary.recordings:
        means = [summary.of_recording(labels, horizon, predictor, name) for predictor in tested]
        best = min((mean.mean for mean in means if mean and not math.isnan(mean.mean)), default=math.nan)
        rows.append((name, group, *(estimate_cell(mean, best=best) for mean in means)))
    notes = ("Mean over runs ± half-width of the 95% interval. The best value of each recording is in bold.",)
    caption = f"Test RMSE [mm] of each recording {horizon:g} s ahead, {LABELS[labels]}"
    return Table(f"recordings-{labels}-{horizon:g}s", caption, columns, tuple(rows), notes)


def horizons(summary: Summary, labels: Labels) -> Table:
    """Return the RMSE of every predictor at every horizon, in every group."""
    columns = [Column("Group", words=True), Column("Predictor", words=True)]
    columns += [Column(f"{horizon:g} s", "horizon") for horizon in summary.horizons]
    rows: list[tuple[Cell, ...]] = []
    for group in summary.groups:
        best = {h: ranking[0][1].mean for h in summary.horizons if (ranking := summary.ranking(labels, h, group))}
        count = len(summary.members(group))
        for predictor in summary.predictors:
            means = {h: summary.of_group(labels, h, predictor, group) for h in summary.horizons}
            if any(means.values()):
                cells = (estimate_cell(mean, best=best.get(h, math.nan), recordings=count) for h, mean in means.items())
                rows.append((group, predictor, *cells))
    caption = f"Test RMSE [mm] against the horizon, {LABELS[labels]}"
    return Table(
        f"horizons-{labels}", caption, tuple(columns), tuple(rows), ("The best value is in bold.",), grouped=True
    )


def times(timings: Sequence[Timing]) -> Table:
    """Return the paper's Table II: milliseconds per step, beside the paper's values."""
    by_name = {timing.predictor: timing for timing in timings}
    rows = []
    for name in in_order({*by_name, *(p.name for p in predictors() if p.paper in published.TABLE_II)}):
        ours, paper = by_name.get(name), published.TABLE_II.get(describe(name).paper)
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
        Column("Our sizes", words=True),
        Column("Ours [ms]"),
        Column("Paper [ms]"),
        Column("Speed-up"),
    )
    notes = (
        "Median time of one step (learning and forecasting) on one core. The paper's times are for an i7-10700K with "
        "an RTX 3080, at sizes that it does not state.",
    )
    return Table("times", "Milliseconds per step, look-ahead labels", columns, tuple(rows), notes)


def configurations(summary: Summary, labels: Labels, horizon: float) -> Table:
    """Return the configurations that the validation chose, for every predictor and recording."""
    chosen: dict[tuple[str, str], Configuration] = {
        (result.predictor, result.recording): result.configuration
        for result in summary.results
        if result.labels == labels and result.horizon == horizon and result.configuration
    }
    tuned = in_order(predictor for predictor, _ in chosen)
    columns = (Column("Recording", words=True), *(Column(name, words=True) for name in tuned))
    rows = tuple(
        (name, *(words(chosen.get((predictor, name), {})) for predictor in tuned)) for name, _ in summary.recordings
    )
    caption = f"Configurations chosen by validation, {horizon:g} s ahead, {LABELS[labels]}"
    return Table(f"configurations-{labels}-{horizon:g}s", caption, columns, rows)


def coverage(traces: Sequence[Trace]) -> Table:
    """Return how often the actual position was within the radius, and how often gate and status intervened."""
    rows: list[tuple[Cell, ...]] = []
    columns = (
        Column("Forecast", words=True),
        Column("Recording", words=True),
        Column("Within radius [%]"),
        Column("Median radius [mm]"),
        Column("Rejected [%]"),
        Column("Degraded or hold [%]"),
    )
    cases = sorted({(trace.predictor, trace.labels, trace.horizon) for trace in traces})
    for predictor, labels, horizon in cases:
        of_case = [t for t in traces if (t.predictor, t.labels, t.horizon) == (predictor, labels, horizon)]
        about = f"{predictor}, {horizon:g} s, {LABELS[labels]}"
        rows += [(about, trace.recording, *_coverage([trace])) for trace in of_case]
        rows += [(about, ALL, *_coverage(of_case))] if len(of_case) > 1 else []
    notes = (
        f"Over the test, from {TEST:g} s on. The target is 95% of positions within the radius. Rejected: "
        "samples that the gate classified as faulty and replaced.",
    )
    return Table("coverage", "Coverage, gate and status", columns, tuple(rows), notes, grouped=True)


def _coverage(traces: Sequence[Trace]) -> Iterator[Cell]:
    """Yield coverage, median radius, share of rejected samples and share of poor status over all samples of traces."""
    within = [
        flags
        for trace in traces
        if (flags := within_radius(trace, validation_samples(trace.sampling_rate))) is not None
    ]
    radius, replaced, status = (
        [
            np.ravel(trace.extra[name][validation_samples(trace.sampling_rate) :])
            for trace in traces
            if name in trace.extra
        ]
        for name in ("radius", "replaced", "status")
    )
    poor = [np.isin(codes, [STATUS.index("degraded"), STATUS.index("hold")]) for codes in status]
    yield _share(within)
    finite = np.concatenate([values[np.isfinite(values)] for values in radius]) if radius else np.empty(0)
    yield Number(float(np.median(finite)), 2) if finite.size else ""
    yield _share([values > 0 for values in replaced])
    yield _share(poor)


def _share(flags: Sequence[Bools]) -> Cell:
    joined = np.concatenate(flags) if flags else np.empty(0)
    return Number(100 * float(joined.mean()), 1) if joined.size else ""


def words(configuration: Configuration) -> str:
    """Return a configuration as text.

    Examples
    --------
    >>> words({"hidden": 10, "learning_rate": 0.05, "sigma": "adaptive"})
    'hidden 10, learning rate 0.05, sigma adaptive'
    """
    texts = {key: f"{value:g}" if isinstance(value, float) else value for key, value in configuration.items()}
    return ", ".join(f"{key.replace('_', ' ')} {text}" for key, text in sorted(texts.items()))
