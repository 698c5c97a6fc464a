"""Forecasters of other libraries, on the same inputs, targets and protocol as those of quatcast.

Inputs are the displacements of delayed samples from the newest one and the newest sample itself, each scaled by its
root mean square over the first 30 s; targets are scaled displacements over the horizon. A rival at sample t has learnt
from all pairs whose target has arrived by then, the newest included. Between two fits of a batch method its forecasts
are computed together, which is faster than one by one and changes nothing else.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from quatcast.basics.typing import Floats

TRAIN, START = 30.0, 60.0
"""Seconds that scales are fitted to, and from which forecasts are scored."""
SHORT = range(6)
LONG = (*range(6), 8, 12, 18, 26, 36, 46)
"""Delays in samples at 10 Hz."""


@dataclass(frozen=True)
class Problem:
    """Inputs (T, n) and targets (T, m) of a recording (T, channels, 3), NaN where they do not exist.

    Row t of the inputs ends with sample t, and row t of the targets belongs to it. Targets are in units of `scale`
    (channels, 1). `first` is the first row whose forecast is scored.
    """

    x: Floats
    horizon: int
    rate: float
    inputs: Floats
    targets: Floats
    scale: Floats
    first: int

    @classmethod
    def of(cls, x: Floats, horizon: int, rate: float, lags: Any) -> Problem:
        delays = sorted(range(lags) if isinstance(lags, int) else lags)
        T, training = len(x), x[: round(TRAIN * rate)]

        def size(deviations: Floats) -> Floats:
            """Return the root mean square of each channel (channels, 1)."""
            return np.asarray(np.sqrt(np.mean(deviations**2, axis=(0, 2)))[:, None])

        level = x - training.mean(axis=0)
        columns = [level / size(level[: len(training)])]
        for delay in delays[1:]:
            moved = np.full_like(x, np.nan)
            moved[delay:] = x[:-delay] - x[delay:]
            columns.append(moved / size(training[delay:] - training[:-delay]))
        scale = size(training[horizon:] - training[:-horizon])
        inputs = np.stack(columns, axis=1).reshape(T, -1)
        inputs[: delays[-1]] = np.nan
        targets = np.full((T, x[0].size), np.nan)
        targets[delays[-1] : T - horizon] = ((x[horizon:] - x[:-horizon]) / scale).reshape(T - horizon, -1)[
            delays[-1] :
        ]
        return cls(x, horizon, rate, inputs, targets, scale, round(START * rate) - horizon)

    def pairs(self, t: int) -> tuple[Floats, Floats]:
        """Return all inputs and targets that are known at sample t."""
        begin = int(np.argmax(np.isfinite(self.inputs[:, 0])))
        return self.inputs[begin : t - self.horizon + 1], self.targets[begin : t - self.horizon + 1]

    def positions(self, outputs: Floats) -> Floats:
        """Return the forecasts (T, channels, 3), row t of sample t, for outputs (T, m)."""
        made = np.full_like(self.x, np.nan)
        made[self.horizon :] = (self.x + outputs.reshape(self.x.shape) * self.scale)[: -self.horizon]
        return made


@dataclass(frozen=True)
class Answer:
    """RMSE from 60 s on, and milliseconds of processor time per sample."""

    rmse: float
    milliseconds: float


def refit(fit: Callable[[Floats, Floats], Callable[[Floats], Floats]], seconds: float, problem: Problem) -> Floats:
    """Return outputs (T, m) of a batch method that is fitted again every few seconds to all pairs so far."""
    outputs = np.full_like(problem.targets, np.nan)
    every = max(1, round(seconds * problem.rate))
    for t in range(problem.first, len(problem.x), every):
        predict = fit(*problem.pairs(t))
        outputs[t : t + every] = predict(problem.inputs[t : t + every])
    return outputs


def extra_trees(problem: Problem) -> Floats:
    from sklearn.ensemble import ExtraTreesRegressor

    def fit(u: Floats, d: Floats) -> Callable[[Floats], Floats]:
        trees = ExtraTreesRegressor(200, min_samples_leaf=5, max_features=0.3, random_state=0, n_jobs=1)
        predict: Callable[[Floats], Floats] = trees.fit(u, d).predict
        return predict

    return refit(fit, 10.0, problem)


def kernel_ridge(gamma: float, alpha: float, problem: Problem) -> Floats:
    """Kernel ridge regression with a Laplacian kernel; each second the Cholesky factor of K + α grows."""
    from scipy.linalg import solve_triangular
    from sklearn.metrics.pairwise import laplacian_kernel

    outputs, every = np.full_like(problem.targets, np.nan), max(1, round(problem.rate))
    u, d = problem.pairs(problem.first)
    L = np.linalg.cholesky(laplacian_kernel(u, gamma=gamma) + alpha * np.eye(len(u)))
    for t in range(problem.first, len(problem.x), every):
        more, d = problem.pairs(t)
        new = more[len(u) :]
        if len(new):
            corner = laplacian_kernel(new, gamma=gamma) + alpha * np.eye(len(new))
            B = solve_triangular(L, laplacian_kernel(u, new, gamma=gamma), lower=True)
            grown = np.zeros((len(more), len(more)))
            grown[: len(u), : len(u)], grown[len(u) :, : len(u)] = L, B.T
            grown[len(u) :, len(u) :] = np.linalg.cholesky(corner - B.T @ B)
            L, u = grown, more
        weights = solve_triangular(L, solve_triangular(L, d, lower=True), lower=True, trans="T")
        outputs[t : t + every] = laplacian_kernel(problem.inputs[t : t + every], u, gamma=gamma) @ weights
    return outputs


def echo_state(leak: float, ridge: float, direct: bool, problem: Problem) -> Floats:
    """Echo state network of reservoirpy on the inputs; its readout, with or without them, is refitted every 10 s."""
    import reservoirpy
    from reservoirpy.nodes import Reservoir, Ridge

    reservoirpy.set_seed(0)
    known = np.isfinite(problem.inputs)
    reservoir = Reservoir(200, lr=leak, sr=0.9, input_scaling=0.1, seed=0)
    states = np.asarray(reservoir.run(np.where(known, problem.inputs, 0.0)))
    features = np.column_stack([states, problem.inputs]) if direct else states
    seen = Problem(**{**vars(problem), "inputs": np.where(known[:, :1], features, np.nan)})

    def fit(u: Floats, d: Floats) -> Callable[[Floats], Floats]:
        readout = Ridge(ridge=ridge)
        readout.fit(u, d)
        predict: Callable[[Floats], Floats] = readout.run
        return predict

    return refit(fit, 10.0, seen)


def online(make: Callable[[int], Any], problem: Problem) -> Floats:
    """Return outputs of a filter per coordinate that learns from one pair at a time."""
    outputs, (T, n), m = np.full_like(problem.targets, np.nan), problem.inputs.shape, problem.targets.shape[1]
    filters = [make(n + 1) for _ in range(m)]
    inputs = np.column_stack([problem.inputs, np.ones(T)])
    for t in range(T):
        s = t - problem.horizon
        if s >= 0 and np.isfinite(inputs[s, 0]):
            for one, target in zip(filters, problem.targets[s], strict=True):
                one.adapt(target, inputs[s])
        if np.isfinite(inputs[t, 0]) and t >= problem.first:
            outputs[t] = [one.predict(inputs[t]) for one in filters]
    return outputs


def _padasip_filter(kind: str, settings: dict[str, float], n: int) -> Any:
    import padasip

    return getattr(padasip.filters, kind)(n=n, w="zeros", **settings)


def _padasip(kind: str, **settings: float) -> Callable[[int], Any]:
    return partial(_padasip_filter, kind, settings)


class RiverFilter:
    """A pipeline of river: running standardisation and a linear regression by Adam."""

    def __init__(self, rate: float, n: int) -> None:
        from river import linear_model, optim, preprocessing

        self.names = list(range(n))
        regression = linear_model.LinearRegression(optimizer=optim.Adam(rate), intercept_lr=0.0)
        self.model = preprocessing.StandardScaler() | regression

    def adapt(self, target: float, u: Floats) -> None:
        self.model.learn_one(dict(zip(self.names, u.tolist(), strict=True)), float(target))

    def predict(self, u: Floats) -> float:
        return float(self.model.predict_one(dict(zip(self.names, u.tolist(), strict=True))))


def constant_velocity(ratio: float, damping: float, problem: Problem) -> Floats:
    """Kalman filters of filterpy, one per coordinate, whose velocity decays by a factor per sample."""
    from filterpy.kalman import KalmanFilter

    outputs, m = np.full_like(problem.targets, np.nan), problem.targets.shape[1]
    filters = []
    for start in problem.x[0].ravel():
        one = KalmanFilter(dim_x=2, dim_z=1)
        one.x, one.P = np.array([[start], [0.0]]), np.diag([1.0, 1e4])
        one.F, one.H = np.array([[1.0, 1.0], [0.0, damping]]), np.array([[1.0, 0.0]])
        one.Q, one.R = ratio * np.array([[1 / 3, 1 / 2], [1 / 2, 1.0]]), np.eye(1)
        filters.append(one)
    reach = float(np.sum(damping ** np.arange(problem.horizon)))
    for t, sample in enumerate(problem.x):
        made = np.empty(m)
        for i, (one, z) in enumerate(zip(filters, sample.ravel(), strict=True)):
            if t:
                one.predict()
                one.update(z)
            made[i] = one.x[0, 0] + reach * one.x[1, 0] - z
        outputs[t] = (made.reshape(sample.shape) / problem.scale).ravel()
    return outputs


Rival = tuple[Callable[[Problem], Floats], Any]
"""Function from a problem to outputs, and the delays of its inputs."""


def _family(function: Callable[..., Floats], settings: list[tuple[Any, ...]], delays: Any) -> list[Rival]:
    return [(partial(function, *one), delays) for one in settings]


def _online(makers: list[Callable[[int], Any]]) -> list[Rival]:
    """Try each filter on the short and on the long delays."""
    return [(partial(online, make), delays) for make in makers for delays in (SHORT, LONG)]


RIVALS: dict[str, Callable[[int], list[Rival]]] = {
    "scikit-learn ExtraTrees, 200 trees, refit every 10 s": lambda h: [(extra_trees, LONG if h >= 10 else SHORT)],
    "scikit-learn Laplacian kernel, ridge, 6 lags": lambda h: _family(kernel_ridge, [(0.005, 0.3)], SHORT),
    "the same on the long delays": lambda h: _family(kernel_ridge, [(0.0025, 0.3)], LONG),
    "reservoirpy echo state network": lambda h: _family(
        echo_state,
        [(leak, ridge, direct) for leak in (0.15, 0.3) for ridge in (10.0, 30.0) for direct in (True, False)],
        SHORT,
    ),
    "padasip RLS": lambda h: _online([_padasip("FilterRLS", mu=mu, eps=0.03) for mu in (0.998, 0.999, 1.0)]),
    "padasip GMCC": lambda h: _online(
        [_padasip("FilterGMCC", mu=mu, lambd=0.03, alpha=2) for mu in (0.003, 0.01, 0.03)]
    ),
    "river linear regression, Adam": lambda h: _online([partial(RiverFilter, rate) for rate in (0.001, 0.003)]),
    "filterpy constant velocity, damped": lambda h: _family(
        constant_velocity, [(q, d) for q in (0.1, 1.0, 10.0) for d in (0.8, 0.9, 1.0)], SHORT
    ),
}
"""Name → settings that are tried at a horizon in samples; the best in hindsight counts."""


def answer(name: str, index: int, x: Floats, horizon: int, rate: float) -> Answer:
    """Run one setting of a rival on one recording."""
    function, delays = RIVALS[name](horizon)[index]
    problem = Problem.of(x, horizon, rate, delays)
    began = time.process_time()
    outputs = function(problem)
    spent = time.process_time() - began
    errors = (problem.positions(outputs) - x)[round(START * rate) :]
    # Batch methods begin with the first forecast that is scored.
    whole = getattr(function, "func", function) in (online, constant_velocity)
    samples = len(x) if whole else len(x) - problem.first
    return Answer(float(np.sqrt(np.mean(np.sum(errors**2, axis=-1)))), 1000 * spent / samples)
