"""Measure when correntropy pays: the error of MSE, MCC and other methods against the share of impulsive outliers.

    python benchmarks/robustness.py --out runs/robustness --workers 16

runs the protocol of `quatcast compare` on the ExtMarker recordings once for every share and size of glitches. Only
what the predictors see is displaced; forecasts are scored against the recordings as they are. Finished conditions are
stored, so that the same command resumes. It prints Markdown: the mean RMSE of every predictor, and the ratio of MCC to
MSE on the same recording, as a geometric mean over recordings with its 95 % interval. A ratio below 1 means that
correntropy pays.

    python benchmarks/robustness.py --quick

takes minutes instead of hours: fewer seeds, a smaller grid and 120 s of each recording.

    python benchmarks/robustness.py --out runs/robustness --figure ratios.svg

draws the ratios as well; this needs the extra `figures`.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from quatcast.cli.compare import STORE
from quatcast.cli.terminal import ProgressDisplay
from quatcast.evaluation import Settings, Store, Workers, compare, find_predictor, load, local, register_predictor
from quatcast.evaluation.summary import LABELS, RecordingInfo, Summary

FIXED, ADAPTIVE = [1.0, 2.0, 4.0, 8.0], ["adaptive"]
NETWORKS = ("QRNN", "RNN")
OTHERS = ("QLMS", "RLS", "recommended", "persistence")
T95 = (math.nan, 12.71, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Quantile 0.975 of Student's distribution by degrees of freedom."""


def register() -> list[str]:
    """Register MCC with fixed and with adaptive kernels as predictors of their own, and return all names."""
    names: list[str] = []
    for network in NETWORKS:
        both = find_predictor(f"{network}-MCC")
        for word, widths in (("fixed", FIXED), ("adaptive", ADAPTIVE)):
            name = f"{network}-MCC-{word}"
            grid = {**both.grid, "sigma": widths}
            one = replace(both, name=name, title=f"{both.title}, {word} kernel", grid=grid, profiles={}, usual={})
            register_predictor(replace(one, default=False, paper="", timed=False))
        names += [f"{network}-MSE", f"{network}-MCC-fixed", f"{network}-MCC-adaptive"]
    return [*names, *OTHERS]


def settings(given: argparse.Namespace, share: float, size: float) -> Settings:
    """Return the settings of one condition."""
    units = {"QRNN": [10], "RNN": [20]}
    rates, lags = ([0.02, 0.1], [10, 30]) if given.quick else ([0.02, 0.05, 0.1], [10, 30])
    grids: dict[str, Any] = {}
    for name in register():
        network = name.split("-")[0]
        if network in NETWORKS:
            grids[name] = {"hidden": units[network], "lags": lags, "learning_rate": rates}
    return Settings.of(
        {
            "profile": "quick" if given.quick else "standard",
            "data": given.data,
            "seconds": 120.0 if given.quick else 0.0,
            "predictors": [name for name in register() if name not in given.without],
            "labels": given.labels,
            "horizons": [given.horizon],
            "validation_seeds": 1 if given.quick else 3,
            "test_seeds": 2 if given.quick else given.seeds,
            "glitches": share,
            "glitch_size": size,
            "grids": {name: grid for name, grid in grids.items() if name not in given.without},
        }
    )


def conditions(given: argparse.Namespace) -> Iterator[tuple[float, float]]:
    """Yield share and size of glitches; without glitches their size does not matter."""
    for share in given.shares:
        yield from ((share, size) for size in (given.sizes if share else given.sizes[:1]))


def run(given: argparse.Namespace) -> dict[tuple[float, float], Summary]:
    """Run all conditions that are not stored yet, and return the results of all."""
    found = {}
    for share, size in conditions(given):
        chosen = settings(given, share, size)
        recordings = load(chosen.data, data_dir=given.data_dir, seconds=chosen.seconds)[: given.recordings]
        path = Path(given.out) / f"{100 * share:g}-percent-size-{size:g}" / STORE
        print(f"{100 * share:g} % glitches of size {size:g}", file=sys.stderr)
        with Store(path, create=True) as store, Workers(local(given.workers)) as workers, ProgressDisplay() as display:
            compare(recordings, chosen, store, workers, display.update)
            infos = [RecordingInfo(r.name, r.group, r.unit) for r in store.recordings()]
            found[share, size] = Summary(store.results("test"), infos)
    return found


def ratio(summary: Summary, rule: Any, upper: str, lower: str) -> tuple[float, float, float]:
    """Return the geometric mean over recordings of the ratio of two predictors' RMSE, and its 95 % interval."""
    logs = []
    for recording in summary.recordings:
        pair = [summary.of_recording(rule, summary.horizon, name, recording.name) for name in (upper, lower)]
        if all(mean is not None and math.isfinite(mean.mean) for mean in pair):
            logs.append(math.log(pair[0].mean / pair[1].mean))  # type: ignore[union-attr]
    n = len(logs)
    if n < 2:
        return (math.exp(logs[0]), math.nan, math.nan) if logs else (math.nan,) * 3
    mean, quantile = float(np.mean(logs)), T95[n - 1] if n <= len(T95) else 1.96
    margin = quantile * float(np.std(logs, ddof=1)) / math.sqrt(n)
    return math.exp(mean), math.exp(mean - margin), math.exp(mean + margin)


def columns(given: argparse.Namespace) -> list[tuple[float, float]]:
    """Return the conditions, smaller glitches first."""
    return sorted(conditions(given), key=lambda pair: (pair[1] if pair[0] else 0.0, pair[0]))


def markdown(given: argparse.Namespace, found: dict[tuple[float, float], Summary]) -> str:
    """Return the tables of all label rules."""
    at = columns(given)
    head = ["0 %" if not share else f"{100 * share:g} % × {size:g}" for share, size in at]
    lines: list[str] = []
    for rule in given.labels:
        first = found[at[0]]
        lines += ["", f"**RMSE [{first.unit}], {LABELS[rule]}, {given.horizon:g} s ahead**", "", *_head(head)]
        for name in (name for name in register() if name in first.predictors):
            means = [found[condition].of_group(rule, given.horizon, name) for condition in at]
            if any(means):
                lines.append(f"| {name} | {' | '.join(_mean(mean) for mean in means)} |")
        lines += ["", f"**Ratio of the RMSE, {LABELS[rule]}, with 95 % interval over recordings**", "", *_head(head)]
        for upper, lower in pairs():
            if {upper, lower} <= set(first.predictors):
                cells = (_ratio(*ratio(found[condition], rule, upper, lower)) for condition in at)
                lines.append(f"| {upper} / {lower} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def pairs() -> list[tuple[str, str]]:
    """Return the predictors whose errors are divided."""
    same = [(f"{n}-MCC-{kind}", f"{n}-MSE") for n in NETWORKS for kind in ("fixed", "adaptive")]
    return [*same, ("QRNN-MCC-adaptive", "QLMS"), ("QRNN-MCC-adaptive", "RLS"), ("QRNN-MCC-adaptive", "recommended")]


def draw(given: argparse.Namespace, found: dict[tuple[float, float], Summary]) -> None:
    """Draw the ratios of MCC to MSE against the share of outliers, with their intervals, into a file."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "quatcast"
    from matplotlib import pyplot

    size = (4.0 * len(given.sizes), 3.0 * len(given.labels))
    figure, axes = pyplot.subplots(
        len(given.labels), len(given.sizes), figsize=size, sharex=True, sharey=True, squeeze=False, layout="constrained"
    )
    for i, rule in enumerate(given.labels):
        for j, multiple in enumerate(given.sizes):
            at = [(share, multiple if share else given.sizes[0]) for share in given.shares]
            for k, (upper, lower) in enumerate(pairs()[:4]):
                means, low, high = np.array([ratio(found[condition], rule, upper, lower) for condition in at]).T
                shares = 100 * np.array(given.shares) + 0.12 * (k - 1.5)
                margins = [means - low, high - means]
                style = "o" if k % 2 == 0 else "s"
                colour, label = f"C{k // 2}", upper.replace("-MCC-", ", ")
                fill = colour if k % 2 == 0 else "white"
                axes[i, j].errorbar(
                    shares, means, margins, fmt=style, color=colour, mfc=fill, ms=4, lw=1, capsize=2, label=label
                )
            axes[i, j].axhline(1.0, color="grey", lw=0.8)
            axes[i, j].set_title(f"{LABELS[rule]}, {multiple:g} spreads", fontsize=10)
            axes[i, j].set_yscale("log")
            axes[i, j].set_yticks([0.6, 0.8, 1.0, 1.5, 2.0, 3.0], labels=["0.6", "0.8", "1", "1.5", "2", "3"])
            axes[i, j].minorticks_off()
    for one in axes[-1]:
        one.set_xlabel("displaced samples [%]")
    for one in axes[:, 0]:
        one.set_ylabel("RMSE with MCC / with MSE")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=9)
    figure.savefig(given.figure, metadata={"Date": None} if given.figure.endswith(".svg") else None)


def _head(titles: Sequence[str]) -> list[str]:
    return [f"| glitches × size | {' | '.join(titles)} |", f"|---|{'---:|' * len(titles)}"]


def _mean(mean: Any) -> str:
    if mean is None or math.isnan(mean.mean):
        return "–" if mean is None else "diverged"
    return f"{mean.mean:.2f}" + (f" ± {mean.margin:.2f}" if mean.margin > 0 else "")


def _ratio(mean: float, low: float, high: float) -> str:
    bold = "**" if high < 1 else ""
    return f"{bold}{mean:.2f}{bold} ({low:.2f}–{high:.2f})" if math.isfinite(mean) else "–"


def arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", default="extmarker", help="data source")
    parser.add_argument("--data-dir", default=None, help="folder of its files")
    parser.add_argument("--out", default="runs/robustness", help="folder for the stores")
    parser.add_argument("--shares", type=float, nargs="+", default=[0.0, 0.01, 0.03, 0.05, 0.1])
    parser.add_argument("--sizes", type=float, nargs="+", default=[3.0, 10.0], help="multiples of the spread")
    parser.add_argument("--labels", nargs="+", default=["causal", "lookahead"], choices=list(LABELS))
    parser.add_argument("--horizon", type=float, default=2.0)
    parser.add_argument("--seeds", type=int, default=20, help="test runs of each network")
    parser.add_argument("--recordings", type=int, default=None, help="use the first recordings only")
    parser.add_argument("--without", nargs="*", default=[], help="predictors to leave out")
    parser.add_argument("--workers", type=int, default=None)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--figure", help="file for a figure of the ratios, such as ratios.svg")
    return parser.parse_args()


if __name__ == "__main__":
    options = arguments()
    try:
        results = run(options)
        print(markdown(options, results), end="")
        if options.figure:
            draw(options, results)
    except (ValueError, OSError) as error:
        sys.exit(str(error))
