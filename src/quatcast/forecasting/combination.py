"""Base class of forecasters that consist of other forecasters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from quatcast.basics.typing import Floats
from quatcast.forecasting.contract import (
    OnlineForecaster,
    horizons_of,
    learn_with,
    mark_of,
    orient_to,
    ready_with,
    rewind_to,
    satisfies_contract,
)


class Combination(OnlineForecaster):
    """Base class of forecasters with members, which step together: implement `begin` and `forecast`.

    Parameters
    ----------
    members
        Forecasters of the same horizons that satisfy the online contract; see `OnlineForecaster`.
    """

    def __init__(self, members: Sequence[OnlineForecaster]) -> None:
        if not isinstance(members, Iterable):
            raise ValueError(f"members: expected a list of forecasters, got {members!r}")
        self.members = list(members)
        if not self.members:
            raise ValueError("members: expected at least one forecaster")
        for i, member in enumerate(self.members):
            if not satisfies_contract(member):
                raise ValueError(f"members[{i}]: expected horizon, begin, forecast and learn, got {member!r}")
        parts = [*self.members, *(member.learner for member in self.members if hasattr(member, "learner"))]
        if len({id(part) for part in parts}) < len(parts):
            raise ValueError(
                "members: expected forecasters and learners of their own, got one object twice; use clone()"
            )
        horizons = [horizons_of(member) for member in self.members]
        if len(set(horizons)) > 1:
            given = ", ".join(str(h[0] if len(h) == 1 else list(h)) for h in horizons)
            raise ValueError(f"members: expected the same horizons for all, got {given}")
        if any(getattr(member, "labels", "causal") != "causal" for member in self.members):
            raise ValueError('members: expected labels="causal", because members learn from what has arrived')
        self.horizon, self.horizons = self.members[0].horizon, getattr(self.members[0], "horizons", None)

    def orient(self, orientations: Floats) -> None:
        """Pass the orientations of the next sample to all members."""
        for member in self.members:
            orient_to(member, orientations)

    def learn(self) -> None:
        """Let all members learn."""
        self.learn_some(None)

    def learn_some(self, limit: int | None) -> None:
        """Let all members learn, from at most `limit` samples each."""
        for member in self.members:
            learn_with(member, limit)

    def get_ready(self) -> None:
        """Let all members get ready for the next sample."""
        for member in self.members:
            ready_with(member)

    def mark(self) -> Any:
        """Return what `rewind` needs to undo the next step."""
        return super().mark(), [mark_of(member) for member in self.members]

    def rewind(self, mark: Any) -> None:
        """Undo the step since `mark`, in all members."""
        own, marks = mark
        super().rewind(own)
        for member, one in zip(self.members, marks, strict=True):
            rewind_to(member, one)
