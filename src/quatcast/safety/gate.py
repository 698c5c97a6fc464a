"""The gate: missing and implausible samples are replaced before a forecaster sees them, channel by channel.

Each channel has a one-step forecast of its own, and a sample too far from it is rejected. The replacement is based on
the accepted channels: markers on one body move together, and the positions of two of them determine that of the third
for seconds, without the drift of a forecast that is fed with its own forecasts.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.annotations import check_positive
from quatcast.basics.typing import Bools, Counts, Floats
from quatcast.checkpoint import Checkpointable
from quatcast.forecasting.contract import LARGEST
from quatcast.forecasting.samples import as_sample
from quatcast.safety.channels import check_range, check_sentinels, every, norm, some, usable
from quatcast.safety.companions import Companions
from quatcast.safety.first_samples import WARMUP, FirstSamples
from quatcast.safety.gate_state import GateState
from quatcast.safety.gated import Gated, Lesson, reasons
from quatcast.safety.one_step import ORDER, OneStep, Step
from quatcast.safety.repeats import FROZEN, Repeats
from quatcast.safety.shifts import AWAY, LASTING, Place, Shifts
from quatcast.safety.steering import Aim, damped

OUTSIDE = 10.0
"""Distance from the mean, in root-mean-square distances, beyond which a position is far outside the usual range."""
EARLY = 5.0
"""Seconds of samples below which a channel that jumps begins anew: its first samples may have been the fault."""
WIDEST = 0.5
"""Largest running scale of innovations, in root-mean-square distances from the mean."""
HOME = 2.0
"""Seconds after which a channel that is where it was before a shift is back, if it did not jump there."""
NEAR = 3.0
"""Distance from the mean, in root-mean-square distances, beyond which a lost channel is not steered."""
USUAL_RATE = 10.0
"""Sampling rate in Hz of a gate by itself that is given none."""
OWN_SHARE = 0.3
"""Share of the one-step forecast in the first replacement of a gap; its square in the second, and so on."""
LAG = 0.5
"""Seconds over which the displacements of the channels are related to each other."""
KNOWN = 5.0
"""Seconds of samples with all channels good before channels are inferred from each other."""
MEMORY = 50.0
"""Seconds after which a sample counts 1/e."""
CLIP = 4.0
"""Largest innovation that counts, in multiples of the running scale."""


class Gate(Checkpointable):
    """Replace missing, implausible and frozen samples by a forecast, and accept a real shift within a second.

    **Plausibility.** Every channel forecasts its next displacement from its last four, Δ̂(t) = Σₖ aₖ Δ(t−k), where the
    aₖ are fitted online by least squares and are the same for all coordinates, so that a rotation of space changes
    nothing. With ν = |x − x̂| a sample is implausible if

        ν > tolerance · (1 + 1.5/T) · s + reach · r,    s += β(min(ν, 4s) − s),    s ≤ r/2.

    Here s is the robust running scale of ν (β makes it follow within 2 s), r the running root-mean-square distance of
    the channel from its mean, and T the time in seconds for which the channel has been seen: the bound is wide as long
    as little is known. Positions beyond 10r do not count for r, so that faults cannot widen the bound. If another
    channel is far from its forecast too, but plausible, the bound is wider by a factor of 1 + 2ν/bound of the other,
    at most twice as wide and up to 2.5r: a cough moves all markers, a fault mostly one.

    **Shift.** Faults do not agree with each other, or repeat one value. Implausible samples in a row that are close to
    one another without repeating are accepted as a real shift once they last for `patience` seconds. A shift of more
    than 6r from the mean is absorbed in an *offset*: the position minus the offset continues where the channel was, so
    that whatever was learnt before remains valid, and a jump back takes the offset away again. A jump of more than
    3000r is a fault and is accepted only after 15 s, longer if the samples do not all agree, as those of a body that
    swings about its place of rest; the channel then begins anew, as does one that has been seen for less than 5 s.

    **Frozen and still.** A channel that has moved before and repeats its value exactly for 0.9 s is frozen; if three or
    more channels all repeat theirs, after 0.3 s; later if it has often rested for longer, see `Repeats`. A channel that
    has never moved is still, which is not a fault.

    **Replacement.** With m and S the running mean and covariance of all channels' positions and of their displacements
    over half a second, learnt from samples whose channels were all observed, channel i is expected at
    c(t) = mᵢ + Sᵢₒ(Sₒₒ + εI)⁻¹(zₒ(t) − mₒ), where o are the observed channels. Its replacement is

        x̂(t) = c(t) + ρ(x̂(t−1) − c(t−1)):

    it starts where the channel was last seen, moves as the other channels suggest, and approaches the position that
    they suggest within seconds. By itself a channel continues smoothly from its one-step forecast to the position that
    was forecast for it, and from there to the position that is forecast next. All of these are weighted by the errors
    that they are likely to have: those of recent forecasts, and what the other channels do not explain of the
    displacements of this one. If no channel is observed, or the covariance is not known well yet, the channel continues
    by itself. Without a forecaster its displacement decays, and counts in the first samples of a gap only.

    The first five samples of a channel are accepted if they are finite. A channel that has not been seen yet is set to
    zero.

    Parameters
    ----------
    rate
        Sampling rate in Hz; by default that of the guard that the gate is given to, or 10 Hz for a gate by itself.
    tolerance, reach
        Factors of the bound above.
    patience
        Time in seconds for which implausible samples must agree; at least three samples.
    sentinels
        Values that mean "lost": numbers, which all coordinates of a channel must equal, or points. They are compared
        with samples as the tracker gives them: four numbers are a quaternion. A pose is lost if its position, its
        orientation (four numbers) or all seven numbers are a sentinel.
    valid
        Smallest and largest valid coordinates, numbers or arrays that broadcast to (channels, dimensions); a channel
        with a coordinate outside is missing. The range of poses is that of their positions.

    Examples
    --------
    >>> time = np.arange(300) / 10
    >>> wave = 5 * np.stack([np.sin(time), np.cos(time), np.sin(time + 1)], axis=-1)
    >>> gate = Gate(rate=10.0)
    >>> for row in wave:
    ...     gated = gate.update([row, 0.5 * row])
    >>> gated = gate.update([[30.0, 0.0, 0.0], [np.nan, 0.0, 0.0]])
    >>> gated.reasons
    ('implausible', 'missing')
    >>> truth = 5 * np.stack([np.sin(30.0), np.cos(30.0), np.sin(31.0)])
    >>> bool(np.abs(gated.position - [truth, 0.5 * truth]).max() < 0.1)
    True
    """

    state: GateState

    def __init__(
        self,
        rate: float | None = None,
        *,
        tolerance: float = 6.0,
        reach: float = 0.5,
        patience: float = 0.3,
        sentinels: Sequence[float | Sequence[float]] = (),
        valid: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> None:
        hz = USUAL_RATE if rate is None else rate
        check_positive(rate=hz, tolerance=tolerance, reach=reach, patience=patience)
        self.rate, self.tolerance, self.reach, self.patience = rate, tolerance, reach, patience
        self._hz = float(hz)
        if valid is not None:
            check_range(valid)
        self.sentinels, self.valid = check_sentinels(sentinels), valid
        # Number of samples after which the first ones are judged.
        self.early = max(round(EARLY * hz), 4 * WARMUP)
        self._forget, self._lag = 1.0 / (MEMORY * hz + 1), max(1, round(LAG * hz))

    def update(self, sample: ArrayLike) -> Gated:
        """Check and judge the newest sample (channels, dimensions), in which NaN and infinity are missing values."""
        x = as_sample(sample, finite=False)
        if not self.begun:
            self.begin((x.shape[0], x.shape[1]))
        if x.shape != self.state.shape:
            raise ValueError(f"sample: expected shape {self.state.shape} as before, got {x.shape}")
        gated = self.judge(self.without_known_faults(x))
        self.learn()
        return gated

    def without_known_faults(self, sample: Floats, space: str = "vector") -> Floats:
        """Return a sample as the tracker gives it, not in coordinates, with NaN where it is known to be lost."""
        if not self.sentinels and self.valid is None:
            return sample
        return np.where(usable(sample, self.sentinels, self.valid, space)[:, None], sample, np.nan)

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin anew, for samples of a shape (channels, dimensions)."""
        channels, counts = shape[0], np.zeros(shape[0], dtype=np.int64)
        self.state = GateState(
            shape=shape,
            past=np.zeros((max(self._lag + 1, ORDER) + 1, *shape)),
            one_step=OneStep.begin(channels),
            scale=np.zeros(channels),
            power=np.zeros(channels),
            count=counts,
            center=np.zeros(shape),
            lost=counts,
            shifts=Shifts.begin(shape),
            repeats=Repeats.begin(shape),
            companions=Companions.begin(channels, shape[1], self._lag, self._forget),
            first_samples=FirstSamples.begin(shape),
        )

    def judge(self, x: Floats, aim: Aim | None = None) -> Gated:
        """Judge the coordinates of a sample that has been checked, without known faults; `learn` learns from it.

        `aim` returns where lost channels were forecast to be; without it their motion decays. This is called for every
        sample, and most are ordinary: work that only concerns missing, frozen or shifted channels is skipped if there
        are none.
        """
        step, place = self._expect()
        state, shifts = self.state, self.state.shifts
        present: Bools = np.logical_and.reduce(np.abs(x) <= LARGEST, axis=-1)  # False for NaN
        moved = state.repeats.moved
        frozen = state.repeats.update(x, present, self._hz)
        trusted = present & ~frozen

        raw = x if every(present) else np.where(present[:, None], x, 0.0)
        back = shifts.end(raw, trusted, place)
        innovation = norm(raw - shifts.offset - place.expected)
        unknown = (place.bound == 0) & (state.count < FROZEN * self._hz)
        plausible = trusted & ((innovation <= place.bound) | (state.count < WARMUP) | unknown)
        if some(trusted & ~plausible):
            plausible |= trusted & (innovation <= place.widened(innovation, plausible))
        shifted, anew = self._accept(raw, trusted & ~plausible, plausible, place)
        shifted |= self._come_home(raw, trusted)
        observed, plausible = plausible | shifted, plausible & ~shifted
        complete = every(observed)
        # A channel that is seen for the first time among others that were seen before begins where it was set to.
        shifts.arrive(raw - state.past[-1], observed & (state.count == 0) & (state.lost > 0))
        y = raw - shifts.offset if every(present) else np.where(present[:, None], raw - shifts.offset, 0.0)

        anew |= self._doubt_first(y, observed, place.bound)
        # What the first change of a channel that has never moved was is not known until it is accepted.
        known = trusted & (state.count >= WARMUP) & (observed | (place.bound > 0))
        steady = plausible & known & (state.lost == 0) & (step.largest <= place.bound)
        displacement = y - state.past[-1]
        # Neither a fault nor its end is motion.
        state.repeats.moved = moved | (state.repeats.moved & (shifted | (observed & displacement.any(axis=-1))))
        # Channels that have shifted, or are seen for the first time, continue where they are.
        fresh = shifted | anew | (observed & (state.count == 0))
        if some(fresh):
            state.past = np.where(fresh[:, None], y, state.past)
        position, lost = y, np.zeros_like(state.lost)
        if not complete:
            lost = self._losses(observed, frozen)
            position = np.where(observed[:, None], y, self._fill(y, observed, step.step, np.maximum(lost - 1, 0), aim))
        state.past = np.concatenate([state.past[1:], position[None]])
        settled = (state.count >= EARLY * self._hz) & (state.power > 0)
        outside = settled & ~self._within(OUTSIDE, position)
        if shifts.recent.any():
            outside |= settled & (norm(position - state.center) > OUTSIDE * shifts.before)
        shifted = shifted | self._settle(position, outside)
        position = state.past[-1]
        state.count = state.count + observed
        usual = observed & ~outside
        state.lesson = Lesson(position, innovation, displacement, step.inputs, known, steady, usual)
        state.step = state.place = None
        state.lost = lost
        return Gated(
            raw.copy() if complete else np.where(observed[:, None], raw, position + shifts.offset),
            replaced=~observed,
            reasons=reasons(present, frozen, observed, shifted | back | anew, anew),
            lost=state.lost.copy(),
            offset=shifts.offset.copy(),
            still=~state.repeats.moved & (state.count >= EARLY * self._hz),
            outside=outside,
            innovation=innovation,
        )

    def learn(self) -> None:
        """Learn from the newest sample, unless that is done, and expect the next one.

        This does not change the result for the newest sample: a forecast need not wait for it.
        """
        if self.begun:
            self._expect()

    def _expect(self) -> tuple[Step, Place]:
        """Return the one-step forecast of the next sample, and where it is plausible."""
        state = self.state
        if state.lesson is not None:
            lesson, state.lesson = state.lesson, None
            self._learn(lesson)
        if state.step is None or state.place is None:
            state.step = state.one_step.forecast(state.past)
            state.place = self._place(state.past[-1] + state.step.step)
        return state.step, state.place

    def _learn(self, lesson: Lesson) -> None:
        state = self.state
        state.one_step.learn(lesson.displacement, lesson.inputs, lesson.steady, self._forget)
        if some(lesson.known):
            state.scale = self._scale(lesson.innovation, lesson.known)
        self._describe(lesson.position, lesson.usual)

    def _within(self, times: float, position: Floats) -> Bools:
        """Return which positions are within a multiple of the root-mean-square distance from the mean; NaN is not."""
        return np.asarray(norm(position - self.state.center) <= times * np.sqrt(self.state.power))

    def _losses(self, observed: Bools, frozen: Bools) -> Counts:
        """Return the number of samples since the last accepted one; a frozen channel was lost when it froze."""
        state = self.state
        return np.where(observed, 0, np.maximum(state.lost + 1, np.where(frozen, state.repeats.count, 0)))

    def _place(self, expected: Floats) -> Place:
        """Return where the next sample is plausible."""
        state = self.state
        spread = np.sqrt(state.power)
        caution = 1.0 + 1.5 * self._hz / np.maximum(state.count, 1)
        bound = self.tolerance * caution * state.scale + self.reach * spread
        early = (state.count < EARLY * self._hz) | (state.power == 0)
        return Place(expected, bound, state.center, spread, early, state.repeats.count)

    def _accept(self, x: Floats, doubted: Bools, plausible: Bools, place: Place) -> tuple[Bools, Bools]:
        """Return which doubted samples are accepted as a shift, and which channels, hardly known, then begin anew."""
        state = self.state
        patience = max(3, round(self.patience * self._hz))
        state.shifts.remember(doubted & (state.lost >= patience - 1) & ~place.early, place.spread, LASTING * self._hz)
        shifted, anew, apart = state.shifts.accept(
            x, doubted, plausible, place, state.repeats.count, patience=patience, lasting=LASTING * self._hz
        )
        if not some(shifted):
            return shifted, anew
        # A channel that begins to move after a long rest has a tiny scale; it takes that of the doubted samples.
        state.scale = np.where(shifted, np.maximum(state.scale, apart), state.scale)
        self._begin_anew(anew)
        return shifted, anew

    def _come_home(self, x: Floats, trusted: Bools) -> Bools:
        """Return which channels are back where they were before a shift; their usual range is that of then."""
        state, shifts = self.state, self.state.shifts
        back = shifts.come_home(x, trusted, HOME * self._hz)
        if some(back):
            state.center = np.where(back[:, None], shifts.center, state.center)
            state.power = np.where(back, shifts.spread**2, state.power)
        return back

    def _begin_anew(self, which: Bools) -> None:
        """Forget what is known of some channels."""
        state = self.state
        if some(which):
            state.count = np.where(which, 0, state.count)
            state.scale, state.power = np.where(which, 0.0, state.scale), np.where(which, 0.0, state.power)
            state.one_step.begin_anew(which)
            state.companions.begin_anew()

    def _doubt_first(self, y: Floats, observed: Bools, bound: Floats) -> Bools:
        """Return which channels begin anew, because later samples show that there was a fault among the first ones."""
        state = self.state
        if not some(state.count <= self.early):
            return np.zeros_like(observed)
        first = (state.count < WARMUP) | (bound == 0)
        state.first_samples.take(y, observed & first, observed & ~first, anew=state.count == 0)
        anew = observed & (state.count == self.early) & state.first_samples.faulty
        if some(anew):
            self._begin_anew(anew)
            state.first_samples.take(y, anew, np.zeros_like(anew), anew)
        return np.asarray(anew)

    def _settle(self, position: Floats, outside: Bools) -> Bools:
        """Let channels that stay far outside their usual range continue there, and widen it if they come and go."""
        state, away = self.state, position - self.state.center
        settled, distance = state.shifts.settle(away, outside, LASTING * self._hz)
        # A body that moves after a long rest passes through its place of rest in every period.
        passing = state.shifts.outside < 0.5 * LASTING * self._hz
        if some(often := outside & passing & (state.shifts.lately >= LASTING * self._hz)):
            state.power = np.where(often, np.sum(away * away, axis=-1) / AWAY**2, state.power)
        if some(settled):
            state.past = state.past - distance
            # What was far outside for so long has become usual.
            state.power = np.maximum(state.power, np.sum(distance * distance, axis=-1) / AWAY**2)
        return settled

    def _scale(self, innovation: Floats, known: Bools) -> Floats:
        """Return the running scale of innovations after those of known channels."""
        state, begun = self.state, self.state.scale > 0
        clipped = np.where(begun, np.minimum(innovation, CLIP * state.scale), innovation)
        weight = np.where(begun, min(0.5 / self._hz, 1.0), 1.0)
        scale = state.scale + np.where(known, weight * (clipped - state.scale), 0.0)
        # Implausible samples must not widen the bound until anything is plausible.
        return np.minimum(scale, np.where(begun, np.maximum(WIDEST * np.sqrt(state.power), state.scale), np.inf))

    def _describe(self, position: Floats, usual: Bools) -> None:
        """Learn mean and power of each channel in its usual range and, if all are, how they move together."""
        state = self.state
        if some(starting := usual & (state.count == WARMUP)):
            # A fault among the first samples affects two displacements of four, but not the second smallest.
            first = np.sort(norm(np.diff(state.past[-WARMUP:], axis=0)), axis=0)[1]
            state.scale = np.where(starting, first, state.scale)
        gain = np.maximum(1.0 / np.maximum(state.count, 1), self._forget) * usual
        away = position - state.center
        state.center = state.center + gain[:, None] * away
        state.power = (1 - gain) * (state.power + gain * np.add.reduce(away * away, axis=-1))
        if every(usual) and state.count.min() > self._lag + WARMUP:
            state.companions.learn(position, state.past[-1 - self._lag])

    def _fill(self, position: Floats, observed: Bools, step: Floats, lost: Counts, aim: Aim | None) -> Floats:
        """Return positions (channels, dimensions) for the channels that are not observed; the others are undefined.

        `lost` is the number of samples before this one in which they were not.
        """
        state, target = self.state, None if aim is None else aim(lost)
        filled, followed = damped(state.past[-1], step, lost), np.zeros_like(observed)
        if target is not None:
            towards = target.approach(state.past[-1], step, lost, state.scale)
            followed = self._within(NEAR, target.position) & self._within(NEAR, towards)
            filled = np.where(followed[:, None], towards, filled)
        if observed.any() and state.companions.count >= KNOWN * self._hz:
            others, unexplained = state.companions.infer(position, state.past, observed, self._hz)
            share = OWN_SHARE ** np.minimum(lost + 1, 1000.0)[~observed]
            if target is not None:
                own = target.uncertainty(lost)[~observed]
                theirs = unexplained * np.minimum((lost[~observed] + 1) / self._lag, 1.0) ** 2
                share = np.where(followed[~observed] & (own + theirs > 0), theirs / (own + theirs), share)
            filled[~observed] = share[:, None] * filled[~observed] + (1 - share[:, None]) * others
        # What has never moved rests, to the last digit.
        filled = np.where((state.power > 0)[:, None], filled, state.past[-1])
        return np.asarray(np.clip(filled, -LARGEST, LARGEST))
