"""Checks of single steps of a learner: what it returns, and that equal learners do the same."""

from __future__ import annotations

import itertools
import pickle

import numpy as np

from quatcast.learners import Learner
from quatcast.testing.learners.common import TAUGHT, Make, Pairs, continue_alike, repeated, taught
from quatcast.testing.tools import fingerprint, require, require_same

ENDURANCE = 1000
"""Number of steps after which memory must have stopped growing."""


def makes_new_learners(make: Make, samples: Pairs) -> None:
    """Check that `make` returns a new learner that has not begun."""
    learner = make()
    require(isinstance(learner, Learner), f"make must return a quatcast.Learner, but it returned {learner!r}")
    require(make() is not learner, "make must return a new learner at each call, but it returned the same one")
    require(not learner.begun, "a new learner must not have begun, but this one has a state")
    again = type(learner)(**learner.settings())
    require(
        repr(again) == repr(learner) == repr(make()),
        f"settings() must return the arguments of the constructor, but {learner!r} became {again!r}",
    )


def steps_have_shapes_and_fields(make: Make, samples: Pairs) -> None:
    """Check shapes, types and ranges of the fields of a `Step`."""
    learner = make()
    lead = () if learner.runs is None else (learner.runs,)
    for u, d in samples[:TAUGHT]:
        step = learner.update(u, d)
        for name, got, expected in (
            ("prediction", step.prediction, (*lead, *np.shape(d))),
            ("error", step.error, (*lead, *np.shape(d))),
            ("the output of predict", learner.predict(u), (*lead, *np.shape(d))),
            ("loss", step.loss, lead),
            ("weight", step.weight, lead if np.ndim(step.weight) == len(lead) else (*lead, len(d))),
            ("gradient_norm", step.gradient_norm, lead),
        ):
            require(np.shape(got) == expected, f"{name} must have shape {expected}, but it has {np.shape(got)}")
        require(
            np.allclose(step.error, np.asarray(d) - step.prediction, rtol=1e-12, atol=0),
            f"error must be target minus prediction, {d - step.prediction}, but it is {step.error}",
        )
        weight = np.asarray(step.weight)
        require(np.all((weight > 0) & (weight <= 1)), f"weight must be in (0, 1], but it is {step.weight}")
        for name, value in (("loss", step.loss), ("gradient_norm", step.gradient_norm)):
            require(np.all(np.asarray(value) >= 0), f"{name} must not be negative, but it is {value}")
        require(isinstance(step.depth, int), f"depth must be a whole number, but it is {step.depth!r}")
        require(isinstance(step.truncated, bool), f"truncated must be True or False, but it is {step.truncated!r}")
    require(
        (learner.n_inputs, learner.n_outputs) == (len(u), len(d)),
        f"sizes must be {len(u)} and {len(d)}, but n_inputs is {learner.n_inputs} and n_outputs {learner.n_outputs}",
    )


def equal_learners_learn_alike(make: Make, samples: Pairs) -> None:
    """Check that two learners with the same settings do the same, bit for bit."""
    one, other = taught(make, samples), taught(make, samples)
    require(fingerprint(one) == fingerprint(other), "learners of equal settings and samples must be equal, but are not")
    continue_alike(one, other, samples, "learners of equal settings must learn alike")


def predict_is_pure(make: Make, samples: Pairs) -> None:
    """Check that `predict` repeats itself, changes nothing in the learner, and nothing in what it will do."""
    learner, twin = taught(make, samples), taught(make, samples)
    before, inputs = fingerprint(learner), [u for u, _ in samples[30:34]]
    first = learner.predict(*inputs)
    require_same(learner.predict(*inputs), first, "predict must repeat itself", "the second output")
    require(
        fingerprint(learner) == before, "predict must not change the learner, but its state is different afterwards"
    )
    continue_alike(twin, learner, samples, "predict must not change what a learner does next")


def update_reports_what_predict_says(make: Make, samples: Pairs) -> None:
    """Check that the prediction of a step is what `predict` would have returned just before."""
    learner = make()
    for n, (u, d) in enumerate(samples[:40]):
        expected = learner.predict(u) if n else None
        got = learner.update(u, d).prediction
        require(
            expected is None or np.allclose(got, expected, rtol=1e-12, atol=1e-13),
            f"update must report the prediction {expected} that predict made before it, but reports {got}",
        )


def forecasters_see_the_same_learner(make: Make, samples: Pairs) -> None:
    """Check that `_learn`, `_foresee` and `_predict`, which a `Forecaster` calls, do what `update` and `predict` do."""
    learner, twin = taught(make, samples), taught(make, samples)
    for (u, d), (later, _) in zip(samples[30:34], samples[34:38], strict=True):
        learner.update(u, d)
        given = twin._stack("u", u, None), twin._stack("d", d, None), twin._stack("u", later, None)
        before = fingerprint(given)
        twin._learn(*given[:2], None)
        for ahead in ((0,), (2, 0)):
            got = twin._public(twin._predict([given[i] for i in ahead]))
            expected = learner.predict(*((u, d, later)[i] for i in ahead))
            require(
                np.allclose(got, expected, rtol=1e-12, atol=1e-13),
                "_learn must do what _update does, and _foresee must change no output, but an output is "
                f"{got} instead of {expected}",
            )
            twin._foresee([given[2]])
        require(fingerprint(given) == before, "a learner must not write into stacked arrays, but they have changed")
    continue_alike(learner, twin, samples, "_learn must do what _update does")


def lists_and_whole_numbers_are_accepted(make: Make, samples: Pairs) -> None:
    """Check that nested lists of whole numbers do as well as arrays of floats."""
    u, d = (np.round(3 * np.asarray(array)).astype(int) for array in samples[0])
    from_lists, from_arrays = make().update(u.tolist(), d.tolist()), make().update(u.astype(float), d.astype(float))
    require_same(from_lists, from_arrays, "lists must do as well as arrays", "a step")


def memory_is_bounded(make: Make, samples: Pairs) -> None:
    """Check that a learner does not grow for ever: not in every quarter of a very long run.

    A learner that remembers a number of samples must be made with a number well below a thousand for this check.
    """
    learner, sizes = make(), []
    for t, (u, d) in enumerate(repeated(samples, ENDURANCE)):
        learner.update(u, d)
        if t % 50 == 0:
            sizes.append(len(pickle.dumps(learner)))
    quarters = [int(quarter.max()) for quarter in np.array_split(sizes, 4)]
    # Counters may need a few digits more.
    grows = all(after > before + 16 for before, after in itertools.pairwise(quarters))
    require(not grows, f"memory must be bounded, but during {ENDURANCE} steps a learner grew to {quarters} bytes")


def only_recurrent_learners_depend_on_earlier_inputs(make: Make, samples: Pairs) -> None:
    """Check that earlier inputs matter to `predict` if and only if the learner is recurrent."""
    learner = taught(make, samples)
    (first, _), (last, _) = samples[:2]
    alone, after = learner.predict(last), learner.predict(first, last)
    depends = fingerprint(alone) != fingerprint(after)
    require(
        depends == learner.recurrent,
        f"recurrent must tell whether the output depends on earlier inputs, but it is {learner.recurrent} and the "
        f"output is {alone} without and {after} after another input",
    )


CHECKS = (
    makes_new_learners,
    steps_have_shapes_and_fields,
    equal_learners_learn_alike,
    predict_is_pure,
    update_reports_what_predict_says,
    forecasters_see_the_same_learner,
    lists_and_whole_numbers_are_accepted,
    memory_is_bounded,
    only_recurrent_learners_depend_on_earlier_inputs,
)
