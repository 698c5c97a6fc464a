"""Forecasters that each break one promise; the keys are the checks that must see it."""

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np

from quatcast import RLS, Forecaster, OnlineForecaster
from quatcast.forecasting.contract import ForecasterState, Forecasts


@dataclass
class DriftState(ForecasterState):
    """The last sample, and the mean step of the signal."""

    last: Any
    fresh: Any
    drift: Any


class Drift(OnlineForecaster):
    """A correct forecaster: it adds a running mean of the steps of the signal."""

    def __init__(self, horizon: int = 2) -> None:
        self.horizon = horizon

    def begin(self, shape):
        self.state = DriftState(shape, np.full(shape, np.nan), np.zeros(shape), np.zeros(shape))

    def forecast(self, sample, observed):
        state = self.state
        state.fresh = np.nan_to_num(sample - state.last) * observed[:, None]
        state.last = sample
        return sample + self.horizon * state.drift

    def learn(self):
        self.state.drift = 0.8 * self.state.drift + 0.2 * self.state.fresh


class TwoRuns(Drift):
    """A correct forecaster with two runs."""

    def forecast(self, sample, observed):
        made = super().forecast(sample, observed)
        return np.stack([made, made + 0.1])


class OnlyTheContract:
    """A correct forecaster that is not derived from `OnlineForecaster`."""

    horizon = 2

    def begin(self, shape):
        self.last = np.zeros(shape)

    def forecast(self, sample, observed):
        self.last = 0.5 * self.last + 0.5 * sample
        return self.last.copy()

    def learn(self):
        pass


class ForecastsOneChannel(Drift):
    def forecast(self, sample, observed):
        return super().forecast(sample, observed)[:1]


class SkipsForecasts(Drift):
    def forecast(self, sample, observed):
        made = super().forecast(sample, observed)
        return np.where(made[0, 0] > 5.0, np.nan, made)


class LooksIntoTheFuture(Drift):
    def run(self, positions):
        forecasts = super().run(positions)
        later = np.append(positions[3:], positions[-3:], axis=0)
        return Forecasts(forecasts.positions + 1e-9 * later, forecasts.weights, self.horizon, "causal", 0)


class RemembersTheLastRecording(Drift):
    def begin(self, shape):
        drift = self.state.drift if self.begun else np.zeros(shape)
        super().begin(shape)
        self.state.drift = drift


class SkipsLearningInUpdate(Drift):
    def update(self, sample, observed=None):
        made = super().update(sample, observed)
        self.state.drift = np.zeros_like(self.state.drift)
        return made


class ReturnsForecastsWhereTheyWereMade(Drift):
    def run(self, positions):
        forecasts = super().run(positions)
        rows = np.roll(forecasts.positions, -self.horizon, axis=0)
        return Forecasts(rows, forecasts.weights, self.horizon, "causal", 0)


class WaitsForLearn(Drift):
    def forecast(self, sample, observed):
        waiting = np.isnan(self.state.fresh).any()
        made = super().forecast(sample, observed)
        self.state.fresh = np.full(sample.shape, np.nan)
        return np.full(sample.shape, np.nan) if waiting else made

    def learn(self):
        self.state.fresh = np.zeros(self.state.shape)


class KeepsSamples(Drift):
    def update(self, sample, observed=None):
        made = super().update(sample, observed)
        self.state.last = np.asarray(sample)
        return made


class IgnoresWhatWasObserved(Forecaster):
    def forecast(self, sample, observed):
        return super().forecast(sample, np.ones_like(observed))


class ForgetsOnSaving(Drift):
    """It counts samples in an attribute that is not part of its state."""

    def begin(self, shape):
        super().begin(shape)
        self._count = 0

    def forecast(self, sample, observed):
        self._count = getattr(self, "_count", 0) + 1
        return super().forecast(sample, observed) + 1.0 / self._count


class ClonesWhatItKnows(Drift):
    def clone(self):
        return copy.deepcopy(self)


class AcceptsAnything(Drift):
    def update(self, sample, observed=None):
        try:
            return super().update(sample, observed)
        except ValueError:
            return super().update(np.zeros((2, 3)))


class WritesIntoItsOwnState(Drift):
    def learn(self):
        self.state.drift *= 0.8
        self.state.drift += 0.2 * self.state.fresh


class DoesHalfASample(Drift):
    def update(self, sample, observed=None):
        self._ready(np.shape(sample))
        made = self.forecast(np.array(sample), np.ones(len(sample), dtype=bool))
        self.learn()
        return made


class RunsHalfARecording(Drift):
    def run(self, positions):
        self.begin(positions.shape[1:])
        made = [self.update(row) for row in positions]
        rows = np.concatenate([np.full((self.horizon, *made[0].shape), np.nan), made[: -self.horizon]])
        return Forecasts(rows, np.full(len(rows), np.nan), self.horizon, "causal", 0)


class WritesIntoSamples(OnlyTheContract):
    def forecast(self, sample, observed):
        made = super().forecast(sample, observed)
        sample[...] = 0.0
        return made


class ChangesTheNumberOfRuns(Drift):
    def forecast(self, sample, observed):
        made = super().forecast(sample, observed)
        return np.stack([made] * (1 + (self.state.drift[0, 0] > 0)))


class ForecastsOneOfItsHorizons(Drift):
    horizons = (1, 2)


class LearnsNothingUnderALimit(Drift):
    def learn_some(self, limit):
        pass


BAD_FORECASTERS = {
    "satisfies_the_contract": ForecastsOneChannel,
    "forecasts_are_finite_after_warm_up": SkipsForecasts,
    "forecasts_depend_on_the_past_only": LooksIntoTheFuture,
    "begin_begins_anew": RemembersTheLastRecording,
    "update_is_forecast_and_learn": SkipsLearningInUpdate,
    "run_is_update_row_by_row": ReturnsForecastsWhereTheyWereMade,
    "learning_may_be_skipped": WaitsForLearn,
    "samples_are_neither_changed_nor_kept": KeepsSamples,
    "unobserved_channels_are_not_learnt_from": lambda: IgnoresWhatWasObserved(RLS(), horizon=2, lags=3, train=30),
    "copies_continue_alike": ForgetsOnSaving,
    "saved_forecasters_continue_alike": ForgetsOnSaving,
    "clones_know_nothing": ClonesWhatItKnows,
    "bad_samples_are_refused": AcceptsAnything,
    "rewind_undoes_every_step": WritesIntoItsOwnState,
    "interrupted_steps_change_nothing": DoesHalfASample,
    "interrupted_runs_change_nothing": RunsHalfARecording,
}

MORE_BAD_FORECASTERS = [
    ("satisfies_the_contract", WritesIntoSamples),
    ("satisfies_the_contract", ChangesTheNumberOfRuns),
    ("satisfies_the_contract", ForecastsOneOfItsHorizons),
    ("update_is_forecast_and_learn", LearnsNothingUnderALimit),
]
