"""A forecaster: a learner, and the rule by which a signal becomes inputs and targets for it.

With lags l and horizon h, the input at time t is u(t) = (x(t−l+1), …, x(t)) and its target is x(t+h). Two label rules
determine when a learner may learn from a target:

- **causal**: at time t the newest target is x(t), which belongs to u(t−h). The learner is therefore h inputs behind,
  and is rolled forward over the inputs that it has not learnt from to forecast x(t+h).
- **look-ahead**: the learner forecasts from u(t) and learns from x(t+h) at once, h samples before it is known. This is
  how published results in this field were obtained. It needs the whole recording and makes every method look better.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra import fetch
from quatcast.basics.annotations import check_whole, is_whole
from quatcast.basics.typing import Bools, Floats
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.forecasting.contract import (
    Forecasts,
    Labels,
    OnlineForecaster,
    horizons_of,
    place,
)
from quatcast.forecasting.embedding import Embedding, ScaleBy, Target, as_delays
from quatcast.forecasting.extrapolation import as_horizons
from quatcast.forecasting.progress import counted
from quatcast.forecasting.samples import as_recording
from quatcast.forecasting.tracking import Collecting, Tracking
from quatcast.forecasting.waiting import Waiting
from quatcast.learners.base import Learner, StackedStep


class Forecaster(OnlineForecaster):
    """Forecast a signal `horizon` samples ahead, learning as it goes.

    Parameters
    ----------
    learner
        Learner that predicts and learns.
    horizon
        h, number of samples ahead.
    horizons
        Several horizons to forecast at once, `horizon` the longest of them; by default that one alone. All are learnt
        from inputs whose targets have arrived for the longest one.
    lags
        Samples that make an input: a number l of successive samples, or a list of delays.
    labels
        "causal" learns from targets that have arrived; "lookahead" from those h samples ahead, offline only.
    target
        "position" as published, or "displacement" from the newest sample; see `Embedding`.
    scale_by
        "coordinate" as published, or "channel"; see `Embedding.fit`.
    train
        Number of samples at the start that the scaling is fitted to.
    catch_up
        Number of samples that are taken in per update once the scaling is fitted, until the newest is reached; by
        default all collected samples at once.
    learn_first
        Learn from each sample before answering. The answer then takes the newest sample into account fully, and comes
        later. By default the answer comes first.

    Examples
    --------
    >>> from quatcast import RLS
    >>> time = np.arange(900) / 10
    >>> wave = np.stack([np.sin(time), np.cos(time), 0.3 * np.sin(2 * time)], axis=-1)[:, None, :]
    >>> forecaster = Forecaster(RLS(), horizon=5, lags=10)
    >>> forecasts = forecaster.run(wave)
    >>> bool(np.abs(np.asarray(forecasts) - wave)[310:].max() < 0.01)
    True
    """

    state: Collecting | Tracking

    def __init__(
        self,
        learner: Learner,
        *,
        horizon: int,
        horizons: Sequence[int] | None = None,
        lags: int | Sequence[int] = 30,
        labels: Labels = "causal",
        target: Target = "position",
        scale_by: ScaleBy = "coordinate",
        train: int = 300,
        catch_up: int | None = None,
        learn_first: bool = False,
    ) -> None:
        if not isinstance(learner, Learner):
            raise ValueError(f"learner: expected a quatcast learner, got {learner!r}")
        for name, value, known in (
            ("labels", labels, ("causal", "lookahead")),
            ("target", target, ("position", "displacement")),
            ("scale_by", scale_by, ("coordinate", "channel")),
        ):
            if value not in known:
                raise ValueError(f"{name}: expected one of {', '.join(map(repr, known))}, got {value!r}")
        check_whole(train=train)
        as_horizons(horizon, horizons)
        if horizons is not None and labels == "lookahead":
            raise ValueError('horizons: expected labels="causal" with several horizons')
        if catch_up is not None and not is_whole(catch_up, 2):
            raise ValueError(f"catch_up: expected at least 2 samples, or None for all at once, got {catch_up!r}")
        if learner.repeats and target == "displacement":
            raise ValueError(f'target: {type(learner).__name__} forecasts positions; use target="position" with it')
        self.learner, self.horizon, self.labels, self.target = learner, int(horizon), labels, target
        self.horizons = horizons
        self.delays = as_delays(lags)
        self.lags, self.scale_by, self.train = list(self.delays), scale_by, int(train)
        self._moments = self.delays[0] - np.asarray(self.delays)
        self.catch_up = None if catch_up is None else int(catch_up)
        self.learn_first = learn_first

    @property
    def warmup(self) -> int:
        """Number of samples until the first forecast, if inputs are not longer than the training."""
        return self.train + (0 if self.catch_up is None else -(-self.train // (self.catch_up - 1)))

    # The online contract.

    def begin(self, shape: tuple[int, int], training: Floats | None = None) -> None:
        """Begin anew; with training samples (T, channels, dimensions) the scaling is fitted to them at once."""
        algebra = self.learner.algebra
        if 1 < algebra.dimension < shape[1]:
            name = {2: "complex numbers", 4: "quaternions"}.get(algebra.dimension, str(algebra))
            expected = f"at most {algebra.dimension} coordinates per channel, which fit into {name}"
            raise ValueError(f"sample: expected {expected}, got {shape[1]}")
        if training is None:
            self.state = Collecting(shape, self._none_waiting())
        else:
            self._track(training, self._none_waiting())

    def forecast(self, sample: Floats, observed: Bools) -> Floats:
        """Take in the newest sample and forecast; NaN until the scaling is fitted and the learner has caught up."""
        if isinstance(self.state, Collecting):
            self.state.samples.append(sample, observed)
            # The fit takes milliseconds, so that it is left to `learn`, unless that is not called.
            if self.learn_first or len(self.state.samples) > self.train:
                self._fit()
        elif self.state.waiting or self.learn_first:
            self.state.waiting.append(sample, observed)
            if len(self.state.waiting) > 2 * self.train:
                self._skip_oldest()
        else:
            self._take_in(sample, observed)
        if isinstance(self.state, Collecting):
            return self._nothing()
        if self.learn_first:
            self._catch_up()
        return self._nothing() if self.state.waiting else self._answer()

    def learn(self) -> None:
        """Learn from the newest sample, or from some of those that are waiting."""
        self.learn_some(self.catch_up or self.train)

    def learn_some(self, limit: int) -> None:
        """Learn from the newest sample, or from at most `limit` of those that are waiting."""
        if self.learn_first:
            return
        self._fit()
        if isinstance(self.state, Collecting):
            self.learner._provide(*self._sizes(self.state.shape))
            return
        if self.state.waiting:
            self._catch_up(limit)
            if not self.state.waiting:
                self.state.waiting = self._none_waiting()  # without the memory of those that were
        else:
            self._learn_newest()
        if not self.state.waiting:
            # The next answer then needs one step of the learner only.
            self.learner._foresee(list(self.state.inputs))

    def get_ready(self) -> None:
        """Do what the next answer will do, with the last input in place of the next one, and forget it."""
        if isinstance(self.state, Tracking) and self.state.inputs and not self.state.waiting:
            self._predict([*self.state.inputs, self.state.inputs[-1]])

    def update(self, sample: ArrayLike, observed: ArrayLike | None = None) -> Floats:
        """Check the newest sample (channels, dimensions), forecast, and learn from it; see `OnlineForecaster`."""
        if self.labels == "lookahead":
            raise ValueError(
                'labels: "lookahead" learns from samples that have not arrived yet, so it cannot run live; '
                'use labels="causal", or run(positions) on a finished recording'
            )
        return np.asarray(super().update(sample, observed))

    def run(self, positions: ArrayLike, *, training: ArrayLike | None = None) -> Forecasts:
        """Forecast a recording (T, channels, dimensions): begin anew, then do for each row what `update` does.

        Parameters
        ----------
        positions
            The recording.
        training
            Samples that the scaling is fitted to before the first row, as in the published protocol. By default the
            first `train` rows are collected first, as in live use, so that a shorter recording has no forecasts; under
            look-ahead labels they are always known.
        """
        x = as_recording(positions, finite=True)
        fitted = None if training is None else as_recording(training, finite=True)
        if fitted is None and self.labels == "lookahead":
            fitted = x[: self.train]
        if fitted is not None and (fitted.shape[1:] != x.shape[1:] or len(fitted) < self.train):
            name = "positions" if training is None else "training"
            expected = f"at least {self.train} samples of shape {x.shape[1:]} to fit the scaling"
            raise ValueError(f"{name}: expected {expected}, got {fitted.shape}")
        h, everything = self.horizon, np.ones(x.shape[1], dtype=bool)
        runs = (self.learner.runs,) if self.learner.runs else ()
        path = () if self.horizons is None else (len(self.horizons),)
        forecasts, weights = np.full((*runs, *path, *x.shape), np.nan), np.full((*runs, len(x)), np.nan)
        with self._whole_or_undone(self.mark()):
            self.begin((x.shape[1], x.shape[2]), fitted)
            for t, row in enumerate(counted(x)):
                if self.labels == "causal":
                    made = self.forecast(row, everything)
                    self.learn()
                    place(forecasts, made, t, self)
                    if isinstance(self.state, Tracking) and not self.state.waiting:
                        weights[..., t] = self.state.weight
                elif t + h < len(x):
                    made, weights[..., t + h] = self._look_ahead(row, x[t + h])
                    forecasts[..., t + h, :, :] = made
        truncated = self.state.truncated if isinstance(self.state, Tracking) else 0
        return Forecasts(forecasts, weights, h, self.labels, truncated)

    def mark(self) -> Any:
        """Return what `rewind` needs to undo the next step."""
        return super().mark(), self.learner.mark()

    def rewind(self, mark: Any) -> None:
        """Undo the step since `mark`."""
        own, learner = mark
        super().rewind(own)
        self.learner.rewind(learner)

    # One sample after the other.

    def _fit(self) -> None:
        """Fit the scaling if it is not and enough samples have been collected."""
        if isinstance(self.state, Collecting) and len(self.state.samples) >= self.train:
            self._track(self.state.samples.positions[: self.train], self.state.samples)

    def _sizes(self, shape: tuple[int, int]) -> tuple[int, int]:
        """Return the numbers of inputs and outputs of the learner for samples of a shape."""
        count = shape[0] * (shape[1] if self.learner.algebra.dimension == 1 else 1)
        return count * len(self.delays), count * len(horizons_of(self))

    def _none_waiting(self) -> Waiting:
        return Waiting(2 * self.train + 1)

    def _track(self, training: Floats, waiting: Waiting) -> None:
        """Fit the scaling to training samples and begin to track the signal."""
        algebra, (channels, dimensions) = self.learner.algebra, training.shape[1:]
        self.learner.begin(*self._sizes((channels, dimensions)))
        self.state = Tracking(
            shape=(channels, dimensions),
            embedding=Embedding.fit(training, self.delays, horizons_of(self), self.target, self.scale_by, algebra),
            waiting=waiting,
            line=SlidingWindow(self.delays[0] + 1),
            inputs=deque(maxlen=self.horizon + 1),
            origins=deque(maxlen=self.horizon + 1),
            observed=deque(maxlen=self.horizon + 1),
            weight=np.full(self.learner.runs or (), np.nan),
            truncated=0,
        )

    def _catch_up(self, limit: int | None = None) -> None:
        """Take in and learn from as many waiting samples as one update may."""
        state = self._tracking
        most = self.catch_up or self.train
        for _ in range(min(most, limit or most, len(state.waiting))):
            self._take_in(*state.waiting.popleft())
            self._learn_newest()

    def _skip_oldest(self) -> None:
        """Drop the sample that has waited longest because `learn` is not called; no input may span the gap."""
        state = self._tracking
        state.waiting.popleft()
        state.line = SlidingWindow(self.delays[0] + 1)
        for waiting in (state.inputs, state.origins, state.observed):
            waiting.clear()

    def _take_in(self, x: Floats, observed: Bools) -> None:
        """Take in a sample and build the input that ends with it."""
        state = self._tracking
        state.line.append(x)
        if len(state.line) == state.line.capacity:
            window = state.line.rows[self._moments]
            state.inputs.append(state.embedding.input(window))
            state.origins.append(x)
            state.observed.append(observed)

    def _learn_newest(self) -> None:
        """Learn from the newest sample, which is the last target of the oldest input."""
        state = self._tracking
        if len(state.inputs) > self.horizon:
            ahead = horizons_of(self)
            targets = np.stack([state.origins[h] for h in ahead])
            observed = np.concatenate([state.observed[h] for h in ahead])
            self._follow(self.learner._learn(*self._pair(state.inputs[0], state.origins[0], targets, observed)))
            for waiting in (state.inputs, state.origins, state.observed):
                waiting.popleft()

    def _pair(self, u: Floats, origin: Floats, x: Floats, observed: Bools) -> tuple[Floats, Floats, Floats | None]:
        """Return the input u, the target that it led to, from its newest sample to samples x (horizons, …), and a mask.

        The mask is 0 where the target was not observed, and None if all of it was.
        """
        embedding = self._tracking.embedding
        target = embedding.target_of(origin, x)
        if not (embedding.within_limits(u) and embedding.within_limits(target)):
            observed = np.zeros_like(observed)
        mask = None if observed.all() else np.repeat(observed, target.shape[-1] // len(observed)).astype(float)
        return u, target, mask

    def _follow(self, step: StackedStep | None) -> None:
        """Keep the kernel weight of a step of the learner, and count truncated walks."""
        state, runs = self._tracking, self.learner.runs
        weight = np.ones(runs or 1) if step is None else fetch(step.weight)[:, 0, :].mean(axis=-1)
        state.weight = weight if runs else weight[0]
        state.truncated += 0 if step is None else step.truncated

    def _answer(self) -> Floats:
        """Roll the learner forward over the inputs that it has not learnt from, and forecast."""
        inputs = self._tracking.inputs
        return self._predict(list(inputs)) if inputs else self._nothing()

    def _predict(self, inputs: list[Floats]) -> Floats:
        """Return the forecast after inputs that the learner has not learnt from."""
        ahead = inputs if self.learner.recurrent else inputs[-1:]
        return self._position(self._tracking.origins[-1], self.learner._predict(ahead))

    def _look_ahead(self, x: Floats, target: Floats) -> tuple[Floats, Floats]:
        """Take in a sample, forecast, and learn from the sample `horizon` later; the forecast and the kernel weight."""
        everything = np.ones(len(x), dtype=bool)
        self._take_in(x, everything)
        state = self._tracking
        if not state.inputs:
            return self._nothing(), state.weight
        step = self.learner._update(*self._pair(state.inputs[-1], x, target[None], everything))
        self._follow(step)
        return self._position(x, step.prediction), state.weight

    def _position(self, origin: Floats, output: Any) -> Floats:
        position = self._tracking.embedding.position(origin, fetch(output))
        if self.horizons is None:
            position = position[..., 0, :, :]
        return position if self.learner.runs else position[0]

    def _nothing(self) -> Floats:
        runs = (self.learner.runs,) if self.learner.runs else ()
        path = () if self.horizons is None else (len(self.horizons),)
        return np.full((*runs, *path, *self.state.shape), np.nan)

    @property
    def _tracking(self) -> Tracking:
        """The state, which must be `Tracking`."""
        if not isinstance(self.state, Tracking):
            raise ValueError("the scaling has not been fitted yet")
        return self.state
