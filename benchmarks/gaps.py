"""How well the recommended forecaster bridges gaps.

From 40 s on, in regular intervals, a copy of the forecaster loses something for a while and goes on to forecast: all
channels, the first one alone, or the positions of poses whose orientations are seen. Printed are two root mean square
errors of what was lost, against the length of the gap so far: of the positions that are filled in, and of the forecasts
made from them. In brackets are those of a gate that is not told what was forecast.

    python benchmarks/gaps.py                              # simulated breathing, 10 Hz
    python benchmarks/gaps.py --signals FOLDER             # CSV files of any motion too; see benchmarks/signals.py
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import copy
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from signals import Signal, of_recording, read
from tables import table

from quatcast import Gate, Guarded, recommended
from quatcast.basics.typing import Floats
from quatcast.data import simulated
from quatcast.safety.gated import Gated
from quatcast.safety.steering import Aim

START, SECONDS, GAPS = 40.0, 120.0, 20
"""When the first gap begins, how much of a signal is used, and the number of gaps."""
LOST = {"all": (slice(None), slice(None)), "one channel": (slice(1), slice(None)), "positions": (slice(None), slice(3))}
"""Which channels and coordinates are lost."""
LENGTHS = (1.0, 2.0, 4.0)
"""Lengths at which errors are printed, in horizons; the first is one sample."""


class ByItself(Gate):
    """A gate that is not told what was forecast."""

    def judge(self, x: Floats, aim: Aim | None = None) -> Gated:
        """Judge a sample; the motion of what is lost decays, or follows the other channels."""
        return super().judge(x)


def decaying(guarded: Guarded) -> Guarded:
    """Return a copy whose gate is not told what was forecast."""
    other = copy.deepcopy(guarded)
    other.gate.__class__ = ByItself
    return other


def measure(signal: Signal, seconds: float, lost: str) -> list[Floats]:
    """Return squared errors (gaps, samples, kinds) of what was filled in and of forecasts, with and without aims."""
    h = signal.ahead(seconds)
    longest = round(max(LENGTHS) * h)
    x = signal.samples[: round(SECONDS * signal.rate)]
    guarded = recommended(h / signal.rate, signal.rate, space=signal.space)
    first, last = round(START * signal.rate), len(x) - longest - h - 1
    moments = set(np.linspace(first, last, GAPS).astype(int))
    errors: list[Floats] = []
    for t in range(last + 1):
        guarded.update(x[t])
        if t in moments:
            both = [_lose(one, x[t + 1 :], longest, h, lost) for one in (copy.deepcopy(guarded), decaying(guarded))]
            errors.append(np.concatenate(both, axis=-1))
    return errors


def _lose(guarded: Guarded, x: Floats, longest: int, h: int, lost: str) -> Floats:
    """Return squared errors (samples, 2) in a gap at the first samples of x."""
    channels, coordinates = LOST[lost]
    errors = []
    for now in range(longest):
        sample = x[now].copy()
        sample[channels, coordinates] = np.nan
        made = guarded.update(sample)
        assert made.path is not None
        pairs = (made.path.origin - x[now], made.position - x[now + h])
        errors.append([np.mean(np.sum(e[channels, coordinates] ** 2, axis=-1)) for e in pairs])
    return np.array(errors)


def cases(folder: Path | None) -> Iterator[tuple[Signal, float, str]]:
    """Yield a signal, how far ahead it is forecast, and what is lost."""
    recordings = [of_recording(recording, (0.2, 0.5)) for recording in simulated(seconds=SECONDS)]
    unrelated = np.stack([recording.samples[:, 0] for recording in recordings[:3]], axis=1)
    apart = recordings[0]._replace(name="unrelated channels", samples=unrelated)
    for signal in recordings:
        yield from ((signal, seconds, lost) for lost in ("all", "one channel") for seconds in signal.horizons)
    yield from ((apart, seconds, "one channel") for seconds in apart.horizons)
    for signal in read(folder) if folder else ():
        if signal.space == "position" and signal.kind != "wave":
            yield from ((signal, seconds, "all") for seconds in signal.horizons[:2])
        if signal.half == "position":
            yield from ((signal, seconds, "positions") for seconds in signal.horizons[:2])


def main() -> None:
    """Print a table with one row per signal and horizon."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--signals", type=Path, help="folder of CSV files")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    given = parser.parse_args()
    todo = list(cases(given.signals))
    lengths = ["1 sample", *(f"{n:g} horizon{'s' * (n > 1)}" for n in LENGTHS)]
    print("Root mean square errors, filled in / forecast, in brackets without aims\n")
    found: list[Floats] = []
    with ProcessPoolExecutor(given.workers) as pool:
        measured = zip(todo, pool.map(measure, *zip(*todo, strict=True)), strict=True)
        table(["signal", "lost", "horizon", *lengths], (_row(*case, errors, found) for case, errors in measured))
    print("Ratios of the errors with aims to those without, geometric means over the signals\n")
    table(["lost", *lengths], _means([lost for _, _, lost in todo], np.array(found)))


def _row(signal: Signal, seconds: float, lost: str, errors: list[Floats], found: list[Floats]) -> list[str]:
    """Return what is printed of one case, and add its errors (lengths, kinds) to those found."""
    h = signal.ahead(seconds)
    at = [0, *(round(n * h) - 1 for n in LENGTHS)]
    found.append(np.sqrt(np.mean(errors, axis=0))[at])
    cells = ["{:.3g} ({:.3g}) / {:.3g} ({:.3g})".format(*rmse[[0, 2, 1, 3]]) for rmse in found[-1]]
    return [signal.name, lost, f"{seconds:g} s", *cells]


def _means(lost: list[str], errors: Floats) -> Iterator[list[str]]:
    """Yield a row for each kind of loss, from errors (cases, lengths, kinds)."""
    ratios = np.log(errors[..., :2] / errors[..., 2:])
    for kind in LOST:
        which = [one == kind for one in lost]
        if any(which):
            means = np.exp(ratios[which].mean(axis=0))
            yield [kind, *("{:.2f} / {:.2f}".format(*pair) for pair in means)]


if __name__ == "__main__":
    main()
