"""Checks of steps that fail, are interrupted or are taken back: nothing of them remains in a learner."""

from __future__ import annotations

import copy
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from quatcast.testing.learners.common import Make, Pairs, repeated, steps, taught
from quatcast.testing.tools import fingerprint, interrupted, interruption_points, require, require_undoing

LONG = 300
"""Number of steps of a long run."""
POINTS = 12
"""Number of places at which one step is interrupted."""


def failing_steps_change_nothing(make: Make, samples: Pairs) -> None:
    """Check that a step that fails, because numbers become too large, leaves the learner as it was."""
    for large, begun in product((1e49, 1e100, 1e308), (False, True)):
        learner = taught(make, samples) if begun else make()
        for u, d in samples[30:39]:
            before = fingerprint(learner)
            try:
                learner.update(large * np.sign(u), large * np.sign(d))
            except (ArithmeticError, ValueError, np.linalg.LinAlgError) as error:
                require(
                    fingerprint(learner) == before,
                    f"a step that fails must change nothing, but after {error!r} the state is different",
                )


def rewind_undoes_every_step(make: Make, samples: Pairs) -> None:
    """Check that `mark` and `rewind` undo any step of a long run exactly, also twice from one mark."""

    def wrong(learner: Any, t: int, attempt: int) -> None:
        learner.update(*samples[(3 * t + attempt + 1) % len(samples)])

    require_undoing(make(), make(), steps(repeated(samples, LONG)), wrong, thorough_every=20)


def rewind_undoes_interrupted_steps(make: Make, samples: Pairs) -> None:
    """Check that `rewind` undoes steps that were interrupted in the middle."""
    learner = taught(make, samples)
    for u, d in samples[30:35]:
        for at in interruption_points(lambda: partial(copy.deepcopy(learner).update, u, d), POINTS):  # noqa: B023
            before, mark = fingerprint(learner), learner.mark()
            interrupted(partial(learner.update, u, d), at)
            learner.rewind(mark)
            require(
                fingerprint(learner) == before,
                f"rewind must undo a step that was interrupted, but after {at} calls the state is different",
            )
        learner.update(u, d)


CHECKS = (failing_steps_change_nothing, rewind_undoes_every_step, rewind_undoes_interrupted_steps)
