"""What the checks of learners have in common: how a learner is taught, continued and refuses arguments."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import fields
from operator import methodcaller
from typing import Any

import numpy as np

from quatcast.learners import Learner, Step
from quatcast.testing.tools import require, require_same

Make = Callable[[], Learner]
Pairs = Sequence[tuple[Any, Any]]
LearnerCheck = Callable[[Make, Pairs], None]
TAUGHT = 12
"""Number of pairs that a learner is taught before most checks."""


def learner_samples(make: Make, n: int = 64, seed: int = 0, n_inputs: int = 3, n_outputs: int = 2) -> Pairs:
    """Return random pairs (u, d) of an input and a target for a learner.

    Parameters
    ----------
    make
        Function without arguments that returns a learner, which determines the algebra.
    n
        Number of pairs.
    seed
        Seed of the random numbers.
    n_inputs, n_outputs
        Numbers, complex numbers or quaternions per input and per target.

    Examples
    --------
    >>> from quatcast import QELM
    >>> pairs = learner_samples(QELM)
    >>> len(pairs), pairs[0][0].shape, pairs[0][1].shape
    (64, (3, 4), (2, 4))
    """
    learner = make()
    require(isinstance(learner, Learner), f"make must return a quatcast.Learner, but it returned {learner!r}")
    rng, dimension = np.random.default_rng(seed), learner.algebra.dimension
    tail = () if dimension == 1 else (dimension,)
    u, d = rng.normal(size=(n, n_inputs, *tail)), rng.normal(size=(n, n_outputs, *tail))
    return list(zip(u, d, strict=True))


def repeated(samples: Pairs, n: int) -> Pairs:
    """Return n pairs: the samples, from the first again after the last."""
    return list(itertools.islice(itertools.cycle(samples), n))


def steps(samples: Pairs) -> list[Callable[[Any], Step]]:
    """Return the updates with pairs, each a function of the learner."""
    return [methodcaller("update", *pair) for pair in samples]


def taught(make: Make, samples: Pairs) -> Learner:
    """Return a new learner that has learnt from the first pairs."""
    learner = make()
    for u, d in samples[:TAUGHT]:
        learner.update(u, d)
    return learner


def continue_alike(one: Learner, other: Learner, samples: Pairs, promise: str) -> None:
    """Require that two learners do the same, bit for bit, over eight further pairs."""
    for i, (u, d) in enumerate(samples[20:28], start=1):
        first, second = one.update(u, d), other.update(u, d)
        for field in fields(Step):
            expected, got = getattr(first, field.name), getattr(second, field.name)
            require_same(got, expected, promise, f"{field.name} of step {i}")


def refused(call: Callable[[], Any], words: Sequence[str], what: str) -> None:
    """Require that a call raises a ValueError whose message begins with the first of some words and has all others."""
    try:
        call()
    except ValueError as error:
        message = str(error)
    else:
        raise AssertionError(f"{what} must be refused with a ValueError, but it was accepted")
    require(
        message.startswith(words[0]) and all(word in message for word in words),
        f"the error for {what} must begin with {words[0]!r} and contain {list(words[1:])}, but it is {message!r}",
    )
