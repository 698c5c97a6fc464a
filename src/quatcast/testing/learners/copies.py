"""Checks of what belongs to a learner: arrays, parameters, copies, files and new beginnings."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from quatcast.testing.learners.common import TAUGHT, Make, Pairs, continue_alike, refused, steps, taught
from quatcast.testing.tools import fingerprint, pickled, reloaded, require, require_continuing, require_same


def inputs_are_neither_changed_nor_kept(make: Make, samples: Pairs) -> None:
    """Check that a learner writes into no array of the caller and is not affected if the caller does."""
    undisturbed, disturbed = make(), make()
    for u, d in samples[:TAUGHT]:
        undisturbed.update(u, d)
        lent_u, lent_d = np.array(u), np.array(d)
        step = disturbed.update(lent_u, lent_d)
        changed = fingerprint((lent_u, lent_d)) != fingerprint((np.array(u), np.array(d)))
        require(not changed, "update must not write into its arguments, but they have changed")
        output = disturbed.predict(lent_u)
        for array in (lent_u, lent_d, step.prediction, step.error, output):
            array[...] = 123.0
    promise = "a learner must copy what it remembers, and return copies; writing into these arrays must change nothing"
    continue_alike(undisturbed, disturbed, samples, promise)


def parameters_are_copied(make: Make, samples: Pairs) -> None:
    """Check that writing into returned or given parameters does not change the learner."""
    learner, twin = taught(make, samples), taught(make, samples)
    own = learner.parameters()
    given = {name: array.copy() for name, array in own.items()}
    for array in learner.parameters().values():
        array[...] = np.nan
    what = "after writing into them parameters()"
    require_same(learner.parameters(), own, "parameters() must return copies", what)
    continue_alike(twin, copy.deepcopy(learner), samples, "writing into returned parameters must change nothing")
    learner.load_parameters(given)
    for array in given.values():
        array[...] = np.nan
    require_same(learner.parameters(), own, "load_parameters must copy the arrays", what)


def parameters_round_trip(make: Make, samples: Pairs) -> None:
    """Check that parameters which are loaded come back bit for bit, and that outputs follow them."""
    learner, other = taught(make, samples), make()
    u, d = samples[0]
    other.begin(len(u), len(d))
    other.load_parameters(learner.parameters())
    promise = "parameters() must return what load_parameters was given"
    require_same(other.parameters(), learner.parameters(), promise, "its result")
    if learner.parameters() and not learner.recurrent:
        got, expected = other.predict(u), learner.predict(u)
        require(
            np.allclose(got, expected, rtol=1e-9, atol=1e-12),
            f"learners of equal parameters must have equal outputs, but they are {got} and {expected}",
        )


def copies_continue_alike(make: Make, samples: Pairs) -> None:
    """Check that pickled and copied learners continue bit for bit, and independently of the original."""
    for how, duplicate in (("pickled", pickled), ("deep copied", copy.deepcopy), ("copied", copy.copy)):
        require_continuing(make(), steps(samples[:40]), (0, TAUGHT), how, duplicate, afterwards=40)


def saved_learners_continue_alike(make: Make, samples: Pairs) -> None:
    """Check that learners that are saved and loaded, at several moments, continue bit for bit."""
    when = (0, 1, 2, 5, 11, 20, 30)
    require_continuing(make(), steps(samples[:36]), when, "saved and loaded", reloaded, afterwards=36)


def clones_know_nothing(make: Make, samples: Pairs) -> None:
    """Check that a clone has the same settings and has not begun."""
    clone = taught(make, samples).clone()
    require(not clone.begun and clone.n_inputs is None, "a clone must not have begun, but it has a state")
    require(repr(clone) == repr(make()), f"a clone must have the settings {make()!r}, but it has {clone!r}")
    continue_alike(make(), clone, samples, "a clone must learn like a new learner")


def begin_begins_anew(make: Make, samples: Pairs) -> None:
    """Check that `begin` forgets everything, returns the learner and refuses sizes that make no sense."""
    learner = taught(make, samples)
    n_inputs, n_outputs = (len(array) for array in samples[0])
    require(learner.begin(n_inputs, n_outputs) is learner, "begin must return the learner, but it does not")
    continue_alike(make(), learner, samples, "begin must forget everything")
    before = fingerprint(learner)
    bad: dict[str, tuple[Any, Any]] = {"n_inputs": (0, n_outputs), "n_outputs": (n_inputs, float(n_outputs))}
    for name, sizes in bad.items():
        refused(partial(learner.begin, *sizes), [f"{name}: "], f"begin{sizes}")
    require(fingerprint(learner) == before, "begin must not change the learner if it fails, but it did")


CHECKS = (
    inputs_are_neither_changed_nor_kept,
    parameters_are_copied,
    parameters_round_trip,
    copies_continue_alike,
    saved_learners_continue_alike,
    clones_know_nothing,
    begin_begins_anew,
)
