"""Checks of learners: what every learner promises to its users."""

from __future__ import annotations

import copy
import itertools
import pickle
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from quatcast.learners import Learner, Step
from quatcast.testing.tools import fingerprint, interrupted, interruption_points, require
from quatcast.typing import Floats

Make = Callable[[], Learner]
Pairs = Sequence[tuple[Any, Any]]
LearnerCheck = Callable[[Make, Pairs], None]

TAUGHT = 12
"""Number of pairs that a learner is taught before most checks."""
LONG = 300
"""Number of steps of a long run."""
ENDURANCE = 1000
"""Number of steps after which memory must have stopped growing."""
POINTS = 12
"""Number of places at which one step is interrupted."""


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
    pairs = learner_samples(make) if samples is None else samples
    if len(pairs) < 40:
        raise ValueError(f"samples: expected at least 40 pairs, got {len(pairs)}")
    for check in learner_checks():
        check(make, pairs)


def check_runs(make: Make, alone: Sequence[Make], samples: Pairs | None = None) -> None:
    """Check that several runs at once give what each of them gives alone.

    Parameters
    ----------
    make
        Function that returns a new learner with several runs.
    alone
        One function per run, which returns a learner with the settings of that run.
    samples
        Pairs (u, d); see `check_learner`.

    Examples
    --------
    >>> from quatcast import RLS
    >>> check_runs(lambda: RLS([0.9, 0.99]), [lambda: RLS(0.9), lambda: RLS(0.99)])
    """
    together, singles = make(), [one() for one in alone]
    require(together.runs == len(singles), f"expected {len(singles)} runs, but the learner has {together.runs}")
    for u, d in _repeated(learner_samples(make) if samples is None else samples, 60):
        batch, steps = together.update(u, d), [one.update(u, d) for one in singles]
        for name in ("prediction", "error", "loss", "weight", "gradient_norm"):
            got, expected = getattr(batch, name), np.stack([getattr(step, name) for step in steps])
            require(
                np.allclose(got, expected, rtol=1e-10, atol=1e-10),
                f"every run must equal a learner with its settings alone, but {name} is {got}, alone {expected}",
            )


def learner_samples(make: Make, n: int = 64, seed: int = 0, n_inputs: int = 3, n_outputs: int = 2) -> Pairs:
    """Return random pairs (u, d) of an input and a target for a learner.

    Examples
    --------
    >>> from quatcast import QELM
    >>> pairs = learner_samples(QELM)
    >>> len(pairs), pairs[0][0].shape, pairs[0][1].shape
    (64, (3, 4), (2, 4))
    """
    rng, dimension = np.random.default_rng(seed), make().algebra.dimension
    tail = () if dimension == 1 else (dimension,)
    u, d = rng.normal(size=(n, n_inputs, *tail)), rng.normal(size=(n, n_outputs, *tail))
    return list(zip(u, d, strict=True))


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
    return (
        makes_new_learners,
        steps_have_shapes_and_fields,
        equal_learners_learn_alike,
        predict_is_pure,
        update_reports_what_predict_says,
        inputs_are_neither_changed_nor_kept,
        parameters_are_copied,
        parameters_round_trip,
        lists_and_whole_numbers_are_accepted,
        copies_continue_alike,
        saved_learners_continue_alike,
        clones_know_nothing,
        begin_begins_anew,
        memory_is_bounded,
        unobserved_targets_are_not_learnt_from,
        observed_targets_are_learnt_from,
        bad_masks_are_named,
        bad_inputs_are_named,
        bad_inputs_of_predict_are_named,
        predict_needs_a_beginning,
        bad_parameters_are_named,
        failing_steps_change_nothing,
        rewind_undoes_every_step,
        rewind_undoes_interrupted_steps,
        only_recurrent_learners_depend_on_earlier_inputs,
    )


def _repeated(samples: Pairs, n: int) -> Pairs:
    return list(itertools.islice(itertools.cycle(samples), n))


def _taught(make: Make, samples: Pairs) -> Learner:
    learner = make()
    for u, d in samples[:TAUGHT]:
        learner.update(u, d)
    return learner


def _continue_alike(one: Learner, other: Learner, samples: Pairs, promise: str) -> None:
    """Require that two learners do the same, bit for bit, over eight further pairs."""
    for i, (u, d) in enumerate(samples[20:28], start=1):
        first, second = one.update(u, d), other.update(u, d)
        for field in fields(Step):
            a, b = getattr(first, field.name), getattr(second, field.name)
            require(fingerprint(a) == fingerprint(b), f"{promise}, but {field.name} of step {i} is {b} instead of {a}")


def _refused(call: Callable[[], Any], words: Sequence[str], what: str) -> None:
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


# Shapes and pure functions.


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
    u, d = samples[0]
    step = learner.update(u, d)
    lead = () if learner.runs is None else (learner.runs,)
    for name, got, expected in (
        ("prediction", step.prediction, (*lead, *np.shape(d))),
        ("error", step.error, (*lead, *np.shape(d))),
        ("the output of predict", learner.predict(u), (*lead, *np.shape(d))),
        ("loss", step.loss, lead),
        ("gradient_norm", step.gradient_norm, lead),
    ):
        require(np.shape(got) == expected, f"{name} must have shape {expected}, but it has {np.shape(got)}")
    require(
        np.allclose(step.error, np.asarray(d) - step.prediction, rtol=1e-12, atol=0),
        f"error must be target minus prediction, {d - step.prediction}, but it is {step.error}",
    )
    weight = np.asarray(step.weight)
    require(np.all((weight > 0) & (weight <= 1)), f"weight must be in (0, 1], but it is {step.weight}")
    require(np.all(np.asarray(step.loss) >= 0), f"loss must not be negative, but it is {step.loss}")
    require(isinstance(step.depth, int), f"depth must be a whole number, but it is {step.depth!r}")
    require(isinstance(step.truncated, bool), f"truncated must be True or False, but it is {step.truncated!r}")
    require(
        (learner.n_inputs, learner.n_outputs) == (len(u), len(d)),
        f"sizes must be {len(u)} and {len(d)}, but n_inputs is {learner.n_inputs} and n_outputs {learner.n_outputs}",
    )


def equal_learners_learn_alike(make: Make, samples: Pairs) -> None:
    """Check that two learners with the same settings do the same, bit for bit."""
    one, other = _taught(make, samples), _taught(make, samples)
    require(fingerprint(one) == fingerprint(other), "learners of equal settings and samples must be equal, but are not")
    _continue_alike(one, other, samples, "learners of equal settings must learn alike")


def predict_is_pure(make: Make, samples: Pairs) -> None:
    """Check that `predict` repeats itself, changes nothing in the learner, and nothing in what it will do."""
    learner, twin = _taught(make, samples), _taught(make, samples)
    before, inputs = fingerprint(learner), [u for u, _ in samples[30:34]]
    first = learner.predict(*inputs)
    again = learner.predict(*inputs)
    require(fingerprint(first) == fingerprint(again), f"predict must repeat itself, but gave {first} and then {again}")
    require(
        fingerprint(learner) == before, "predict must not change the learner, but its state is different afterwards"
    )
    _continue_alike(twin, learner, samples, "predict must not change what a learner does next")


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


# Ownership of arrays.


def inputs_are_neither_changed_nor_kept(make: Make, samples: Pairs) -> None:
    """Check that a learner writes into no array of the caller and is not affected if the caller writes into his."""
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
    _continue_alike(undisturbed, disturbed, samples, promise)


def parameters_are_copied(make: Make, samples: Pairs) -> None:
    """Check that writing into returned or given parameters does not change the learner."""
    learner, twin = _taught(make, samples), _taught(make, samples)
    own = learner.parameters()
    given = {name: array.copy() for name, array in own.items()}
    for array in learner.parameters().values():
        array[...] = np.nan
    require(
        fingerprint(learner.parameters()) == fingerprint(own),
        "parameters() must return copies, but writing into them has changed the learner",
    )
    _continue_alike(twin, copy.deepcopy(learner), samples, "writing into returned parameters must change nothing")
    learner.load_parameters(given)
    for array in given.values():
        array[...] = np.nan
    require(
        fingerprint(learner.parameters()) == fingerprint(own),
        "load_parameters must copy the arrays, but writing into them has changed the learner",
    )


def parameters_round_trip(make: Make, samples: Pairs) -> None:
    """Check that parameters which are loaded come back bit for bit."""
    learner, other = _taught(make, samples), make()
    u, d = samples[0]
    other.begin(len(u), len(d))
    other.load_parameters(learner.parameters())
    require(
        fingerprint(other.parameters()) == fingerprint(learner.parameters()),
        "parameters() must return what load_parameters was given, but it returns other values",
    )


def lists_and_whole_numbers_are_accepted(make: Make, samples: Pairs) -> None:
    """Check that nested lists of whole numbers do as well as arrays of floats."""
    u, d = (np.round(3 * np.asarray(array)).astype(int) for array in samples[0])
    from_lists, from_arrays = make().update(u.tolist(), d.tolist()), make().update(u.astype(float), d.astype(float))
    require(
        fingerprint(from_lists) == fingerprint(from_arrays), "lists must do as well as arrays, but give other steps"
    )


# Copies and files.


def copies_continue_alike(make: Make, samples: Pairs) -> None:
    """Check that pickled and copied learners continue bit for bit, and independently of the original."""
    ways: dict[str, Callable[[Learner], Learner]] = {
        "pickled": lambda learner: pickle.loads(pickle.dumps(learner)),
        "deep copied": copy.deepcopy,
        "copied": copy.copy,
    }
    for name, duplicate in ways.items():
        learner = _taught(make, samples)
        before, other = fingerprint(learner), duplicate(learner)
        require(fingerprint(other) == before, f"a {name} learner must equal the original, but it does not")
        for u, d in samples[30:36]:
            learner.update(u, d)
        require(fingerprint(other) == before, f"a {name} learner must be independent, but it learns with the original")
        _continue_alike(_taught(make, samples), other, samples, f"a {name} learner must continue like the original")


def saved_learners_continue_alike(make: Make, samples: Pairs) -> None:
    """Check that learners that are saved and loaded, at several moments, continue bit for bit."""
    learner, loaded = make(), dict[int, Learner]()
    with TemporaryDirectory() as folder:
        path = Path(folder) / "learner"
        for n, (u, d) in enumerate(samples[:36]):
            if n in (0, 1, 2, 5, 11, 20, 30):
                learner.save(path)
                loaded[n] = type(learner).load(path)
                promise = f"a learner that is saved after {n} steps and loaded must continue like the original"
                require(type(Learner.load(path)) is type(learner), f"{promise}, but it has another class")
                require(fingerprint(loaded[n]) == fingerprint(learner), f"{promise}, but its state is different")
            step = learner.update(u, d)
            for since, other in loaded.items():
                got = other.update(u, d)
                require(
                    fingerprint(got) == fingerprint(step),
                    f"a learner that is saved after {since} steps and loaded must continue like the original, but step "
                    f"{n + 1} is {got} instead of {step}",
                )


def clones_know_nothing(make: Make, samples: Pairs) -> None:
    """Check that a clone has the same settings and has not begun."""
    clone = _taught(make, samples).clone()
    require(not clone.begun and clone.n_inputs is None, "a clone must not have begun, but it has a state")
    require(repr(clone) == repr(make()), f"a clone must have the settings {make()!r}, but it has {clone!r}")
    _continue_alike(make(), clone, samples, "a clone must learn like a new learner")


def begin_begins_anew(make: Make, samples: Pairs) -> None:
    """Check that `begin` forgets everything, returns the learner and refuses sizes that make no sense."""
    learner = _taught(make, samples)
    n_inputs, n_outputs = (len(array) for array in samples[0])
    require(learner.begin(n_inputs, n_outputs) is learner, "begin must return the learner, but it does not")
    _continue_alike(make(), learner, samples, "begin must forget everything")
    before = fingerprint(learner)
    bad: dict[str, tuple[Any, Any]] = {"n_inputs": (0, n_outputs), "n_outputs": (n_inputs, float(n_outputs))}
    for name, sizes in bad.items():
        _refused(partial(learner.begin, *sizes), [f"{name}: "], f"begin{sizes}")
    require(fingerprint(learner) == before, "begin must not change the learner if it fails, but it did")


def memory_is_bounded(make: Make, samples: Pairs) -> None:
    """Check that a learner does not grow for ever: not in every quarter of a very long run.

    A learner that remembers a number of samples must be made with a number well below a thousand for this check.
    """
    learner, sizes = make(), []
    for t, (u, d) in enumerate(_repeated(samples, ENDURANCE)):
        learner.update(u, d)
        if t % 50 == 0:
            sizes.append(len(pickle.dumps(learner)))
    quarters = [int(quarter.max()) for quarter in np.array_split(sizes, 4)]
    # Counters may need a few digits more.
    grows = all(after > before + 16 for before, after in itertools.pairwise(quarters))
    require(not grows, f"memory must be bounded, but during {ENDURANCE} steps a learner grew to {quarters} bytes")


# Targets that were not observed.


def _masks(samples: Pairs) -> Any:
    """Return a mask that hides the last number of a target."""
    mask = np.ones(len(samples[0][1]), dtype=bool)
    mask[-1] = False
    return mask


def _taught_with(make: Make, samples: Pairs, change: Callable[[Floats], Floats], observed: Any) -> Learner:
    """Return a learner that was taught nine more targets whose last number is changed."""
    learner = _taught(make, samples)
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
    require(
        fingerprint(one.parameters()) == fingerprint(other.parameters()), f"{promise}, but parameters depend on them"
    )
    _continue_alike(one, other, samples, promise)
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
    _continue_alike(without, everything, samples, "a mask that hides nothing must be like no mask")


# Bad arguments.


def bad_masks_are_named(make: Make, samples: Pairs) -> None:
    """Check that a mask of a wrong shape or type is refused and changes nothing."""
    u, d = samples[30]
    n = len(d)
    for bad in ([True] * (n + 1), [1] * n, [[True] * n], "no", 0.5):
        for learner in (make(), _taught(make, samples)):
            before = fingerprint(learner)
            words = [f"observed: expected {n} values True or False"]
            _refused(partial(learner.update, u, d, bad), words, f"the mask {bad!r}")
            require(fingerprint(learner) == before, f"the mask {bad!r} must change nothing, but it did")


def _spoilt(given: Any) -> dict[str, tuple[Any, list[str]]]:
    """Return bad versions of an array by name, each with the words that the error must contain."""
    array = np.asarray(given, dtype=float)
    middle = tuple(n // 2 for n in array.shape)
    found: dict[str, tuple[Any, list[str]]] = {
        "an array that is too long": (np.concatenate([array, array]), [str((2 * len(array), *array.shape[1:]))]),
        "an array with one axis more": (array[None], [str((1, *array.shape))]),
        "an empty array": (array[:0], [str((0, *array.shape[1:]))]),
        "complex numbers": (array + 0j, ["complex128"]),
        "truth values": (array > 0, ["bool"]),
        "texts": (array.astype(str).tolist(), ["<U"]),
        "rows of different lengths": ([[1.0, 2.0], [3.0]], ["inhomogeneous"]),
    }
    for value in ("nan", "inf", "-inf"):
        bad = array.copy()
        bad[middle] = float(value)
        found[value] = (bad, [f"[{', '.join(map(str, middle))}]", value])
    return found


def bad_inputs_are_named(make: Make, samples: Pairs) -> None:
    """Check that bad inputs and targets are refused with a message that names them, and change nothing."""
    for which in ("u", "d"):
        pair = dict(zip("ud", samples[30], strict=True))
        for kind, (bad, words) in _spoilt(pair[which]).items():
            for learner in (make(), _taught(make, samples)):
                if not learner.begun and kind == "an array that is too long":
                    continue
                before = fingerprint(learner)
                call = partial(learner.update, **{**pair, which: bad})
                _refused(call, [f"{which}: ", *words], f"{kind} as {which}")
                require(fingerprint(learner) == before, f"{kind} as {which} must change nothing, but it did")


def bad_inputs_of_predict_are_named(make: Make, samples: Pairs) -> None:
    """Check that `predict` names a bad input by its position and changes nothing."""
    learner, good = _taught(make, samples), samples[30][0]
    before = fingerprint(learner)
    for kind, (bad, words) in _spoilt(good).items():
        call = partial(learner.predict, good, bad, good)
        _refused(call, ["inputs[1]: ", *words], f"{kind} as second input of predict")
        require(fingerprint(learner) == before, f"{kind} as an input of predict must change nothing, but it did")


def predict_needs_a_beginning(make: Make, samples: Pairs) -> None:
    """Check that `predict` says what to do if the learner has not begun or gets no input."""
    learner = make()
    words = [type(learner).__name__, "has not begun: call begin"]
    _refused(partial(learner.predict, samples[0][0]), words, "predict before begin")
    _refused(_taught(make, samples).predict, ["predict: expected at least one input"], "predict without an input")


def bad_parameters_are_named(make: Make, samples: Pairs) -> None:
    """Check that parameters with unknown names, other shapes or values that are not finite are refused."""
    learner = _taught(make, samples)
    own, before = learner.parameters(), fingerprint(learner)
    cases = [({**own, "nonsense": np.zeros(3)}, ["parameters: ", "nonsense"])]
    for name, array in own.items():
        infinite = array.copy()
        infinite.flat[-1] = np.inf
        cases += [({**own, name: array[..., :0]}, [f"{name}: "]), ({**own, name: infinite}, [f"{name}: ", "] is inf"])]
        cases += [({key: own[key] for key in own if key != name}, ["parameters: ", name])]
    for given, words in cases:
        _refused(partial(learner.load_parameters, given), words, f"parameters {', '.join(given)}")
    require(fingerprint(learner) == before, "bad parameters must change nothing, but they did")


# Undoing a step.


def failing_steps_change_nothing(make: Make, samples: Pairs) -> None:
    """Check that a step that fails, because numbers become too large, leaves the learner as it was."""
    for large in (1e49, 1e100, 1e308):
        learner = _taught(make, samples)
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
    learner, twin = make(), make()
    for t, (u, d) in enumerate(_repeated(samples, LONG)):
        # Every step is compared with that of a twin; a look at the whole state is slow and taken now and then.
        thorough = t < 20 or t % 20 == 0
        before, mark = fingerprint(learner) if thorough else "", learner.mark()
        for attempt in range(1 + thorough):
            learner.update(*samples[(3 * t + attempt + 1) % len(samples)])
            learner.rewind(mark)
            require(
                not thorough or fingerprint(learner) == before,
                f"rewind must undo a step exactly, but after step {t + 1} of a long run the state is different",
            )
        step, expected = learner.update(u, d), twin.update(u, d)
        require(
            fingerprint(step) == fingerprint(expected),
            f"steps that were undone must not matter, but step {t + 1} of a long run is {step} instead of {expected}",
        )
    require(fingerprint(learner) == fingerprint(twin), "steps that were undone must not matter, but the states differ")


def rewind_undoes_interrupted_steps(make: Make, samples: Pairs) -> None:
    """Check that `rewind` undoes steps that were interrupted in the middle."""
    learner = _taught(make, samples)
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


def only_recurrent_learners_depend_on_earlier_inputs(make: Make, samples: Pairs) -> None:
    """Check that earlier inputs matter to `predict` if and only if the learner is recurrent."""
    learner = _taught(make, samples)
    (first, _), (last, _) = samples[:2]
    alone, after = learner.predict(last), learner.predict(first, last)
    depends = fingerprint(alone) != fingerprint(after)
    require(
        depends == learner.recurrent,
        f"recurrent must tell whether the output depends on earlier inputs, but it is {learner.recurrent} and the "
        f"output is {alone} without and {after} after another input",
    )
