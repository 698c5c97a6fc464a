"""Checks of targets that were observed in part: a learner learns from what was observed, and from nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.learners import Learner
from quatcast.testing.learners.common import Make, Pairs, continue_alike, taught
from quatcast.testing.tools import fingerprint, require, require_same


def _masks(samples: Pairs) -> Any:
    """Return a mask that hides the last number of a target."""
    mask = np.ones(len(samples[0][1]), dtype=bool)
    mask[-1] = False
    return mask


def _taught_with(make: Make, samples: Pairs, change: Callable[[Floats], Floats], observed: Any) -> Learner:
    """Return a learner that was taught nine more targets whose last number is changed."""
    learner = taught(make, samples)
    for u, d in samples[30:39]:
        target = np.array(d)
        target[-1] = change(target[-1])
        learner.update(u, target, observed)
    return learner


def unobserved_targets_are_not_learnt_from(make: Make, samples: Pairs) -> None:
    """Check that numbers of a target that were not observed have no effect, and that the step reports their error."""
    hidden = _masks(samples)
    one = _taught_with(make, samples, np.negative, hidden)
    other = _taught_with(make, samples, lambda d: 1e3 + 0 * d, hidden)
    promise = "numbers of a target that were not observed must not be learnt from"
    require_same(one.parameters(), other.parameters(), promise, "what was learnt with other ones")
    continue_alike(one, other, samples, promise)
    u, d = samples[0]
    step = one.update(u, d, hidden)
    require(
        np.allclose(step.error, np.asarray(d) - step.prediction, rtol=1e-12, atol=0),
        f"error must be target minus prediction for all numbers, {d - step.prediction}, but it is {step.error}",
    )


def observed_targets_are_learnt_from(make: Make, samples: Pairs) -> None:
    """Check that a mask without gaps is like none, and that a target that was observed is learnt from."""
    hidden = _masks(samples)
    everything = _taught_with(make, samples, np.negative, np.ones(len(hidden), dtype=bool).tolist())
    without = _taught_with(make, samples, np.negative, None)
    if without.parameters():
        blind = _taught_with(make, samples, np.negative, np.zeros(len(hidden), dtype=bool))
        partly = _taught_with(make, samples, np.negative, hidden)
        promise = "numbers of a target that were observed must be learnt from"
        learnt = [fingerprint(learner.parameters()) for learner in (without, partly, blind)]
        require(learnt[0] != learnt[1], f"{promise}, but the last one makes no difference")
        require(len(hidden) == 1 or learnt[1] != learnt[2], f"{promise}, but the first one makes no difference")
    continue_alike(without, everything, samples, "a mask that hides nothing must be like no mask")


CHECKS = (unobserved_targets_are_not_learnt_from, observed_targets_are_learnt_from)
