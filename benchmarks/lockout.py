"""Whether a kernel locked out: the worst test RMSE of the correntropy over that of the square error, a recording each.

    python benchmarks/lockout.py runs/…/results.sqlite

takes a store of `quatcast compare` with QRNN-MCC and QRNN-MSE, such as that of examples/published-grids.toml.
"""

from __future__ import annotations

import sys
from collections import defaultdict

import numpy as np

from quatcast.evaluation.store import Store

LIMIT = 1.5


def main(path: str) -> None:
    """Print a line a recording and label rule, and whether every run stayed within the limit."""
    errors: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    with Store(path) as store:
        for result in store.results("test"):
            errors[(result.labels, result.recording)][result.predictor].append(
                np.inf if result.diverged else result.rmse
            )
    worst = 0.0
    for (labels, recording), by in errors.items():
        if {"QRNN-MCC", "QRNN-MSE"} <= set(by):
            ratio = max(by["QRNN-MCC"]) / float(np.mean(by["QRNN-MSE"]))
            worst = max(worst, ratio)
            print(
                f"{labels:10s} {recording:16s} worst of {len(by['QRNN-MCC'])} runs: {ratio:.2f} times the mean of MSE"
            )
    print(f"worst of all: {worst:.2f}; {'no lock-out' if worst <= LIMIT else 'LOCKED OUT'} (limit {LIMIT})")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
