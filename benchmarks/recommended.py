"""Measure the recommended forecaster: accuracy, order of learning, robustness, coverage, speed and checkpoints.

    python benchmarks/recommended.py --data-dir FOLDER            # everything, about 40 minutes on two cores
    python benchmarks/recommended.py --only speed,checkpoint      # needs no recordings; run nothing else meanwhile
    python benchmarks/recommended.py --only robustness --draws 10 # two hours on two cores

All forecasts are causal, and all figures on recordings are computed from sample 601 on. The linear baselines are the
best in hindsight of a small grid, for each horizon and group of recordings separately; the recommended forecaster has
no settings to choose.

Forecasts are computed on all cores, and each row of a table is printed as soon as it is complete. With --out FOLDER the
figures are also written to a file in that folder as they are computed, so that an interrupted run can be resumed; a
figure is used again only for the same samples and the same code. Times are measured last, with nothing else running.
"""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from recommended_runs import BARE, DRAWS, LINEAR, Results
from recommended_time import show_checkpoint, show_speed
from tables import table, verdict

from quatcast.data import extmarker

PARTS = ("accuracy", "order", "rotation", "robustness", "coverage", "speed", "checkpoint")
TIMED = ("speed", "checkpoint")
"""Parts that need no recordings and measure time."""
TARGETS = {0.2: 0.500, 0.5: 1.12, 1.0: 2.00, 2.0: 2.98}
"""Largest acceptable RMSE in mm for each horizon in seconds."""
ORDER_COST = 1.005
"""Largest acceptable ratio of the RMSE with the answer first to the RMSE with learning first."""


def show_accuracy(results: Results, horizons: list[int]) -> None:
    print("## RMSE in mm by horizon, mean over recordings\n")
    head = ["horizon"]
    groups = {"all": "", "regular": "regular", "irregular": "irregular"}
    for title in groups:
        head += [f"{title}: recommended", "best linear", "persistence"]
    won: list[bool] = []

    def row(h: int) -> list[str]:
        results.need(results.case(name, h) for name in ("recommended", "persistence", *LINEAR))
        cells = [f"{h / 10:.1f} s"]
        for group in groups.values():
            ours = results.rmse("recommended", h, group=group)
            best = min(results.rmse(name, h, group=group) for name in LINEAR)
            won.append(ours < best)
            cells += [f"{ours:.3f}", f"{best:.3f}", f"{results.rmse('persistence', h, group=group):.3f}"]
        return cells

    table(head, map(row, horizons))
    print(f"Below the best linear baseline in {sum(won)} of {len(won)} cells.\n")
    table(["horizon", "nine-recording mean RMSE"],
          [[f"{s} s", verdict(results.rmse("recommended", round(10 * s)), limit)]
           for s, limit in TARGETS.items() if round(10 * s) in horizons])  # fmt: skip
    h = horizons[-1]
    pairs = zip(results.recordings, results.each("recommended", h), results.each("persistence", h), strict=True)
    table(["recording", f"recommended at {h / 10:.1f} s", "persistence"],
          [[r.name, f"{ours.rmse:.2f}", f"{still.rmse:.2f}"] for r, ours, still in pairs])  # fmt: skip


def show_order(results: Results) -> None:
    print("## RMSE in mm with the answer first and with learning first, mean over recordings\n", flush=True)
    horizons = [round(10 * seconds) for seconds in TARGETS]
    results.need(results.case("recommended", h, learn_first=order) for h in horizons for order in (False, True))
    rows = []
    for h in horizons:
        after, before = (results.rmse("recommended", h, learn_first=order) for order in (False, True))
        rows.append([f"{h / 10} s", f"{after:.4f}", f"{before:.4f}", verdict(after / before, ORDER_COST, digits=4)])
    table(["horizon", "answer first", "learn first", "ratio"], rows)


def show_rotation(results: Results) -> None:
    print("## Recordings rotated by a random rotation\n", flush=True)
    results.need(results.case("recommended", h, scenario) for scenario in ("clean", "rotated") for h in (5, 20))
    rows = []
    for h in (5, 20):
        before, after = (results.rmse("recommended", h, scenario) for scenario in ("clean", "rotated"))
        rows.append([f"{h / 10} s", f"{before:.3f}", f"{after:.3f}", verdict(100 * abs(after / before - 1), 3)])
    table(["horizon", "RMSE", "RMSE after rotation", "change in %"], rows)


def show_robustness(results: Results) -> None:
    print("## Faulty input: MAE relative to the true positions, and its ratio to the MAE on clean input\n", flush=True)
    bare = BARE
    results.need(results.case("recommended", h, s) for s in ("clean", "glitches", "missing", "lost") for h in (5, 20))
    results.need(results.case(bare, h, s) for s in ("clean", "glitches") for h in (5, 20))
    rows = []
    for h in (5, 20):
        clean = results.mae("recommended", h)
        for scenario, words, limit in (
            ("glitches", "3 % of samples displaced by 30 mm", 1.15),
            ("missing", "10 % of samples missing", 1.10),
        ):
            value = results.mae("recommended", h, scenario)
            rows.append([f"{h / 10} s", words, f"{clean:.3f}", f"{value:.3f}", verdict(value / clean, limit)])
        before, after = results.others(h, "clean"), results.others(h, "lost")
        rows.append([f"{h / 10} s", "one marker lost for 5 s; error of the other two", f"{before:.3f}", f"{after:.3f}",
                     verdict(after / before, 1.05)])  # fmt: skip
        before, after = results.mae(bare, h), results.mae(bare, h, "glitches")
        rows.append(
            [
                f"{h / 10} s",
                f"3 % of samples displaced; {bare}",
                f"{before:.3f}",
                f"{after:.3f}",
                f"{after / before:.2f}",
            ]
        )
    table(["horizon", "input", "MAE on clean input", "MAE", "ratio"], rows)


def show_draws(results: Results, draws: int) -> None:
    print(f"## Faulty input: ratios of the MAE to that on clean input over {draws} random draws\n", flush=True)
    names = [f"#{draw}" if draw else "" for draw in range(draws)]
    kinds = {"glitches": ("3 % of samples displaced by 30 mm", 1.15), "missing": ("10 % of samples missing", 1.10),
             "lost": ("one marker lost for 5 s; error of the other two", 1.05)}  # fmt: skip
    scenarios = ["clean", *(f"{kind}{n}" for kind in kinds for n in names)]
    results.need(results.case("recommended", h, scenario) for scenario in scenarios for h in (5, 20))
    rows = []
    for h in (5, 20):
        for kind, (words, limit) in kinds.items():
            ratios = []
            for draw, n in enumerate(names):
                # Draws of lost markers differ in when they are lost, which matters on clean input too.
                after, before = (
                    results.others(h, s, draw) if kind == "lost" else results.mae("recommended", h, s)
                    for s in (f"{kind}{n}", "clean")
                )
                ratios.append(after / before)
            cells = (verdict(value, limit) for value in (float(np.mean(ratios)), max(ratios)))
            rows.append([f"{h / 10} s", words, *cells])
    table(["horizon", "input", "mean ratio", "worst ratio"], rows)


def show_coverage(results: Results) -> None:
    print("## Share of test positions within the 95 % radius\n", flush=True)
    results.need(results.case("recommended", h) for h in (5, 20))
    rows = []
    for h in (5, 20):
        outcomes = list(results.each("recommended", h))
        each = [o.within / o.total for o in outcomes]
        every = sum(o.within for o in outcomes) / sum(o.total for o in outcomes)
        good = 0.93 <= every <= 0.97 and min(each) >= 0.90
        rows.append([f"{h / 10} s", f"{every:.1%}", f"{min(each):.1%}", "reached" if good else "MISSED"])
    table(["horizon", "all", "lowest recording", "93 to 97 %, none below 90 %"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the ExtMarker files; by default they are downloaded")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas: " + ", ".join(PARTS))
    parser.add_argument("--out", type=Path, help="folder in which finished figures are stored; by default none")
    parser.add_argument("--horizons", default="1-20", help="horizons of the accuracy in samples, such as 2,5,10,20")
    parser.add_argument("--seconds", type=float, help="use only the first seconds of each recording, for a trial")
    parser.add_argument("--samples", type=int, default=100_000, help="number of samples of the endurance run")
    parser.add_argument("--draws", type=int, default=1, choices=range(1, DRAWS + 1), metavar="N",
                        help=f"number of random draws of faulty input, up to {DRAWS}")  # fmt: skip
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument("--learn-first", action="store_true", help="learn from each sample before answering")
    options = parser.parse_args()
    parts = options.only.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--only: expected some of {', '.join(PARTS)}, got {options.only}")
    first, dash, last = options.horizons.partition("-")
    horizons = list(range(int(first), int(last) + 1)) if dash else [int(h) for h in options.horizons.split(",")]

    if set(parts) - set(TIMED):
        recordings = extmarker(options.data_dir, progress=True)
        if options.seconds:
            n = round(10 * options.seconds)
            recordings = [replace(r, positions=r.positions[:n], times=r.times[:n]) for r in recordings]
        results = Results(recordings, options.out, options.workers, options.learn_first)
        if "accuracy" in parts:
            show_accuracy(results, horizons)
        if "order" in parts:
            show_order(results)
        if "rotation" in parts:
            show_rotation(results)
        if "robustness" in parts:
            show_robustness(results)
            if options.draws > 1:
                show_draws(results, options.draws)
        if "coverage" in parts:
            show_coverage(results)
    if "speed" in parts:
        show_speed(options.samples, options.learn_first)
    if "checkpoint" in parts:
        show_checkpoint()


if __name__ == "__main__":
    main()
