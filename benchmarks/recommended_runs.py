"""Forecasts for `recommended.py`: the forecasters, what is done to their input, and the figures of each run."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

import quatcast
from quatcast import MSE, QRNN, RLS, Forecaster, Persistence, Ridge, recommended
from quatcast.algebra.quaternion import pure, random_unit, rotation, vector
from quatcast.data import Recording, corrupt
from quatcast.forecasting.recipe import experts

START = 600
LOST = 50
"""Samples for which a marker is lost: five seconds."""
DRAWS = 10
"""Largest number of random draws of faulty input."""
SPARSE = (*range(8), *range(10, 60, 5))
"""Delays of a linear baseline over almost six seconds."""
BARE = "network, square error, no gate"
Floats = NDArray[np.float64]


class Outcome(NamedTuple):
    """Figures of one forecaster on one recording.

    `others` is the mean error of the other markers while one is lost, by draw; on clean input, of the same samples.
    """

    rmse: float
    mae: float
    others: dict[str, float]
    within: int
    total: int
    milliseconds: float


def draw_of(scenario: str) -> tuple[str, int]:
    """Return the name of a scenario and the number of the random draw, which follows a # if it is not the first."""
    name, _, draw = scenario.partition("#")
    return name, int(draw or 0)


def loses(recording: Recording, draw: int) -> list[tuple[int, int]]:
    """Return the first sample and the marker of each loss: one loss every twenty seconds, the markers in turn.

    Each draw begins at another sample and with another marker.
    """
    starts = range(START + 10 + 37 * draw % 200, len(recording) - LOST, 200)
    return [(start, (i + draw) % recording.positions.shape[1]) for i, start in enumerate(starts)]


def spoil(recording: Recording, scenario: str) -> tuple[Floats, Floats]:
    """Return the samples that the forecaster receives, and the true positions that it is compared with."""
    clean, (scenario, draw) = recording.positions, draw_of(scenario)
    if scenario == "rotated":
        turn = random_unit(np.random.default_rng(5))
        clean = vector(rotation(pure(clean), turn))
    seen = clean
    if scenario == "glitches":
        seen = corrupt(recording, glitches=0.03, seed=1 + draw).positions
    elif scenario == "missing":
        seen = corrupt(recording, dropouts=0.10, seed=1 + draw).positions
    elif scenario == "lost":
        seen = clean.copy()
        for start, marker in loses(recording, draw):
            seen[start : start + LOST, marker] = np.nan
    return seen, clean


def plain(horizon: int, rate: float, learn_first: bool) -> Forecaster:
    """Return the network of the recommended mixture alone, with the mean square error and without a gate."""
    members = experts(horizon, rate, learn_first=learn_first).members
    network = next(m for m in members if isinstance(m, Forecaster) and isinstance(m.learner, QRNN))
    network.learner = type(network.learner)(**{**network.learner.settings(), "loss": MSE()})
    return network


def linear(kind: Callable[[], Any], lags: Any) -> Callable[[int, float, bool], Forecaster]:
    return partial(_linear, kind, lags)


def _linear(kind: Callable[[], Any], lags: Any, horizon: int, rate: float, learn_first: bool) -> Forecaster:
    usual: dict[str, Any] = {"target": "displacement", "scale_by": "channel", "learn_first": learn_first}
    return Forecaster(kind(), horizon=horizon, lags=lags, **usual)


def still(horizon: int, rate: float, learn_first: bool) -> Forecaster:
    return Forecaster(Persistence(), horizon=horizon, lags=1)


LINEAR: dict[str, Callable[[int, float, bool], Forecaster]] = {
    **{f"ridge λ={r:g}": linear(partial(Ridge, r), 12) for r in (3.0, 10.0, 30.0, 100.0, 300.0)},
    **{f"ridge sparse λ={r:g}": linear(partial(Ridge, r), SPARSE) for r in (30.0, 100.0, 300.0)},
    **{f"RLS {f:g}": linear(partial(RLS, f, 30.0), 12) for f in (0.998, 0.999, 1.0)},
}


def forecast(name: str, horizon: int, rate: float, learn_first: bool) -> Any:
    if name == "recommended":
        return recommended(horizon / rate, rate, learn_first=learn_first)
    builders = {"persistence": still, BARE: plain, **LINEAR}
    return builders[name](horizon, rate, learn_first)


class Case(NamedTuple):
    """Forecaster, scenario, horizon and order; together with a recording and the code they determine an outcome."""

    name: str
    scenario: str
    horizon: int
    learn_first: bool


def work(case: Case, recording: Recording) -> Outcome:
    seen, truth = spoil(recording, case.scenario)
    began = time.process_time()
    forecasts = forecast(case.name, case.horizon, recording.rate, case.learn_first).run(seen)
    milliseconds = 1000 * (time.process_time() - began) / len(seen)
    made = np.asarray(forecasts)
    made = made.mean(axis=0) if made.ndim == 4 else made
    errors = np.linalg.norm(made - truth, axis=-1)[START:]
    radius = getattr(forecasts, "radius", None)
    within = 0 if radius is None else int(np.sum(errors <= radius[START:]))
    scenario, draw = draw_of(case.scenario)
    draws = range(DRAWS) if scenario == "clean" else [draw]
    return Outcome(
        float(np.sqrt(np.mean(errors**2))),
        float(np.mean(errors)),
        {str(d): error_of_others(errors, loses(recording, d)) for d in draws},
        within,
        errors.size,
        milliseconds,
    )


def error_of_others(errors: Floats, lost: list[tuple[int, int]]) -> float:
    """Return the mean error of the markers that are observed while another one is lost; NaN if none is."""
    others = [np.delete(errors[s - START : s - START + LOST], marker, axis=1) for s, marker in lost]
    return float(np.mean(others)) if others else float("nan")


@cache
def code() -> str:
    """Return a digest of all code that forecasts depend on."""
    package = Path(quatcast.__file__).parent
    files = [p for p in sorted(package.rglob("*.py")) if not {"cli", "evaluation"} & set(p.relative_to(package).parts)]
    text = b"".join(path.read_bytes() for path in [*files, Path(__file__)])
    return hashlib.sha256(text + np.__version__.encode()).hexdigest()[:16]


class Results:
    """Outcomes of cases on recordings, computed when needed and stored in a file, and means over recordings."""

    def __init__(self, recordings: list[Recording], folder: Path | None, workers: int, learn_first: bool) -> None:
        self.recordings, self.workers, self.learn_first = recordings, workers, learn_first
        self.path = Path(os.devnull) if folder is None else folder / "recommended.jsonl"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.outcomes: dict[str, Outcome] = {}
        for line in self.path.read_text().splitlines() if self.path.exists() else []:
            try:
                key, *figures = json.loads(line)
            except ValueError:
                continue  # the last line of an interrupted run
            self.outcomes[key] = Outcome(*figures)

    def key(self, case: Case, recording: Recording) -> str:
        samples = hashlib.sha256(np.ascontiguousarray(recording.positions).tobytes()).hexdigest()[:16]
        return " | ".join([code(), *map(str, case), recording.name, f"{recording.rate:g}", samples])

    def need(self, cases: Iterable[Case]) -> None:
        """Compute the outcomes of cases that are not known yet, the longest first."""
        tasks = {self.key(case, r): (case, r) for case in cases for r in self.recordings}
        missing = {key: task for key, task in tasks.items() if key not in self.outcomes}
        if not missing:
            return
        longest_first = sorted(missing, key=lambda key: -len(missing[key][1]) * (missing[key][0].name == "recommended"))
        began = time.monotonic()
        with (
            ProcessPoolExecutor(self.workers, mp_context=multiprocessing.get_context("spawn")) as executor,
            self.path.open("a") as file,
        ):
            futures = {executor.submit(work, *missing[key]): key for key in longest_first}
            for done, future in enumerate(as_completed(futures), start=1):
                key, outcome = futures[future], future.result()
                self.outcomes[key] = outcome
                print(json.dumps([key, *outcome]), file=file, flush=True)
                if done % max(1, len(missing) // 5) == 0:
                    left = (time.monotonic() - began) * (len(missing) / done - 1)
                    print(f"{done} of {len(missing)} forecasts, about {left:.0f} s left", file=sys.stderr, flush=True)

    def case(self, name: str, horizon: int, scenario: str = "clean", learn_first: bool | None = None) -> Case:
        """Return a case, in the order of learning of this run unless another one is named."""
        return Case(name, scenario, horizon, self.learn_first if learn_first is None else learn_first)

    def each(self, *case: Any, group: str = "", **more: Any) -> Iterator[Outcome]:
        """Yield the outcome of a case on each recording, or on each one of a group."""
        for recording in self.recordings:
            if not group or recording.group == group:
                yield self.outcomes[self.key(self.case(*case, **more), recording)]

    def rmse(self, *case: Any, **more: Any) -> float:
        return float(np.mean([outcome.rmse for outcome in self.each(*case, **more)]))

    def mae(self, *case: Any, **more: Any) -> float:
        return float(np.mean([outcome.mae for outcome in self.each(*case, **more)]))

    def others(self, horizon: int, scenario: str, draw: int = 0) -> float:
        """Return the mean error of the markers that are observed while another one is lost.

        In some draws none is lost in the shortest recording, which then does not count.
        """
        outcomes = self.each("recommended", horizon, scenario)
        return float(np.nanmean([outcome.others[str(draw)] for outcome in outcomes]))
