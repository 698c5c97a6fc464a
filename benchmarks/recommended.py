"""What the recommended forecaster gives on the real recordings: accuracy, robustness, coverage and speed.

    python benchmarks/recommended.py --data-dir FOLDER            # all of it, about 25 minutes on two cores
    python benchmarks/recommended.py --parts speed                # no recordings needed

All forecasts are causal, and all figures are of samples 601 on. Linear baselines are the best in hindsight of a small
grid, horizon by horizon and group by group; the recommended forecaster has nothing to choose.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from numpy.typing import NDArray

from quatcast import MSE, RLS, Forecaster, Persistence, Ridge, recommended
from quatcast.data import Recording, corrupt, extmarker, simulated
from quatcast.quaternion import pure, random_unit, rotation, vector
from quatcast.recommended import SPARSE, experts

START = 600
LOST = 50
"""Samples for which a marker is lost: five seconds."""
PARTS = ("accuracy", "rotation", "robustness", "coverage", "speed")
TARGETS = {0.2: 0.56, 0.5: 1.27, 1.0: 2.22, 2.0: 3.10}
Floats = NDArray[np.float64]


class Outcome(NamedTuple):
    """Errors (T, channels) of test samples, and whether each lay within its radius (empty where there is none)."""

    errors: Floats
    within: NDArray[np.bool_]
    milliseconds: float


def loses(recording: Recording) -> list[tuple[int, int]]:
    """First sample and marker of each loss: one every twenty seconds, each marker in turn."""
    starts = range(START + 10, len(recording) - LOST, 200)
    return [(start, i % recording.positions.shape[1]) for i, start in enumerate(starts)]


def spoil(recording: Recording, scenario: str) -> tuple[Floats, Floats]:
    """What the forecaster sees, and the truth that it is judged by."""
    clean = recording.positions
    if scenario == "rotated":
        turn = random_unit(np.random.default_rng(5))
        clean = vector(rotation(pure(clean), turn))
    seen = clean
    if scenario == "glitches":
        seen = corrupt(recording, glitches=0.03, seed=1).positions
    elif scenario == "missing":
        seen = corrupt(recording, dropouts=0.10, seed=1).positions
    elif scenario == "lost":
        seen = clean.copy()
        for start, marker in loses(recording):
            seen[start : start + LOST, marker] = np.nan
    return seen, clean


def plain(horizon: int, rate: float) -> Forecaster:
    """The network of the recommended mixture by itself, with the square error and no gate."""
    network = experts(horizon, rate).members[0]
    network.learner = type(network.learner)(**{**network.learner.settings(), "loss": MSE()})
    return network


def linear(kind: Callable[[], Any], lags: Any) -> Callable[[int, float], Forecaster]:
    return partial(_linear, kind, lags)


def _linear(kind: Callable[[], Any], lags: Any, horizon: int, rate: float) -> Forecaster:
    return Forecaster(kind(), horizon=horizon, lags=lags, target="displacement", scale_by="channel")


def still(horizon: int, rate: float) -> Forecaster:
    return Forecaster(Persistence(), horizon=horizon, lags=1)


LINEAR: dict[str, Callable[[int, float], Forecaster]] = {
    **{f"ridge λ={r:g}": linear(partial(Ridge, r), 12) for r in (3.0, 10.0, 30.0, 100.0, 300.0)},
    **{f"ridge sparse λ={r:g}": linear(partial(Ridge, r), SPARSE) for r in (30.0, 100.0, 300.0)},
    **{f"RLS {f:g}": linear(partial(RLS, f, 30.0), 12) for f in (0.998, 0.999, 1.0)},
}


def forecast(name: str, horizon: int, rate: float) -> Any:
    if name == "recommended":
        return recommended(horizon / rate, rate)
    builders = {"persistence": still, "network, square error, no gate": plain, **LINEAR}
    return builders[name](horizon, rate)


class Task(NamedTuple):
    name: str
    scenario: str
    horizon: int
    recording: Recording


def work(task: Task) -> Outcome:
    seen, truth = spoil(task.recording, task.scenario)
    began = time.process_time()
    forecasts = forecast(task.name, task.horizon, task.recording.rate).run(seen)
    milliseconds = 1000 * (time.process_time() - began) / len(seen)
    made = np.asarray(forecasts)
    made = made.mean(axis=0) if made.ndim == 4 else made
    errors = np.linalg.norm(made - truth, axis=-1)[START:]
    radius = getattr(forecasts, "radius", None)
    within = errors <= radius[START:] if radius is not None else np.zeros((0, 0), dtype=bool)
    return Outcome(errors, within, milliseconds)


def run(tasks: list[Task], workers: int) -> dict[tuple[str, str, int, str], Outcome]:
    outcomes = {}
    began = time.monotonic()
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as executor:
        longest_first = sorted(tasks, key=lambda task: -len(task.recording) * (task.name == "recommended"))
        futures = {executor.submit(work, task): task for task in longest_first}
        for future in as_completed(futures):
            task = futures[future]
            outcomes[(task.name, task.scenario, task.horizon, task.recording.name)] = future.result()
            if len(outcomes) % max(1, len(tasks) // 20) == 0:
                left = (time.monotonic() - began) * (len(tasks) / len(outcomes) - 1)
                print(f"{len(outcomes)} of {len(tasks)} forecasts, about {left:.0f} s left", file=sys.stderr)
    return outcomes


class Results:
    """Outcomes by what they are of, and the means over recordings that the tables show."""

    def __init__(self, recordings: list[Recording], outcomes: dict[tuple[str, str, int, str], Outcome]) -> None:
        self.recordings, self.outcomes = recordings, outcomes

    def each(self, name: str, horizon: int, scenario: str = "clean", group: str = "") -> Iterator[Outcome]:
        for recording in self.recordings:
            if not group or recording.group == group:
                yield self.outcomes[(name, scenario, horizon, recording.name)]

    def rmse(self, *case: Any, **more: Any) -> float:
        return float(np.mean([np.sqrt(np.mean(o.errors**2)) for o in self.each(*case, **more)]))

    def mae(self, *case: Any, **more: Any) -> float:
        return float(np.mean([np.mean(o.errors) for o in self.each(*case, **more)]))

    def others(self, horizon: int, scenario: str) -> float:
        """Mean error of the markers that are there while another is lost, mean over recordings."""
        means = []
        for recording, outcome in zip(self.recordings, self.each("recommended", horizon, scenario), strict=True):
            parts = [
                np.delete(outcome.errors[start - START : start - START + LOST], marker, axis=1)
                for start, marker in loses(recording)
            ]
            means.append(np.mean(parts))
        return float(np.mean(means))


def table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    head = list(head)
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def verdict(value: float, limit: float) -> str:
    return f"{value:.3f} (≤ {limit:g}: {'reached' if value <= limit else 'MISSED'})"


def show_accuracy(results: Results, horizons: list[int]) -> None:
    print("## RMSE in mm by horizon, mean over recordings\n")
    head = ["horizon"]
    groups = {"all": "", "regular": "regular", "irregular": "irregular"}
    for title in groups:
        head += [f"{title}: recommended", "best linear", "persistence"]
    rows, lost = [], 0
    for h in horizons:
        row: list[object] = [f"{h / 10:.1f} s"]
        for group in groups.values():
            ours = results.rmse("recommended", h, group=group)
            best = min(results.rmse(name, h, group=group) for name in LINEAR)
            lost += ours >= best
            row += [f"{ours:.3f}", f"{best:.3f}", f"{results.rmse('persistence', h, group=group):.3f}"]
        rows.append(row)
    table(head, rows)
    cells = 3 * len(horizons)
    print(f"Below the best linear baseline in {cells - lost} of {cells} cells.\n")
    table(["horizon", "nine-recording mean RMSE"],
          [[f"{s} s", verdict(results.rmse("recommended", round(10 * s)), limit)]
           for s, limit in TARGETS.items() if round(10 * s) in horizons])  # fmt: skip
    h = horizons[-1]
    table(["recording", f"recommended at {h / 10:.1f} s", "persistence"],
          [[r.name, *(f"{np.sqrt(np.mean(results.outcomes[(n, 'clean', h, r.name)].errors ** 2)):.2f}"
                      for n in ("recommended", "persistence"))] for r in results.recordings])  # fmt: skip


def show_rotation(results: Results) -> None:
    print("## Space turned by a random rotation\n")
    rows = []
    for h in (5, 20):
        before, after = (results.rmse("recommended", h, scenario) for scenario in ("clean", "rotated"))
        rows.append([f"{h / 10} s", f"{before:.3f}", f"{after:.3f}", verdict(100 * abs(after / before - 1), 3)])
    table(["horizon", "RMSE", "turned", "change in %"], rows)


def show_robustness(results: Results) -> None:
    print("## Input that lies: MAE against the clean truth, as a ratio to that on clean input\n")
    rows = []
    for h in (5, 20):
        clean = results.mae("recommended", h)
        for scenario, words, limit in (("glitches", "3 % displaced by 30 mm", 1.15), ("missing", "10 % missing", 1.10)):
            value = results.mae("recommended", h, scenario)
            rows.append([f"{h / 10} s", words, f"{clean:.3f}", f"{value:.3f}", verdict(value / clean, limit)])
        before, after = results.others(h, "clean"), results.others(h, "lost")
        rows.append([f"{h / 10} s", "one marker lost for 5 s: the other two", f"{before:.3f}", f"{after:.3f}",
                     verdict(after / before, 1.05)])  # fmt: skip
        bare = "network, square error, no gate"
        before, after = results.mae(bare, h), results.mae(bare, h, "glitches")
        rows.append([f"{h / 10} s", f"3 % displaced; {bare}", f"{before:.3f}", f"{after:.3f}", f"{after / before:.2f}"])
    table(["horizon", "input", "MAE clean", "MAE", "ratio"], rows)


def show_coverage(results: Results) -> None:
    print("## Share of test positions within the 95 % radius\n")
    rows = []
    for h in (5, 20):
        each = [float(np.mean(o.within)) for o in results.each("recommended", h)]
        every = float(np.mean(np.concatenate([o.within.ravel() for o in results.each("recommended", h)])))
        good = 0.93 <= every <= 0.97 and min(each) >= 0.90
        rows.append([f"{h / 10} s", f"{every:.1%}", f"{min(each):.1%}", "reached" if good else "MISSED"])
    table(["horizon", "all", "lowest recording", "93 to 97 %, none below 90 %"], rows)


def show_speed(samples: int) -> None:
    print(f"## Speed and endurance: {samples} simulated samples in a row, one core, 0.5 s ahead\n")
    import psutil

    positions = simulated(seconds=samples / 10)[0].positions
    forecaster = recommended(horizon=0.5, rate=10.0)
    seconds, memory, bad, worst = np.zeros(samples), [], 0, 0.0
    for t, row in enumerate(positions):
        began = time.perf_counter()
        made = forecaster.update(row)
        seconds[t] = time.perf_counter() - began
        if t >= 400:
            bad += not np.isfinite(made.position).all()
            worst = max(worst, float(np.abs(made.position).max()))
        if t in (samples // 4, samples - 1):
            memory.append(psutil.Process().memory_info().rss / 1e6)
    settled = 1000 * seconds[400:]
    table(["", ""], [
        ["median", f"{np.median(settled):.2f} ms"],
        ["99th percentile", verdict(float(np.percentile(settled, 99)), 10.0) + " ms"],
        ["the sample that ends the warm-up, which learns from all before it", f"{1000 * seconds[299]:.0f} ms"],
        ["memory of the process after a quarter, and at the end", " → ".join(f"{m:.1f} MB" for m in memory)],
        ["forecasts that were not finite", bad],
        ["largest coordinate forecast, and seen", f"{worst:.1f} mm, {np.abs(positions).max():.1f} mm"],
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the ExtMarker files; downloaded where left out")
    parser.add_argument("--parts", default=",".join(PARTS), help="some of " + ", ".join(PARTS))
    parser.add_argument("--horizons", default="1-20", help="samples ahead for the accuracy, such as 2,5,10,20")
    parser.add_argument("--seconds", type=float, help="cut recordings to their first seconds, to try it out")
    parser.add_argument("--samples", type=int, default=100_000, help="samples of the endurance run")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    parts = options.parts.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--parts: some of {', '.join(PARTS)}, not {options.parts}")
    first, dash, last = options.horizons.partition("-")
    horizons = list(range(int(first), int(last) + 1)) if dash else [int(h) for h in options.horizons.split(",")]

    scenarios = {
        "rotation": [("recommended", "rotated")],
        "robustness": [("recommended", s) for s in ("glitches", "missing", "lost")]
        + [("network, square error, no gate", s) for s in ("clean", "glitches")],
    }
    wanted = {("recommended", "clean", h) for h in (5, 20) if set(parts) - {"accuracy", "speed"}}
    wanted |= {(name, s, h) for part in parts for name, s in scenarios.get(part, []) for h in (5, 20)}
    if "accuracy" in parts:
        wanted |= {(name, "clean", h) for h in horizons for name in ("recommended", "persistence", *LINEAR)}
    if wanted:
        recordings = extmarker(options.data_dir, progress=True)
        if options.seconds:
            n = round(10 * options.seconds)
            recordings = [replace(r, positions=r.positions[:n], times=r.times[:n]) for r in recordings]
        tasks = [Task(*case, recording) for case in sorted(wanted) for recording in recordings]
        results = Results(recordings, run(tasks, options.workers))
        if "accuracy" in parts:
            show_accuracy(results, horizons)
        if "rotation" in parts:
            show_rotation(results)
        if "robustness" in parts:
            show_robustness(results)
        if "coverage" in parts:
            show_coverage(results)
    if "speed" in parts:
        show_speed(options.samples)


if __name__ == "__main__":
    main()
