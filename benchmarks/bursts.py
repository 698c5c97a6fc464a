"""Recovery of the recommended forecaster after bursts of faulty input.

Each case takes a recording that the forecaster has followed for a minute, replaces up to ten seconds of it by a burst,
and compares what follows with a forecaster that never saw the burst:

- RMSE from 20 s to 60 s after the end of the burst, as a ratio (aim: at most 1.15);
- mean radius from 60 s to 70 s after it, as a ratio (aim: at most 1.5);
- samples during the burst and in the 5 s after it whose status is ok although the forecast is off by more than 10 mm;
- for the same samples, the two error rates of the status that benchmarks/status.py describes.

    python benchmarks/bursts.py                            # the catalogue, on simulated recordings
    python benchmarks/bursts.py --data-dir FOLDER          # on the real ones too
    python benchmarks/bursts.py --random 200 --seed 0      # bursts drawn at random instead of the catalogue
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import multiprocessing
import pickle
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import NamedTuple

import numpy as np
from status import HEAD, Rates

from quatcast import Guarded, Status, recommended
from quatcast.basics.typing import Floats
from quatcast.data import Recording, extmarker, simulated
from quatcast.testing.bursts import BURSTS, SCOPES, with_burst
from quatcast.testing.random_bursts import random_burst

RATE, HORIZON = 10, 5
BEFORE, BURST, AFTER = 60 * RATE, 10 * RATE, 70 * RATE
SETTLED, RADIUS_FROM = 20 * RATE, 60 * RATE
RMSE_LIMIT, RADIUS_LIMIT = 1.15, 1.5
WRONG = 10.0
"""Error in mm that an ok status must not hide."""


class Outcome(NamedTuple):
    """Figures of one case."""

    kind: str
    burst: str
    scope: str
    recording: str
    rmse: float
    radius: float
    wrong: int
    hidden: int
    rates: Rates


_prepared: dict[str, tuple[bytes, Floats, Floats]] = {}
"""What `prepared` has returned in this process, by recording."""


def prepared(recording: Recording) -> tuple[bytes, Floats, Floats]:
    """Return the forecaster after a minute, and errors and radii of one that goes on undisturbed."""
    if recording.name in _prepared:
        return _prepared[recording.name]
    forecaster = recommended(HORIZON / RATE, float(RATE))
    for row in recording.positions[:BEFORE]:
        forecaster.update(row)
    kept = pickle.dumps(forecaster)
    errors, radii, _ = follow(forecaster, recording.positions, recording.positions)
    return _prepared.setdefault(recording.name, (kept, errors, radii))


def follow(forecaster: Guarded, shown: Floats, truth: Floats) -> tuple[Floats, Floats, Floats]:
    """Errors (samples, channels) of the forecasts made from `BEFORE` on, their radii, and their status."""
    errors, radii, status = [], [], []
    for t in range(BEFORE, BEFORE + BURST + AFTER):
        made = forecaster.update(shown[t])
        errors.append(np.linalg.norm(made.position - truth[t + HORIZON], axis=-1))
        radii.append(made.radius)
        status.append(float(made.status))
    return np.array(errors), np.array(radii), np.array(status)


def measure(kind: str | int, scope: str, recording: Recording) -> Outcome:
    """Return the figures of a burst of the catalogue, or of the random one of a seed."""
    row, (name, burst) = ("random", random_burst(kind)) if isinstance(kind, int) else (kind, (kind, kind))
    kept, clean_errors, clean_radii = prepared(recording)
    truth = recording.positions
    errors, radii, status = follow(pickle.loads(kept), with_burst(truth, burst, scope, BEFORE, BURST), truth)
    settled = slice(BURST + SETTLED, BURST + RADIUS_FROM)
    late = slice(BURST + RADIUS_FROM, None)
    rmse = [float(np.sqrt(np.mean(e[settled] ** 2))) for e in (errors, clean_errors)]
    radius = [float(np.mean(r[late])) for r in (radii, clean_radii)]
    watched = slice(0, BURST + 5 * RATE)
    # Errors that an undisturbed forecaster makes too are not the burst's.
    wrong = (errors[watched] > WRONG).any(axis=-1) & ~(clean_errors[watched] > WRONG).any(axis=-1)
    hidden = int(np.sum(wrong & (status[watched] == Status.OK)))
    rates = Rates.of(errors[watched], radii[watched], status[watched])
    ratios = rmse[0] / rmse[1], radius[0] / radius[1]
    return Outcome(row, name, scope, recording.name, *ratios, int(wrong.sum()), hidden, rates)


Case = tuple[str | int, str, Recording]
"""Burst of the catalogue, or seed of a random one; scope; recording."""


def cases(recordings: list[Recording], kinds: list[str]) -> Iterator[Case]:
    for recording in recordings:
        for kind in kinds:
            for scope in SCOPES:
                yield kind, scope, recording


def random_cases(recordings: list[Recording], count: int, seed: int) -> Iterator[Case]:
    """Return each random burst on one recording and in one scope, in turn."""
    for i in range(count):
        yield seed * 1_000_000 + i, SCOPES[i % len(SCOPES)], recordings[i // len(SCOPES) % len(recordings)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the ExtMarker files")
    parser.add_argument("--kind", action="append", choices=BURSTS, help="a burst, may be repeated; all by default")
    parser.add_argument("--recordings", type=int, default=2, help="number of recordings of each data set")
    parser.add_argument("--random", type=int, metavar="N", help="try N bursts drawn at random instead of the catalogue")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulated recordings and of random bursts")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    kinds = options.kind or list(BURSTS)
    needed = BEFORE + BURST + AFTER + HORIZON
    sets = [simulated(options.seed, seconds=(needed + 1) / RATE)] + (
        [extmarker(options.data_dir)] if options.data_dir else []
    )
    recordings = [r for one in sets for r in [r for r in one[1:] if len(r) >= needed][: options.recordings]]
    tasks = list(random_cases(recordings, options.random, options.seed) if options.random else cases(recordings, kinds))
    outcomes, began = [], time.monotonic()
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as executor:
        for done, future in enumerate(as_completed([executor.submit(measure, *task) for task in tasks]), start=1):
            outcomes.append(future.result())
            if done % 50 == 0:
                left = (time.monotonic() - began) * (len(tasks) / done - 1)
                print(f"{done} of {len(tasks)} cases, about {left:.0f} s left", file=sys.stderr, flush=True)
    show(outcomes, ["random"] if options.random else kinds)


def show(outcomes: list[Outcome], kinds: list[str]) -> None:
    """Print the worst figures of each kind, and the aim."""
    head = ["burst", "worst RMSE ratio", "worst radius ratio", "off by over 10 mm", "of these, ok", *HEAD]
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    every = Rates(0, 0, 0, 0)
    for kind in kinds:
        own = [o for o in outcomes if o.kind == kind]
        rates = Rates(0, 0, 0, 0)
        for o in own:
            rates = rates.plus(o.rates)
        every = every.plus(rates)
        figures = [f"{max(o.rmse for o in own):.3f}", f"{max(o.radius for o in own):.2f}"]
        counts = [str(sum(o.wrong for o in own)), str(sum(o.hidden for o in own))]
        print(f"| {' | '.join([kind, *figures, *counts, *rates.cells()])} |")
    print(f"\nAll bursts: {HEAD[0]}: {every.cells()[0]}; {HEAD[1]}: {every.cells()[1]}.")
    good = [o.rmse <= RMSE_LIMIT and o.radius <= RADIUS_LIMIT for o in outcomes]
    count = max(3, len(good) - sum(good))
    print(f"\nWithin the aim: {sum(good)} of {len(good)} bursts. The worst {count}:")
    for o in sorted(outcomes, key=lambda o: -max(o.rmse / RMSE_LIMIT, o.radius / RADIUS_LIMIT))[:count]:
        print(f"- {o.burst}, {o.scope}, {o.recording}: RMSE {o.rmse:.3f}, radius {o.radius:.2f}")


if __name__ == "__main__":
    main()
