"""Faults of a network: what they do to the errors of the forecasts, and whether they are counted.

    python benchmarks/live_network.py               # three simulated persons, 150 s each, a few minutes

The samples of a simulated person pass through a network that loses, repeats, swaps or delays messages, or pauses, and
the clock of the tracker is changed. The error of every forecast that would be sent is the distance to where the marker
really was at the target time. The ratio compares with the same forecasts of a clean stream. With 5 % loss it should not
exceed 1.1.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.data import simulated
from quatcast.live import Frame, LiveSettings, Pipeline

EPOCH = 1_700_000_000.0
DELAY = 0.004
HORIZON = 0.5
TARGET = 1.1
Random = np.random.Generator
Fault = Callable[[list[Frame], Random], list[Frame]]


def to_frames(times: Floats, positions: Floats) -> list[Frame]:
    pairs = zip(times.tolist(), positions, strict=True)
    return [Frame("chest", i, time, EPOCH + time + DELAY, values) for i, (time, values) in enumerate(pairs)]


def by_arrival(frames: list[Frame]) -> list[Frame]:
    return sorted(frames, key=lambda frame: frame.received)


def loss(frames: list[Frame], rng: Random) -> list[Frame]:
    return [frame for frame in frames if rng.random() >= 0.05]


def duplicates(frames: list[Frame], rng: Random) -> list[Frame]:
    again = [replace(frame, received=frame.received + rng.uniform(0, 0.3)) for frame in frames if rng.random() < 0.1]
    return by_arrival(frames + again)


def reordering(frames: list[Frame], rng: Random) -> list[Frame]:
    late = [0.12 if rng.random() < 0.05 else 0.0 for _ in frames]
    return by_arrival([replace(frame, received=frame.received + d) for frame, d in zip(frames, late, strict=True)])


def jitter(frames: list[Frame], rng: Random) -> list[Frame]:
    """Delays up to 200 ms, in the order of sending, as over TCP."""
    arrival = np.maximum.accumulate([frame.received + rng.uniform(0, 0.2) for frame in frames])
    return [replace(frame, received=float(at)) for frame, at in zip(frames, arrival, strict=True)]


def pauses(frames: list[Frame], rng: Random) -> list[Frame]:
    """Two seconds without messages every half a minute, which then arrive at once."""
    start = frames[0].received
    held = [start + 30 * (1 + (frame.received - start) // 30) for frame in frames]
    return [
        replace(frame, received=max(frame.received, end - 28 if frame.received < end - 28 else frame.received))
        for frame, end in zip(frames, held, strict=True)
    ]


def clock_steps(frames: list[Frame], rng: Random) -> list[Frame]:
    """The clock of the tracker goes forward by an hour, and later back by two."""
    third = len(frames) // 3
    shifts = [0.0 if i < third else 3600.0 if i < 2 * third else -3600.0 for i in range(len(frames))]
    return [replace(f, device_time=(f.device_time or 0.0) + shift) for f, shift in zip(frames, shifts, strict=True)]


def everything(frames: list[Frame], rng: Random) -> list[Frame]:
    return reordering(duplicates(loss(frames, rng), rng), rng)


FAULTS: dict[str, Fault] = {
    "5 % loss": loss,
    "10 % duplicates": duplicates,
    "5 % swapped": reordering,
    "200 ms jitter": jitter,
    "2 s pauses": pauses,
    "clock steps": clock_steps,
    "loss, duplicates, swapped": everything,
}


def errors(frames: list[Frame], positions: Floats, rate: float) -> tuple[Floats, dict[str, int]]:
    """Return the errors (T, channels) of the forecasts that would be sent, by grid time, and what was counted."""
    pipeline = Pipeline(LiveSettings(horizon=(HORIZON,), rate=rate))
    times = np.arange(len(positions)) / rate
    flat = positions.reshape(len(positions), -1)
    found = np.full((len(positions), positions.shape[1]), np.nan)
    for frame in frames:
        samples = pipeline.take(frame).samples
        for sample in samples:
            forecast = pipeline.forecast(sample)
            pipeline.learn()
        if not samples:
            continue
        at = sample.time - EPOCH - DELAY + HORIZON
        if at > times[-1] or not np.isfinite(forecast.radius).all():
            continue
        truth = np.array([np.interp(at, times, column) for column in flat.T]).reshape(positions.shape[1:])
        found[min(round((sample.time - EPOCH) * rate), len(found) - 1)] = np.linalg.norm(
            forecast.position - truth, axis=-1
        )
    return found, pipeline.counts


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--persons", default="2,5,8", help="simulated persons, separated by commas")
    parser.add_argument("--seconds", type=float, default=150.0)
    options = parser.parse_args(arguments)
    persons = [int(person) for person in options.persons.split(",")]
    recordings = [simulated(seconds=options.seconds)[person - 1] for person in persons]
    streams = [to_frames(recording.times, recording.positions) for recording in recordings]
    clean = [errors(frames, r.positions, r.rate)[0] for frames, r in zip(streams, recordings, strict=True)]
    print(f"{'fault':>28} {'RMSE ratio':>11}  counted (all persons)")
    ratios = {}
    for name, fault in FAULTS.items():
        squares, total = [], dict[str, int]()
        for person, frames, recording, reference in zip(persons, streams, recordings, clean, strict=True):
            rng = np.random.default_rng(person)
            found, counts = errors(fault(frames, rng), recording.positions, recording.rate)
            both = np.isfinite(found) & np.isfinite(reference)
            squares.append([np.mean(found[both] ** 2), np.mean(reference[both] ** 2)])
            for kind, n in counts.items():
                total[kind] = total.get(kind, 0) + n
        faulty, good = np.sqrt(np.mean(squares, axis=0))
        ratios[name] = faulty / good
        print(f"{name:>28} {ratios[name]:>11.3f}  {total}", flush=True)
    met = ratios["5 % loss"] <= TARGET
    print("passed" if met else f"FAILED: more than {TARGET} with 5 % loss")
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
