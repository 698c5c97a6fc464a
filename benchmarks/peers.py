"""Compare the recommended forecaster with forecasters of other libraries on the ExtMarker recordings.

    pip install '.[peers]'
    python benchmarks/peers.py --data-dir FOLDER                                # all recordings, all horizons
    python benchmarks/peers.py --data-dir FOLDER --recordings 2 --horizons 0.5 --rivals recommended,padasip

All forecasts are causal and are scored from 60 s on. Every rival has a few settings, of which the best in hindsight, by
the mean over the recordings, is printed for each horizon; the recommended forecaster and the baselines of quatcast have
none. `benchmarks/rivals.py` says what the rivals are. A library that is not installed is left out, and named.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import numpy as np
from rivals import RIVALS, START, Answer, answer

from quatcast import DampedVelocity, Forecaster, Kalman, OnlineForecaster, Ridge, recommended
from quatcast.basics.typing import Floats
from quatcast.data import Recording, extmarker

MODULES = {"scikit-learn": "sklearn", "the": "sklearn", "reservoirpy": "reservoirpy", "padasip": "padasip",
           "river": "river", "filterpy": "filterpy"}  # fmt: skip
"""First word of a rival's name → module that it needs."""
OURS = ("recommended", "damped velocity", "Kalman filter, constant velocity", "refitted ridge, 12 lags")
Key = tuple[str, int, float, int]
"""Name, index of the setting, horizon in seconds, index of the recording."""


def our_answer(name: str, x: Floats, horizon: int, rate: float) -> Answer:
    forecaster: OnlineForecaster
    if name == "recommended":
        forecaster = recommended(horizon / rate, rate)
    elif name == "damped velocity":
        forecaster = DampedVelocity(horizon, (1, 2, 4, 8), memory=50 * rate)
    elif name.startswith("Kalman"):
        forecaster = Kalman(horizon, memory=50 * rate)
    else:
        forecaster = Forecaster(Ridge(30.0), horizon=horizon, lags=12, target="displacement", scale_by="channel")
    began = time.process_time()
    made = np.asarray(forecaster.run(x))
    spent = time.process_time() - began
    errors = (made - x)[round(START * rate) :]
    return Answer(float(np.sqrt(np.mean(np.sum(errors**2, axis=-1)))), 1000 * spent / len(x))


def work(key: Key, recording: Recording) -> Answer:
    name, index, seconds, _ = key
    horizon = round(seconds * recording.rate)
    if name in OURS:
        return our_answer(name, recording.positions, horizon, recording.rate)
    return answer(name, index, recording.positions, horizon, recording.rate)


def settings_of(name: str, seconds: float) -> int:
    return 1 if name in OURS else len(RIVALS[name](round(10 * seconds)))


def compute(names: list[str], horizons: list[float], recordings: list[Recording], workers: int) -> dict[Key, Answer]:
    keys = [
        (name, index, seconds, i)
        for name in names
        for seconds in horizons
        for index in range(settings_of(name, seconds))
        for i in range(len(recordings))
    ]
    answers: dict[Key, Answer] = {}
    began = time.monotonic()
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as executor:
        # The longest recordings first, so that no worker is left with one at the end.
        longest_first = sorted(keys, key=lambda key: -len(recordings[key[3]]))
        futures = {executor.submit(work, key, recordings[key[3]]): key for key in longest_first}
        for done, future in enumerate(as_completed(futures), start=1):
            answers[futures[future]] = future.result()
            if done % max(1, len(keys) // 20) == 0:
                print(f"{done} of {len(keys)} after {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    return answers


def show(names: list[str], horizons: list[float], count: int, answers: dict[Key, Answer]) -> None:
    head = " / ".join(f"{seconds:g}" for seconds in horizons)
    print(f"| | RMSE in mm at {head} s | ms per sample |")
    print("|---|---|---|")
    for name in names:
        errors, times = [], []
        for seconds in horizons:
            tried = [
                [answers[name, index, seconds, i] for i in range(count)] for index in range(settings_of(name, seconds))
            ]
            best = min(tried, key=lambda of: float(np.mean([one.rmse for one in of])))
            errors.append(float(np.mean([one.rmse for one in best])))
            times.append(float(np.mean([one.milliseconds for one in best])))
        spent = f"{min(times):.2g} to {max(times):.2g}" if len(times) > 1 else f"{times[0]:.2g}"
        print(f"| {name} | {' / '.join(f'{error:.3f}' for error in errors)} | {spent} |", flush=True)


def chosen(words: str | None) -> list[str]:
    """Return the names that begin with one of the words, without those whose library is missing."""
    names = [*OURS, *RIVALS]
    if words:
        names = [name for name in names if any(name.startswith(word.strip()) for word in words.split(","))]
    missing = sorted(
        {module for word, module in MODULES.items() if not importlib.util.find_spec(module)}
        & {MODULES.get(name.split()[0], "") for name in names}
    )
    if missing:
        print(f"left out, because they are not installed: {', '.join(missing)}", file=sys.stderr)
    return [name for name in names if MODULES.get(name.split()[0]) not in missing]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the ExtMarker files; by default they are downloaded")
    parser.add_argument("--recordings", type=int, default=9, help="use only the first N recordings")
    parser.add_argument("--horizons", default="0.2,0.5,1,2", help="seconds ahead, separated by commas")
    parser.add_argument("--rivals", help="beginnings of names, separated by commas; by default all")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    options = parser.parse_args()
    names = chosen(options.rivals)
    if not names:
        parser.error(f"--rivals: expected beginnings of {'; '.join((*OURS, *RIVALS))}, got {options.rivals}")
    horizons = [float(word) for word in options.horizons.split(",")]
    recordings = extmarker(options.data_dir, progress=True)[: options.recordings]
    began = time.monotonic()
    answers = compute(names, horizons, recordings, options.workers)
    show(names, horizons, len(recordings), answers)
    print(f"\n{len(recordings)} recordings, {options.workers} processes, {time.monotonic() - began:.0f} s")


if __name__ == "__main__":
    main()
