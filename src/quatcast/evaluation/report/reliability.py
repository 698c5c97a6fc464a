"""The tables of time and reliability: milliseconds per sample, coverage of the radius, gate and status."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from quatcast.basics.typing import Bools
from quatcast.data.wording import with_unit
from quatcast.evaluation.catalogue import describe, in_order, predictors
from quatcast.evaluation.metrics import distances
from quatcast.evaluation.protocol import TEST, validation_samples
from quatcast.evaluation.records import Timing, Trace
from quatcast.evaluation.report import published
from quatcast.evaluation.report.comparison import words
from quatcast.evaluation.report.forecast_panels import STATUS
from quatcast.evaluation.report.tables import Cell, Number, Table, columns
from quatcast.evaluation.summary import ALL, LABELS, fitting_decimals


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
    headings = columns(["Predictor", "Our sizes"], ["Ours [ms]", "Paper [ms]", "Speed-up"])
    notes = (
        "Median time of one step (learning and forecasting) on one core. The paper's times are for an i7-10700K with "
        "an RTX 3080, at sizes that it does not state.",
    )
    return Table("times", "Milliseconds per step, look-ahead labels", headings, tuple(rows), notes)


def sample_times(measured: Mapping[str, float], rate: float, recording: str) -> Table:
    """Return the milliseconds that each predictor takes per sample of a recording, and their share of the time.

    Parameters
    ----------
    measured
        Predictor → milliseconds per sample.
    rate, recording
        Sampling rate and name of the recording.
    """
    interval = 1000 / rate
    rows = [
        (
            name,
            Number(measured[name], fitting_decimals(measured[name], 3)),
            Number(100 * measured[name] / interval, fitting_decimals(100 * measured[name] / interval, 1)),
        )
        for name in in_order(measured)
    ]
    headings = columns(["Predictor"], ["Time per sample [ms]", "Share of the interval [%]"])
    notes = (
        "Time to learn from a sample and to forecast, for one run of the tested configuration on one core, measured "
        f"after the first {TEST:g} s of {recording}. Its samples are {interval:.3g} ms apart; a predictor that takes "
        "longer cannot follow.",
    )
    return Table("sample-times", "Milliseconds per sample, causal labels", headings, tuple(rows), notes)


def coverage(traces: Sequence[Trace]) -> Table:
    """Return how often the actual position was within the radius, and how often gate and status intervened."""
    rows: list[tuple[Cell, ...]] = []
    radius = with_unit("Median radius", traces[0].unit)
    headings = columns(["Forecast", "Recording"], ["Within radius [%]", radius, "Rejected [%]", "Degraded or hold [%]"])
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
    return Table("coverage", "Coverage, gate and status", headings, tuple(rows), notes, grouped=True)


def _coverage(traces: Sequence[Trace]) -> Iterator[Cell]:
    """Yield coverage, median radius, share of rejected samples and share of poor status over all samples of traces."""
    within = [_within_radius(trace) for trace in traces if "radius" in trace.extra]
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
    middle = float(np.median(finite)) if finite.size else math.nan
    yield Number(middle, fitting_decimals(middle, 2)) if finite.size else ""
    yield _share([values > 0 for values in replaced])
    yield _share(poor)


def _within_radius(trace: Trace) -> Bools:
    """Tell for each position of the test with a radius whether it was within it."""
    start = validation_samples(trace.sampling_rate)
    error, radius = distances(trace.actual[start:], trace.forecast[start:], trace.space), trace.extra["radius"][start:]
    scored = np.isfinite(error) & np.isfinite(radius)
    return np.asarray(error[scored] <= radius[scored])


def _share(flags: Sequence[Bools]) -> Cell:
    joined = np.concatenate(flags) if flags else np.empty(0)
    return Number(100 * float(joined.mean()), 1) if joined.size else ""
