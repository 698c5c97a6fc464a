"""The forecast that nothing moves, the baseline that any other has to beat."""

from __future__ import annotations

import numpy as np

from quatcast.learners.base import Learner, StackedStep
from quatcast.typing import Floats


class Persistence(Learner):
    """Predict the newest sample: the last n_outputs numbers of the input.

    Examples
    --------
    >>> learner = Persistence().start(n_inputs=4, n_outputs=2)
    >>> learner.predict([1.0, 2.0, 3.0, 4.0])
    array([3., 4.])
    """

    def _check_sizes(self, n_inputs: int, n_outputs: int) -> None:
        if n_inputs < n_outputs:
            raise ValueError(f"n_inputs: at least the {n_outputs} numbers of one sample, not {n_inputs}")

    def _start(self) -> None:
        """Nothing to set: the input says it all."""

    def _predict(self, inputs: list[Floats]) -> Floats:
        assert self.n_outputs is not None
        return inputs[-1][None, :, -self.n_outputs :]

    def _update(self, u: Floats, d: Floats, present: Floats | None) -> StackedStep:
        prediction = self._predict([u])
        error = d - prediction
        loss = 0.5 * np.sum(error * error, axis=(-2, -1))
        return StackedStep(prediction, error, loss, np.ones((1, 1, 1)), np.zeros(1))
