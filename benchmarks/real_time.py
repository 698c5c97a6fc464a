"""Time of an update of the recommended forecaster, while catching up and afterwards, at several rates and sizes.

    python benchmarks/real_time.py                                   # three channels at 10, 50 and 100 Hz
    python benchmarks/real_time.py --channels 3,30 --rates 10

For each case it prints the longest update of the warm-up, its ratio to the 99th percentile afterwards (promise: at most
2), this percentile as a share of the sampling period (below 1: it runs in real time), and the medians of `forecast`,
`learn`, and of gate and guard alone, that is, of `forecast` with a forecaster that does nothing.

Times are those of the processor that were spent on this thread, and the smallest of three runs of the same samples,
each in a process of its own: pauses of the machine, which come at other samples in each run, do not count, and the
first access to memory, which comes at the same sample, does.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np

from quatcast import Guarded, OnlineForecaster, recommended
from quatcast.basics.typing import Bools, Floats
from quatcast.data import simulated
from quatcast.forecasting.contract import ForecasterState
from quatcast.forecasting.recipe import WARMUP

LIMIT = 2.0
"""Largest acceptable ratio of the longest update of the warm-up to the 99th percentile afterwards."""


RUNS = 3
"""Number of runs, of which the smallest time of each sample counts."""


class Nothing(OnlineForecaster):
    """Forecast the newest sample, at no cost."""

    def __init__(self, horizon: int) -> None:
        self.horizon = horizon

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew."""
        self.state = ForecasterState(shape)

    def forecast(self, sample: Floats, observed: Bools) -> Floats:
        """Return the sample."""
        return sample

    def learn(self) -> None:
        """Learn nothing."""


def motion(channels: int, rate: float, seconds: float) -> Floats:
    """Return simulated breathing of any number of channels at any rate."""
    people = [simulated(seed, seconds=seconds)[1] for seed in range(-(-channels // 3))]
    x = np.concatenate([person.positions for person in people], axis=1)[:, :channels]
    times = np.arange(round(rate * people[0].duration)) / rate
    columns = [np.interp(times, people[0].times, column) for column in x.reshape(len(x), -1).T]
    moved = np.stack(columns, axis=-1).reshape(len(times), channels, 3)
    return np.asarray(moved + 0.02 * np.random.default_rng(1).standard_normal(moved.shape))


def halves(forecaster: Guarded, x: Floats) -> Floats:
    """Return the times (samples, 2) of `forecast` and `learn` in ms."""
    times = []
    for row in x:
        began = time.thread_time()
        forecaster.forecast(row)
        answered = time.thread_time()
        forecaster.learn()
        times.append((answered - began, time.thread_time() - answered))
    return 1000 * np.array(times)


def work(bare: bool, channels: int, rate: float, seconds: float, horizon: int) -> Floats:
    """Return the times of the recommended forecaster, or of gate and guard alone, in one run."""
    forecaster = Guarded(Nothing(horizon), rate=rate) if bare else recommended(horizon / rate, rate)
    return halves(forecaster, motion(channels, rate, seconds))


def measure(*case: object) -> Floats:
    """Return the smallest times (samples, 2) of several runs, one after the other."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context, max_tasks_per_child=1) as executor:
        runs = [executor.submit(work, *case).result() for _ in range(RUNS)]  # type: ignore[arg-type]
    return np.asarray(np.min(runs, axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="10,50,100", help="sampling rates in Hz, separated by commas")
    parser.add_argument("--channels", default="3", help="numbers of channels, separated by commas")
    parser.add_argument("--seconds", type=float, default=60.0, help="duration of the signal")
    parser.add_argument("--horizon", type=float, default=0.5, help="seconds ahead")
    options = parser.parse_args()
    head = ["channels", "rate", "longest while warming up", "99th percentile afterwards", "ratio", "share of period",
            "forecast", "learn", "gate and guard"]  # fmt: skip
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}", flush=True)
    for channels in map(int, options.channels.split(",")):
        for rate in map(float, options.rates.split(",")):
            warm, h = round((WARMUP + 1) * rate), max(1, round(options.horizon * rate))
            made, bare = (measure(alone, channels, rate, options.seconds, h) for alone in (False, True))
            whole = made.sum(axis=1)
            longest, usual = float(whole[:warm].max()), float(np.percentile(whole[warm:], 99))
            verdict = "reached" if longest <= LIMIT * usual else "MISSED"
            medians = [*np.median(made[warm:], axis=0), np.median(bare[warm:, 0])]
            cells = [str(channels), f"{rate:g} Hz", f"{longest:.1f} ms", f"{usual:.1f} ms",
                     f"{longest / usual:.1f} (≤ {LIMIT:g}: {verdict})", f"{usual * rate / 1000:.0%}",
                     *(f"{median:.2f} ms" for median in medians)]  # fmt: skip
            print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
