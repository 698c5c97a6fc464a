"""Checks of learners: what every learner promises to its users, one file per kind of promise."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from quatcast.testing.learners import copies, refusals, steps, targets, undoing
from quatcast.testing.learners.common import LearnerCheck, Make, Pairs, learner_samples, repeated
from quatcast.testing.tools import check_make, require

__all__ = ["check_learner", "check_runs", "learner_checks", "learner_samples"]


def check_learner(make: Make, samples: Pairs | None = None) -> None:
    """Check that a learner keeps every promise that learners of this library make.

    Parameters
    ----------
    make
        Function without arguments that returns a new learner.
    samples
        At least 40 pairs (u, d) of an input and a target that the learner accepts. By default they are random, with
        three numbers or quaternions per input and two per target.

    Raises
    ------
    AssertionError
        If a promise is broken; the message says which one, and how.

    Examples
    --------
    >>> from quatcast import RLS
    >>> check_learner(lambda: RLS(forgetting=0.98))
    """
    check_make(make, "learner")
    pairs = learner_samples(make) if samples is None else samples
    if len(pairs) < 40:
        raise ValueError(f"samples: expected at least 40 pairs, got {len(pairs)}")
    for check in learner_checks():
        check(make, pairs)


def check_runs(make: Make, alone: Sequence[Make], samples: Pairs | None = None, *, tolerance: float = 1e-10) -> None:
    """Check that several runs at once give what each of them gives alone.

    Parameters
    ----------
    make
        Function that returns a new learner with several runs.
    alone
        One function per run, which returns a learner with the settings of that run.
    samples
        Pairs (u, d); see `check_learner`.
    tolerance
        Largest difference. Matrix products may round differently for several runs, which matters most to a learner that
        computes in single precision.

    Examples
    --------
    >>> from quatcast import RLS
    >>> check_runs(lambda: RLS([0.9, 0.99]), [lambda: RLS(0.9), lambda: RLS(0.99)])
    """
    together, singles = make(), [one() for one in alone]
    require(together.runs == len(singles), f"expected {len(singles)} runs, but the learner has {together.runs}")
    for u, d in repeated(learner_samples(make) if samples is None else samples, 60):
        batch, each = together.update(u, d), [one.update(u, d) for one in singles]
        for name in ("prediction", "error", "loss", "weight", "gradient_norm"):
            got, expected = getattr(batch, name), np.stack([getattr(step, name) for step in each])
            require(
                np.allclose(got, expected, rtol=tolerance, atol=tolerance),
                f"every run must equal a learner with its settings alone, but {name} is {got}, alone {expected}",
            )


def learner_checks() -> tuple[LearnerCheck, ...]:
    """Return the checks that `check_learner` runs, to run them one by one.

    Examples
    --------
    >>> from quatcast import RLS
    >>> check = learner_checks()[0]
    >>> check.__name__
    'makes_new_learners'
    >>> check(RLS, learner_samples(RLS))
    """
    return (*steps.CHECKS, *copies.CHECKS, *targets.CHECKS, *refusals.CHECKS, *undoing.CHECKS)
