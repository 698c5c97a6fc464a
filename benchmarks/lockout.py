"""Print whether a correntropy kernel has locked out: its worst test RMSE relative to that of the mean square error.

    python benchmarks/lockout.py runs/…

reads a folder or a store of `quatcast compare` with QRNN-MCC and QRNN-MSE, or RNN-MCC and RNN-MSE, such as that of
examples/adaptive-kernel.toml. For each recording, runs with MCC are compared with the mean of MSE over the seeds, and
with MSE of the same seed.
"""

from __future__ import annotations

import math
import sys
from collections import defaultdict

import numpy as np

from quatcast.cli.compare import store_file
from quatcast.evaluation.store import Store

LIMIT = 1.5
"""Ratio to MSE above which a run counts as locked out."""


def main(path: str) -> None:
    """Print one line per network, label rule and recording, and whether every run is within the limit."""
    errors: dict[tuple[str, str, str], dict[str, dict[int, float]]] = defaultdict(lambda: defaultdict(dict))
    with Store(store_file(path)) as store:
        for result in store.results("test"):
            network, _, loss = result.predictor.partition("-")
            error = math.inf if result.diverged else result.rmse
            errors[network, result.labels, result.recording][loss][result.seed] = error
    worst = worst_of_seed = 0.0
    for (network, labels, recording), by in errors.items():
        if {"MCC", "MSE"} <= set(by):
            mcc, mse = by["MCC"], by["MSE"]
            mean = float(np.mean(list(mse.values())))
            ratio, above = max(mcc.values()) / mean, sum(error > LIMIT * mean for error in mcc.values())
            of_seed = max(mcc[seed] / mse[seed] for seed in mcc.keys() & mse.keys())
            worst, worst_of_seed = max(worst, ratio), max(worst_of_seed, of_seed)
            print(
                f"{network:5s} {labels:10s} {recording:16s} worst of {len(mcc)} runs: {ratio:.2f} times the mean of "
                f"MSE, {of_seed:.2f} times MSE of the same seed; {above} above {LIMIT} times the mean"
            )
    verdict = "no lock-out" if max(worst, worst_of_seed) <= LIMIT else "LOCKED OUT"
    print(f"worst of all: {worst:.2f} and {worst_of_seed:.2f}; {verdict} (limit {LIMIT})")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1])
    except (ValueError, OSError) as error:
        sys.exit(str(error))
