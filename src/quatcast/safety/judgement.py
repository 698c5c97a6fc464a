"""The status of a forecast, determined from the gate and from earlier errors, and the reasons for it.

docs/safety.md explains the rules and their constants for users.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.safety.channels import every, finite, norm, some
from quatcast.safety.evidence import OFTEN, RECENT, UNEXPECTED, WIDE, WORSE, Evidence, count_in_a_row, no_evidence
from quatcast.safety.gated import Gated
from quatcast.safety.status import Status

LOST = 3.0
"""Seconds after which a lost channel makes the forecast unusable."""
MOST_LOST = 0.5
"""The same time if more than half of the channels are lost."""
SETTLE = 0.5
"""Seconds without a reason to hold before a hold ends."""
LARGE = 5.0
"""Mean error of the last seconds, in usual radii, up to which a fault that has widened the radius is over."""
KINDS = {
    "missing": ("lost", "it is seen again", "they are seen again"),
    "implausible": ("implausible", "it is plausible again", "they are plausible again"),
    "frozen": ("frozen", "it moves again", "they move again"),
}
"""Why the gate replaces a sample → how the status says it, and what ends it, for one channel and for several."""

Reason = tuple[str, str]
"""What is wrong and for how long, and what ends it."""


@dataclass
class Judgement(Evidence):
    """What the status depends on. Arrays have one entry per channel.

    Attributes
    ----------
    needed, warmup
        Number of errors that a radius needs, and number of samples after which the usual accuracy can be expected.
    unknown, away, wide
        Number of samples in a row for which there is no finite forecast, the forecast is far away, and the radius is
        wide.
    answered, failed
        Number of samples with a forecast of every channel, and number of samples since the forecaster has begun to
        fail, 0 if it works.
    ready
        Whether there has been a radius for every channel.
    settling, held_for
        Number of samples for which a hold continues, and the reason of the hold.
    """

    needed: int
    warmup: int
    unknown: Counts
    away: Counts
    wide: Counts
    answered: int = 0
    failed: int = 0
    ready: bool = False
    settling: int = 0
    held_for: str = ""

    @classmethod
    def begin(
        cls, names: tuple[str, ...], dimensions: int, rate: float, delay: int, needed: int, warmup: int = 0
    ) -> Judgement:
        """Return the initial state for channels of these names."""
        none = np.zeros(len(names), dtype=np.int64)
        evidence = no_evidence(names, dimensions, rate, delay)
        return cls(**evidence, needed=needed, warmup=warmup, unknown=none, away=none, wide=none)

    @property
    def astray(self) -> Bools:
        """Which channels have errors so large that what they show may be a fault.

        The radius alone does not tell: it remembers the errors of a fault long after its end.
        """
        return np.asarray(self.ready & (self.wide > 0) & (self.size > LARGE))

    def hold(self, what: str) -> None:
        """Let this sample and the next ones be on hold."""
        self.settling, self.held_for = round(SETTLE * self.rate), what

    def fail(self, fault: str) -> str:
        """Hold because the forecaster has failed, and return the reason."""
        self.failed = max(self.failed, 1)
        self.hold(f"{fault}, for {self._seconds(self.failed)}")
        return f"{self.held_for}, ends {SETTLE:g} s after it works again"

    def judge(self, gated: Gated, position: Floats, radius: Floats, fault: str) -> tuple[Status, str]:
        """Return the status of a forecast, and the reason for it; `fault` says how the forecaster has failed."""
        self.failed = self.failed + 1 if self.failed and self.settling else 0
        if fault:
            return Status.HOLD, self.fail(fault)
        status, reasons = self._judge(gated, position, radius)
        if status != Status.HOLD:
            self.follow_radius(radius)
        return status, "; ".join(f"{what}, ends {end}" for what, end in reasons)

    def _judge(self, gated: Gated, position: Floats, radius: Floats) -> tuple[Status, list[Reason]]:
        made, sure = finite(position), np.isfinite(radius)
        self.answered += every(made)
        certain = every(sure) and every(made) and self.age >= self.warmup
        self.ready = self.ready or certain
        if not self.ready:
            self.settling = max(0, self.settling - 1)
            return Status.WARMING_UP, self._warming(gated, made)
        reasons = self._reasons_to_hold(gated, position, made)
        if reasons:
            self.hold("; ".join(what for what, _ in reasons))
            return Status.HOLD, reasons
        if self.settling > 0:
            ago = round(SETTLE * self.rate) - self.settling + 1
            self.settling -= 1
            what = f"{self.held_for}, until {self._seconds(ago)} ago"
            return Status.HOLD, [(what, f"in {self._seconds(self.settling + 1)}")]
        if not certain:
            return Status.WARMING_UP, self._warming(gated, made)
        doubts = self._reasons_to_doubt(gated, radius)
        return (Status.DEGRADED if doubts else Status.OK), doubts

    def _warming(self, gated: Gated, made: Bools) -> list[Reason]:
        unseen = self.seen == 0
        if some(unseen):
            what = f"{self._list(unseen)} not seen for {self._seconds(self.age)} since the start"
            return [(what, f"{self._seconds(self.needed)} after it is seen, at the earliest")]
        if not every(made):
            what, first = f"no forecast yet for {self._seconds(self.age)}", self._seconds(self.delay + self.needed - 1)
            return [(f"{what} since the start", f"{first} after the first forecast")]
        if self.age < self.warmup and self.known.min() >= self.needed:
            what = f"only some experts forecast after {self._seconds(self.age)}"
            return [(what, f"in {self._seconds(self.warmup - self.age)}")]
        lost = gated.replaced & (self.known < self.needed) & (gated.lost > self.absorbed)
        if some(lost):
            # No error of a lost channel matures.
            return self._losses(gated, lost, (self.needed - int(self.known[lost].min())) / self.rate)
        known = min(int(self.known.min()), self.needed - 1)
        if self.ready:
            return [(f"fewer than {self.needed} recent errors known", f"when {self.needed} are known again")]
        what = f"no radius yet, {known} of {self.needed} errors known after {self._seconds(self.age)}"
        # The first error matures a horizon after the first forecast.
        left = max(0, self.delay - self.answered) + self.needed - known
        return [(what, f"in {self._seconds(max(left, self.warmup - self.age))}")]

    def _reasons_to_hold(self, gated: Gated, position: Floats, made: Bools) -> list[Reason]:
        self.unknown = count_in_a_row(self.unknown, ~made)
        if not every(made):
            lasting = self._seconds(self.unknown.max())
            return [(f"no finite forecast of {self._list(~made)} for {lasting}", f"{SETTLE:g} s after there is one")]
        reasons = []
        # A diverging network is noticed here at once, and in its errors only a horizon later.
        room = norm(self.high - self.low)[:, None]
        outside = (position < self.low - room) | (position > self.high + room)
        away = np.logical_or.reduce(outside, axis=-1) & ~gated.still
        self.away = count_in_a_row(self.away, away)
        if some(away):
            what = f"forecast of {self._list(away)} far from anywhere it has been for {self._seconds(self.away.max())}"
            reasons.append((what, f"{SETTLE:g} s after it is back"))
        if some(gated.replaced):
            long, most = gated.lost > LOST * self.rate, gated.lost >= MOST_LOST * self.rate
            lost = long if long.any() else most if 2 * most.sum() > len(most) else np.zeros_like(most)
            reasons += self._losses(gated, lost, SETTLE)
        return reasons

    def _reasons_to_doubt(self, gated: Gated, radius: Floats) -> list[Reason]:
        wide = (radius > WIDE * self.usual_radius) & self.is_usual()
        self.wide = count_in_a_row(self.wide, wide)
        gaps = self._reasons_of_gaps(gated) or self._reasons_of_losses()
        return [*gaps, *self._reasons_of_place(), *self._reasons_of_size(radius, wide)]

    def _reasons_of_place(self) -> list[Reason]:
        """Return the reason to doubt a forecast because nothing is learnt far outside the usual range."""
        ago = int(self.since_outside.min())
        if not ago < RECENT * self.rate:
            return []
        names = self._list(self.since_outside < RECENT * self.rate)
        if ago == 0:
            return [(f"{names} far outside the usual range", f"{RECENT:.1f} s after it is back, or has become usual")]
        what = f"{names} far outside the usual range {self._seconds(ago)} ago"
        return [(what, f"in {self._seconds(RECENT * self.rate - ago)}")]

    def _reasons_of_gaps(self, gated: Gated) -> list[Reason]:
        """Return the reasons to doubt a forecast because of samples that were replaced or accepted at a new place."""
        recent = RECENT * self.rate
        if not (some(gated.replaced) or some(np.minimum(self.since_gap, self.since_shift) < recent)):
            return []
        # A channel that is lost for a moment is no better known than before.
        long, moved = gated.lost > self.absorbed, self.since_shift < recent
        lasting = np.minimum(recent, self.gap)
        filled = ~long & ~moved & (self.since_gap < lasting)
        reasons: list[Reason] = []
        if some(long):
            reasons += self._losses(gated, long, min(RECENT, gated.lost[long].max() / self.rate))
        if some(moved):
            ago = self.since_shift[moved].min()
            what = f"{self._list(moved)} moved to a new place {self._seconds(ago)} ago"
            reasons.append((what, f"in {self._seconds(recent - ago)}"))
        if some(filled):
            what = f"{self._list(filled)} filled in {self._seconds(self.since_gap[filled].min())} ago"
            reasons.append((what, f"in {self._seconds((lasting - self.since_gap)[filled].max())}"))
        return reasons

    def _reasons_of_losses(self) -> list[Reason]:
        """Return the reason to doubt a forecast because many single samples were replaced."""
        if not self.often.any():
            return []
        names, share = self._list(self.often > 0), self.missed[self.often > 0].max()
        what = f"{share:.0%} of the samples of {names} replaced for {self._seconds(self.often.max())}"
        return [(what, f"below {OFTEN[0]:.0%}")]

    def _reasons_of_size(self, radius: Floats, wide: Bools) -> list[Reason]:
        """Return the reasons to doubt a forecast because of the size of its radius, of errors, or of innovations."""
        reasons: list[Reason] = []
        if some(wide):
            times = (radius[wide] / self.usual_radius[wide]).max()
            what = f"radius of {self._list(wide)} {times:.1f} times its usual size for {self._seconds(self.wide.max())}"
            reasons.append((what, f"below {WIDE:g} times"))
        if self.worse.any():
            names, times = self._list(self.worse > 0), self.excess[self.worse > 0].max()
            what = f"errors of {names} {times:.1f} times the radius for {self._seconds(self.worse.max())}"
            reasons.append((what, f"below {WORSE[0]:g} times"))
        if self.unexpected.any():
            which = self.unexpected > 0
            times = (self.surprise[which] / self.usual_surprise[which]).max()
            lasting = self._seconds(self.unexpected.max())
            what = f"motion of {self._list(which)} {times:.1f} times as unexpected as usual for {lasting}"
            reasons.append((what, f"below {UNEXPECTED[0]:g} times"))
        return reasons

    def _losses(self, gated: Gated, which: Bools, seconds: float) -> list[Reason]:
        """Return one reason for each kind of loss among some channels; it ends some seconds after the loss."""
        reasons, kinds = [], np.array(gated.reasons)
        for kind, (words, *ends) in KINDS.items():
            if (lost := which & (kinds == kind)).any():
                what = f"{self._list(lost)} {words} for {self._seconds(gated.lost[lost].max())}"
                reasons.append((what, f"{seconds:.1f} s after {ends[int(lost.sum() > 1)]}"))
        return reasons

    def _seconds(self, samples: float) -> str:
        return f"{samples / self.rate:.1f} s"

    def _list(self, which: Bools) -> str:
        *others, last = (name for name, named in zip(self.names, which, strict=True) if named)
        return f"{', '.join(others)} and {last}" if others else last
