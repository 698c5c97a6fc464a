"""What learners have in common that remember past inputs and compare new ones with them.

The distance of two inputs u and v of m quaternions is the mean of the distances of their quaternions,

    D(u, v) = Σⱼ |uⱼ − vⱼ| / m,

which a common rotation of all quaternions leaves as it is. Inputs and targets are kept in single precision: they are
measurements, and the products with the kernel matrix take half the time.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quatcast.algebra import H
from quatcast.basics.annotations import check_whole
from quatcast.basics.typing import Floats
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.learners.base import Learner, LearnerState, StackedStep

Singles = NDArray[np.float32]

TINY = np.float32(1e-20)
"""Smallest divisor."""


@dataclass
class MemoryState(LearnerState):
    """What a learner with a memory remembers.

    Attributes
    ----------
    inputs, targets
        Past inputs (4, m) and targets (4·p,) in single precision.
    count
        Number of samples so far.
    pure
        Whether the real parts of all inputs so far were zero, as they are for points in space.
    """

    inputs: SlidingWindow
    targets: SlidingWindow
    count: int
    pure: bool


class MemoryLearner(Learner):
    """Base class of learners that compare the input with past ones."""

    algebra = H
    state: MemoryState

    def __init__(self, memory: int) -> None:
        check_whole(memory=memory)
        self.memory = int(memory)

    def _windows(self, spare: int = 0) -> dict[str, Any]:
        size = self.memory + spare
        return {
            "inputs": SlidingWindow(size, transposed=True),
            "targets": SlidingWindow(size),
            "count": 0,
            "pure": True,
        }

    def _distances(self, u: Singles, past: Singles) -> Singles:
        """Return the distances D of an input (4, m) from past ones (n, 4, m)."""
        first = 1 if self.state.pure and not u[0].any() else 0
        parts = past[:, first:] - u[first:]
        parts *= parts
        squares = parts[:, 0]
        for component in range(1, 4 - first):
            squares += parts[:, component]
        # A matrix product would be faster, but round a row differently in another place.
        return np.asarray(np.add.reduce(np.sqrt(squares, out=squares), axis=-1) / np.float32(u.shape[-1]))

    @abstractmethod
    def _output(self, u: Singles) -> Singles:
        """Return the output (4·p,) for an input (4, m)."""

    def _predict(self, inputs: list[Floats]) -> Floats:
        output = self._output(inputs[-1].astype(np.float32))
        return output.astype(float).reshape(1, 4, -1)

    def _update(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep:
        prediction = self._predict([u])
        error = d - prediction
        loss = 0.5 * np.sum(error * error, axis=(-2, -1))
        self._take(u, d, observed, prediction[0])
        return StackedStep(prediction, error, loss, np.ones((1, 1, 1)), np.zeros(1))

    def _learn(self, u: Floats, d: Floats, observed: Floats | None) -> None:
        # Only targets that were not observed need a prediction, in their place.
        self._take(u, d, observed, None if observed is None or observed.all() else self._predict([u])[0])

    def _take(self, u: Floats, d: Floats, observed: Floats | None, prediction: Floats | None) -> None:
        """Remember an input and its target, with the prediction where the target was not observed."""
        if observed is None or observed.any():
            target = d if observed is None or prediction is None else np.where(observed > 0, d, prediction)
            self._remember(u.astype(np.float32), target.reshape(-1).astype(np.float32))

    def _remember(self, u: Singles, target: Singles) -> None:
        self.state.inputs.append(u)
        self.state.targets.append(target)
        self.state.count += 1
        self.state.pure = self.state.pure and not u[0].any()
