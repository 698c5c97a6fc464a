"""The status of a forecast, determined from the gate and from earlier errors, and the reasons for it.

docs/safety.md explains the rules and their constants for users.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import every, finite, norm, some
from quatcast.safety.gated import Gated
from quatcast.safety.status import Status

ABSORBED, PART = 0.25, 0.25
"""Seconds, and share of the horizon, for which replaced samples do not degrade the forecast: it absorbs short gaps."""
LOST = 3.0
"""Seconds after which a lost channel makes the forecast unusable."""
MOST_LOST = 0.5
"""The same time if more than half of the channels are lost."""
SETTLE = 0.5
"""Seconds without a reason to hold before a hold ends."""
RECENT = 2.0
"""Seconds for which a replaced sample or a shift is remembered."""
FEWEST = 10
"""Smallest number of samples over which the share of replaced samples is averaged."""
OFTEN = (0.25, 1 / 3)
"""Share of replaced samples, apart from long gaps, below which a channel is known well again, and above which not."""
LATELY = 0.3
"""Seconds over which errors are averaged, in units of the radius that was given for them."""
WORSE = (1.5, 2.0)
"""Mean below which a channel is forecast well again, and above which it is not."""
AT_ONCE = 0.2
"""Seconds over which one-step errors are averaged."""
UNEXPECTED = (3.0, 4.0)
"""Ratio of this mean to the usual one below which motion is as usual again, and above which it is not."""
WIDE = 10.0
"""Ratio of the radius to its usual size above which a forecast is degraded."""
LARGE = 5.0
"""Mean error of the last seconds, in usual radii, up to which a fault that has widened the radius is over."""
AT_REST = 1e-3
"""Usual radius, in diagonals of the box of positions seen, up to which a channel has rested so far."""
USUALLY = 60.0
"""Seconds over which the radius and one-step errors are averaged, to know what is usual."""
CLIP = 10.0
"""Largest error that counts, in units of the radius or of the usual one-step error."""
NEVER = 2**62
"""Number of samples since an event that has not happened."""
KINDS = {
    "missing": ("lost", "it is seen again", "they are seen again"),
    "implausible": ("implausible", "it is plausible again", "they are plausible again"),
    "frozen": ("frozen", "it moves again", "they move again"),
}
"""Why the gate replaces a sample → how the status says it, and what ends it, for one channel and for several."""

Reason = tuple[str, str]
"""What is wrong and for how long, and what ends it."""


@dataclass
class Judgement(State):
    """What the status depends on. Arrays have one entry per channel.

    Attributes
    ----------
    rate
        Sampling rate in Hz.
    names
        Names of the channels.
    delay, needed, warmup
        Number of samples until an error matures, number of errors that a radius needs, and number of samples after
        which the usual accuracy can be expected.
    excess
        Mean of recent errors, in units of their radii.
    size
        Mean of the errors of the last seconds, in units of the usual radius.
    surprise, usual_surprise
        Means of recent and of usual one-step errors.
    usual_radius
        Running mean of the radius over a minute.
    known, seen
        Number of errors and of accepted samples so far.
    low, high
        Range of the positions seen.
    gap
        Length of the last gap that was longer than the forecaster absorbs, in samples.
    since_gap, since_shift, since_outside
        Number of samples since the end of that gap, since the last shift, and since the channel was far outside its
        usual range.
    missed
        Share of replaced samples in the last seconds, apart from long gaps.
    unknown, away, wide, worse, unexpected, often
        Number of samples in a row for which there is no finite forecast, the forecast is far away, the radius is wide,
        errors are larger than the radius, motion is unexpected, and samples are often replaced.
    age, answered, failed
        Number of samples so far, number of those with a forecast of every channel, and number of samples since the
        forecaster has begun to fail, 0 if it works.
    ready
        Whether there has been a radius for every channel.
    settling, held_for
        Number of samples for which a hold continues, and the reason of the hold.
    """

    rate: float
    names: tuple[str, ...]
    delay: int
    needed: int
    warmup: int
    excess: Floats
    size: Floats
    surprise: Floats
    usual_surprise: Floats
    usual_radius: Floats
    known: Counts
    seen: Counts
    low: Floats
    high: Floats
    gap: Counts
    since_gap: Counts
    since_shift: Counts
    since_outside: Counts
    missed: Floats
    unknown: Counts
    away: Counts
    wide: Counts
    worse: Counts
    unexpected: Counts
    often: Counts
    age: int = 0
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
        channels = len(names)
        zeros, never, none = np.zeros(channels), np.full(channels, NEVER), np.zeros(channels, dtype=np.int64)
        return cls(
            rate,
            names,
            delay,
            needed,
            warmup,
            excess=zeros,
            size=zeros,
            surprise=zeros,
            usual_surprise=zeros,
            usual_radius=np.full(channels, np.nan),
            known=none,
            seen=none,
            low=np.full((channels, dimensions), np.inf),
            high=np.full((channels, dimensions), -np.inf),
            gap=none,
            since_gap=never,
            since_shift=never,
            since_outside=never,
            missed=zeros,
            unknown=none,
            away=none,
            wide=none,
            worse=none,
            unexpected=none,
            often=none,
        )

    @property
    def _absorbed(self) -> float:
        """Number of replaced samples in a row that do not degrade the forecast, at least one."""
        return max(1.0, min(ABSORBED * self.rate, PART * self.delay))

    @property
    def astray(self) -> Bools:
        """Which channels have errors so large that what they show may be a fault.

        The radius alone does not tell: it remembers the errors of a fault long after its end.
        """
        return np.asarray(self.ready & (self.wide > 0) & (self.size > LARGE))

    # What a sample tells.

    def take_errors(self, errors: Floats, radii: Floats) -> None:
        """Take in the errors (channels,) of matured forecasts and the radii given for them, NaN where there is none."""
        self.known = self.known + np.isfinite(errors)
        ratio = np.minimum(errors / radii, CLIP)
        followed = self.excess + min(1.0, 1.0 / (LATELY * self.rate)) * (ratio - self.excess)
        self.excess = np.where(np.isnan(ratio), self.excess, followed)
        self.worse = _above(self.worse, self.excess, WORSE)
        size = np.minimum(errors / self.usual_radius, CLIP)
        followed = self.size + min(1.0, 1.0 / (RECENT * self.rate)) * (size - self.size)
        self.size = np.where(np.isnan(size), self.size, followed)

    def take_sample(self, gated: Gated, continued: Floats) -> None:
        """Take in a sample as the gate has judged it, and its positions without offsets."""
        self.age += 1
        accepted = ~gated.replaced
        # The smaller of a number and NaN is the number, so that what was replaced does not count.
        seen = continued if every(accepted) else np.where(accepted[:, None], continued, np.nan)
        self.low, self.high = np.fmin(self.low, seen), np.fmax(self.high, seen)
        self.since_gap, self.since_shift = self.since_gap + 1, self.since_shift + 1
        if some(long := gated.lost > self._absorbed):
            self.gap, self.since_gap = np.where(long, gated.lost, self.gap), np.where(long, 0, self.since_gap)
        share = self.missed + (gated.replaced - self.missed) / max(RECENT * self.rate, FEWEST)
        self.missed = np.where(long, self.missed, share)
        self.often = _above(self.often, self.missed, OFTEN)
        self.since_outside = np.where(gated.outside, 0, self.since_outside + 1)
        if "shift" in gated.reasons or "start" in gated.reasons:
            self.since_shift = np.where(np.isin(gated.reasons, ("shift", "start")), 0, self.since_shift)
            # What was usual at rest is not usual in motion.
            anew = np.array(gated.reasons) == "start"
            self.usual_surprise = np.where(anew, 0.0, self.usual_surprise)
            self.surprise = np.where(anew, 0.0, self.surprise)
        self._expect(gated.innovation, accepted)

    def _expect(self, innovation: Floats, accepted: Bools) -> None:
        """Compare the one-step errors of accepted samples with the usual ones."""
        self.seen = self.seen + accepted
        gain = np.maximum(1.0 / np.maximum(self.seen, 1), 1.0 / (USUALLY * self.rate))
        usual = self.usual_surprise
        clipped = np.where(usual > 0, np.minimum(innovation, CLIP * usual), innovation)
        usually = np.where(usual > 0, usual + gain * (clipped - usual), clipped)
        lately = self.surprise + min(1.0, 1.0 / (AT_ONCE * self.rate)) * (clipped - self.surprise)
        if not every(accepted):
            usually, lately = np.where(accepted, usually, usual), np.where(accepted, lately, self.surprise)
        self.usual_surprise, self.surprise = usually, lately
        self.unexpected = _above(self.unexpected, self.surprise, UNEXPECTED, self.usual_surprise) * accepted

    def hold(self, what: str) -> None:
        """Let this sample and the next ones be on hold."""
        self.settling, self.held_for = round(SETTLE * self.rate), what

    def fail(self, fault: str) -> str:
        """Hold because the forecaster has failed, and return the reason."""
        self.failed = max(self.failed, 1)
        self.hold(f"{fault}, for {self._seconds(self.failed)}")
        return f"{self.held_for}, ends {SETTLE:g} s after it works again"

    # The status.

    def judge(self, gated: Gated, position: Floats, radius: Floats, fault: str) -> tuple[Status, str]:
        """Return the status of a forecast, and the reason for it; `fault` says how the forecaster has failed."""
        self.failed = self.failed + 1 if self.failed and self.settling else 0
        if fault:
            return Status.HOLD, self.fail(fault)
        status, reasons = self._judge(gated, position, radius)
        if status != Status.HOLD:
            self._follow_radius(radius)
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

    def _is_usual(self) -> Bools:
        """Return which channels have a usual radius; one that has rested so far had zeros, or rounding errors."""
        return np.asarray(self.usual_radius > AT_REST * norm(self.high - self.low))

    def _follow_radius(self, radius: Floats) -> None:
        """Let the usual radius follow the radius of forecasts that can be used."""
        usual = np.where(self._is_usual(), self.usual_radius, radius)
        followed = usual + (np.minimum(radius, WIDE * usual) - usual) / (USUALLY * self.rate)
        self.usual_radius = np.where(np.isfinite(radius), followed, self.usual_radius)

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
        lost = gated.replaced & (self.known < self.needed) & (gated.lost > self._absorbed)
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
        self.unknown = _count(self.unknown, ~made)
        if not every(made):
            lasting = self._seconds(self.unknown.max())
            return [(f"no finite forecast of {self._list(~made)} for {lasting}", f"{SETTLE:g} s after there is one")]
        reasons = []
        # A diverging network is noticed here at once, and in its errors only a horizon later.
        room = norm(self.high - self.low)[:, None]
        outside = (position < self.low - room) | (position > self.high + room)
        away = np.logical_or.reduce(outside, axis=-1) & ~gated.still
        self.away = _count(self.away, away)
        if some(away):
            what = f"forecast of {self._list(away)} far from anywhere it has been for {self._seconds(self.away.max())}"
            reasons.append((what, f"{SETTLE:g} s after it is back"))
        if some(gated.replaced):
            long, most = gated.lost > LOST * self.rate, gated.lost >= MOST_LOST * self.rate
            lost = long if long.any() else most if 2 * most.sum() > len(most) else np.zeros_like(most)
            reasons += self._losses(gated, lost, SETTLE)
        return reasons

    def _reasons_to_doubt(self, gated: Gated, radius: Floats) -> list[Reason]:
        wide = (radius > WIDE * self.usual_radius) & self._is_usual()
        self.wide = _count(self.wide, wide)
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
        long, moved = gated.lost > self._absorbed, self.since_shift < recent
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


def _above(count: Counts, values: Floats, limits: tuple[float, float], unit: Floats | float = 1.0) -> Counts:
    """Return for how many samples in a row values have been above the second limit first, then above the lower one."""
    lower, higher = limits
    above = values > lower * unit
    if not some(above):
        return np.zeros_like(count)
    return _count(count, above & ((count > 0) | (values > higher * unit)))


def _count(count: Counts, which: Bools) -> Counts:
    """Return for how many samples in a row a condition has held."""
    return np.asarray((count + 1) * which)
