"""The tables of test errors."""

from __future__ import annotations

import math
from collections.abc import Iterator

from quatcast.evaluation.catalogue import describe, in_order
from quatcast.evaluation.metrics import Estimate
from quatcast.evaluation.records import Configuration
from quatcast.evaluation.report import published
from quatcast.evaluation.report.experiment import Experiment
from quatcast.evaluation.report.tables import Cell, Column, Number, Table, columns
from quatcast.evaluation.summary import LABELS, METRICS, PUBLISHED_HORIZON, Metric, Summary
from quatcast.forecasting.contract import Labels

OTHER_DATA = (
    "The paper's numbers are for other data, the ExtMarker recordings. They show the order of magnitude; the "
    "difference does not measure agreement."
)


def estimate_cell(given: Estimate | None, decimals: int, best: float = math.nan, recordings: int = 1) -> Cell:
    """Return the cell of an estimate; it has no margin if each recording was run once."""
    if given is None:
        return "incomplete"
    if math.isnan(given.mean):
        return "diverged"
    margin = given.margin if given.runs > recordings else None
    return Number(given.mean, decimals, margin, best=given.mean == best)


def errors(summary: Summary, labels: Labels, horizon: float, about: Experiment) -> Table:
    """Return every score of every predictor in every group, beside the paper's value where it can be compared."""
    compared = horizon == PUBLISHED_HORIZON and about.beside_paper
    headings = [*columns(["Score", "Predictor"])]
    for group in summary.groups:
        count = len(summary.members(group))
        over = f"{group} ({count} recording{'s' if count > 1 else ''})"
        headings += [Column(title, over) for title in ("ours", "paper", "difference")] if compared else [Column(over)]
    rows = [
        tuple(_error_row(summary, labels, horizon, metric, predictor, compared))
        for metric in METRICS
        for predictor in _tested(summary, labels)
    ]
    notes = ["Mean over runs and recordings ± half-width of the 95% interval over runs. The best value is in bold."]
    if compared:
        notes.append("The difference is our value minus the paper's.")
        notes += [OTHER_DATA] if about.data != published.DATA_SET else []
        notes += [reduced] if (reduced := about.reduced()) else []
    notes += about.notes(summary, [horizon])
    caption = f"Test errors {horizon:g} s ahead, {LABELS[labels]}"
    name = f"errors-{labels}-{horizon:g}s"
    return Table(name, caption, tuple(headings), tuple(rows), tuple(notes), grouped=True)


def _tested(summary: Summary, labels: Labels) -> list[str]:
    """Return the predictors with results under a label rule."""
    return in_order(result.predictor for result in summary.results if result.labels == labels)


def _error_row(
    summary: Summary, labels: Labels, horizon: float, metric: Metric, predictor: str, compared: bool
) -> Iterator[Cell]:
    decimals = summary.decimals(metric)
    yield summary.heading(metric)
    yield predictor
    for group in summary.groups:
        ranking = summary.ranking(labels, horizon, group, metric)
        best = ranking[0][1].mean if ranking else math.nan
        ours = summary.of_group(labels, horizon, predictor, group, metric)
        yield estimate_cell(ours, decimals, best, len(summary.members(group)))
        if compared:
            theirs = published.printed(metric.field, describe(predictor).paper, group)
            yield Number(theirs[0], metric.decimals, theirs[1]) if theirs else ""
            apart = ours.mean - theirs[0] if theirs and ours else math.nan
            yield "" if math.isnan(apart) else Number(apart, metric.decimals, signed=True)


def recordings(summary: Summary, labels: Labels, horizon: float) -> Table:
    """Return the RMSE of every predictor on every recording."""
    tested = _tested(summary, labels)
    rows = []
    for name, group, *_ in summary.recordings:
        means = [summary.of_recording(labels, horizon, predictor, name) for predictor in tested]
        best = min((mean.mean for mean in means if mean and not math.isnan(mean.mean)), default=math.nan)
        rows.append((name, group, *(estimate_cell(mean, summary.decimals(), best) for mean in means)))
    notes = ("Mean over runs ± half-width of the 95% interval. The best value of each recording is in bold.",)
    caption = f"Test {summary.heading()} of each recording {horizon:g} s ahead, {LABELS[labels]}"
    return Table(
        f"recordings-{labels}-{horizon:g}s", caption, columns(["Recording", "Group"], tested), tuple(rows), notes
    )


def horizons(summary: Summary, labels: Labels) -> Table:
    """Return the RMSE of every predictor at every horizon, in every group."""
    headings = (*columns(["Group", "Predictor"]), *(Column(f"{h:g} s", "horizon") for h in summary.horizons))
    rows: list[tuple[Cell, ...]] = []
    for group in summary.groups:
        best = {h: ranking[0][1].mean for h in summary.horizons if (ranking := summary.ranking(labels, h, group))}
        count = len(summary.members(group))
        for predictor in summary.predictors:
            means = {h: summary.of_group(labels, h, predictor, group) for h in summary.horizons}
            if any(means.values()):
                cells = (
                    estimate_cell(mean, summary.decimals(), best.get(h, math.nan), count) for h, mean in means.items()
                )
                rows.append((group, predictor, *cells))
    caption = f"Test {summary.heading()} against the horizon, {LABELS[labels]}"
    return Table(f"horizons-{labels}", caption, headings, tuple(rows), ("The best value is in bold.",), grouped=True)


def configurations(summary: Summary, labels: Labels, horizon: float) -> Table:
    """Return the configurations that the validation chose, for every predictor and recording."""
    chosen: dict[tuple[str, str], Configuration] = {
        (result.predictor, result.recording): result.configuration
        for result in summary.results
        if result.labels == labels and result.horizon == horizon and result.configuration
    }
    tuned = in_order(predictor for predictor, _ in chosen)
    rows = tuple(
        (name, *(words(chosen.get((predictor, name), {})) for predictor in tuned)) for name, *_ in summary.recordings
    )
    caption = f"Configurations chosen by validation, {horizon:g} s ahead, {LABELS[labels]}"
    return Table(f"configurations-{labels}-{horizon:g}s", caption, columns(["Recording", *tuned]), rows)


def words(configuration: Configuration) -> str:
    """Return a configuration as text.

    Examples
    --------
    >>> words({"hidden": 10, "learning_rate": 0.05, "sigma": "adaptive"})
    'hidden 10, learning rate 0.05, sigma adaptive'
    """
    texts = {key: f"{value:g}" if isinstance(value, float) else value for key, value in configuration.items()}
    return ", ".join(f"{key.replace('_', ' ')} {text}" for key, text in sorted(texts.items()))
