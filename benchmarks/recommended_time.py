"""Times for `recommended.py`: milliseconds per sample over a long run, and the size and time of checkpoints."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import numpy as np
from tables import table, verdict

from quatcast import recommended
from quatcast.data import simulated
from quatcast.forecasting.recipe import WARMUP

CHECKPOINT_SIZE, CHECKPOINT_TIME = 4.0, 20.0
"""Largest acceptable size in MB of a checkpoint, and time in ms to write it."""


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
