"""Forecasters for the tests of the guard: they repeat the newest sample, note what they are told, fail on demand."""

from dataclasses import dataclass

import numpy as np

from quatcast.forecasting.contract import ForecasterState, OnlineForecaster
from quatcast.safety.status import Status


class PlainRepeat:
    """Forecast the newest sample, from the third one on, and note what was told; without a base class."""

    def __init__(self, horizon=5):
        self.horizon = horizon

    def begin(self, shape):
        self.told = []

    def forecast(self, sample, observed):
        if not np.isfinite(sample).all():
            raise SystemExit("a forecaster was given a sample that is not finite")  # an ordinary error would be a hold
        self.told.append((sample, observed))
        return sample if len(self.told) > 2 else np.full(sample.shape, np.nan)

    def learn(self):
        pass


@dataclass
class RepeatState(ForecasterState):
    told: list


class Repeat(PlainRepeat, OnlineForecaster):
    """The same with a state that can be saved and undone."""

    @property
    def told(self):
        return self.state.told

    def begin(self, shape):
        self.state = RepeatState(shape, [])


class Scripted(Repeat):
    """A `Repeat` that answers with something else, or raises an error, at some calls of `forecast` or `learn`."""

    def __init__(self, script, horizon=5, when="forecast"):
        super().__init__(horizon)
        self.script, self.when = script, when
        self.calls = {"forecast": -1, "learn": -1}

    def answer(self, when):
        # Counted outside the state, so that a call that fails is not repeated.
        self.calls[when] += 1
        answer = self.script.get(self.calls[when]) if when == self.when else None
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def forecast(self, sample, observed):
        made, answer = super().forecast(sample, observed), self.answer("forecast")
        return made if answer is None else np.full(sample.shape, answer)

    def learn(self):
        self.answer("learn")


def labels(forecasts, times):
    return [Status(forecasts.status[t]).label for t in times]
