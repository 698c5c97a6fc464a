"""A forecaster: a learner, and the rule by which a signal becomes inputs and targets for it.

With lags l and horizon h, the input at time t is u(t) = (x(t−l+1), …, x(t)) and its target is x(t+h). Two rules say
when a learner may learn from it:

- **causal**: at time t the newest target is x(t), that of u(t−h). So the learner first learns from (u(t−h), x(t)); it
  runs h samples behind, and is rolled forward over u(t−h+1), …, u(t) with today's weights for the forecast of x(t+h).
- **look-ahead**: the learner forecasts from u(t) and at once learns from x(t+h), h samples before anyone can know it.
  That is how published results in this field were made. It needs the whole recording and flatters every method.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.checkpoint import Kept
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.engine.threads import one_thread
from quatcast.forecasting.embedding import Embedding, ScaleBy, Target, as_delays
from quatcast.learners.base import Learner, check_finite
from quatcast.learners.persistence import Persistence
from quatcast.typing import Floats

Labels = Literal["causal", "lookahead"]


@dataclass(frozen=True)
class Forecasts:
    """Forecasts of a recording; `numpy.asarray` of it is `positions`.

    Attributes
    ----------
    positions
        (T, channels, dimensions), behind a run axis where the learner has several runs. Row t is the forecast OF
        sample t, made `horizon` samples before; NaN where there is none.
    weights
        (T,), behind the run axis: kernel weight with which sample t was learnt from, NaN where it was not.
    horizon
        Samples ahead.
    labels
        "causal" or "lookahead".
    truncated
        Updates whose gradient was cut off at the learner's `max_depth`.
    """

    positions: Floats
    weights: Floats
    horizon: int
    labels: Labels
    truncated: int

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.positions, dtype=dtype, copy=copy)


class Forecaster(Kept):
    """Forecast a signal `horizon` samples ahead, learning as it goes.

    Parameters
    ----------
    learner
        What predicts and learns.
    horizon
        h, how many samples ahead.
    lags
        Samples that make an input: a number l of successive ones, or a list of delays.
    labels
        "causal" learns from targets that have arrived; "lookahead" from those h samples ahead, offline only.
    target
        "position" as published, or "displacement" from the newest sample; see `Embedding`.
    scale_by
        "coordinate" as published, or "channel"; see `Embedding.fit`.
    train
        Samples at the start of the recording that the scaling is fitted to.
    catch_up
        Samples that one `update` learns from once the scaling is fitted, until it has caught up with the newest; all
        of those kept back at once where left out.

    Examples
    --------
    >>> from quatcast.learners import RLS
    >>> time = np.arange(900) / 10
    >>> wave = np.stack([np.sin(time), np.cos(time), 0.3 * np.sin(2 * time)], axis=-1)[:, None, :]
    >>> forecaster = Forecaster(RLS(), horizon=5, lags=10)
    >>> forecasts = forecaster.run(wave)
    >>> bool(np.abs(np.asarray(forecasts) - wave)[300:].max() < 0.01)
    True
    """

    def __init__(
        self,
        learner: Learner,
        *,
        horizon: int,
        lags: int | Sequence[int] = 30,
        labels: Labels = "causal",
        target: Target = "position",
        scale_by: ScaleBy = "coordinate",
        train: int = 300,
        catch_up: int | None = None,
    ) -> None:
        if not isinstance(learner, Learner):
            raise ValueError(f"learner: a quatcast learner, not {learner!r}")
        for name, value, known in (
            ("labels", labels, ("causal", "lookahead")),
            ("target", target, ("position", "displacement")),
            ("scale_by", scale_by, ("coordinate", "channel")),
        ):
            if value not in known:
                raise ValueError(f"{name}: one of {', '.join(map(repr, known))}, not {value!r}")
        for name, number in (("horizon", horizon), ("train", train)):
            if not isinstance(number, int | np.integer) or isinstance(number, bool) or number < 1:
                raise ValueError(f"{name}: a positive whole number of samples, not {number!r}")
        if catch_up is not None and (not isinstance(catch_up, int | np.integer) or catch_up < 2):
            raise ValueError(f"catch_up: a whole number of samples from 2, or None for all at once, not {catch_up!r}")
        if isinstance(learner, Persistence) and target == "displacement":
            raise ValueError('target: Persistence forecasts positions; use target="position" with it')
        self.learner, self.horizon, self.labels, self.target = learner, int(horizon), labels, target
        self.lags, self.scale_by, self.train = lags, scale_by, int(train)
        self.catch_up = None if catch_up is None else int(catch_up)
        self.delays = as_delays(lags)
        self.embedding: Embedding | None = None
        self._shape: tuple[int, ...] | None = None
        self._waiting: deque[tuple[Floats, NDArray[np.bool_]]] = deque()

    def update(self, sample: ArrayLike, present: ArrayLike | None = None) -> Floats:
        """Take in the newest sample (channels, dimensions) and forecast the one `horizon` samples after it.

        `present` (channels,) says which channels were really seen; a position that was filled in serves as an input,
        but is not learnt from.

        The first `train` samples are kept back until the scaling can be fitted to them; the learner then catches up,
        `catch_up` samples an update. Until there is a forecast it is NaN.
        """
        if self.labels == "lookahead":
            raise ValueError(
                'labels: "lookahead" learns from samples that have not arrived yet, so it cannot run live; '
                'use labels="causal", or run(positions) on a finished recording'
            )
        x = self._check("sample", sample, 2)
        seen = np.ones(len(x), dtype=bool) if present is None else np.asarray(present)
        if seen.shape != (len(x),) or seen.dtype != np.bool_:
            raise ValueError(f"present: {len(x)} values True or False expected, not {present!r}")
        if self._shape is not None and x.shape != self._shape:
            raise ValueError(f"sample: shape {self._shape} expected as before, not {x.shape}")
        self._shape = x.shape
        self._waiting.append((x, seen))
        if self.embedding is None:
            if len(self._waiting) < self.train:
                return self._nothing(x.shape)
            self._begin(np.stack([row for row, _ in self._waiting]))
        for _ in range(min(self.catch_up or self.train, len(self._waiting))):
            self._advance(*self._waiting.popleft())
        return self._nothing(x.shape) if self._waiting else self._forecast(x)

    def run(self, positions: ArrayLike) -> Forecasts:
        """Forecast a whole recording (T, channels, dimensions), beginning anew.

        The scaling is fitted to the first `train` samples before anything else. Once `update` would have caught up,
        causal forecasts are the very ones that it would have given.
        """
        x = self._check("positions", positions, 3)
        if len(x) < self.train:
            raise ValueError(f"positions: {self.train} samples are needed to fit the scaling, not {len(x)}")
        self._waiting.clear()
        self._begin(x[: self.train])
        h, shape = self.horizon, x.shape
        runs = (self.learner.runs,) if self.learner.runs else ()
        forecasts = np.full((*runs, *shape), np.nan)
        weights = np.full((*runs, shape[0]), np.nan)
        seen = np.ones(shape[1], dtype=bool)
        with one_thread():
            for t, row in enumerate(x):
                if self.labels == "causal":
                    self._advance(row, seen)
                    made = self._forecast(row)
                    weights[..., t] = self._weight
                    if t + h < len(x):
                        forecasts[..., t + h, :, :] = made
                elif t + h < len(x):
                    self._observe(row)
                    if self._inputs:
                        forecasts[..., t + h, :, :] = self._learn(row, x[t + h], seen, self._inputs[-1])
                    weights[..., t + h] = self._weight
        return Forecasts(forecasts, weights, h, self.labels, self._truncated)

    # One sample after the other.

    def _begin(self, training: Floats) -> None:
        self.embedding = Embedding.fit(
            training, self.delays, self.horizon, self.target, self.scale_by, self.learner.algebra
        )
        self._shape = training.shape[1:]
        channels, dimensions = self._shape
        count = channels * (dimensions if self.learner.algebra.dimension == 1 else 1)
        self.learner.start(count * len(self.delays), count)
        self._line = SlidingWindow(self.delays[0] + 1)
        self._picks = self.delays[0] - np.asarray(self.delays)
        self._inputs: deque[Floats] = deque(maxlen=self.horizon + 1)
        self._samples: deque[Floats] = deque(maxlen=self.horizon + 1)
        self._weight: Floats | float = np.nan
        self._truncated = 0

    def _advance(self, x: Floats, seen: NDArray[np.bool_]) -> None:
        """Causal step: take in a sample, and learn from it as a target."""
        self._observe(x)
        if len(self._inputs) > self.horizon:
            self._learn(self._samples[0], x, seen, self._inputs[0])

    def _forecast(self, x: Floats) -> Floats:
        """Forecast from x, the last sample taken in: roll the learner on over the inputs not learnt from yet."""
        if not self._inputs:
            return self._nothing(x.shape)
        behind = len(self._inputs) > self.horizon
        ahead = list(self._inputs)[1 if behind else 0 :]
        if not self.learner.recurrent:
            ahead = ahead[-1:]
        assert self.embedding is not None
        return self.embedding.position(x, self.learner.predict(*ahead))

    def _observe(self, x: Floats) -> None:
        """Take in a sample and build the input that ends with it."""
        assert self.embedding is not None
        self._line.append(x)
        if len(self._line) == self._line.capacity:
            self._inputs.append(self.embedding.input(self._line.rows[self._picks]))
            self._samples.append(x)

    def _learn(self, origin: Floats, x: Floats, seen: NDArray[np.bool_], u: Floats) -> Floats:
        """Learn that the input u, made at position `origin`, led to the sample x; forecast it before."""
        assert self.embedding is not None
        goal = self.embedding.goal(origin, x)
        step = self.learner.update(u, goal, None if seen.all() else np.repeat(seen, len(goal) // len(seen)))
        self._truncated += step.truncated
        weight = np.asarray(step.weight)
        per_channel = weight.ndim > (self.learner.runs is not None)
        self._weight = weight.mean(axis=-1) if per_channel else weight
        return self.embedding.position(origin, step.prediction)

    # What a file keeps.

    def _attributes(self) -> dict[str, Any]:
        kept = vars(self) | {"learner": self.learner.to_tree(), "lags": list(self.delays)}
        if self.embedding is not None:
            kept["embedding"] = {f.name: getattr(self.embedding, f.name) for f in fields(Embedding)[1:]}
            kept["_line"] = self._line.rows
        return kept

    def _restore(self, attributes: dict[str, Any]) -> None:
        super()._restore(attributes)
        self.learner = Learner.from_tree(attributes["learner"])
        if self.embedding is not None:
            self.embedding = Embedding(self.learner.algebra, **attributes["embedding"])
            self._line = SlidingWindow(self.delays[0] + 1)
            self._line.rows = attributes["_line"]

    def _nothing(self, shape: tuple[int, ...]) -> Floats:
        return np.full((self.learner.runs, *shape) if self.learner.runs else shape, np.nan)

    def _check(self, name: str, x: ArrayLike, ndim: int) -> Floats:
        array = np.asarray(x)
        if array.dtype.kind not in "fiu":
            raise ValueError(f"{name}: real numbers expected, not an array of type {array.dtype}")
        if array.ndim != ndim or 0 in array.shape:
            expected = "(channels, dimensions)" if ndim == 2 else "(T, channels, dimensions)"
            raise ValueError(f"{name}: shape {expected} expected, not {array.shape}")
        d = self.learner.algebra.dimension
        if d > 1 and array.shape[-1] > d:
            raise ValueError(f"{name}: at most {d} dimensions fit into {self.learner.algebra}, not {array.shape[-1]}")
        check_finite(name, array)
        return array.astype(np.float64)
