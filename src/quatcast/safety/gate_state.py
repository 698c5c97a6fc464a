"""What a gate remembers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from quatcast.basics.typing import Counts, Floats
from quatcast.forecasting.contract import ForecasterState
from quatcast.safety.companions import Companions
from quatcast.safety.first_samples import FirstSamples
from quatcast.safety.gated import Lesson
from quatcast.safety.one_step import OneStep, Step
from quatcast.safety.repeats import Repeats
from quatcast.safety.shifts import Place, Shifts


@dataclass
class GateState(ForecasterState):
    """What a gate remembers. Arrays have one entry per channel.

    Attributes
    ----------
    past
        The last positions let through, the newest last.
    one_step
        One-step forecast.
    scale, power
        s and r² of the bound.
    count
        Number of accepted samples.
    center
        Running mean position.
    lost
        Number of samples since the last accepted one.
    shifts
        Implausible samples that may be a shift, and the offset of shifts that were accepted.
    repeats
        Which channels repeat their values.
    companions
        How the channels move together.
    first_samples
        Where each channel was in the first seconds.
    lesson
        What the newest sample teaches; None once it is learnt.
    step, place
        Scratch memory: the one-step forecast of the next sample, and where it is plausible; None until `Gate.learn`.
    """

    past: Floats
    one_step: OneStep
    scale: Floats
    power: Floats
    count: Counts
    center: Floats
    lost: Counts
    shifts: Shifts
    repeats: Repeats
    companions: Companions
    first_samples: FirstSamples
    lesson: Lesson | None = None
    step: Step | None = field(default=None, init=False, repr=False, compare=False)
    place: Place | None = field(default=None, init=False, repr=False, compare=False)

    def rewind(self, mark: Any) -> None:
        """Take the fields back; what is expected of the next sample is then computed anew."""
        super().rewind(mark)
        self.step = self.place = None
