"""The contents of a report: its sections, their texts, and the files that it consists of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from quatcast.data import sources
from quatcast.escaping import html_text
from quatcast.evaluation.catalogue import describe
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report import comparison, explorer, figures, heat_maps, published, verdict
from quatcast.evaluation.report.page import Page, asset, table
from quatcast.evaluation.report.tables import Table
from quatcast.evaluation.store import Store
from quatcast.evaluation.summary import LABELS, RecordingInfo, Summary


def write_report(store_path: Path, folder: Path) -> Path:
    """Write `report.html` and the folder `tables`; see `quatcast.evaluation.report.write`."""
    folder.mkdir(parents=True, exist_ok=True)
    with Store(store_path) as store:
        recordings = [RecordingInfo(recording.name, recording.group) for recording in store.recordings()]
        summary = Summary(store.results("test"), recordings)
        traces = store.traces()
        by_name = {one.name: one for one in tables(store, summary, traces)}
        for one in by_name.values():
            one.write(folder / "tables")
        text = _page(store, summary, traces, by_name).html()
    path = folder / "report.html"
    # Written to another file and then moved, so that a reader never opens an incomplete report.
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
    return path


def tables(store: Store, summary: Summary, traces: Sequence[Trace]) -> Iterator[Table]:
    """Yield every table of a store, for all horizons."""
    data = store.meta().get("data", "")
    for rule in summary.labels:
        for horizon in summary.horizons:
            yield comparison.errors(summary, rule, horizon, data)
            yield comparison.recordings(summary, rule, horizon)
            yield comparison.configurations(summary, rule, horizon)
        if len(summary.horizons) > 1:
            yield comparison.horizons(summary, rule)
    if timings := store.timings():
        yield comparison.times(timings)
    if guarded := _guarded(summary, traces):
        yield comparison.coverage(guarded)


def _guarded(summary: Summary, traces: Sequence[Trace]) -> list[Trace]:
    """Return the traces that have a radius or a status, in the order of the recordings."""
    order = [recording.name for recording in summary.recordings]
    guarded = [trace for trace in traces if {"radius", "status", "replaced"} & set(trace.extra)]
    return sorted(guarded, key=lambda trace: order.index(trace.recording))


def _page(store: Store, summary: Summary, traces: Sequence[Trace], by_name: dict[str, Table]) -> Page:
    meta = store.meta()
    data = meta.get("data", "")
    count = len(summary.recordings)
    subtitle = [f"{count} recording{'s' if count != 1 else ''}", f"data: {html_text(data)}" if data else ""]
    if summary.results:
        subtitle.append(f"horizon {', '.join(f'{h:g}' for h in summary.horizons)} s")
    date = html_text((meta.get("finished") or meta.get("started", ""))[:10])
    subtitle.append(f"<time>{date}</time>" if date else "")
    page = Page("Comparison of forecasters", " · ".join(part for part in subtitle if part))
    page.add("verdict", "Summary", *_verdict(store, summary, page))
    if summary.results:
        _errors(page, summary, by_name)
        page.add("traces", "Forecasts over time", _explorer(page, store, summary, traces))
        _horizons(page, summary, by_name)
    page.add("reliability", "Reliability", *_reliability(page, _guarded(summary, traces), by_name))
    if "times" in by_name:
        page.add("speed", "Time per step", table(by_name["times"]))
    caption = (
        "Mean RMSE over recordings and seeds in the validation (30 to 60 s). The colour scale ends at 2.5 "
        "times the smallest value. Hover over a cell to see for how many recordings its configuration was chosen."
    )
    maps = page.choice("grid-map", ("Predictor", "Label rule", "Horizon"), heat_maps.heat_maps(store), caption)
    page.add("grid", "Validation grid", maps)
    page.add("method", "Losses and network", *_method(page))
    page.add("reproduce", "How to reproduce", *_reproduce(store))
    return page


def _verdict(store: Store, summary: Summary, page: Page) -> Iterator[str]:
    if not store.meta().get("finished"):
        yield (
            "<p class='warning'>This experiment is not finished. A mean is shown only when all of its recordings have "
            "been tested.</p>"
        )
    if not summary.results:
        yield f"<p>There are no test results yet. {store.count('validation'):,} validation runs are stored.</p>"
        return
    yield f"<div class='cards'>{verdict.cards(summary)}</div>"
    yield from (f"<p>{text}</p>" for text in verdict.paragraphs(summary))
    if summary.ranking(summary.labels[0], summary.horizon):
        caption = (
            f"Test RMSE of every predictor {summary.horizon:g} s ahead, mean over all recordings. Filled circles: "
            "causal labels, which a live system can use. Open circles: look-ahead labels, as in published results."
        )
        yield page.figure("lookahead-gap", figures.lookahead_gap(summary), caption)


def _errors(page: Page, summary: Summary, by_name: dict[str, Table]) -> None:
    """Add the sections of test errors, for groups and for single recordings."""
    at = f"{summary.horizon:g}s"
    rules = summary.labels
    intro = (
        "<p>The tables have the scores of the paper’s Table I. The paper does not state when its networks learn from a "
        f"target; its numbers are consistent with look-ahead labels. Paper: {html_text(published.CITATION)}.</p>"
    )
    page.add("errors", "Errors", intro, *(table(by_name[f"errors-{rule}-{at}"]) for rule in rules))
    page.add(
        "recordings",
        "Errors by recording",
        *(table(by_name[f"recordings-{rule}-{at}"]) for rule in rules),
        *(table(by_name[f"configurations-{rule}-{at}"], folded=True) for rule in rules),
    )


def _explorer(page: Page, store: Store, summary: Summary, traces: Sequence[Trace]) -> str:
    """Return the explorer of forecasts at the main horizon, or at the longest one with traces."""
    horizons = sorted({trace.horizon for trace in traces})
    if not horizons:
        return ""
    horizon = summary.horizon if summary.horizon in horizons else horizons[-1]
    ranking = summary.ranking(summary.labels[0], horizon)
    # The best predictor, and the first one of the paper, which has a kernel weight.
    paper = next((name for name in summary.predictors if describe(name).paper), summary.predictors[0])
    first = [*(name for name, _ in ranking[:1]), paper]
    data = explorer.data(store.recordings(), [trace for trace in traces if trace.horizon == horizon], first)
    caption = (
        f"Forecasts {horizon:g} s ahead, from one run per predictor. Solid lines: causal labels. Dotted lines: "
        "look-ahead labels. The middle panel shows the distance between forecast and actual position (root mean square "
        "over channels). The lower panel shows the kernel weight with which networks under the correntropy criterion "
        "learn from a sample; a weight near 0 means that the sample is treated as an outlier. Drag to zoom in, "
        "double-click to see the whole recording."
    )
    return page.explorer("trace", data, caption)


def _horizons(page: Page, summary: Summary, by_name: dict[str, Table]) -> None:
    if len(summary.horizons) < 2:
        return
    options = [
        ((LABELS[rule], group), figures.horizon_sweep(summary, rule, group))
        for rule in summary.labels
        for group in summary.groups
    ]
    caption = "Test RMSE against the horizon, mean over the recordings of a group, with 95% intervals over runs."
    page.add(
        "horizons",
        "Error against horizon",
        page.choice("horizon-sweep", ("Label rule", "Recordings"), options, caption),
        *(table(by_name[f"horizons-{rule}"]) for rule in summary.labels),
    )


def _reliability(page: Page, guarded: list[Trace], by_name: dict[str, Table]) -> Iterator[str]:
    if not guarded:
        return
    yield table(by_name["coverage"])
    options = []
    for trace in guarded:
        title = f"{trace.predictor}, {trace.horizon:g} s, {LABELS[trace.labels]}"
        if {"status", "replaced"} & set(trace.extra):
            options.append(((trace.recording, title), figures.status_figure(trace)))
    caption = "Status of the forecaster over time, and the samples that its gate rejected, by channel."
    yield page.choice("status", ("Recording", "Forecast"), options, caption)


def _method(page: Page) -> Iterator[str]:
    yield "<div class='pair'>"
    yield page.figure(
        "mse",
        figures.loss_surface("MSE"),
        "Squared error. Each point is an error, a pure quaternion; one corner is cut away. Errors are in standard "
        "deviations of the training part, as the learners see them.",
    )
    yield page.figure(
        "mcc",
        figures.loss_surface("MCC"),
        "Correntropy kernel at the same points. The kernel of all large errors is near zero, so outliers have little "
        "influence.",
    )
    yield "</div>"
    yield (
        f"<figure class='drawing'><div class='scroll' tabindex='0'>{asset('network.svg')}</div><figcaption>"
        "The quaternion recurrent network and its real-time recurrent learning. Every weight is a quaternion, ⊗ is the "
        "Hamilton product, and Φ acts on each component. This drawing corresponds to the paper’s Fig. 2, the two "
        "surfaces to its Fig. 1.</figcaption></figure>"
    )


def _reproduce(store: Store) -> Iterator[str]:
    meta = store.meta()
    if "settings" in meta:
        yield (
            "<p>Save these settings as <code>settings.toml</code> and run "
            "<code>quatcast compare --settings settings.toml</code>.</p>"
            f"<pre tabindex='0'>{html_text(meta['settings'])}</pre>"
        )
    titles = {"version": "quatcast", "machine": "Machine", "started": "Started", "finished": "Finished"}
    facts = [(title, meta[key]) for key, title in titles.items() if key in meta]
    if "elapsed" in meta:
        facts.append(("Computing time", f"{float(meta['elapsed']):,.0f} s"))
    yield "<dl>" + "".join(f"<dt>{title}</dt><dd>{html_text(value)}</dd>" for title, value in facts) + "</dl>"
    yield f"<h3>Please cite</h3><p>The method: {html_text(published.CITATION)}.</p>"
    citations = [source.citation for source in sources() if source.name == meta.get("data")]
    yield from (f"<p>The data: {html_text(citation)}</p>" for citation in citations if citation)
