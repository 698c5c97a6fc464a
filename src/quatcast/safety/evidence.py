"""What samples and errors have told of each channel, which the status is determined from.

docs/safety.md explains the rules and their constants for users.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.checkpoint import State
from quatcast.safety.channels import every, norm, some
from quatcast.safety.gated import Gated

ABSORBED, PART = 0.25, 0.25
"""Seconds, and share of the horizon, for which replaced samples do not degrade the forecast: it absorbs short gaps."""
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
AT_REST = 1e-3
"""Usual radius, in diagonals of the box of positions seen, up to which a channel has rested so far."""
USUALLY = 60.0
"""Seconds over which the radius and one-step errors are averaged, to know what is usual."""
CLIP = 10.0
"""Largest error that counts, in units of the radius or of the usual one-step error."""
NEVER = 2**62
"""Number of samples since an event that has not happened."""


@dataclass
class Evidence(State):
    """What samples and errors have told of each channel. Arrays have one entry per channel.

    Attributes
    ----------
    rate
        Sampling rate in Hz.
    names
        Names of the channels.
    delay
        Number of samples until an error matures.
    age
        Number of samples so far.
    known, seen
        Number of errors and of accepted samples so far.
    excess
        Mean of recent errors, in units of their radii.
    size
        Mean of the errors of the last seconds, in units of the usual radius.
    surprise, usual_surprise
        Means of recent and of usual one-step errors.
    usual_radius
        Running mean of the radius over a minute.
    low, high
        Range of the positions seen.
    gap
        Length of the last gap that was longer than the forecaster absorbs, in samples.
    since_gap, since_shift, since_outside
        Number of samples since the end of that gap, since the last shift, and since the channel was far outside its
        usual range.
    missed
        Share of replaced samples in the last seconds, apart from long gaps.
    worse, unexpected, often
        Number of samples in a row for which errors are larger than the radius, motion is unexpected, and samples are
        often replaced.
    """

    rate: float
    names: tuple[str, ...]
    delay: int
    age: int
    known: Counts
    seen: Counts
    excess: Floats
    size: Floats
    surprise: Floats
    usual_surprise: Floats
    usual_radius: Floats
    low: Floats
    high: Floats
    gap: Counts
    since_gap: Counts
    since_shift: Counts
    since_outside: Counts
    missed: Floats
    worse: Counts
    unexpected: Counts
    often: Counts

    @property
    def absorbed(self) -> float:
        """Number of replaced samples in a row that do not degrade the forecast, at least one."""
        return max(1.0, min(ABSORBED * self.rate, PART * self.delay))

    def take_errors(self, errors: Floats, radii: Floats) -> None:
        """Take in the errors (channels,) of matured forecasts and the radii given for them, NaN where there is none."""
        self.known = self.known + np.isfinite(errors)
        ratio = np.minimum(errors / radii, CLIP)
        followed = self.excess + min(1.0, 1.0 / (LATELY * self.rate)) * (ratio - self.excess)
        self.excess = np.where(np.isnan(ratio), self.excess, followed)
        self.worse = above(self.worse, self.excess, WORSE)
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
        if some(long := gated.lost > self.absorbed):
            self.gap, self.since_gap = np.where(long, gated.lost, self.gap), np.where(long, 0, self.since_gap)
        share = self.missed + (gated.replaced - self.missed) / max(RECENT * self.rate, FEWEST)
        self.missed = np.where(long, self.missed, share)
        self.often = above(self.often, self.missed, OFTEN)
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
        self.unexpected = above(self.unexpected, self.surprise, UNEXPECTED, self.usual_surprise) * accepted

    def is_usual(self) -> Bools:
        """Return which channels have a usual radius; one that has rested so far had zeros, or rounding errors."""
        return np.asarray(self.usual_radius > AT_REST * norm(self.high - self.low))

    def follow_radius(self, radius: Floats) -> None:
        """Let the usual radius follow the radius of forecasts that can be used."""
        usual = np.where(self.is_usual(), self.usual_radius, radius)
        followed = usual + (np.minimum(radius, WIDE * usual) - usual) / (USUALLY * self.rate)
        self.usual_radius = np.where(np.isfinite(radius), followed, self.usual_radius)


def no_evidence(names: tuple[str, ...], dimensions: int, rate: float, delay: int) -> dict[str, Any]:
    """Return the fields of `Evidence` before the first sample, for channels of these names."""
    sizes = dict.fromkeys(("excess", "size", "surprise", "usual_surprise", "missed"), np.zeros(len(names)))
    counts = dict.fromkeys(
        ("known", "seen", "gap", "worse", "unexpected", "often"), np.zeros(len(names), dtype=np.int64)
    )
    never = dict.fromkeys(("since_gap", "since_shift", "since_outside"), np.full(len(names), NEVER))
    box = np.full((len(names), dimensions), np.inf)
    about = {"rate": rate, "names": names, "delay": delay, "age": 0, "low": box, "high": -box}
    return {**about, **sizes, **counts, **never, "usual_radius": np.full(len(names), np.nan)}


def above(count: Counts, values: Floats, limits: tuple[float, float], unit: Floats | float = 1.0) -> Counts:
    """Return for how many samples in a row values have been above the second limit first, then above the lower one."""
    lower, higher = limits
    high = values > lower * unit
    if not some(high):
        return np.zeros_like(count)
    return count_in_a_row(count, high & ((count > 0) | (values > higher * unit)))


def count_in_a_row(count: Counts, which: Bools) -> Counts:
    """Return for how many samples in a row a condition has held."""
    return np.asarray((count + 1) * which)
