"""Persistence: the forecast that nothing moves, a baseline for all others."""

from __future__ import annotations

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.learners.base import Learner, LearnerState, StackedStep


class Persistence(Learner):
    """Predict the newest sample: the last n_outputs numbers of the input.

    Examples
    --------
    >>> learner = Persistence().begin(n_inputs=4, n_outputs=2)
    >>> learner.predict([1.0, 2.0, 3.0, 4.0])
    array([3., 4.])
    """

    repeats = True

    def _begin(self, n_inputs: int, n_outputs: int) -> LearnerState:
        if n_inputs < n_outputs:
            raise ValueError(f"n_inputs: expected at least the {n_outputs} numbers of one sample, got {n_inputs}")
        return LearnerState(n_inputs, n_outputs)

    def _predict(self, inputs: list[Floats]) -> Floats:
        return inputs[-1][None, :, -self.state.n_outputs :]

    def _update(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep:
        prediction = self._predict([u])
        error = d - prediction
        loss = 0.5 * np.sum(error * error, axis=(-2, -1))
        return StackedStep(prediction, error, loss, np.ones((1, 1, 1)), np.zeros(1))
