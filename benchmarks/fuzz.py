"""Fuzz guarded forecasters: random and adversarial samples, and what must never happen.

    python benchmarks/fuzz.py --updates 20000                             # a trial, about two minutes
    python benchmarks/fuzz.py --updates 1000000 --workers 16 --state fuzz.json

The updates are divided into pieces. In each piece one forecaster sees a sequence of episodes: clean motion, and bursts
of every kind that is defined here (NaN, infinity, huge and tiny numbers, constants, swapped labels, masked arrays,
None, wrong shapes and types, lost channels, checkpoints, missing calls of `learn`). It counts

- errors other than the documented `ValueError` for what is no sample;
- refusals that changed anything;
- forecasts with status ok that are not finite, or have no finite radius;
- results of another shape, and reasons that do not fit the status;
- states of a forecaster that are larger than after clean motion alone, when all memories are full;
- growth of the memory of the process in the second half of a piece.

With --state the pieces that are complete are stored in a JSON file, and a run with the same file goes on with the
others. The exit status is 1 if anything was counted.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import json
import multiprocessing
import pickle
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from quatcast import LMS, RLS, Forecaster, Gate, Guarded, Mixture, Persistence, Ridge, Status, recommended
from quatcast.basics.typing import Floats
from quatcast.data import simulated
from quatcast.testing.bursts import BURSTS, SCOPES, with_burst

PIECE = 5000
"""Updates per piece."""
EPISODE = 150
"""Largest number of samples of an episode."""
EXCESS, SHARED = 0.01, 20e3
"""Share and bytes by which a state may exceed that after clean motion: a pickle stores arrays only once that several
attributes share before anything happens."""
PROCESS_GROWTH = 30e6
"""Bytes by which a process may grow in half a piece."""
FILLED, WATCHED = 1500, 100
"""Updates with clean motion until all memories are full, and further ones that the largest state is taken from."""
CHANNELS = range(2, 6)
"""Numbers of channels, which are drawn at random."""
FAULTS = ("raised", "changed by a refusal", "ok but not finite", "wrong shape", "wrong reason", "memory grew")


def linear(learner: Any, **settings: Any) -> Guarded:
    usual: dict[str, Any] = {"horizon": 5, "lags": 8, "target": "displacement", "scale_by": "channel", "train": 100}
    return Guarded(Forecaster(learner, **(usual | {"catch_up": 7} | settings)), rate=10.0)


def mixture() -> Guarded:
    usual: dict[str, Any] = {"horizon": 3, "lags": 4, "train": 60, "catch_up": 5}
    members = [Forecaster(RLS(), **usual), Forecaster(LMS(), **usual), Forecaster(Persistence(), **usual)]
    return Guarded(Mixture(members), rate=10.0, gate=Gate(10.0, sentinels=[9999.0], valid=(-1e6, 1e6)))


FORECASTERS: dict[str, Callable[[], Guarded]] = {
    "ridge": lambda: linear(Ridge()),
    "RLS": lambda: linear(RLS()),
    "LMS on positions": lambda: linear(LMS(), target="position"),
    "mixture": mixture,
    "recommended": lambda: recommended(0.5, 10.0),
}
"""Names → forecasters, which the pieces take in turn."""

Random = np.random.Generator


def extreme(x: Floats, rng: Random) -> Floats:
    values = [
        np.nan,
        np.inf,
        -np.inf,
        0.0,
        -0.0,
        5e-324,
        1e-300,
        1e9,
        -1e9,
        1.0000001e9,
        1e50,
        1e155,
        1.7e308,
        -1.7e308,
    ]
    return np.where(rng.random(x.shape) < rng.choice([0.02, 0.3, 1.0]), rng.choice(values, x.shape), x)


def scaled(x: Floats, rng: Random) -> Floats:
    return x * 10.0 ** rng.integers(-12, 13)


def bits(x: Floats, rng: Random) -> Floats:
    """Numbers of random bits: every float is as likely as another, NaN with all payloads too."""
    random = rng.integers(0, 2**64, x.shape, dtype=np.uint64).view(np.float64)
    return np.where(rng.random(x.shape) < 0.2, random, x)


def constant(x: Floats, rng: Random) -> Floats:
    return np.full_like(x, rng.choice([0.0, 9999.0, -1.0, 1e8, float(rng.normal()) * 100]))


def walk(x: Floats, rng: Random) -> Floats:
    return x + np.cumsum(rng.normal(size=x.shape) * 10.0 ** rng.integers(-3, 4), axis=0)


def swapped(x: Floats, rng: Random) -> Floats:
    return np.stack([row[rng.permutation(x.shape[1])] if rng.random() < 0.3 else row for row in x])


def lost(x: Floats, rng: Random) -> Floats:
    return np.where((rng.random(x.shape[:2]) < rng.random())[..., None], np.nan, x)


def frozen(x: Floats, rng: Random) -> Floats:
    return np.where(rng.random((1, x.shape[1], 1)) < 0.5, x[:1], x)


def catalogue(x: Floats, rng: Random) -> Floats:
    name, scope = str(rng.choice(list(BURSTS))), str(rng.choice(SCOPES))
    start = int(rng.integers(0, len(x)))
    return with_burst(x, name, scope, start, len(x) - start, seed=int(rng.integers(2**31)))


EPISODES: tuple[Callable[[Floats, Random], Floats], ...] = (
    extreme,
    scaled,
    bits,
    constant,
    walk,
    swapped,
    lost,
    frozen,
    catalogue,
)
REFUSED: list[Callable[[Floats], Any]] = [
    lambda x: x[:-1],
    lambda x: x[:, :2],
    lambda x: x[None],
    lambda x: np.zeros((0, 3)),
    lambda x: x.astype(complex),
    lambda x: x > 0,
    lambda x: [["a", "b", "c"]] * len(x),
    lambda x: [[1.0, 2.0, 3.0], [1.0]],
    lambda x: None,
    lambda x: "sample",
    lambda x: [[object()] * 3] * len(x),
]
"""What is no sample, and must be refused with a `ValueError`."""
DISGUISES: list[Callable[[Floats], Any]] = [
    lambda x: x.tolist(),
    lambda x: [[None if not np.isfinite(v) else v for v in row] for row in x.tolist()],
    lambda x: np.ma.MaskedArray(np.nan_to_num(x), mask=~np.isfinite(x)),
    lambda x: np.asfortranarray(x),
    lambda x: np.repeat(x, 2, axis=0)[::2],
    lambda x: np.round(np.clip(np.nan_to_num(x), -1e9, 1e9)).astype(int),
]
"""The same sample in another form."""


def check(forecaster: Guarded, sample: Any, shape: tuple[int, ...], rng: Random, counts: Counter[str]) -> None:
    """Update a forecaster with a sample, and count what must not happen."""
    try:
        if rng.random() < 0.8:
            made = forecaster.update(sample, rng.random(shape[0]) < 0.9 if rng.random() < 0.05 else None)
        else:
            made = forecaster.forecast(sample)
            if rng.random() < 0.8:
                forecaster.learn()
    except Exception as error:
        counts["raised"] += 1
        print(f"raised: {type(error).__name__}: {error} for {sample!r}", file=sys.stderr, flush=True)
        return
    counts[made.status.label] += 1
    complete = np.isfinite(made.position).all() and np.isfinite(made.radius).all()
    counts["ok but not finite"] += made.status == Status.OK and not complete
    counts["wrong shape"] += made.position.shape != shape or made.radius.shape != shape[:1]
    counts["wrong reason"] += (made.status == Status.OK) != (made.reason == "") or "\n" in made.reason


def refuse(forecaster: Guarded, row: Floats, rng: Random, counts: Counter[str]) -> None:
    """Show something that is no sample."""
    before = pickle.dumps(forecaster) if rng.random() < 0.05 else None
    sample = REFUSED[rng.integers(len(REFUSED))](row)
    try:
        forecaster.update(sample)
        counts["raised"] += 1
        print(f"not refused: {sample!r}", file=sys.stderr, flush=True)
    except ValueError:
        counts["refused"] += 1
    except Exception as error:
        counts["raised"] += 1
        print(f"refused by {type(error).__name__}: {error} for {sample!r}", file=sys.stderr, flush=True)
    if before is not None:
        counts["changed by a refusal"] += pickle.dumps(forecaster) != before


def size(forecaster: Guarded) -> int:
    """Return the size of the state in bytes."""
    return len(pickle.dumps(forecaster))


def full_size(name: str, channels: int) -> int:
    """Return the size of a forecaster that has seen clean motion alone until all its memories were full."""
    forecaster = FORECASTERS[name]()
    people = simulated(seconds=(FILLED + WATCHED) / 10)
    x = np.concatenate([people[1].positions, people[2].positions], axis=1)[:, :channels]
    for row in x[:FILLED]:
        forecaster.update(row)
    # It varies with the progress of refits.
    return max(size(forecaster) for row in x[FILLED:] if forecaster.update(row))


def fuzz(piece: int, updates: int, full: dict[tuple[str, int], int]) -> dict[str, Any]:
    """Run one piece and return its counts."""
    rng, counts = np.random.default_rng([2024, piece]), Counter(dict.fromkeys(FAULTS, 0))
    name = list(FORECASTERS)[piece % len(FORECASTERS)]
    forecaster, process = FORECASTERS[name](), psutil.Process()
    channels = int(rng.choice(CHANNELS))
    people = simulated(int(rng.integers(1000)), seconds=updates / 10 + 20)
    x = np.concatenate([people[i].positions for i in rng.integers(0, 9, 2)], axis=1)[:, :channels]
    largest, memory = 0, 0.0
    done, was_clean = 0, False
    while done < updates:
        length = min(int(rng.integers(1, EPISODE)), updates - done)
        rows = x[done : done + length]
        # Clean motion in between, or the forecaster would never be warm.
        spoil = was_clean and done > 0.1 * updates
        was_clean = not spoil
        with np.errstate(all="ignore"):
            shown = EPISODES[rng.integers(len(EPISODES))](rows, rng) if spoil else rows
        for row in shown:
            if rng.random() < 0.01:
                refuse(forecaster, row, rng, counts)
            disguised = rng.random() < 0.05
            with np.errstate(all="ignore"):
                sample = DISGUISES[rng.integers(len(DISGUISES))](row) if disguised else row
            check(forecaster, sample, row.shape, rng, counts)
        if rng.random() < 0.05:
            forecaster = pickle.loads(pickle.dumps(forecaster))
        done += length
        forecaster.learn()  # What a forecast leaves for `learn` is no growth.
        if not memory and done >= updates / 2:
            memory = float(process.memory_info().rss)
        largest = max(largest, size(forecaster))
    grown, usual = float(process.memory_info().rss) - memory, full[name, channels]
    excess = float(largest - usual)
    # A short piece ends before the process has allocated what it needs.
    counts["memory grew"] += excess > EXCESS * usual + SHARED or (grown > PROCESS_GROWTH and updates >= 2 * FILLED)
    return {
        "forecaster": name,
        "updates": done,
        "channels": channels,
        "grown": grown,
        "excess": excess,
        "counts": dict(counts),
    }


def show(pieces: dict[str, dict[str, Any]]) -> bool:
    """Print the counts of all pieces, by forecaster; return whether nothing was wrong."""
    labels = [status.label for status in Status]
    head = ["forecaster", "updates", *labels, "refused", *FAULTS, "largest excess", "largest growth"]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    every: Counter[str] = Counter()
    for name in [*FORECASTERS, "all"]:
        own = [piece for piece in pieces.values() if name in (piece["forecaster"], "all")]
        counts: Counter[str] = Counter()
        for piece in own:
            counts.update(piece["counts"])
        every = counts
        grown = max((piece["grown"] for piece in own), default=0.0)
        excess = max((piece["excess"] for piece in own), default=0.0) / 1e3
        cells = [name, sum(piece["updates"] for piece in own), *(counts[key] for key in [*labels, "refused", *FAULTS])]
        print(f"| {' | '.join(map(str, cells))} | {excess:.1f} kB | {grown / 1e6:.1f} MB |")
    return not any(every[fault] for fault in FAULTS)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--updates", type=int, default=20_000, help="number of updates in all")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    parser.add_argument(
        "--state", type=Path, help="JSON file of complete pieces; a run goes on where another one ended"
    )
    parser.add_argument("--piece", type=int, default=PIECE, help="number of updates of a piece")
    options = parser.parse_args()
    key = f"{options.piece} updates per piece"
    stored = json.loads(options.state.read_text()) if options.state and options.state.exists() else {}
    pieces: dict[str, dict[str, Any]] = stored.get(key, {})
    missing = [i for i in range(-(-options.updates // options.piece)) if str(i) not in pieces]
    began, context = time.monotonic(), multiprocessing.get_context("spawn")
    # A process per piece, so that the memory of a piece is its own.
    with ProcessPoolExecutor(options.workers, mp_context=context, max_tasks_per_child=1) as executor:
        pairs = [(name, channels) for name in FORECASTERS for channels in CHANNELS] if missing else []
        full = dict(zip(pairs, executor.map(full_size, *zip(*pairs, strict=True)), strict=True))
        futures = {executor.submit(fuzz, i, options.piece, full): i for i in missing}
        for done, future in enumerate(as_completed(futures), start=1):
            pieces[str(futures[future])] = future.result()
            if options.state:
                temporary = options.state.with_suffix(".part")
                temporary.write_text(json.dumps(stored | {key: pieces}))
                temporary.replace(options.state)
            left = (time.monotonic() - began) * (len(missing) / done - 1)
            print(f"{done} of {len(missing)} pieces, about {left:.0f} s left", file=sys.stderr, flush=True)
    return 0 if show(pieces) else 1


if __name__ == "__main__":
    raise SystemExit(main())
