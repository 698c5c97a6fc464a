"""What the members of the recommended mixture contribute: each alone, and the mixture without it.

The members forecast once. Mixtures of some of them are then computed from these forecasts, because members do not learn
from each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from signals import Signal, develop, distances, score

from quatcast import Apart, Mixture, OnlineForecaster, find_space
from quatcast.basics.typing import Bools, Floats
from quatcast.engine.threads import one_thread
from quatcast.forecasting.contract import ForecasterState, horizons_of
from quatcast.forecasting.recipe import experts


class MemberScores(NamedTuple):
    """Root mean square errors of the mixture, of each member alone, and of the mixture without each member."""

    mixture: float
    alone: tuple[float, ...]
    without: tuple[float, ...]


class Replayed(OnlineForecaster):
    """A member that gives forecasts (T, horizons, rows, d) that were made before."""

    def __init__(self, like: Mixture, forecasts: Floats) -> None:
        self.horizon, self.horizons, self.forecasts, self.t = like.horizon, like.horizons, forecasts, -1

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew."""
        self.state, self.t = ForecasterState(shape), -1

    def forecast(self, sample: Floats, observed: Bools) -> Floats:
        """Return the next forecast."""
        self.t += 1
        made: Floats = self.forecasts[self.t]
        return made[0] if self.horizons is None else made

    def learn(self) -> None:
        """Learn nothing."""


def label(member: OnlineForecaster) -> str:
    """Return a short name of a member."""
    if isinstance(member, Apart):
        return f"apart: {label(member.members[0])}"
    learner, delays = getattr(member, "learner", None), getattr(member, "delays", None)
    if learner is None or delays is None:
        size = getattr(member, "lags", None) or getattr(member, "spans", "")
        return f"{type(member).__name__} {size}".strip()
    runs = f"{learner.runs} " if learner.runs else ""
    return f"{runs}{type(learner).__name__}, {len(delays)} samples over {delays[0]}"


def labels(seconds: float, rate: float, space: str = "position") -> list[str]:
    """Return the names of all members for a horizon, a rate and a space."""
    return [label(member) for member in experts(max(1, round(seconds * rate)), rate, space=space).members]


def run(mixture: Mixture, x: Floats, turned: Floats | None = None, record: bool = False) -> tuple[Floats, Floats]:
    """Return the forecasts (T, rows, d) that a mixture made at each sample, and those of its members (K, T, …).

    Orientations (T, channels, 4) are told to the mixture if there are any.
    """
    made, each = [], []
    seen = np.ones(x.shape[1], dtype=bool)
    mixture.begin((x.shape[1], x.shape[2]))
    with one_thread(), np.errstate(all="ignore"):
        for t, sample in enumerate(x):
            if turned is not None:
                mixture.orient(turned[t])
            made.append(mixture.forecast(sample, seen))
            if record:
                each.append(mixture.state.made[-1])
            mixture.learn()
    return np.stack(made), np.stack(each, axis=1) if record else np.empty(0)


def rmse(signal: Signal, made: Floats, ahead: int) -> float:
    """Return the root mean square error of coordinates (T, rows, d) that were forecast at each sample."""
    space, x = find_space(signal.space, signal.rate), signal.samples
    chart, placed = space.begin(x.shape[1]), np.full_like(x, np.nan)
    for t, sample in enumerate(x[:-ahead]):
        y = space.to_coordinates(chart, sample)
        space.accept(chart, sample, y, np.ones(len(y), dtype=bool))
        placed[t + ahead] = space.from_coordinates(chart, made[t], ahead / signal.rate)
    return score(signal, distances(signal, placed)).rmse


def score_members(signal: Signal, horizons: Sequence[float]) -> MemberScores:
    """Return the scores of the mixture, of each member, and of the mixture without each member, for one horizon."""
    ahead, x = signal.ahead(horizons[0]), develop(signal)
    mixture = experts(ahead, signal.rate, space=signal.space)
    turned = signal.samples[..., -4:] if signal.space in ("pose", "orientation") else None
    made, each = run(mixture, x, turned, record=True)
    assert horizons_of(mixture) == (ahead,)
    without = []
    for k in range(len(each)):
        rest = [Replayed(mixture, forecasts) for i, forecasts in enumerate(each) if i != k]
        settings = {**mixture.settings(), "members": rest}
        without.append(run(Mixture(**settings), x)[0])
    return MemberScores(
        rmse(signal, made, ahead),
        tuple(rmse(signal, forecasts[:, 0], ahead) for forecasts in each),
        tuple(rmse(signal, forecasts, ahead) for forecasts in without),
    )
