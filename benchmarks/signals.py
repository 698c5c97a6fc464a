"""Signals of any motion from CSV files, simple forecasters to compare with, and scores of forecasts.

A file has a column `time` in seconds, evenly sampled, and columns NAME_x, NAME_y, NAME_z, and NAME_w for orientations.
Columns of acceleration, angular velocity and magnetic field (acc, gyr, mag) are left out. What is forecast how far
ahead follows from the columns and the sampling rate:

- orientations, and positions at more than 20 Hz: motion, 0.05, 0.1 and 0.2 s ahead;
- positions at 3 to 20 Hz: tumours and the like, 0.4, 1 and 2 s ahead;
- positions at less than 3 Hz: waves, one and three samples ahead.

Positions and orientations of one file are forecast by themselves, and as poses: each half of a pose is a signal too,
which is compared with simple forecasters of that half alone.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from quatcast import RLS, ConstantVelocity, DampedVelocity, Forecaster, Kalman, OnlineForecaster, Ridge, find_space
from quatcast.algebra.quaternion import from_rotation_vector
from quatcast.basics.typing import Floats
from quatcast.data import Recording, simulated
from quatcast.engine.threads import one_thread

SENSORS = {"acc", "gyr", "mag"}
EARLY = (5.0, 15.0, 35.0)
"""Seconds: the beginnings of the early parts of a recording, and their end."""
START = {"motion": 36.0}
"""Seconds from which forecasts are scored, by kind."""
USUAL_START = 60.0


class Signal(NamedTuple):
    """Samples (T, channels, components) of a space, and the horizons in seconds that they are forecast for."""

    name: str
    kind: str
    samples: Floats
    rate: float
    space: str
    horizons: tuple[float, ...]
    half: str = ""
    """Which half of poses is scored, "position" or "orientation"; empty for other spaces."""

    @property
    def label(self) -> str:
        """What is scored."""
        return f"{self.half} in a pose" if self.half else self.space

    def alone(self) -> Signal:
        """Return the half of the poses that is scored as a signal of its own, everything else as it is."""
        if not self.half:
            return self
        columns = slice(0, 3) if self.half == "position" else slice(3, 7)
        return self._replace(samples=self.samples[..., columns], space=self.half, half="")

    def ahead(self, seconds: float) -> int:
        """Return a horizon in whole samples."""
        return max(1, round(seconds * self.rate))

    @property
    def start(self) -> float:
        """Seconds from which forecasts are scored."""
        return START.get(self.kind, USUAL_START)


class Score(NamedTuple):
    """Root mean square errors of the test samples, from 5 to 35 s and from 15 to 35 s; share within the radius."""

    rmse: float
    early: float
    later: float
    within: float = float("nan")


def of_recording(recording: Recording, horizons: tuple[float, ...]) -> Signal:
    """Return one of the nine recordings as a signal."""
    return Signal(recording.name, "recording", recording.positions, recording.rate, "position", horizons)


def read(folder: Path) -> list[Signal]:
    """Return the signals of all CSV files in a folder."""
    signals = [signal for path in sorted(folder.glob("*.csv")) for signal in read_file(path)]
    if not signals:
        raise SystemExit(f"--signals: expected a folder of CSV files, got {folder}")
    return signals


def read_file(path: Path) -> list[Signal]:
    """Return the positions and the orientations of a file."""
    with path.open(newline="") as file:
        head, *rows = list(csv.reader(file))
    numbers = np.array([[float(cell or "nan") for cell in row] for row in rows])
    time = numbers[:, head.index("time")]
    rate = (len(time) - 1) / (time[-1] - time[0])
    names = list(dict.fromkeys(column[:-2] for column in head if column[-2:] == "_x" and column[:-2] not in SENSORS))
    signals = []
    for axes, space in (("xyz", "position"), ("wxyz", "orientation")):
        chosen = [name for name in names if (f"{name}_w" in head) == (axes == "wxyz")]
        if chosen:
            columns = [[head.index(f"{name}_{axis}") for axis in axes] for name in chosen]
            signals.append(_signal(path.stem, numbers[:, columns], float(rate), space))
    if len(signals) == 2 and signals[0].samples.shape[1] == signals[1].samples.shape[1]:
        poses = np.concatenate([signal.samples for signal in signals], axis=-1)
        signals += [signal._replace(samples=poses, space="pose", half=signal.space) for signal in signals]
    return signals


def _signal(name: str, samples: Floats, rate: float, space: str) -> Signal:
    if space == "orientation" or rate > 20.0:
        return Signal(name, "motion", samples, rate, space, (0.05, 0.1, 0.2))
    if rate >= 3.0:
        return Signal(name, "tumour", samples, rate, space, (0.4, 1.0, 2.0))
    return Signal(name, "wave", samples, rate, space, (1 / rate, 3 / rate))


def simulated_poses(seconds: float) -> list[Signal]:
    """Return simulated breathing with orientations that tell nothing of it (noise, drift), and one that follows it.

    Each half of the poses is a signal.
    """
    rng, signals = np.random.default_rng(5), []
    for recording in simulated(seconds=seconds)[:3]:
        x = recording.positions
        drift = np.cumsum(0.01 * rng.normal(size=x.shape), axis=0)
        drift = np.stack([np.convolve(row, np.ones(15) / 15, "same") for row in drift.reshape(len(x), -1).T], axis=-1)
        turns = {
            "noise": 0.01 * rng.normal(size=x.shape),
            "drift": drift.reshape(x.shape),
            "follows": 0.02 * (x - x.mean(axis=0)) + 0.002 * rng.normal(size=x.shape),
        }
        for name, turn in turns.items():
            poses = np.concatenate([x, from_rotation_vector(turn)], axis=-1)
            whole = Signal(f"{recording.name}, {name}", "simulated", poses, recording.rate, "pose", (0.5,))
            signals += [whole._replace(half=half) for half in ("position", "orientation")]
    return signals


def distances(signal: Signal, forecasts: Floats) -> Floats:
    """Return the errors (…, T, channels) of forecasts: distances or angles, NaN where there is no forecast."""
    space = find_space(signal.space, signal.rate)
    return np.asarray(space.distance(forecasts, signal.samples)[..., scored(signal)])


def scored(signal: Signal) -> Any:
    """Return which rows of coordinates are scored."""
    rows = find_space(signal.space, signal.rate).rows(signal.samples.shape[1])
    return np.array([row == signal.half or not signal.half for row in rows])


def score(signal: Signal, errors: Floats, radius: Floats | None = None) -> Score:
    """Return the scores of errors (T, channels)."""
    five, fifteen, end = (round(seconds * signal.rate) for seconds in EARLY)
    test = slice(round(signal.start * signal.rate), None)

    def root(part: slice) -> float:
        chosen = errors[part]
        return float(np.sqrt(np.nanmean(chosen**2))) if np.isfinite(chosen).any() else float("nan")

    within = float("nan")
    if radius is not None and np.isfinite(radius[test]).any():
        known = np.isfinite(errors[test]) & np.isfinite(radius[test])
        within = float(np.mean((errors <= radius)[test][known]))
    return Score(root(test), root(slice(five, end)), root(slice(fifteen, end)), within)


def develop(signal: Signal) -> Floats:
    """Return the coordinates (T, rows, d) of all samples; see `quatcast.Space`."""
    space = find_space(signal.space, signal.rate)
    chart, coordinates = space.begin(signal.samples.shape[1]), []
    for sample in signal.samples:
        y = space.to_coordinates(chart, sample)
        space.accept(chart, sample, y, np.ones(len(y), dtype=bool))
        coordinates.append(y)
    return np.stack(coordinates)


def forecast_alone(forecaster: OnlineForecaster | None, signal: Signal, ahead: int) -> Floats:
    """Forecast with a single forecaster, without gate, in the space of the signal; None is persistence."""
    space = find_space(signal.space, signal.rate)
    x = signal.samples
    chart, made = space.begin(x.shape[1]), np.full_like(x, np.nan)
    seen: Any = np.ones(x.shape[1], dtype=bool)
    with one_thread(), np.errstate(all="ignore"):
        for t, sample in enumerate(x[:-ahead]):
            y = space.to_coordinates(chart, sample)
            space.accept(chart, sample, y, seen)
            if forecaster is None:
                made[t + ahead] = sample
                continue
            if t == 0:
                forecaster.begin((y.shape[0], y.shape[1]))
            then = forecaster.forecast(y, seen)
            made[t + ahead] = space.from_coordinates(chart, then, ahead / signal.rate)
            forecaster.learn()
    return made


def baselines(ahead: int, rate: float) -> dict[str, Callable[[], OnlineForecaster | None]]:
    """Return the simple forecasters, of which the best one in hindsight is compared with."""

    def fitted(learner: Any, lags: int) -> Forecaster:
        train = max(2, round(30 * rate))
        return Forecaster(learner, horizon=ahead, lags=lags, target="displacement", scale_by="channel", train=train)

    def ridge(penalty: float, lags: int) -> Forecaster:
        return fitted(Ridge(penalty, refit=max(1, round(rate))), lags)

    found: dict[str, Callable[[], OnlineForecaster | None]] = {
        "persistence": lambda: None,
        "velocity": lambda: ConstantVelocity(ahead),
        "damped velocity": lambda: DampedVelocity(ahead),
        "Kalman, velocity": lambda: Kalman(ahead),
        "Kalman, acceleration": lambda: Kalman(ahead, "acceleration"),
    }
    for forgetting in (0.99, 0.998, 0.9995):
        found[f"RLS {forgetting:g}"] = lambda forgetting=forgetting: fitted(RLS(forgetting), 12)  # type: ignore[misc]
    for lags in (6, 12, 24):
        for penalty in (0.1, 3.0, 30.0, 300.0):
            found[f"ridge, {lags} lags, {penalty:g}"] = lambda p=penalty, n=lags: ridge(p, n)  # type: ignore[misc]
    return found
