"""Measure the recommended forecaster on any motion: recordings, signals, early forecasts, rotations, poses, speed.

    python benchmarks/motion.py --data-dir RECORDINGS --signals FOLDER      # everything
    python benchmarks/motion.py --only poses                                # needs no files
    python benchmarks/motion.py --only speed                                # the same; run nothing else meanwhile

RECORDINGS is a folder with the nine files of ExtMarker, by default they are downloaded. FOLDER has CSV files of other
signals, as benchmarks/signals.py describes; without it the tables of other signals are left out. Every table has the
limits that the project has set itself. Forecasts are causal and computed in as many processes as there are cores.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from members import MemberScores, labels, score_members
from real_time import motion as breathing
from signals import Score, Signal, baselines, distances, forecast_alone, of_recording, read, score, simulated_poses
from tables import table, verdict

from quatcast import recommended
from quatcast.algebra.quaternion import conjugate, product, pure, random_unit, rotation, vector
from quatcast.basics.typing import Floats
from quatcast.data import extmarker
from quatcast.forecasting.recipe import WARMUP

PARTS = ("accuracy", "several", "signals", "early", "rotation", "poses", "members", "speed")
LIMITS = {0.2: 0.500, 0.5: 1.12, 1.0: 2.00, 2.0: 2.98}
"""Largest acceptable mean RMSE in mm over the nine recordings, for each horizon in seconds."""
SEVERAL = (0.1, 0.2, 0.5, 1.0, 2.0)
SAME, SLOWER = 1.02, 1.6
"""Largest acceptable ratios of five horizons at once to one: of the RMSE and of the time."""
KINDS = {"tumour": 0.95, "wave": 0.95, "motion": 0.95}
"""Largest acceptable mean ratio to the best simple forecaster, for each kind of signal."""
FAST = 0.85
"""The same for motion at 0.1 s."""
TURNED = 3.0
"""Largest acceptable change in per cent when body or room are turned."""
ANSWER, TAIL, LEARN = 1.0, 2.0, 4.0
"""Largest acceptable times in ms: `forecast`, its 99th percentile, and `learn`."""
PLAINEST = ("persistence", "velocity")
"""What early forecasts are compared with."""
POSES = 1.02
"""Largest acceptable ratio of the RMSE of half a pose to that of the same half forecast by itself."""
MIXED = 1.02
"""Largest acceptable ratio of the RMSE of the mixture to that of its best member."""

Task = tuple[str, Signal, tuple[float, ...]]
"""What to compute, the signal, and the horizons in seconds."""


def whole(signal: Signal, seconds: float) -> float:
    """Return a horizon as a whole number of samples, in seconds."""
    return signal.ahead(seconds) / signal.rate


def ours(signal: Signal, horizons: tuple[float, ...]) -> tuple[Score, ...]:
    """Return the scores of the recommended forecaster, for all horizons at once if there are several."""
    asked = [whole(signal, seconds) for seconds in horizons]
    forecaster = recommended(asked if len(asked) > 1 else asked[0], signal.rate, space=signal.space)
    forecasts = forecaster.run(signal.samples)
    shape = (len(asked), *signal.samples.shape)
    errors = distances(signal, forecasts.positions.reshape(shape))
    radius = forecasts.radius
    if signal.half:
        radius = radius[..., 0 if signal.half == "position" else 1]
    radius = radius.reshape(errors.shape)
    return tuple(score(signal, e, r) for e, r in zip(errors, radius, strict=True))


def simple(signal: Signal, horizons: tuple[float, ...], among: Sequence[str] | None = None) -> dict[str, Score]:
    """Return the scores of all simple forecasters, or of some of them."""
    assert not signal.half
    ahead = signal.ahead(horizons[0])
    return {
        name: score(signal, distances(signal, forecast_alone(make(), signal, ahead)))
        for name, make in baselines(ahead, signal.rate).items()
        if among is None or name in among
    }


def turned(signal: Signal, horizons: tuple[float, ...]) -> dict[str, tuple[float, float]]:
    """Return RMSE and largest difference of forecasts, for body, room and sign turned, relative to none of them."""
    seconds, x, q = whole(signal, horizons[0]), signal.samples[..., :-4], signal.samples[..., -4:]
    r = random_unit(np.random.default_rng(7))
    signs = np.where(np.random.default_rng(8).uniform(size=len(q)) < 0.5, -1.0, 1.0)[:, None, None]
    found: dict[str, tuple[float, float]] = {}
    plain: Floats = np.empty(0)
    one = np.array([1.0, 0.0, 0.0, 0.0])
    for name, left, right, sign in (
        ("as it is", one, one, np.ones_like(signs)),
        ("body turned", one, r, np.ones_like(signs)),
        ("room turned", r, one, np.ones_like(signs)),
        ("random signs", one, one, signs),
    ):
        room = vector(rotation(pure(x), left)) if x.size else x
        poses = np.concatenate([room, sign * product(product(left, q), right)], axis=-1)
        made = recommended(seconds, signal.rate, space=signal.space).run(poses).positions
        turns = product(product(conjugate(left), made[..., -4:]), conjugate(right))
        back = vector(rotation(pure(made[..., :-4]), conjugate(left))) if x.size else made[..., :-4]
        back = np.concatenate([back, turns], axis=-1)
        plain = back if name == "as it is" else plain
        rmse = score(signal, distances(signal, back)).rmse
        found[name] = rmse, float(np.nanmax(distances(signal._replace(samples=plain), back)))
    return found


WORK: dict[str, Callable[[Signal, tuple[float, ...]], Any]] = {
    "ours": ours,
    "simple": simple,
    "plainest": partial(simple, among=PLAINEST),
    "turned": turned,
    "members": score_members,
}


def work(task: Task) -> Any:
    """Compute one task."""
    what, signal, horizons = task
    with np.errstate(all="ignore"):
        return WORK[what](signal, horizons)


class Results:
    """What has been computed, by task; tasks are computed when they are needed."""

    def __init__(self, workers: int) -> None:
        self.workers, self.found = workers, dict[Any, Any]()

    def need(self, tasks: Iterable[Task]) -> None:
        """Compute tasks that are not known yet, the longest first."""
        missing = {self._key(*task): task for task in tasks}
        missing = {key: task for key, task in missing.items() if key not in self.found}
        if not missing:
            return
        order = sorted(missing, key=lambda key: -len(missing[key][1].samples) * len(missing[key][2]))
        began = time.monotonic()
        with ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn")) as executor:
            futures = {executor.submit(work, missing[key]): key for key in order}
            for done, future in enumerate(as_completed(futures), start=1):
                self.found[futures[future]] = future.result()
                if done % max(1, len(missing) // 5) == 0:
                    said = f"{done} of {len(missing)} after {time.monotonic() - began:.0f} s"
                    print(said, file=sys.stderr, flush=True)

    def __call__(self, what: str, signal: Signal, *horizons: float) -> Any:
        """Return the result of a task that was needed."""
        return self.found[self._key(what, signal, horizons)]

    @staticmethod
    def _key(what: str, signal: Signal, horizons: tuple[float, ...]) -> tuple[Any, ...]:
        return what, signal.name, signal.label, horizons


def show_accuracy(results: Results, nine: list[Signal]) -> None:
    print("## RMSE in mm, mean over the nine recordings, each horizon by itself\n", flush=True)
    results.need(("ours", signal, (seconds,)) for signal in nine for seconds in LIMITS)
    rows = []
    for seconds, limit in LIMITS.items():
        scores = [results("ours", signal, seconds)[0] for signal in nine]
        within = [s.within for s in scores]
        rows.append([f"{seconds} s", verdict(float(np.mean([s.rmse for s in scores])), limit),
                     f"{np.mean(within):.1%}", f"{min(within):.1%}"])  # fmt: skip
    table(["horizon", "RMSE", "within the radius", "lowest recording"], rows)


def show_several(results: Results, nine: list[Signal]) -> None:
    print("## Five horizons at once and each by itself, mean RMSE in mm over the nine recordings\n", flush=True)
    results.need(("ours", signal, (seconds,)) for signal in nine for seconds in SEVERAL)
    results.need(("ours", signal, SEVERAL) for signal in nine)
    rows = []
    for i, seconds in enumerate(SEVERAL):
        alone = float(np.mean([results("ours", signal, seconds)[0].rmse for signal in nine]))
        together = float(np.mean([results("ours", signal, *SEVERAL)[i].rmse for signal in nine]))
        rows.append([f"{seconds} s", f"{alone:.3f}", f"{together:.3f}", verdict(together / alone, SAME)])
    table(["horizon", "by itself", "at once", "ratio"], rows)
    ratio, alone, together = several_time()
    print(f"Time of an update: {alone:.2f} ms for one horizon, {together:.2f} ms for five; "
          f"median of the ratios {verdict(ratio, SLOWER, 2)}\n", flush=True)  # fmt: skip


def several_time(seconds: float = 60.0) -> tuple[float, float, float]:
    """Return the ratio of the times of an update for five horizons and for one, and both times in ms."""
    forecasters = [recommended(2.0, 10.0), recommended(list(SEVERAL), 10.0)]
    times = []
    for sample in breathing(3, 10.0, seconds):
        pair = []
        for forecaster in forecasters:
            began = time.thread_time()
            forecaster.update(sample)
            pair.append(1000 * (time.thread_time() - began))
        times.append(pair)
    settled = np.array(times[round(10 * WARMUP) :])
    # Every few samples a member is refitted: sums over a second are compared.
    blocks = settled[: len(settled) // 10 * 10].reshape(-1, 10, 2).sum(axis=1)
    alone, together = np.median(blocks, axis=0) / 10
    return float(np.median(blocks[:, 1] / blocks[:, 0])), float(alone), float(together)


def cases(signals: list[Signal]) -> list[tuple[Signal, float]]:
    """Return all pairs of a signal and a horizon in seconds."""
    return [(signal, seconds) for signal in signals for seconds in signal.horizons]


def size(signal: Signal, value: float) -> str:
    """Return an error: angles in degrees, other ones as they are."""
    return f"{np.degrees(value):.3f}°" if "orientation" in (signal.space, signal.half) else f"{value:.4g}"


def show_signals(results: Results, signals: list[Signal]) -> None:
    print("## Other signals: RMSE relative to the best simple forecaster in hindsight\n", flush=True)
    results.need(("ours", signal, (seconds,)) for signal, seconds in cases(signals))
    results.need(("simple", signal.alone(), (seconds,)) for signal, seconds in cases(signals))
    rows, ratios = [], dict[tuple[str, str, float], list[float]]()
    for signal, seconds in cases(signals):
        mine, others = results("ours", signal, seconds)[0], results("simple", signal.alone(), seconds)
        best = min(others, key=lambda name: others[name].rmse if np.isfinite(others[name].rmse) else np.inf)
        ratio = mine.rmse / others[best].rmse
        ratios.setdefault((signal.kind, signal.label, round(seconds, 3)), []).append(ratio)
        rows.append([signal.name, signal.label, f"{seconds:.3g} s", size(signal, mine.rmse),
                     size(signal, others[best].rmse), best, verdict(ratio, 1.0), f"{mine.within:.1%}"])  # fmt: skip
    table(["file", "space", "horizon", "RMSE", "best simple", "which", "ratio", "within the radius"], rows)
    means = [[kind, space, f"{seconds:.3g} s", len(values),
              verdict(float(np.mean(values)), FAST if kind == "motion" and seconds == 0.1 else KINDS[kind])]
             for (kind, space, seconds), values in ratios.items()]  # fmt: skip
    table(["kind", "space", "horizon", "files", "mean ratio"], means)


def show_early(results: Results, signals: list[Signal]) -> None:
    print("## The first 35 s: RMSE relative to the better of persistence and velocity\n", flush=True)
    chosen = [(s, h) for s, h in cases(signals) if len(s.samples) > 15 * s.rate]
    results.need(("ours", signal, (seconds,)) for signal, seconds in chosen)
    results.need(("plainest", signal.alone(), (seconds,)) for signal, seconds in chosen)
    rows, missed = [], 0
    for signal, seconds in chosen:
        mine, two = results("ours", signal, seconds)[0], results("plainest", signal.alone(), seconds).values()
        early, later = mine.early / min(s.early for s in two), mine.later / min(s.later for s in two)
        judged = verdict(later, 1.0) if seconds == 0.5 else f"{later:.3f}"
        missed += early > 1.0
        rows.append([signal.name, signal.label, f"{seconds:.3g} s", size(signal, mine.early),
                     verdict(early, 1.0), judged])  # fmt: skip
    table(["file", "space", "horizon", "RMSE from 5 to 35 s", "ratio", "ratio from 15 to 35 s"], rows)
    print(f"Above the better of the two in {missed} of {len(rows)} cases.\n", flush=True)


def show_rotation(results: Results, signals: list[Signal]) -> None:
    print("## Orientations and poses with body, room or signs turned, 0.1 s ahead\n", flush=True)
    chosen = [signal for signal in signals if signal.space in ("orientation", "pose")]
    results.need(("turned", signal, (0.1,)) for signal in chosen)
    rows = []
    for signal in chosen:
        found = results("turned", signal, 0.1)
        plain = found.pop("as it is")[0]
        for name, (rmse, difference) in found.items():
            rows.append([signal.name, signal.label, name, size(signal, plain), size(signal, rmse),
                         verdict(100 * abs(rmse / plain - 1), TURNED), f"{difference:.1e}"])  # fmt: skip
    table(
        ["file", "space", "turned", "RMSE", "RMSE after turning", "change in %", "largest difference"],
        rows,
    )


def show_poses(results: Results, seconds: float = 180.0) -> None:
    print("## Halves of simulated poses, relative to the same half forecast by itself, 0.5 s ahead\n", flush=True)
    signals = simulated_poses(seconds)
    results.need(("ours", one, (0.5,)) for signal in signals for one in (signal, signal.alone()))
    rows = []
    for signal in signals:
        mine, alone = (results("ours", one, 0.5)[0].rmse for one in (signal, signal.alone()))
        rows.append([signal.name, signal.half, size(signal, alone), size(signal, mine), verdict(mine / alone, POSES)])
    table(["recording, orientation", "half", "RMSE by itself", "in a pose", "ratio"], rows)


def show_members(results: Results, nine: list[Signal], signals: list[Signal]) -> None:
    results.need(("members", signal, (seconds,)) for signal, seconds in cases(nine + signals))
    print("## What each member contributes, mean RMSE in mm over the nine recordings\n", flush=True)
    names = ["all", *labels(0.5, 10.0)]
    found: dict[float, list[MemberScores]] = {s: [results("members", signal, s) for signal in nine] for s in LIMITS}

    def row(i: int) -> list[str]:
        cells = [names[i]]
        for scores in found.values():
            alone = f"{np.mean([s.alone[i - 1] for s in scores]):.3f}" if i else ""
            cells += [alone, f"{np.mean([s.without[i - 1] if i else s.mixture for s in scores]):.3f}"]
        return cells

    if nine:
        head = [cell for s in LIMITS for cell in (f"alone, {s} s", "mixture without it")]
        table(["member", *head], (row(i) for i in range(len(names))))
    print("## The mixture and its best member in hindsight\n", flush=True)
    rows = []
    for signal, seconds in cases(nine + signals):
        one: MemberScores = results("members", signal, seconds)
        best = int(np.nanargmin(one.alone))
        which = labels(seconds, signal.rate, signal.space)[best]
        rows.append([signal.name, signal.label, f"{seconds:.3g} s", which,
                     verdict(one.mixture / one.alone[best], MIXED)])  # fmt: skip
    table(["file", "space", "horizon", "best member", "ratio"], rows)


def show_speed(seconds: float) -> None:
    print("## Time per sample in ms: three channels, one horizon, one core\n", flush=True)
    rows = []
    for rate, horizon in ((10.0, 0.5), (50.0, 0.5), (50.0, 0.1), (100.0, 0.5), (100.0, 0.1)):
        forecaster, times = recommended(horizon, rate), []
        for sample in breathing(3, rate, seconds):
            began = time.thread_time()
            forecaster.forecast(sample)
            answered = time.thread_time()
            forecaster.learn()
            times.append((answered - began, time.thread_time() - answered))
        both, begin, warm = 1000 * np.array(times), round(30 * rate), round(WARMUP * rate)
        answer, learn = both[begin:].T
        slow = both[begin:warm]
        rows.append([f"{rate:g} Hz", f"{horizon} s", verdict(float(np.median(answer)), ANSWER, 2),
                     verdict(float(np.percentile(answer, 99)), TAIL, 2), verdict(float(np.median(learn)), LEARN, 2),
                     f"{np.percentile(both[warm:, 1], 99):.2f}", f"{np.median(slow[:, 1]):.2f}",
                     f"{slow.sum(axis=1).max():.1f} of {1000 / rate:g}"])  # fmt: skip
    table(["rate", "horizon", "forecast, median", "forecast, 99th percentile", "learn, median",
           "learn after catching up, 99th percentile", "learn while catching up, median",
           "longest update while catching up, of a sampling period"], rows)  # fmt: skip
    print("From 30 s on, which includes the five seconds of catching up, unless stated otherwise.\n", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the ExtMarker files; by default they are downloaded")
    parser.add_argument("--signals", type=Path, help="folder of CSV files of other signals")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, separated by commas: " + ", ".join(PARTS))
    parser.add_argument("--names", default="", help="only files whose name contains one of these, for a trial")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the signal that speed is measured on")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    options = parser.parse_args()
    parts = options.only.split(",")
    if not set(parts) <= set(PARTS):
        parser.error(f"--only: expected some of {', '.join(PARTS)}, got {options.only}")
    nine, others = list[Signal](), list[Signal]()
    if set(parts) & {"accuracy", "several", "early", "members"}:
        nine = [of_recording(r, tuple(LIMITS)) for r in extmarker(options.data_dir, progress=True)]
    if options.signals:
        others = read(options.signals)

    def named(signals: list[Signal]) -> list[Signal]:
        wanted = [name for name in options.names.split(",") if name]
        return [s for s in signals if not wanted or any(name in s.name for name in wanted)]

    nine, others, results = named(nine), named(others), Results(options.workers)
    for name, show in {"accuracy": show_accuracy, "several": show_several}.items():
        if name in parts and nine:
            show(results, nine)
    if "signals" in parts and others:
        show_signals(results, others)
    if "early" in parts:
        show_early(results, nine + others)
    if "rotation" in parts and others:
        show_rotation(results, others)
    if "poses" in parts:
        show_poses(results)
    if "members" in parts:
        show_members(results, nine, others)
    if "speed" in parts:
        show_speed(options.seconds)


if __name__ == "__main__":
    main()
