"""How well the status tells large errors from ordinary ones, on clean recordings.

For each recording, from one minute on: the share of samples with status degraded and hold, the share of channels called
frozen, the coverage of the radius, and the two error rates of the status:

- of samples whose error exceeds twice the radius in some channel, the share that was not ok when the forecast was made;
- of samples whose error is within the radius in all channels, the share that was not ok.

    python benchmarks/status.py                            # simulated recordings
    python benchmarks/status.py --data-dir FOLDER          # the real ones too

The same two rates during and after bursts of faulty input are printed by benchmarks/bursts.py.
"""

from __future__ import annotations

import os

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"

import argparse
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from typing import NamedTuple

import numpy as np

from quatcast import Status, recommended
from quatcast.basics.typing import Floats
from quatcast.data import Recording, extmarker, simulated

START = 60.0
"""Seconds before the first sample that counts."""
HEAD = ("not ok, of errors beyond 2 radii", "not ok, of errors within the radius")
"""Titles of the two rates in a table."""


class Rates(NamedTuple):
    """Numbers of samples with large and with ordinary errors, and how many of each had a status other than ok."""

    large: int
    large_told: int
    ordinary: int
    ordinary_told: int

    @classmethod
    def of(cls, errors: Floats, radii: Floats, status: Floats) -> Rates:
        """Count errors and radii (samples, channels) of forecasts and the status with which they were made."""
        large, ordinary = (errors > 2 * radii).any(axis=-1), (errors <= radii).all(axis=-1)
        told = status != Status.OK
        return cls(*(int(np.sum(x)) for x in (large, large & told, ordinary, ordinary & told)))

    def plus(self, other: Rates) -> Rates:
        """Return the sums of two counts."""
        return Rates(*(a + b for a, b in zip(self, other, strict=True)))

    def cells(self) -> list[str]:
        """Return the two rates for a table."""
        return [
            f"{self.large_told / self.large:.0%} of {self.large}" if self.large else "none",
            f"{self.ordinary_told / self.ordinary:.1%} of {self.ordinary}" if self.ordinary else "none",
        ]


class Figures(NamedTuple):
    """Figures of one recording."""

    name: str
    group: str
    samples: int
    degraded: int
    held: int
    frozen: int
    within: int
    errors: int
    rates: Rates


def measure(recording: Recording, horizon: float) -> Figures:
    """Run the recommended forecaster on a recording."""
    made = recommended(horizon, recording.rate).run(recording.positions)
    first, h = round(START * recording.rate), made.horizon
    errors = np.linalg.norm(made.positions - recording.positions, axis=-1)[first + h :]
    radii, status = made.radius[first + h :], made.status[first:]
    return Figures(
        recording.name,
        recording.group,
        len(status),
        int(np.sum(status == Status.DEGRADED)),
        int(np.sum(status == Status.HOLD)),
        sum("frozen" in reason for reason in made.reasons),
        int(np.sum(errors <= radii)),
        errors.size,
        Rates.of(errors, radii, status[: len(errors)].astype(float)),
    )


def total(name: str, figures: list[Figures]) -> Figures:
    """Return the sums of the figures of several recordings."""
    rates = Rates(0, 0, 0, 0)
    for figure in figures:
        rates = rates.plus(figure.rates)
    names = ("samples", "degraded", "held", "frozen", "within", "errors")
    return Figures(name, "", rates=rates, **{n: sum(getattr(figure, n) for figure in figures) for n in names})


def show(figures: list[Figures]) -> None:
    """Print one row per recording, and one for all regular ones."""
    print(f"| recording | degraded | hold | frozen | coverage | {' | '.join(HEAD)} |")
    print("|---|---|---|---|---|---|---|")
    regular = [figure for figure in figures if figure.group == "regular"]
    for f in [*figures, total("regular recordings", regular), total("all recordings", figures)]:
        cells = [f"{f.degraded / f.samples:.1%}", str(f.held), str(f.frozen), f"{f.within / f.errors:.1%}"]
        print(f"| {f.name} | {' | '.join(cells + f.rates.cells())} |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-dir", help="folder of the ExtMarker files")
    parser.add_argument("--horizon", type=float, default=0.5, help="seconds ahead")
    parser.add_argument("--seed", type=int, default=0, help="seed of the simulated recordings")
    parser.add_argument("--workers", type=int, default=os.cpu_count() or 1, help="number of processes")
    options = parser.parse_args()
    sets = [simulated(options.seed)] + ([extmarker(options.data_dir)] if options.data_dir else [])
    with ProcessPoolExecutor(options.workers, mp_context=multiprocessing.get_context("spawn")) as executor:
        for recordings in sets:
            show(list(executor.map(measure, recordings, [options.horizon] * len(recordings))))


if __name__ == "__main__":
    main()
