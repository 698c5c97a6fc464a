"""Learners that each break one promise: RLS filters with one fault, by the name of the check that must see it."""

import copy
import itertools
from dataclasses import dataclass, field, replace

import numpy as np

from quatcast import LMS, RLS, SGD
from quatcast.learners.rls import RLSState

numbers = itertools.count()


class ReturnsWrongErrors(RLS):
    def update(self, u, d, observed=None):
        step = super().update(u, d, observed)
        return replace(step, error=-step.error)


class LearnsAtRandom(RLS):
    def _update(self, u, d, observed):
        return super()._update(u * (1.0 + 1e-9 * next(numbers)), d, observed)


class ChangesInPredict(RLS):
    def _predict(self, inputs):
        self.state.theta = self.state.theta * (1.0 + 1e-15)
        return super()._predict(inputs)


class ReportsLater(RLS):
    def update(self, u, d, observed=None):
        step = super().update(u, d, observed)
        return replace(step, prediction=self.predict(u))


class KeepsInputs(RLS):
    """It learns from the arrays of the caller one step later."""

    def update(self, u, d, observed=None):
        step = super().update(*getattr(self, "_lent", (u, d)), observed)
        self._lent = (u, d)
        return step


class SharesParameters(RLS):
    def parameters(self):
        theta = self.state.theta[0, ..., None] if self.begun else np.zeros((0, 1, 1))
        return {"readout.weight": theta[:, :-1], "readout.bias": theta[:, -1]} if self.begun else {}


class IgnoresParameters(RLS):
    def load_parameters(self, parameters):
        self._checked(parameters)


class MistakesLists(RLS):
    def update(self, u, d, observed=None):
        return super().update(np.multiply(u, 2) if isinstance(u, list) else u, d, observed)


class ForgetsOnSave(RLS):
    """It counts steps in an attribute that is not part of its state."""

    def _update(self, u, d, observed):
        self._count = getattr(self, "_count", 0) + 1
        return super()._update(u, d / self._count, observed)


class ClonesKnowledge(RLS):
    def clone(self):
        return copy.deepcopy(self)


class BeginsOnce(RLS):
    def begin(self, n_inputs, n_outputs):
        return self if self.begun else super().begin(n_inputs, n_outputs)


@dataclass
class GrowingState(RLSState):
    seen: list = field(default_factory=list)


class GrowsForEver(RLS):
    def _begin(self, n_inputs, n_outputs):
        return GrowingState(**super()._begin(n_inputs, n_outputs).settings())

    def _update(self, u, d, observed):
        self.state.seen.append(u)
        return super()._update(u, d, observed)


class IgnoresMasks(RLS):
    def _update(self, u, d, observed):
        return super()._update(u, d, None)


class LearnsNothingFromPartOfATarget(RLS):
    def _update(self, u, d, observed):
        return super()._update(u, d, observed if observed is None else 0 * observed)


class AcceptsAnyMask(RLS):
    def _mask(self, observed, length):
        return None if observed is None else np.ones(length)


class AcceptsNaN(RLS):
    def _stack(self, name, x, length):
        return super()._stack(name, np.nan_to_num(x) if isinstance(x, np.ndarray) else x, length)


class NamesNoPosition(RLS):
    def predict(self, *inputs):
        return [super(NamesNoPosition, self).predict(u) for u in inputs][-1]


class PredictsWithoutABeginning(RLS):
    def predict(self, *inputs):
        return super().predict(*inputs) if self.begun else np.zeros(2)


class AcceptsAnyParameters(RLS):
    def load_parameters(self, parameters):
        parameters = {name: np.nan_to_num(array) for name, array in parameters.items()}
        super().load_parameters(parameters)


class FailsHalfway(RLS):
    def _update(self, u, d, observed):
        step = super()._update(u, d, observed)
        if np.abs(u).max() > 1e40:
            raise ArithmeticError("too large")
        return step


class WritesIntoItsState(RLS):
    def _update(self, u, d, observed):
        theta = self.state.theta
        step = super()._update(u, d, observed)
        theta[...] = self.state.theta
        self.state.theta = theta
        return step


class BorrowsItsState(RLS):
    """It writes into its state and puts it right at the end of a step."""

    def _update(self, u, d, observed):
        P = self.state.P
        P *= 2.0
        step = super()._update(u, d, observed)
        P *= 0.5
        return step


class IsRecurrentInSecret(RLS):
    def _predict(self, inputs):
        return super()._predict([sum(inputs)])


class ReportsNoNorm(RLS):
    def _update(self, u, d, observed):
        return super()._update(u, d, observed)._replace(gradient_norm=np.full(1, np.nan))


class ReportsOneWeight(LMS):
    def __init__(self):
        super().__init__(optimizer=SGD([0.1, 0.2]))

    def _update(self, u, d, observed):
        step = super()._update(u, d, observed)
        return step._replace(weight=step.weight[:1])


class PredictsWithOtherParameters(LMS):
    """It returns the parameters that were loaded, and does not use them."""

    def load_parameters(self, parameters):
        self._loaded = self._checked(parameters)

    def parameters(self):
        return getattr(self, "_loaded", super().parameters())


class LearnsOtherTargets(RLS):
    def _learn(self, u, d, observed):
        self._update(u, 2.0 * d, observed)


class ChangesInForesee(RLS):
    def _foresee(self, inputs):
        self.state.theta = 1.01 * self.state.theta


class WritesIntoStackedInputs(RLS):
    def _update(self, u, d, observed):
        step = super()._update(u, d, observed)
        u *= 0.5
        return step


single = RLS()

BAD_LEARNERS = {
    "makes_new_learners": lambda: single,
    "steps_have_shapes_and_fields": ReturnsWrongErrors,
    "equal_learners_learn_alike": LearnsAtRandom,
    "predict_is_pure": ChangesInPredict,
    "update_reports_what_predict_says": ReportsLater,
    "inputs_are_neither_changed_nor_kept": KeepsInputs,
    "parameters_are_copied": SharesParameters,
    "parameters_round_trip": IgnoresParameters,
    "forecasters_see_the_same_learner": LearnsOtherTargets,
    "lists_and_whole_numbers_are_accepted": MistakesLists,
    "copies_continue_alike": ForgetsOnSave,
    "saved_learners_continue_alike": ForgetsOnSave,
    "clones_know_nothing": ClonesKnowledge,
    "begin_begins_anew": BeginsOnce,
    "memory_is_bounded": GrowsForEver,
    "unobserved_targets_are_not_learnt_from": IgnoresMasks,
    "observed_targets_are_learnt_from": LearnsNothingFromPartOfATarget,
    "bad_masks_are_named": AcceptsAnyMask,
    "bad_inputs_are_named": AcceptsNaN,
    "bad_inputs_of_predict_are_named": NamesNoPosition,
    "predict_needs_a_beginning": PredictsWithoutABeginning,
    "bad_parameters_are_named": AcceptsAnyParameters,
    "failing_steps_change_nothing": FailsHalfway,
    "rewind_undoes_every_step": WritesIntoItsState,
    "rewind_undoes_interrupted_steps": BorrowsItsState,
    "only_recurrent_learners_depend_on_earlier_inputs": IsRecurrentInSecret,
}

MORE_BAD_LEARNERS = [
    ("steps_have_shapes_and_fields", ReportsNoNorm),
    ("steps_have_shapes_and_fields", ReportsOneWeight),
    ("parameters_round_trip", PredictsWithOtherParameters),
    ("forecasters_see_the_same_learner", ChangesInForesee),
    ("forecasters_see_the_same_learner", WritesIntoStackedInputs),
]
