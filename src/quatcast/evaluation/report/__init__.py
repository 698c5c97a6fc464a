"""The report of an experiment: one HTML file that opens offline, and its tables as files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from html import escape
from pathlib import Path

from quatcast.data import CITATION as DATA_CITATION
from quatcast.evaluation import figures, published
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report import comparison, explorer, grids, verdict
from quatcast.evaluation.report.page import Page, asset, table
from quatcast.evaluation.store import Store
from quatcast.evaluation.summary import LABELS, About, Summary
from quatcast.evaluation.tables import Table

FILE = "report.html"
TABLES = "tables"


def write(store_path: str | os.PathLike[str], folder: str | os.PathLike[str]) -> Path:
    """Write the report of a store, finished or not, and its tables as CSV, Markdown and LaTeX.

    Parameters
    ----------
    store_path
        The SQLite file that `compare` wrote.
    folder
        Where `report.html` and the folder `tables` go.

    Returns
    -------
    The HTML file.
    """
    out = Path(folder)
    out.mkdir(parents=True, exist_ok=True)
    with Store(store_path) as store:
        about = [About(recording.name, recording.group) for recording in store.recordings()]
        summary = Summary(store.results("test"), about)
        traces = store.traces()
        shown = {made.name: made for made in tables(store, summary, traces)}
        for made in shown.values():
            made.write(out / TABLES)
        text = _page(store, summary, traces, shown).html()
    path = out / FILE
    # Written beside and moved, so that a reader never meets half a report.
    new = path.with_suffix(".new")
    new.write_text(text, encoding="utf-8")
    new.replace(path)
    return path


def tables(store: Store, summary: Summary, traces: Sequence[Trace]) -> Iterator[Table]:
    """Every table of a store, of all horizons."""
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
    if watched := _watched(summary, traces):
        yield comparison.coverage(watched)


def _watched(summary: Summary, traces: Sequence[Trace]) -> list[Trace]:
    """Traces that tell how sure they are, in the order of the recordings."""
    order = [recording.name for recording in summary.recordings]
    found = [trace for trace in traces if {"radius", "status", "replaced"} & set(trace.more)]
    return sorted(found, key=lambda trace: order.index(trace.recording))


def _page(store: Store, summary: Summary, traces: Sequence[Trace], shown: dict[str, Table]) -> Page:
    meta = store.meta()
    data = meta.get("data", "")
    count = len(summary.recordings)
    what = [f"{count} recording{'s' if count != 1 else ''}", f"data set {escape(data)}" if data else ""]
    if summary.results:
        what.append(f"horizon {', '.join(f'{h:g}' for h in summary.horizons)} s")
    date = escape((meta.get("finished") or meta.get("started", ""))[:10])
    what.append(f"<time>{date}</time>" if date else "")
    page = Page("Comparison of forecasters", " · ".join(word for word in what if word))
    page.add("verdict", "Verdict", *_verdict(store, summary, page))
    if summary.results:
        _errors(page, summary, shown)
        page.add("traces", "Forecasts over time", _explorer(page, store, summary, traces))
        _horizons(page, summary, shown)
    page.add("sure", "How sure it is", *_sure(page, _watched(summary, traces), shown))
    if "times" in shown:
        page.add("speed", "Time a step", table(shown["times"]))
    caption = (
        "Mean RMSE over recordings and seeds in the validation, samples 301 to 600; the colours end at 2.5 times the "
        "smallest value. Hover to see how often a configuration was chosen."
    )
    maps = page.choice("grid-map", ("Predictor", "Label rule", "Horizon"), grids.heat_maps(store), caption)
    page.add("grid", "Validation grid", maps)
    page.add("method", "Losses and network", *_method(page))
    page.add("reproduce", "Reproduce it", *_reproduce(store))
    return page


def _verdict(store: Store, summary: Summary, page: Page) -> Iterator[str]:
    meta = store.meta()
    if not meta.get("finished"):
        yield (
            "<p class='warning'>This experiment is not finished: means appear once all of their recordings are "
            "tested.</p>"
        )
    if not summary.results:
        yield f"<p>No test results yet; {store.count('validation'):,} runs of the validation are stored.</p>"
        return
    yield f"<div class='cards'>{verdict.cards(summary)}</div>"
    yield from (f"<p>{text}</p>" for text in verdict.paragraphs(summary))
    if summary.ranking(summary.labels[0], summary.horizon):
        caption = (
            f"Test RMSE of every predictor, mean over all recordings, {summary.horizon:g} s ahead. "
            "Full: causal labels, what a live system can do. Open: look-ahead labels, as published."
        )
        yield page.figure("flattery", figures.flattery(summary), caption)


def _errors(page: Page, summary: Summary, shown: dict[str, Table]) -> None:
    """What the test gave, over groups and recording by recording."""
    at = f"{summary.horizon:g}s"
    rules = summary.labels
    intro = (
        f"<p>The errors of the paper’s Table I. It does not say when its networks learn from a target; its numbers fit "
        f"look-ahead labels. Paper: {escape(published.CITATION)}.</p>"
    )
    page.add("errors", "Errors", intro, *(table(shown[f"errors-{rule}-{at}"]) for rule in rules))
    page.add(
        "recordings",
        "Recording by recording",
        *(table(shown[f"recordings-{rule}-{at}"]) for rule in rules),
        *(table(shown[f"configurations-{rule}-{at}"], folded=True) for rule in rules),
    )


def _explorer(page: Page, store: Store, summary: Summary, traces: Sequence[Trace]) -> str:
    """Forecasts of the horizon that is looked at closely, or of the longest that was kept."""
    kept = sorted({trace.horizon for trace in traces})
    if not kept:
        return ""
    horizon = summary.horizon if summary.horizon in kept else kept[-1]
    ranking = summary.ranking(summary.labels[0], horizon)
    # The best one, and the network of the paper, which weighs what it learns from.
    paper = "QRNN-MCC" if "QRNN-MCC" in summary.predictors else summary.predictors[0]
    first = [*(name for name, _ in ranking[:1]), paper]
    data = explorer.data(store.recordings(), [trace for trace in traces if trace.horizon == horizon], first)
    caption = (
        f"Forecasts {horizon:g} s ahead of one run a predictor; solid: causal labels, dotted: look-ahead labels. "
        "Below, the distance of forecast and truth (root mean square over channels), and the kernel weight with which "
        "networks under the correntropy criterion learnt from a sample: near 0, it was taken for an outlier. Drag to "
        "zoom, double-click to see the whole recording."
    )
    return page.explorer("trace", data, caption)


def _horizons(page: Page, summary: Summary, shown: dict[str, Table]) -> None:
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
        *(table(shown[f"horizons-{rule}"]) for rule in summary.labels),
    )


def _sure(page: Page, watched: list[Trace], shown: dict[str, Table]) -> Iterator[str]:
    if not watched:
        return
    yield table(shown["coverage"])
    options = [
        ((trace.recording, f"{trace.predictor}, {trace.horizon:g} s, {LABELS[trace.labels]}"), figures.watch(trace))
        for trace in watched
        if {"status", "replaced"} & set(trace.more)
    ]
    caption = "Status of the forecaster over time, and the samples that its gate refused, by channel."
    yield page.choice("watch", ("Recording", "Forecast"), options, caption)


def _method(page: Page) -> Iterator[str]:
    unit = "Errors are in standard deviations of the training part, as learners see them."
    yield "<div class='pair'>"
    yield page.figure(
        "mse",
        figures.loss_surface("MSE"),
        f"Square error: each point is an error, a pure quaternion; one corner is cut away. {unit}",
    )
    yield page.figure(
        "mcc",
        figures.loss_surface("MCC"),
        "Correntropy kernel at the same points: far errors all count for nothing, so that outliers cannot pull.",
    )
    yield "</div>"
    yield (
        f"<figure class='drawing'><div class='scroll' tabindex='0'>{asset('network.svg')}</div><figcaption>"
        "The quaternion recurrent network and its real-time recurrent learning: every weight is a quaternion, ⊗ the "
        "Hamilton product, Φ acts on each component. Drawn after the paper’s Fig. 2; the surfaces after its Fig. 1."
        "</figcaption></figure>"
    )


def _reproduce(store: Store) -> Iterator[str]:
    meta = store.meta()
    if "settings" in meta:
        yield (
            "<p>Save these settings as <code>settings.toml</code> and run "
            "<code>quatcast compare --settings settings.toml</code>.</p>"
            f"<pre tabindex='0'>{escape(meta['settings'])}</pre>"
        )
    words = {"version": "quatcast", "machine": "Machine", "started": "Started", "finished": "Finished"}
    facts = [(title, meta[key]) for key, title in words.items() if key in meta]
    if "elapsed" in meta:
        facts.append(("Work", f"{float(meta['elapsed']):,.0f} s"))
    yield "<dl>" + "".join(f"<dt>{title}</dt><dd>{escape(value)}</dd>" for title, value in facts) + "</dl>"
    yield f"<h3>Please cite</h3><p>The method: {escape(published.CITATION)}.</p>"
    if meta.get("data") == published.DATA_SET:
        yield f"<p>The data: {escape(DATA_CITATION)}</p>"
