"""The online contract: the interface of everything that forecasts sample by sample.

A forecaster takes in a sample and *answers first* with what it has learnt so far; *then it learns* from the sample. A
service sends the answer between the two. Whatever combines or wraps forecasters relies on this contract alone, so that
a forecaster written outside the library can take any place in it.

Samples are checked once, in `update` and `run`, where they enter the library. `forecast` and `learn` are called with
samples that have been checked.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.basics.typing import Bools, Floats
from quatcast.checkpoint import Checkpointable, State
from quatcast.engine.threads import one_thread
from quatcast.forecasting.progress import counted
from quatcast.forecasting.samples import as_observed, as_recording, as_sample
from quatcast.learners.base import LARGEST_SIZE

Labels = Literal["causal", "lookahead"]

LARGEST = 1e9
"""Largest coordinate that is accepted as a measurement; the squares of larger ones could overflow."""


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of a whole recording; `numpy.asarray` of it gives `positions`.

    Attributes
    ----------
    positions
        (T, channels, dimensions), after a run axis if the learner has several runs. Row t is the forecast OF sample t,
        made `horizon` samples earlier; NaN where there is none.
    weights
        (T,), after the run axis: kernel weight with which sample t was learnt from, NaN where it was not.
    horizon
        Samples ahead.
    labels
        "causal" or "lookahead".
    truncated
        Number of updates whose gradient was cut off at the learner's `max_depth`.

    Examples
    --------
    >>> from quatcast import LastPosition
    >>> line = np.arange(4.0)[:, None, None] * np.ones((1, 1, 3))
    >>> forecasts = LastPosition(horizon=1).run(line)
    >>> forecasts.horizon, forecasts.labels, np.asarray(forecasts)[:, 0, 0]
    (1, 'causal', array([nan,  0.,  1.,  2.]))
    """

    positions: Floats
    weights: Floats
    horizon: int
    labels: Labels
    truncated: int

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.positions, dtype=dtype, copy=copy)


@dataclass
class ForecasterState(State):
    """Shape (channels, dimensions) of the samples of a forecaster that has begun; subclasses add what it remembers.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class MeanState(ForecasterState):
    ...     mean: np.ndarray
    ...     count: int = 0
    >>> MeanState(shape=(1, 3), mean=np.zeros((1, 3))).count
    0
    """

    shape: tuple[int, int]


class OnlineForecaster(Checkpointable, ABC):
    """Base class of all online forecasters: implement `begin`, `forecast` and `learn`, and set `horizon`.

    Keep everything that is remembered in `self.state`, which `begin` creates: a dataclass derived from
    `ForecasterState`, whose arrays are replaced and never written into. Then saving, copying and undoing a step work
    without further code.

    Examples
    --------
    A forecaster that repeats the last step of the signal:

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class LastStepState(ForecasterState):
    ...     before: np.ndarray
    >>> class LastStep(OnlineForecaster):
    ...     def __init__(self, horizon):
    ...         self.horizon = horizon
    ...     def begin(self, shape):
    ...         self.state = LastStepState(shape, before=np.full(shape, np.nan))
    ...     def forecast(self, sample, observed):
    ...         step, self.state.before = sample - self.state.before, sample
    ...         return sample + self.horizon * step
    ...     def learn(self):
    ...         pass
    >>> line = np.arange(6.0)[:, None, None] * np.ones((1, 1, 3))
    >>> LastStep(2).run(line).positions[:, 0, 0]
    array([nan, nan, nan,  3.,  4.,  5.])
    """

    horizon: int
    """Samples from the newest sample to the one that is forecast; the longest one if there are several."""
    horizons: Sequence[int] | None = None
    """Several horizons in samples, for a forecaster that answers for all of them; None for one that does not."""

    @abstractmethod
    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""

    @abstractmethod
    def forecast(self, sample: Floats, observed: Bools) -> Any:
        """Take in the newest sample and return the forecast of the one `horizon` samples later.

        Parameters
        ----------
        sample
            Finite positions (channels, dimensions).
        observed
            (channels,): which channels were measured. A position that was filled in may serve as an input, but must not
            be learnt from.

        Returns
        -------
        forecast
            Positions (channels, dimensions), after an axis of horizons if there are several, after a run axis if there
            are several runs; NaN while there is no forecast. An object that `numpy.asarray` converts to positions is
            accepted too.
        """

    def orient(self, orientations: Floats) -> None:
        """Take in the orientations of the next sample, unit quaternions (channels, 4); by default nothing is done.

        It is called before `forecast` if samples are poses or orientations, whose coordinates describe how a body turns
        but not its orientation.
        """

    @abstractmethod
    def learn(self) -> None:
        """Learn from the newest sample. It is called once after each `forecast`, or not at all."""

    def learn_some(self, limit: int) -> None:
        """Learn, but from no more than `limit` samples at once if several are waiting; by default the same as `learn`.

        A forecaster that collects samples first and learns from them later needs more time for this than for the newest
        sample. A live service limits it where the next sample must not wait.
        """
        self.learn()

    def get_ready(self) -> None:
        """Read what the next answer will need, without changing anything; by default nothing is done.

        While a service waits for the next sample, other programs drive what the answer needs out of the caches of the
        processor. A service that knows when the sample is due calls this shortly before.
        """

    def update(self, sample: ArrayLike, observed: ArrayLike | None = None) -> Any:
        """Check the newest sample (channels, dimensions), forecast, and learn from it; begin with the first one.

        A step happens completely or not at all: after an error everything is as it was before the sample.
        """
        x = as_sample(sample, finite=True)
        seen = as_observed(observed, len(x))
        with self._whole_or_undone(self.mark()):
            self._ready(x.shape)
            made = self.forecast(x, seen)
            self.learn()
        return made

    def run(self, positions: ArrayLike) -> Forecasts:
        """Forecast a recording (T, channels, dimensions): begin anew, then do for each row what `update` does.

        After an error everything is as it was before the run.
        """
        x = as_recording(positions, finite=True)
        everything = np.ones(x.shape[1], dtype=bool)
        forecasts: Floats = np.empty(0)
        with self._whole_or_undone(self.mark()):
            self._begin_anew((x.shape[1], x.shape[2]))
            for t, row in enumerate(counted(x)):
                made = np.asarray(self.forecast(row, everything))
                check_shape(self, made, x.shape[1:])
                if t == 0:
                    forecasts = np.full((*made.shape[:-2], *x.shape), np.nan)
                place(forecasts, made, t, self)
                self.learn()
        runs = forecasts.shape[: -3 if self.horizons is None else -4]
        return Forecasts(forecasts, np.full((*runs, len(x)), np.nan), self.horizon, "causal", 0)

    def rehearse(self) -> None:
        """Make one step with a sample of which no channel was observed."""
        channels, dimensions = self.state.shape
        if not 0 < channels * dimensions <= LARGEST_SIZE:
            raise ValueError(f"shape: expected 1 to {LARGEST_SIZE:,} coordinates, got {self.state.shape}")
        # The first unit vector is a valid point of every space: a position, and a rotation by nothing.
        sample = np.zeros((channels, dimensions))
        sample[:, 0] = 1.0
        made = self.forecast(sample, np.zeros(channels, dtype=bool))
        self.learn()
        check_shape(self, np.asarray(made), (channels, dimensions))

    @contextmanager
    def _whole_or_undone(self, mark: Any) -> Iterator[None]:
        """Undo everything since a mark if an error occurs; BLAS uses one thread meanwhile."""
        try:
            with one_thread(), np.errstate(all="ignore"):
                yield
        except BaseException:
            self.rewind(mark)
            raise

    def _begin_anew(self, shape: tuple[int, int]) -> None:
        """Call `begin`; if it raises an error, everything is as it was before."""
        mark = self.mark()
        try:
            self.begin(shape)
            if not self.begun:
                raise ValueError(f"{type(self).__name__}: expected begin to create self.state")
        except BaseException:
            self.rewind(mark)
            raise

    def _ready(self, shape: tuple[int, ...]) -> None:
        """Begin with the first sample, and refuse later ones of another shape."""
        if not self.begun:
            self._begin_anew((shape[0], shape[1]))
        expected = getattr(self.state, "shape", shape)
        if expected != shape:
            raise ValueError(f"sample: expected shape {expected} as before, got {shape}")


def satisfies_contract(candidate: Any) -> bool:
    """Whether an object has what the online contract asks for, derived from `OnlineForecaster` or not."""
    methods = all(callable(getattr(candidate, name, None)) for name in ("begin", "forecast", "learn"))
    return methods and isinstance(getattr(candidate, "horizon", None), int | np.integer)


def horizons_of(forecaster: Any) -> tuple[int, ...]:
    """Return the horizons of any forecaster that satisfies the contract, the shortest first."""
    given = getattr(forecaster, "horizons", None)
    return (int(forecaster.horizon),) if given is None else tuple(sorted(int(h) for h in given))


def check_shape(forecaster: Any, positions: Floats, shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless a forecast of samples of a shape has that shape, after axes of runs and horizons."""
    horizons = getattr(forecaster, "horizons", None)
    if horizons is None and positions.shape == shape:
        return
    expected = shape if horizons is None else (len(horizons), *shape)
    if positions.shape[-len(expected) :] != expected or positions.ndim > len(expected) + 1:
        name = type(forecaster).__name__
        raise ValueError(f"{name}: expected a forecast of shape {expected}, got {positions.shape}")


def positions_of(forecaster: Any, forecast: Any, shape: tuple[int, ...]) -> Floats:
    """Return the positions (horizons, channels, dimensions) of any forecast; several runs count as their mean."""
    positions = np.asarray(forecast, dtype=float)
    check_shape(forecaster, positions, shape)
    if getattr(forecaster, "horizons", None) is None:
        positions = positions[..., None, :, :]
    return np.add.reduce(positions, axis=0) / len(positions) if positions.ndim == 4 else positions


def place(forecasts: Floats, made: Floats, t: int, forecaster: Any) -> None:
    """Write what was forecast at sample t to the rows of the samples that it is for, (…, T, channels, dimensions)."""
    T = forecasts.shape[-3]
    if getattr(forecaster, "horizons", None) is None:
        if t + forecaster.horizon < T:
            forecasts[..., t + forecaster.horizon, :, :] = made
        return
    for i, h in enumerate(horizons_of(forecaster)):
        if t + h < T:
            forecasts[..., i, t + h, :, :] = made[..., i, :, :]


def orient_to(forecaster: Any, orientations: Floats) -> None:
    """Pass the orientations of the next sample to a forecaster, if it has the method `orient`."""
    if hasattr(forecaster, "orient"):
        forecaster.orient(orientations)


def learn_with(forecaster: Any, limit: int | None) -> None:
    """Let a forecaster learn, from at most `limit` samples if there is a limit and the forecaster supports it."""
    if limit is None or not hasattr(forecaster, "learn_some"):
        forecaster.learn()
    else:
        forecaster.learn_some(limit)


def ready_with(forecaster: Any) -> None:
    """Let a forecaster get ready for the next sample, if it has the method `get_ready`."""
    if hasattr(forecaster, "get_ready"):
        forecaster.get_ready()


def mark_of(forecaster: Any) -> Any:
    """Return what `rewind_to` needs to undo the next step of any forecaster that satisfies the contract."""
    if hasattr(forecaster, "mark"):
        return forecaster.mark()
    try:
        return copy.deepcopy(vars(forecaster))
    except Exception as error:
        advice = "derive it from OnlineForecaster, or define mark and rewind"
        raise TypeError(f"{type(forecaster).__name__}: cannot be copied to undo a step ({error}); {advice}") from error


def rewind_to(forecaster: Any, mark: Any) -> None:
    """Undo the step since `mark_of`."""
    if hasattr(forecaster, "rewind"):
        forecaster.rewind(mark)
    else:
        vars(forecaster).clear()
        # A mark can be used again.
        vars(forecaster).update(copy.deepcopy(mark))
