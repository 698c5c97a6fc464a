"""Forecasters of every kind for the tests of the online contract, and the comparison of all that they hold."""

from collections import deque
from dataclasses import dataclass

import numpy as np

from quatcast import LMS, MCC, QELM, QRNN, RLS, RNN, Adam, Forecaster, Mixture, Persistence, Replay, Ridge
from quatcast.checkpoint import Checkpointable
from quatcast.forecasting.contract import ForecasterState, OnlineForecaster
from quatcast.safety.guard import Guarded

HORIZON, TRAIN = 3, 12


@dataclass
class KalmanState(ForecasterState):
    mean: np.ndarray
    covariance: np.ndarray


class Kalman(OnlineForecaster):
    """A Kalman filter with constant velocity; the state of a channel is its position and its velocity."""

    def __init__(self, horizon, drift=0.1):
        self.horizon, self.drift = horizon, drift

    def begin(self, shape):
        self.state = KalmanState(shape, np.zeros((2, *shape)), np.tile(1e4 * np.eye(2), (shape[0], 1, 1)))

    def forecast(self, sample, observed):
        step = np.array([[1.0, 1.0], [0.0, 1.0]])
        mean = np.einsum("ij,jcd->icd", step, self.state.mean)
        P = step @ self.state.covariance @ step.T + self.drift * np.array([[0.25, 0.5], [0.5, 1.0]])
        gain = observed[:, None] * P[:, :, 0] / (P[:, 0, 0] + 1.0)[:, None]
        self.state.mean = mean + gain.T[:, :, None] * (sample - mean[0])
        self.state.covariance = P - gain[:, :, None] * P[:, None, 0, :]
        return self.state.mean[0] + self.horizon * self.state.mean[1]

    def learn(self):
        pass


class Average:
    """A forecaster that is derived from nothing and changes its arrays in place."""

    def __init__(self, horizon):
        self.horizon = horizon

    def begin(self, shape):
        self.mean, self.last, self.parts = np.zeros(shape), [], {"count": np.zeros(1)}

    def forecast(self, sample, observed):
        self.last.append(sample)
        del self.last[:-4]
        return 0.5 * (sample + self.mean)

    def learn(self):
        self.parts["count"] += 1
        self.mean += (np.mean(self.last, axis=0) - self.mean) / self.parts["count"]


class Unreliable(OnlineForecaster):
    """A forecaster that repeats the sample, and raises an error at given calls of `forecast` or `learn`."""

    def __init__(self, horizon, failures):
        self.horizon, self.failures, self.calls = horizon, failures, 0

    def begin(self, shape):
        self.state = ForecasterState(shape)

    def forecast(self, sample, observed):
        self.calls += 1
        self.fail("forecast")
        return sample

    def learn(self):
        self.fail("learn")

    def fail(self, when):
        if self.failures.get(self.calls - 1) == when:
            raise RuntimeError(f"no {when} today")


LEARNERS = {
    "persistence": lambda: Persistence(),
    "lms": lambda: LMS(),
    "rls": lambda: RLS(forgetting=0.95),
    "ridge": lambda: Ridge(1.0, refit=3),
    "ridge of large inputs": lambda: Ridge(1e-7, refit=4),
    "qelm": lambda: QELM(4, regularization=1.0, refit=4, seeds=[0, 1]),
    "qrnn, sgd": lambda: QRNN((3,), init_std=0.2, max_depth=6),
    "qrnn, adam and replay": lambda: QRNN(
        (3,), init_std=0.2, max_depth=6, optimizer=Adam(0.02), replay=Replay(updates=2, batch=3, window=3, memory=10)
    ),
    "rnn, runs and adaptive kernel": lambda: RNN((3,), init_std=0.2, loss=MCC("adaptive"), seeds=range(2)),
}


def forecaster(learner, catch_up=None, learn_first=False):
    target = "position" if learner == "persistence" else "displacement"
    return Forecaster(
        LEARNERS[learner](),
        horizon=HORIZON,
        lags=2,
        target=target,
        train=TRAIN,
        catch_up=catch_up,
        learn_first=learn_first,
    )


MEMBERS = {
    **{name: lambda name=name: forecaster(name) for name in LEARNERS},
    **{f"{name}, catching up": lambda name=name: forecaster(name, catch_up=5) for name in LEARNERS},
    **{f"{name}, learning first": lambda name=name: forecaster(name, 4, learn_first=True) for name in LEARNERS},
    "kalman": lambda: Kalman(HORIZON),
    "average": lambda: Average(HORIZON),
    "mixture": lambda: Mixture([forecaster("ridge"), Kalman(HORIZON), Average(HORIZON)]),
    "guarded": lambda: Guarded(forecaster("qelm"), rate=10.0),
}


def of_all_kinds(extra=(), place=0, learn_first=False):
    """A mixture with members of every kind; `extra` ones come at a place."""
    kinds = ("ridge", "qelm", "rls", "qrnn, sgd", "qrnn, adam and replay")
    members = [forecaster(name, 5, learn_first) for name in kinds] + [Kalman(HORIZON), Average(HORIZON)]
    members[place:place] = extra
    return Mixture(members, memory=20, learn_first=learn_first)


def walk(samples=60, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(samples, 2, 3)), axis=0)


PLAIN, SEQUENCES = frozenset((float, int, bool, str, type(None))), (list, tuple, deque)
"""The most frequent types of values, and those of several values."""


def content(value):
    """Everything that an object holds, as nested tuples that can be compared to the last bit."""
    if type(value) in PLAIN:
        return repr(value)
    if isinstance(value, np.ndarray):
        return "array", value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, Checkpointable):
        own = {"settings": value.settings()} | ({"state": value.state} if value.begun else {})
        return type(value).__name__, content(own)
    if isinstance(value, dict):
        return "dict", tuple((key, content(item)) for key, item in value.items())
    if isinstance(value, SEQUENCES):
        return type(value).__name__, getattr(value, "maxlen", None), tuple(content(item) for item in value)
    if isinstance(value, np.generic):
        return repr(value.item())
    if isinstance(value, np.random.Generator):
        return "generator", str(value.bit_generator.state)
    if type(value).__module__ == __name__:
        return type(value).__name__, content(vars(value))
    return repr(value)


def same(one, other):
    np.testing.assert_array_equal(np.asarray(one), np.asarray(other))
    for name in ("radius", "status", "reason", "replaced"):
        np.testing.assert_array_equal(getattr(one, name, None), getattr(other, name, None))
