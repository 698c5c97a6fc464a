"""What learners that follow a gradient share: a loss, an optimiser, named parameters, a device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra import fetch, pack, place, unpack
from quatcast.engine.low_rank import LowRankWeights
from quatcast.learners.base import Learner, StackedStep, count_runs
from quatcast.training.losses import MCC, MSE, Loss
from quatcast.training.optimizers import SGD, Adam, Optimizer
from quatcast.typing import Array, Floats


class GradientLearner(Learner):
    """A learner whose parameters move down the gradient of a loss of its output.

    `_leaves` is the list of its parameters as stacked arrays: matrices (runs, d·q, m), some of which may be deferred,
    and biases (runs, d, q).
    """

    loss: Loss
    optimizer: Optimizer
    device: str
    _leaves: list[Array]
    _loss_state: dict[str, Any]
    _optimizer_state: dict[str, Any]

    def _configure(self, loss: Loss, optimizer: Optimizer, device: str, **run_arrays: Any) -> None:
        """Store and check the settings that all of these learners have."""
        if not isinstance(loss, MSE | MCC):
            raise ValueError(f"loss: MSE() or MCC(...), not {loss!r}")
        if not isinstance(optimizer, SGD | Adam):
            raise ValueError(f"optimizer: SGD(...) or Adam(...), not {optimizer!r}")
        self.loss, self.optimizer, self.device = loss, optimizer, device
        self._runs = count_runs({**run_arrays, **optimizer.run_arrays(), **loss.run_arrays()})
        place(np.zeros(1), device)

    @property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return self._runs

    @abstractmethod
    def _initial(self) -> dict[str, Floats]:
        """Initial parameters by name, public and with a run axis: (runs, q, m, d) and (runs, q, d)."""

    @abstractmethod
    def _forward(self, u: Array) -> Array:
        """Output (runs, d, p) for the input u (d, m), keeping what `_gradients` will need."""

    @abstractmethod
    def _gradients(self, slope: Array) -> tuple[list[Array], int, bool]:
        """Gradients for a derivative (runs, d, p) of the loss by the output; depth of the walk; truncated."""

    def _start(self) -> None:
        self._names = []
        self._leaves = []
        for name, array in self._initial().items():
            self._names.append(name)
            self._leaves.append(self._stacked_leaf(array))
        self._loss_state, self._optimizer_state = {}, {}

    def _stacked_leaf(self, array: Floats) -> Array:
        stacked = pack(array) if array.ndim == 4 else array.swapaxes(-1, -2)
        return place(np.array(stacked, order="C"), self.device)

    def _update(self, u: Floats, d: Floats, present: Floats | None) -> StackedStep:
        prediction = self._forward(place(u, self.device))
        error = place(d, self.device) - prediction
        there = None if present is None else place(present, self.device)
        learnt = error if there is None else error * there
        value, weight, self._loss_state = self.loss.evaluate(learnt, self._loss_state, there)
        gradients, depth, truncated = self._gradients(-weight * learnt)
        self._leaves, norm, self._optimizer_state = self.optimizer.step(self._leaves, gradients, self._optimizer_state)
        return StackedStep(prediction, error, value, weight, norm, depth, truncated)

    def parameters(self) -> dict[str, Floats]:
        """Parameters as plain arrays, copied: (q, m, d) for matrices, (q, d) for biases, behind the run axis."""
        if self.n_inputs is None:
            return {}
        public = {}
        for name, leaf in zip(self._names, self._leaves, strict=True):
            array = fetch(leaf.dense() if isinstance(leaf, LowRankWeights) else leaf)
            array = array.swapaxes(-1, -2) if name.endswith("bias") else unpack(array, self.algebra.dimension)
            public[name] = np.array(array if self.runs else array[0])
        return public

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Take parameters of the names and shapes that `parameters` gives; the state stays as it is."""
        taken = self._checked(parameters).values()
        self._leaves = [self._stacked_leaf(array if self.runs else array[None]) for array in taken]

    def _state(self) -> dict[str, Any]:
        return {
            "leaves": [leaf.state() if isinstance(leaf, LowRankWeights) else fetch(leaf) for leaf in self._leaves],
            "loss": {name: fetch(array) for name, array in self._loss_state.items()},
            "optimizer": {
                name: [fetch(a) for a in value] if isinstance(value, list) else value
                for name, value in self._optimizer_state.items()
            },
        }

    def _restore_state(self, state: Mapping[str, Any]) -> None:
        for i, saved in enumerate(state["leaves"]):
            if isinstance(self._leaves[i], LowRankWeights):
                self._leaves[i].restore(saved)
            else:
                self._leaves[i] = place(saved, self.device)
        self._loss_state = {name: place(array, self.device) for name, array in state["loss"].items()}
        self._optimizer_state = {
            name: [place(a, self.device) for a in value] if isinstance(value, list) else value
            for name, value in state["optimizer"].items()
        }
