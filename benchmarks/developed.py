"""Measure what developing orientations into R³ costs, on recordings of orientations such as those of BROAD.

    python benchmarks/developed.py FILE.csv …

Every file has a column `time` and columns q_w, q_x, q_y, q_z. The coordinates of the sample h seconds ahead are taken
from the recording, so that the only error left is that of turning a displacement of coordinates into a rotation. It is
printed as a percentage of the error of a constant angular velocity, without the second Magnus term, with the factor
1/6, and with the factor that quatcast uses.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np

from quatcast.algebra.quaternion import from_rotation_vector, product
from quatcast.basics.typing import Floats
from quatcast.forecasting import orientation
from quatcast.forecasting.orientation import Orientation

HORIZONS = (0.05, 0.1, 0.2)
FACTORS = (0.0, 1 / 6, orientation.BEND)


def read(path: Path) -> tuple[Floats, float]:
    """Return unit quaternions (T, 4) in the order w, x, y, z, and the sampling rate."""
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    q = np.array([[float(row[f"q_{axis}"]) for axis in "wxyz"] for row in rows])
    return q, (len(rows) - 1) / (float(rows[-1]["time"]) - float(rows[0]["time"]))


def errors(q: Floats, rate: float, ahead: int) -> list[float]:
    """Return the root mean square of the angles: constant angular velocity, then one for each factor."""
    space = Orientation(rate)
    chart, yes = space.begin(1), np.array([True])
    coordinates = np.empty((len(q), 3))
    for t, sample in enumerate(q):
        y = space.to_coordinates(chart, sample[None])
        space.accept(chart, sample[None], y, yes)
        coordinates[t] = y[0]
    chart = space.begin(1)
    angles = []
    for t in range(len(q) - ahead):
        space.accept(chart, q[t : t + 1], coordinates[t : t + 1], yes)
        if t < 2:
            continue
        steps = ahead * (coordinates[t] - coordinates[t - 1])
        row = [space.distance(product(q[t], from_rotation_vector(steps)), q[t + ahead])]
        for factor in FACTORS:
            orientation.BEND = factor
            made = space.from_coordinates(chart, coordinates[t + ahead][None], ahead / rate)
            row.append(space.distance(made[0], q[t + ahead]))
        angles.append(row)
    return [float(value) for value in np.sqrt(np.mean(np.square(angles), axis=0))]


def main(paths: list[str]) -> None:
    print("| recording | s ahead | constant angular velocity, ° | no correction, % | factor 1/6, % | quatcast, % |")
    print("|---|---|---|---|---|---|")
    for path in map(Path, paths):
        q, rate = read(path)
        for seconds in HORIZONS:
            constant, *rest = errors(q, rate, round(seconds * rate))
            shares = " | ".join(f"{100 * value / constant:.2f}" for value in rest)
            print(f"| {path.stem} | {seconds:g} | {np.degrees(constant):.2f} | {shares} |", flush=True)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    try:
        main(sys.argv[1:])
    except (OSError, KeyError, ValueError) as error:
        sys.exit(f"{type(error).__name__}: {error}")
