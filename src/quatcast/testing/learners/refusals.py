"""Checks of bad arguments: a learner names them and stays as it was."""

from __future__ import annotations

from functools import partial

import numpy as np

from quatcast.testing.learners.common import Make, Pairs, refused, taught
from quatcast.testing.tools import fingerprint, require, spoilt


def bad_masks_are_named(make: Make, samples: Pairs) -> None:
    """Check that a mask of a wrong shape or type is refused and changes nothing."""
    u, d = samples[30]
    n = len(d)
    for bad in ([True] * (n + 1), [1] * n, [[True] * n], "no", 0.5):
        for learner in (make(), taught(make, samples)):
            before = fingerprint(learner)
            words = [f"observed: expected {n} values True or False"]
            refused(partial(learner.update, u, d, bad), words, f"the mask {bad!r}")
            require(fingerprint(learner) == before, f"the mask {bad!r} must change nothing, but it did")


def bad_inputs_are_named(make: Make, samples: Pairs) -> None:
    """Check that bad inputs and targets are refused with a message that names them, and change nothing."""
    for which in ("u", "d"):
        pair = dict(zip("ud", samples[30], strict=True))
        for kind, (bad, words) in spoilt(pair[which]).items():
            for learner in (make(), taught(make, samples)):
                if not learner.begun and kind == "an array that is too long":
                    continue
                before = fingerprint(learner)
                call = partial(learner.update, **{**pair, which: bad})
                refused(call, [f"{which}: ", *words], f"{kind} as {which}")
                require(fingerprint(learner) == before, f"{kind} as {which} must change nothing, but it did")


def bad_inputs_of_predict_are_named(make: Make, samples: Pairs) -> None:
    """Check that `predict` names a bad input by its position and changes nothing."""
    learner, good = taught(make, samples), samples[30][0]
    before = fingerprint(learner)
    for kind, (bad, words) in spoilt(good).items():
        call = partial(learner.predict, good, bad, good)
        refused(call, ["inputs[1]: ", *words], f"{kind} as second input of predict")
        require(fingerprint(learner) == before, f"{kind} as an input of predict must change nothing, but it did")


def predict_needs_a_beginning(make: Make, samples: Pairs) -> None:
    """Check that `predict` says what to do if the learner has not begun or gets no input."""
    learner = make()
    words = [type(learner).__name__, "has not begun: call begin"]
    refused(partial(learner.predict, samples[0][0]), words, "predict before begin")
    refused(taught(make, samples).predict, ["predict: expected at least one input"], "predict without an input")


def bad_parameters_are_named(make: Make, samples: Pairs) -> None:
    """Check that parameters with unknown names, other shapes or values that are not finite are refused."""
    learner = taught(make, samples)
    own, before = learner.parameters(), fingerprint(learner)
    cases = [({**own, "nonsense": np.zeros(3)}, ["parameters: ", "nonsense"])]
    for name, array in own.items():
        infinite = array.copy()
        infinite.flat[-1] = np.inf
        cases += [({**own, name: array[..., :0]}, [f"{name}: "]), ({**own, name: infinite}, [f"{name}: ", "] is inf"])]
        cases += [({key: own[key] for key in own if key != name}, ["parameters: ", name])]
    for given, words in cases:
        refused(partial(learner.load_parameters, given), words, f"parameters {', '.join(given)}")
    require(fingerprint(learner) == before, "bad parameters must change nothing, but they did")


CHECKS = (
    bad_masks_are_named,
    bad_inputs_are_named,
    bad_inputs_of_predict_are_named,
    predict_needs_a_beginning,
    bad_parameters_are_named,
)
