"""The contents of a report: its sections, their texts, and the files that it consists of."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from quatcast.basics.escaping import html_text
from quatcast.basics.files import new_file
from quatcast.data import sources
from quatcast.evaluation.catalogue import describe
from quatcast.evaluation.metrics import error_unit
from quatcast.evaluation.records import Trace
from quatcast.evaluation.report import (
    comparison,
    explorer,
    figures,
    heat_maps,
    overview,
    published,
    reliability,
    verdict,
)
from quatcast.evaluation.report.details import Details
from quatcast.evaluation.report.material import Material, anonymous
from quatcast.evaluation.report.page import Page, asset, table
from quatcast.evaluation.report.static_figures import slug, write_figures
from quatcast.evaluation.report.tables import Table
from quatcast.evaluation.report.tolerance import tolerances
from quatcast.evaluation.store import Store
from quatcast.evaluation.summary import LABELS, PUBLISHED_HORIZON, Summary

TITLE = "Comparison of forecasters"


@dataclass(frozen=True)
class Options:
    """Choices of the person who writes a report; see `quatcast.evaluation.report.write`."""

    title: str = ""
    anonymise: bool = False
    tolerance: str = ""
    figures: bool = False


def write_report(store_path: Path, folder: Path, options: Options) -> Path:
    """Write `report.html` and the folder `tables`; see `quatcast.evaluation.report.write`."""
    with Store(store_path) as store:
        material = Material.read(store)
    if options.anonymise:
        material = anonymous(material)
    report = Report(material, options)
    folder.mkdir(parents=True, exist_ok=True)
    if options.figures:
        write_figures(material, folder / "figures")
    for one in report.tables.values():
        one.write(folder / "tables")
    path = folder / "report.html"
    # Written to another file and then moved, so that a reader never opens an incomplete report.
    new = path.with_suffix(".new")
    with new_file(new) as file:
        file.write(report.page().html())
    new.replace(path)
    return path


class Part:
    """The results in one unit, and what is appended to the names of its tables if there are several units."""

    def __init__(self, summary: Summary, several: bool) -> None:
        self.summary = summary
        self.title = summary.unit_title
        self.suffix = f"-{slug(self.title)}" if several else ""
        self.key = (self.title,) if several else ()
        count = len(summary.recordings)
        recordings = "the recording" if count == 1 else f"the {count} recordings"
        where = f"in {html_text(self.title)}" if summary.unit else f"of {html_text(self.title)}"
        self.heading = f"<h3 class='unit'>Errors of {recordings} {where}</h3>" if several else ""

    def tagged(self, given: Table) -> Table:
        """Return a table with the unit in its name, if there are several."""
        if not self.suffix:
            return given
        is_said = f"[{self.title}]" in given.caption
        caption = given.caption if is_said else f"{given.caption} ({self.title})"
        return replace(given, name=given.name + self.suffix, caption=caption)


class Report:
    """The tables and the page of a report.

    Parameters
    ----------
    material
        What is shown.
    options
        How it is shown.
    """

    def __init__(self, material: Material, options: Options | None = None) -> None:
        self.material, self.options = material, options or Options()
        self.about, self.summary = material.about, material.summary
        units = self.summary.by_unit()
        self.parts = [Part(summary, len(units) > 1) for summary in units]
        self._keys = ("Unit",) if len(units) > 1 else ()
        limits = tolerances(self.options.tolerance, [part.summary.unit for part in self.parts])
        self.details = [
            Details(part.summary, material.traces, material.recordings, limit)
            for part, limit in zip(self.parts, limits, strict=True)
        ]
        self.tables = {one.name: one for one in self._tables()}

    def _tables(self) -> Iterator[Table]:
        """Yield every table, for all horizons."""
        if self.about.recordings:
            yield overview.recordings(self.about.recordings)
        if self.summary.results:
            yield overview.predictors(self.summary, self.about.settings.get("grids", {}))
        for part, details in zip(self.parts, self.details, strict=True):
            for one in self._part_tables(part.summary, details):
                yield part.tagged(one)
            if guarded := self._guarded(part.summary):
                yield part.tagged(reliability.coverage(guarded))
        if (timings := self.material.timings) and self.about.beside_paper:
            yield reliability.times(timings)
        if measured := self.about.sample_times:
            yield reliability.sample_times(measured["milliseconds"], measured["rate"], measured["recording"])

    def _part_tables(self, summary: Summary, details: Details) -> Iterator[Table]:
        for rule in summary.labels:
            for horizon in summary.horizons:
                yield comparison.errors(summary, rule, horizon, self.about)
                yield comparison.recordings(summary, rule, horizon)
                yield comparison.configurations(summary, rule, horizon)
                extra = (details.distributions(rule, horizon), details.channels(rule, horizon))
                yield from (one for one in extra if one is not None)
            if len(summary.horizons) > 1:
                yield comparison.horizons(summary, rule)

    def _guarded(self, summary: Summary) -> list[Trace]:
        """Return the traces that have a radius or a status, in the order of the recordings."""
        order = [recording.name for recording in summary.recordings]
        guarded = [
            trace
            for trace in self.material.traces
            if {"radius", "status", "replaced"} & set(trace.extra) and trace.recording in order
        ]
        return sorted(guarded, key=lambda trace: order.index(trace.recording))

    def page(self) -> Page:
        """Return the page."""
        meta, count = self.about.meta, len(self.summary.recordings)
        subtitle = [f"{count} recording{'s' if count != 1 else ''}"]
        if self.about.data in {source.name for source in sources()}:
            subtitle.append(f"data: {html_text(self.about.data)}")
        if self.summary.results:
            subtitle.append(f"horizon {', '.join(f'{h:g}' for h in self.summary.horizons)} s")
        date = "" if self.options.anonymise else html_text((meta.get("finished") or meta.get("started", ""))[:10])
        subtitle.append(f"<time>{date}</time>" if date else "")
        title = self.options.title or ("" if self.options.anonymise else meta.get("title", "")) or TITLE
        page = Page(title, " · ".join(part for part in subtitle if part))
        page.add("verdict", "Summary", *self._verdict(page))
        if self.summary.results:
            page.add("data", "Recordings and predictors", *self._data())
            self._errors(page)
            page.add("traces", "Forecasts over time", self._explorer(page))
            self._horizons(page)
        page.add("reliability", "Reliability", *self._reliability(page))
        page.add("speed", "Time per sample", *self._named("sample-times", "times"))
        page.add("grid", "Validation grid", self._grid(page))
        if self.about.beside_paper:
            page.add("method", "Losses and network", *_method(page))
        page.add("reproduce", "How to reproduce", *self._reproduce())
        return page

    def _named(self, *names: str, folded: bool = False) -> Iterator[str]:
        """Yield the tables of some names that exist."""
        yield from (table(self.tables[name], folded=folded) for name in names if name in self.tables)

    def _verdict(self, page: Page) -> Iterator[str]:
        if not self.about.meta.get("finished"):
            yield (
                "<p class='warning'>This experiment is not finished. A mean is shown only when all of its recordings "
                "have been tested.</p>"
            )
        if not self.summary.results:
            yield f"<p>There are no test results yet. {self.material.validation_runs:,} validation runs are stored.</p>"
            return
        reduced = self.about.reduced() if self.about.beside_paper and PUBLISHED_HORIZON in self.summary.horizons else ""
        notes = [text for text in (reduced, *self.about.notes(self.summary), self.summary.assumption()) if text]
        if notes:
            yield f"<ul class='warning'>{''.join(f'<li>{html_text(text)}</li>' for text in notes)}</ul>"
        yield from (f"<p>{text}</p>" for text in overview.lead(self.summary))
        for part in self.parts:
            yield part.heading
            yield f"<div class='cards'>{verdict.cards(part.summary)}</div>"
            yield from (f"<p>{text}</p>" for text in verdict.paragraphs(part.summary))
        options = [
            (part.key, figures.lookahead_gap(part.summary))
            for part in self.parts
            if part.summary.labels and part.summary.ranking(part.summary.labels[0], part.summary.horizon)
        ]
        both = (
            " Open circles: look-ahead labels, which a live system cannot use." if len(self.summary.labels) > 1 else ""
        )
        caption = (
            f"Test RMSE of every predictor {self.summary.horizon:g} s ahead, mean over all recordings; smaller is "
            f"better. Filled circles: causal labels, which a live system can use.{both}"
        )
        yield page.choice("lookahead-gap", self._keys, options, caption)

    def _data(self) -> Iterator[str]:
        yield from self._named("recordings", "predictors")
        if any(not error_unit(recording) for recording in self.about.recordings):
            yield (
                "<p>The unit of some recordings is not known; their errors are in the unit of the file. "
                "<code>--unit</code> names it.</p>"
            )

    def _errors(self, page: Page) -> None:
        """Add the sections of test errors, for groups and for single recordings."""
        at, rules = f"{self.summary.horizon:g}s", self.summary.labels
        intro = ""
        if self.about.beside_paper:
            intro = (
                "<p>The tables have the scores of the paper’s Table I. The paper does not state when its networks "
                f"learn from a target; its numbers are consistent with look-ahead labels. Paper: "
                f"{html_text(published.CITATION)}.</p>"
            )

        def of(kind: str, folded: bool = False) -> Iterator[str]:
            for part in self.parts:
                yield from self._named(*(f"{kind}-{rule}-{at}{part.suffix}" for rule in rules), folded=folded)

        page.add("errors", "Errors", intro, overview.SCORES, *of("errors"), *of("distribution"))
        tables = [*of("recordings"), *of("channels", folded=True), *of("configurations", folded=True)]
        page.add("recordings-errors", "Errors by recording", *tables)

    def _explorer(self, page: Page) -> str:
        """Return the explorer of forecasts at all horizons, the main one first."""
        traces = self.material.traces
        if not traces:
            return ""
        ranking = self.parts[0].summary.ranking(self.summary.labels[0], self.summary.horizon)
        # The best predictor, and the first one of the paper, which has a kernel weight.
        paper = next((name for name in self.summary.predictors if describe(name).paper), self.summary.predictors[0])
        first = [*(name for name, _ in ranking[:1]), paper]
        data = explorer.data(self.about.recordings, traces, first, self.summary.horizon)
        weights = any("weight" in trace for recording in data["recordings"] for trace in recording["traces"])
        lower = (
            " The lowest panel shows the kernel weight with which networks under the correntropy criterion learn from "
            "a sample; a weight near 0 means that the sample is treated as an outlier."
        )
        caption = (
            "Forecasts of one run per predictor. Solid lines: causal labels. Dotted lines: look-ahead labels. The "
            "panel of errors shows the distance between forecast and actual position (root mean square over channels)."
            f"{lower if weights else ''} {html_text(data['left_out'])} Drag to zoom in, double-click to see the whole "
            "recording."
        )
        return page.explorer("trace", data, caption)

    def _horizons(self, page: Page) -> None:
        if len(self.summary.horizons) < 2:
            return
        options = [
            ((*part.key, LABELS[rule], group), figures.horizon_sweep(part.summary, rule, group))
            for part in self.parts
            for rule in part.summary.labels
            for group in part.summary.groups
        ]
        keys = (*self._keys, "Label rule", "Recordings")
        caption = "Test RMSE against the horizon, mean over the recordings of a group, with 95% intervals over runs."
        names = (f"horizons-{rule}{part.suffix}" for part in self.parts for rule in part.summary.labels)
        page.add(
            "horizons",
            "Error against horizon",
            page.choice("horizon-sweep", keys, options, caption),
            *self._named(*names),
        )

    def _reliability(self, page: Page) -> Iterator[str]:
        guarded = [trace for part in self.parts for trace in self._guarded(part.summary)]
        if not guarded:
            return
        yield from self._named(*(f"coverage{part.suffix}" for part in self.parts))
        options = []
        for trace in guarded:
            title = f"{trace.predictor}, {trace.horizon:g} s, {LABELS[trace.labels]}"
            if {"status", "replaced"} & set(trace.extra):
                options.append(((trace.recording, title), figures.status_figure(trace)))
        caption = "Status of the forecaster over time, and the samples that its gate rejected, by channel."
        yield page.choice("status", ("Recording", "Forecast"), options, caption)

    def _grid(self, page: Page) -> str:
        options = []
        for part in self.parts:
            names = {recording.name for recording in part.summary.recordings}
            tried = [result for result in self.material.tried if result.recording in names]
            options += [((*part.key, *at), figure) for at, figure in heat_maps.heat_maps(tried, part.summary.unit)]
        caption = (
            "Mean RMSE over recordings and seeds in the validation (30 to 60 s). The colour scale ends at 2.5 times "
            "the smallest value. Hover over a cell to see for how many recordings its configuration was chosen."
        )
        keys = (*self._keys, "Predictor", "Label rule", "Horizon")
        return page.choice("grid-map", keys, options, caption)

    def _reproduce(self) -> Iterator[str]:
        meta = self.about.meta
        if settings := self.about.settings_text():
            if self.options.anonymise:
                yield "<p>These are the settings, without the names of files, channels and groups.</p>"
            else:
                yield (
                    "<p>Save these settings as <code>settings.toml</code> and run <code>quatcast compare --settings "
                    "settings.toml</code>, in the folder of the recordings if they are files.</p>"
                )
            yield f"<pre tabindex='0'>{html_text(settings)}</pre>"
        titles = {"version": "quatcast", "machine": "Machine", "started": "Started", "finished": "Finished"}
        hidden = {"started", "finished"} if self.options.anonymise else set()
        facts = [(title, meta[key]) for key, title in titles.items() if key in meta and key not in hidden]
        if "elapsed" in meta:
            facts.append(("Computing time", f"{float(meta['elapsed']):,.0f} s"))
        yield "<dl>" + "".join(f"<dt>{title}</dt><dd>{html_text(value)}</dd>" for title, value in facts) + "</dl>"
        if any(describe(name).paper for name in self.summary.predictors) or not self.summary.predictors:
            yield f"<h3>Please cite</h3><p>The method: {html_text(published.CITATION)}.</p>"
        citations = [source.citation for source in sources() if source.name == meta.get("data")]
        yield from (f"<p>The data: {html_text(citation)}</p>" for citation in citations if citation)


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
