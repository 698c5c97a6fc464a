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
import hashlib
import json
import multiprocessing
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from numpy.typing import NDArray
from tables import table, verdict

import quatcast
from quatcast import MSE, QRNN, RLS, Forecaster, Persistence, Ridge, recommended
from quatcast.algebra.quaternion import pure, random_unit, rotation, vector
from quatcast.data import Recording, corrupt, extmarker, simulated
from quatcast.forecasting.recipe import WARMUP, experts

START = 600
LOST = 50
"""Samples for which a marker is lost: five seconds."""
PARTS = ("accuracy", "order", "rotation", "robustness", "coverage", "speed", "checkpoint")
TIMED = ("speed", "checkpoint")
"""Parts that need no recordings and measure time."""
TARGETS = {0.2: 0.500, 0.5: 1.12, 1.0: 2.00, 2.0: 2.98}
"""Largest acceptable RMSE in mm for each horizon in seconds."""
ORDER_COST = 1.005
"""Largest acceptable ratio of the RMSE with the answer first to the RMSE with learning first."""
CHECKPOINT_SIZE, CHECKPOINT_TIME = 4.0, 20.0
"""Largest acceptable size in MB of a checkpoint, and time in ms to write it."""
SPARSE = (*range(8), *range(10, 60, 5))
"""Delays of a linear baseline over almost six seconds."""
BARE = "network, square error, no gate"
Floats = NDArray[np.float64]


class Outcome(NamedTuple):
    """Figures of one forecaster on one recording; `others` is the mean error of the other markers while one is lost."""

    rmse: float
    mae: float
    others: float
    within: int
    total: int
    milliseconds: float


def draw_of(scenario: str) -> tuple[str, int]:
    """Return the name of a scenario and the number of the random draw, which follows a # if it is not the first."""
    name, _, draw = scenario.partition("#")
    return name, int(draw or 0)


def loses(recording: Recording, draw: int) -> list[tuple[int, int]]:
    """Return the first sample and the marker of each loss: one loss every twenty seconds, the markers in turn.

    Each draw begins at another sample and with another marker.
    """
    starts = range(START + 10 + 37 * draw % 200, len(recording) - LOST, 200)
    return [(start, (i + draw) % recording.positions.shape[1]) for i, start in enumerate(starts)]


def spoil(recording: Recording, scenario: str) -> tuple[Floats, Floats]:
    """Return the samples that the forecaster receives, and the true positions that it is compared with."""
    clean, (scenario, draw) = recording.positions, draw_of(scenario)
    if scenario == "rotated":
        turn = random_unit(np.random.default_rng(5))
        clean = vector(rotation(pure(clean), turn))
    seen = clean
    if scenario == "glitches":
        seen = corrupt(recording, glitches=0.03, seed=1 + draw).positions
    elif scenario == "missing":
        seen = corrupt(recording, dropouts=0.10, seed=1 + draw).positions
    elif scenario == "lost":
        seen = clean.copy()
        for start, marker in loses(recording, draw):
            seen[start : start + LOST, marker] = np.nan
    return seen, clean


def plain(horizon: int, rate: float, learn_first: bool) -> Forecaster:
    """Return the network of the recommended mixture alone, with the mean square error and without a gate."""
    members = experts(horizon, rate, learn_first=learn_first).members
    network = next(m for m in members if isinstance(m, Forecaster) and isinstance(m.learner, QRNN))
    network.learner = type(network.learner)(**{**network.learner.settings(), "loss": MSE()})
    return network


def linear(kind: Callable[[], Any], lags: Any) -> Callable[[int, float, bool], Forecaster]:
    return partial(_linear, kind, lags)


def _linear(kind: Callable[[], Any], lags: Any, horizon: int, rate: float, learn_first: bool) -> Forecaster:
    usual: dict[str, Any] = {"target": "displacement", "scale_by": "channel", "learn_first": learn_first}
    return Forecaster(kind(), horizon=horizon, lags=lags, **usual)


def still(horizon: int, rate: float, learn_first: bool) -> Forecaster:
    return Forecaster(Persistence(), horizon=horizon, lags=1)


LINEAR: dict[str, Callable[[int, float, bool], Forecaster]] = {
    **{f"ridge λ={r:g}": linear(partial(Ridge, r), 12) for r in (3.0, 10.0, 30.0, 100.0, 300.0)},
    **{f"ridge sparse λ={r:g}": linear(partial(Ridge, r), SPARSE) for r in (30.0, 100.0, 300.0)},
    **{f"RLS {f:g}": linear(partial(RLS, f, 30.0), 12) for f in (0.998, 0.999, 1.0)},
}


def forecast(name: str, horizon: int, rate: float, learn_first: bool) -> Any:
    if name == "recommended":
        return recommended(horizon / rate, rate, learn_first=learn_first)
    builders = {"persistence": still, BARE: plain, **LINEAR}
    return builders[name](horizon, rate, learn_first)


class Case(NamedTuple):
    """Forecaster, scenario, horizon and order; together with a recording and the code they determine an outcome."""

    name: str
    scenario: str
    horizon: int
    learn_first: bool


def work(case: Case, recording: Recording) -> Outcome:
    seen, truth = spoil(recording, case.scenario)
    began = time.process_time()
    forecasts = forecast(case.name, case.horizon, recording.rate, case.learn_first).run(seen)
    milliseconds = 1000 * (time.process_time() - began) / len(seen)
    made = np.asarray(forecasts)
    made = made.mean(axis=0) if made.ndim == 4 else made
    errors = np.linalg.norm(made - truth, axis=-1)[START:]
    radius = getattr(forecasts, "radius", None)
    within = 0 if radius is None else int(np.sum(errors <= radius[START:]))
    lost = loses(recording, draw_of(case.scenario)[1])
    others = [np.delete(errors[s - START : s - START + LOST], marker, axis=1) for s, marker in lost]
    return Outcome(
        float(np.sqrt(np.mean(errors**2))),
        float(np.mean(errors)),
        float(np.mean(others)) if others else float("nan"),
        within,
        errors.size,
        milliseconds,
    )


@cache
def code() -> str:
    """Return a digest of all code that forecasts depend on."""
    package = Path(quatcast.__file__).parent
    files = [p for p in sorted(package.rglob("*.py")) if not {"cli", "evaluation"} & set(p.relative_to(package).parts)]
    text = b"".join(path.read_bytes() for path in [*files, Path(__file__)])
    return hashlib.sha256(text + np.__version__.encode()).hexdigest()[:16]


class Results:
    """Outcomes of cases on recordings, computed when needed and stored in a file, and means over recordings."""

    def __init__(self, recordings: list[Recording], folder: Path | None, workers: int, learn_first: bool) -> None:
        self.recordings, self.workers, self.learn_first = recordings, workers, learn_first
        self.path = Path(os.devnull) if folder is None else folder / "recommended.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.outcomes: dict[str, Outcome] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                key, *figures = json.loads(line)
            except ValueError:
                continue  # the last line of an interrupted run
            self.outcomes[key] = Outcome(*figures)

    def key(self, case: Case, recording: Recording) -> str:
        samples = hashlib.sha256(np.ascontiguousarray(recording.positions).tobytes()).hexdigest()[:16]
        return " | ".join([code(), *map(str, case), recording.name, f"{recording.rate:g}", samples])

    def need(self, cases: Iterable[Case]) -> None:
        """Compute the outcomes of cases that are not known yet, the longest first."""
        tasks = {self.key(case, r): (case, r) for case in cases for r in self.recordings}
        missing = {key: task for key, task in tasks.items() if key not in self.outcomes}
        if not missing:
            return
        longest_first = sorted(missing, key=lambda key: -len(missing[key][1]) * (missing[key][0].name == "recommended"))
        began = time.monotonic()
        with (
            ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn")) as executor,
            self.path.open("a") as file,
        ):
            futures = {executor.submit(work, *missing[key]): key for key in longest_first}
            for done, future in enumerate(as_completed(futures), start=1):
                key, outcome = futures[future], future.result()
                self.outcomes[key] = outcome
                print(json.dumps([key, *outcome]), file=file, flush=True)
                if done % max(1, len(missing) // 5) == 0:
                    left = (time.monotonic() - began) * (len(missing) / done - 1)
                    print(f"{done} of {len(missing)} forecasts, about {left:.0f} s left", file=sys.stderr, flush=True)

    def case(self, name: str, horizon: int, scenario: str = "clean", learn_first: bool | None = None) -> Case:
        """Return a case, in the order of learning of this run unless another one is named."""
        return Case(name, scenario, horizon, self.learn_first if learn_first is None else learn_first)

    def each(self, *case: Any, group: str = "", **more: Any) -> Iterator[Outcome]:
        """Yield the outcome of a case on each recording, or on each one of a group."""
        for recording in self.recordings:
            if not group or recording.group == group:
                yield self.outcomes[self.key(self.case(*case, **more), recording)]

    def rmse(self, *case: Any, **more: Any) -> float:
        return float(np.mean([outcome.rmse for outcome in self.each(*case, **more)]))

    def mae(self, *case: Any, **more: Any) -> float:
        return float(np.mean([outcome.mae for outcome in self.each(*case, **more)]))

    def others(self, horizon: int, scenario: str) -> float:
        """Return the mean error of the markers that are observed while another one is lost."""
        return float(np.mean([outcome.others for outcome in self.each("recommended", horizon, scenario)]))


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
    results.need(results.case("recommended", h, f"{s}{n}") for s in ("clean", *kinds) for n in names for h in (5, 20))
    rows = []
    for h in (5, 20):
        for kind, (words, limit) in kinds.items():
            # Draws of lost markers differ in when they are lost, which matters on clean input too.
            figure = results.others if kind == "lost" else lambda h, s: results.mae("recommended", h, s)
            ratios = [figure(h, f"{kind}{n}") / figure(h, f"clean{n}") for n in names]
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


def show_speed(samples: int, learn_first: bool) -> None:
    print(f"## Speed and endurance: {samples} simulated samples in a row, one core, 0.5 s ahead\n", flush=True)
    import psutil

    def memory() -> float:
        return float(psutil.Process().memory_info().rss / 1e6)

    positions = simulated(seconds=samples / 10)[0].positions
    before = memory()
    forecaster = recommended(horizon=0.5, rate=10.0, learn_first=learn_first)
    seconds, kept, bad, largest = np.zeros(samples), [], 0, 0.0
    warm = round(10 * WARMUP)
    for t, row in enumerate(positions):
        began = time.perf_counter()
        made = forecaster.update(row)
        seconds[t] = time.perf_counter() - began
        if t >= warm:
            bad += not np.isfinite(made.position).all()
            largest = max(largest, float(np.nanmax(np.abs(made.position))))
        if t in (2 * warm, samples // 4, samples - 1):
            kept.append(memory())
    milliseconds = 1000 * seconds
    settled = milliseconds[warm:]
    table(["", ""], [
        ["median", f"{np.median(settled):.2f} ms"],
        ["99th percentile", verdict(float(np.percentile(settled, 99)), 10.0) + " ms"],
        ["longest", f"{settled.max():.1f} ms"],
        ["longest during the warm-up", f"{milliseconds[:warm].max():.1f} ms"],
        ["memory of the process before, after 70 s, after a quarter, and at the end",
         " → ".join(f"{m:.1f} MB" for m in (before, *kept))],
        ["forecasts that were not finite", bad],
        ["largest coordinate of all forecasts, and of all samples",
         f"{largest:.1f} mm, {np.abs(positions).max():.1f} mm"],
    ])  # fmt: skip


def show_checkpoint(seconds: float = 150.0, files: int = 50) -> None:
    print(
        f"## Checkpoints: three markers at 10 Hz after {seconds:g} s, 0.5 s ahead, median of {files} files\n",
        flush=True,
    )
    forecaster, halves = recommended(horizon=0.5, rate=10.0), []
    for row in simulated(seconds=seconds)[0].positions:
        began = time.perf_counter()
        forecaster.forecast(row)
        answered = time.perf_counter()
        forecaster.learn()
        halves.append((answered - began, time.perf_counter() - answered))
    times = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        for _ in range(files):
            began = time.perf_counter()
            forecaster.save(path)
            times.append(time.perf_counter() - began)
        size = path.stat().st_size / 1e6
        began = time.perf_counter()
        type(forecaster).load(path)
        loaded = time.perf_counter() - began
    settled = 1000 * np.array(halves[round(10 * WARMUP) :])
    table(["", ""], [
        ["size in MB", verdict(size, CHECKPOINT_SIZE)],
        ["time to save in ms, median", verdict(1000 * float(np.median(times)), CHECKPOINT_TIME)],
        ["time to save in ms, longest", f"{1000 * max(times):.1f}"],
        ["time to load in ms", f"{1000 * loaded:.1f}"],
        *([f"time of `{half}` in ms, median and 99th percentile",
           f"{np.median(column):.2f}, {np.percentile(column, 99):.2f}"]
          for half, column in zip(("forecast", "learn"), settled.T, strict=True)),
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the ExtMarker files; by default they are downloaded")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas: " + ", ".join(PARTS))
    parser.add_argument("--out", type=Path, help="folder in which finished figures are stored; by default none")
    parser.add_argument("--horizons", default="1-20", help="horizons of the accuracy in samples, such as 2,5,10,20")
    parser.add_argument("--seconds", type=float, help="use only the first seconds of each recording, for a trial")
    parser.add_argument("--samples", type=int, default=100_000, help="number of samples of the endurance run")
    parser.add_argument("--draws", type=int, default=1, help="number of random draws of faulty input")
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
