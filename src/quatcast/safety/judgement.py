"""The status of a forecast, judged from what the gate and earlier errors tell, and the reasons for it.

docs/safety.md explains the rules and their constants for users.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.checkpoint import State
from quatcast.safety.gate import Gated
from quatcast.safety.status import Status
from quatcast.typing import Bools, Counts, Floats

ABSORBED = 0.25
"""Seconds for which a replaced sample does not degrade the forecast: the forecaster absorbs short gaps."""
LOST = 3.0
"""Seconds after which a lost channel makes the forecast unusable."""
MOST_LOST = 0.5
"""The same time if more than half of the channels are lost."""
SETTLE = 0.5
"""Seconds without a reason to hold before a hold ends."""
RECENT = 2.0
"""Seconds for which a replaced sample or a shift is remembered."""
LATELY, USUALLY = 3.0, 60.0
"""Seconds over which errors are averaged, to compare recent errors with the usual ones."""
WORSE = (1.5, 2.0)
"""Ratio of the two below which a channel is forecast well again, and above which it is not."""
WIDE = 10.0
"""Ratio of the radius to its usual size above which a forecast is degraded."""
KINDS = {"missing": "lost", "implausible": "implausible", "frozen": "frozen"}
"""Why the gate replaces a sample → how the status says it."""
NEVER = 2**62
"""Number of samples since an event that has not happened."""


@dataclass
class Judgement(State):
    """What the status depends on. Arrays have one entry per channel.

    Attributes
    ----------
    rate
        Sampling rate in Hz.
    names
        Names of the channels.
    needed
        Number of errors that a radius needs.
    lately, usually, known
        Mean of recent errors and of usual errors, and number of errors so far.
    worse
        Whether recent errors are larger than usual.
    low, high
        Range of the positions seen.
    gap
        Length of the last gap that was longer than the forecaster absorbs, in samples.
    since_gap, since_shift
        Number of samples since the end of that gap and since the last shift.
    usual_radius
        Running mean of the radius over a minute.
    ready
        Whether there has been a radius for every channel.
    settling, held_for
        Number of samples for which a hold continues, and the reason of the hold.
    """

    rate: float
    names: tuple[str, ...]
    needed: int
    lately: Floats
    usually: Floats
    known: Counts
    worse: Bools
    low: Floats
    high: Floats
    gap: Counts
    since_gap: Counts
    since_shift: Counts
    usual_radius: Floats
    ready: bool = False
    settling: int = 0
    held_for: str = ""

    @classmethod
    def begin(cls, names: tuple[str, ...], dimensions: int, rate: float, needed: int) -> Judgement:
        """Return the initial state for channels of these names."""
        channels = len(names)
        zeros, never = np.zeros(channels), np.full(channels, NEVER)
        return cls(
            rate,
            names,
            needed,
            lately=zeros,
            usually=zeros,
            known=np.zeros(channels, dtype=np.int64),
            worse=np.zeros(channels, dtype=bool),
            low=np.full((channels, dimensions), np.inf),
            high=np.full((channels, dimensions), -np.inf),
            gap=np.zeros(channels, dtype=np.int64),
            since_gap=never,
            since_shift=never,
            usual_radius=np.full(channels, np.nan),
        )

    # What a sample tells.

    def take_errors(self, errors: Floats) -> None:
        """Take in the errors (channels,) of matured forecasts, NaN where there is none."""
        matured = np.isfinite(errors)
        self.known = self.known + matured

        def averaged(mean: Floats, seconds: float) -> Floats:
            gain = np.maximum(1.0 / np.maximum(self.known, 1), 1.0 / (seconds * self.rate))
            return mean + np.where(matured, gain * (errors - mean), 0.0)

        self.lately, self.usually = averaged(self.lately, LATELY), averaged(self.usually, USUALLY)
        self.worse = self.lately > np.where(self.worse, *WORSE) * self.usually

    def take_sample(self, gated: Gated, continued: Floats) -> None:
        """Take in a sample as the gate has judged it, and its positions without offsets."""
        seen = ~gated.replaced[:, None]
        self.low = np.where(seen, np.minimum(self.low, continued), self.low)
        self.high = np.where(seen, np.maximum(self.high, continued), self.high)
        long = gated.lost > ABSORBED * self.rate
        self.gap = np.where(long, gated.lost, self.gap)
        self.since_gap = np.where(long, 0, self.since_gap + 1)
        self.since_shift = np.where(np.array(gated.reasons) == "shift", 0, self.since_shift + 1)

    def hold(self, reason: str) -> None:
        """Let the next samples be on hold, for a reason that is known only now."""
        self.settling, self.held_for = round(SETTLE * self.rate), reason

    # The status.

    def judge(self, gated: Gated, position: Floats, radius: Floats, fault: str) -> tuple[Status, str]:
        """Return the status of a forecast, and the reason for it; `fault` says how the forecaster has failed."""
        status, reason = self._judge(gated, position, radius, fault)
        if status != Status.HOLD:
            self._follow_radius(radius)
        return status, reason

    def _judge(self, gated: Gated, position: Floats, radius: Floats, fault: str) -> tuple[Status, str]:
        made, sure = finite(position), np.isfinite(radius)
        self.ready = self.ready or bool(made.all() and sure.all())
        if not self.ready and not fault:
            return Status.WARMING_UP, self._warming(made)
        reasons = [fault] if fault else self._reasons_to_hold(gated, position, made)
        if reasons:
            self.hold("; ".join(reasons))
            return Status.HOLD, self.held_for
        if self.settling > 0:
            self.settling -= 1
            return Status.HOLD, f"for {SETTLE:g} s after: {self.held_for}"
        if not sure.all():
            return Status.WARMING_UP, self._warming(made)
        doubts = self._reasons_to_doubt(gated, radius)
        return (Status.DEGRADED, "; ".join(doubts)) if doubts else (Status.OK, "")

    def _follow_radius(self, radius: Floats) -> None:
        """Let the usual radius follow the radius of forecasts that can be used."""
        usual = np.where(np.isnan(self.usual_radius), radius, self.usual_radius)
        followed = usual + (np.minimum(radius, WIDE * usual) - usual) / (USUALLY * self.rate)
        self.usual_radius = np.where(np.isfinite(radius), followed, self.usual_radius)

    def _warming(self, made: Bools) -> str:
        unseen = np.isinf(self.low[:, 0])
        if unseen.any():
            return f"{self._list(unseen)} not seen yet"
        if not made.all():
            return "no forecast yet"
        return f"{min(int(self.known.min()), self.needed - 1)} of {self.needed} errors known that a radius needs"

    def _reasons_to_hold(self, gated: Gated, position: Floats, made: Bools) -> list[str]:
        if not made.all():
            return [f"no finite forecast of {self._list(~made)}"]
        reasons = []
        # A diverging network is noticed here at once, and in its errors only a horizon later.
        room = np.sqrt(np.sum((self.high - self.low) ** 2, axis=-1, keepdims=True))
        away = ((position < self.low - room) | (position > self.high + room)).any(axis=-1) & ~gated.still
        if away.any():
            reasons.append(f"forecast of {self._list(away)} far from anywhere it has been")
        seconds = gated.lost / self.rate
        long, most = seconds > LOST, seconds >= MOST_LOST
        lost = long if long.any() else most if 2 * most.sum() > len(most) else np.zeros_like(most)
        return reasons + self._losses(gated, lost)

    def _reasons_to_doubt(self, gated: Gated, radius: Floats) -> list[str]:
        recent = RECENT * self.rate
        moved = ~gated.replaced & (self.since_shift < recent)
        replaced = ~gated.replaced & ~moved & (self.since_gap < np.minimum(recent, self.gap))
        reasons = self._losses(gated, gated.lost / self.rate > ABSORBED)
        if moved.any():
            ago = self.since_shift[moved].min() / self.rate
            reasons.append(f"{self._list(moved)} moved to a new place {ago:.1f} s ago")
        if replaced.any():
            ago = self.since_gap[replaced].min() / self.rate
            reasons.append(f"{self._list(replaced)} filled in {ago:.1f} s ago")
        wide = radius > WIDE * self.usual_radius
        if wide.any():
            times = (radius[wide] / self.usual_radius[wide]).max()
            reasons.append(f"radius of {self._list(wide)} {times:.1f} times its usual size")
        if self.worse.any():
            times = (self.lately[self.worse] / self.usually[self.worse]).max()
            reasons.append(f"errors of {self._list(self.worse)} {times:.1f} times as large as usual")
        return reasons

    def _losses(self, gated: Gated, which: Bools) -> list[str]:
        """Return one reason for each kind of loss among some channels."""
        reasons, kinds = [], np.array(gated.reasons)
        for kind, words in KINDS.items():
            if (lost := which & (kinds == kind)).any():
                reasons.append(f"{self._list(lost)} {words} for {gated.lost[lost].max() / self.rate:.1f} s")
        return reasons

    def _list(self, which: Bools) -> str:
        return " and ".join(name for name, named in zip(self.names, which, strict=True) if named)


def finite(position: Floats) -> Bools:
    """Return which channels of (channels, dimensions) have finite coordinates only."""
    return np.asarray(np.isfinite(position).all(axis=-1))
