"""Base class of learners that follow a gradient: a loss, an optimizer, named parameters, a device."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra import fetch, pack, place, unpack
from quatcast.basics.typing import Array, Floats
from quatcast.engine.parameters import Layout
from quatcast.learners.base import Learner, LearnerState, StackedStep, count_runs
from quatcast.learners.losses import Loss
from quatcast.learners.optimizers import Optimizer


@dataclass
class GradientState(LearnerState):
    """State of a learner that follows a gradient.

    Attributes
    ----------
    layout
        Names and shapes of the parameters, and how they are stored.
    stored
        The parameters as they are stored.
    loss, optimizer
        States of the loss and of the optimizer.
    """

    layout: Layout
    stored: list[Any]
    loss: dict[str, Any]
    optimizer: dict[str, Any]
    _split: tuple[list[Any], list[Any]] = field(init=False, repr=False, default=([], []))

    def leaves(self) -> list[Any]:
        """Return the parameters as stacked arrays: matrices (runs, d·q, m) and biases (runs, d, q)."""
        if self._split[0] is not self.stored:
            self._split = self.stored, self.layout.split(self.stored)
        return self._split[1]


class GradientLearner(Learner):
    """A learner whose parameters move down the gradient of a loss of its output."""

    state: GradientState
    loss: Loss
    optimizer: Optimizer
    device: str

    def _configure(self, loss: Loss, optimizer: Optimizer, device: str) -> None:
        """Store and check the settings that all of these learners have."""
        if not isinstance(loss, Loss):
            raise ValueError(f"loss: expected a Loss such as MSE() or MCC(...), got {loss!r}")
        if not isinstance(optimizer, Optimizer):
            raise ValueError(f"optimizer: expected an Optimizer such as SGD(...) or Adam(...), got {optimizer!r}")
        self.loss, self.optimizer, self.device = loss, optimizer, device
        count_runs(self._run_arrays())
        place(np.zeros(1), device)

    def _run_arrays(self) -> dict[str, Any]:
        """Return the settings that may have one value per run."""
        return {**self.optimizer.run_arrays(), **self.loss.run_arrays()}

    @cached_property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return count_runs(self._run_arrays())

    @abstractmethod
    def _initial(self, n_inputs: int, n_outputs: int) -> dict[str, Floats]:
        """Return the initial parameters by name, public and with a run axis: (runs, q, m, d) and (runs, q, d)."""

    @abstractmethod
    def _forward(self, u: Array) -> tuple[Array, Any]:
        """Return the output (runs, d, p) for the input u (d, m) and what `_gradients` needs; the state stays as it is.

        The state must not change here, because the loss may raise an error afterwards.
        """

    @abstractmethod
    def _gradients(self, u: Array, trace: Any, slope: Array) -> tuple[list[Array], int, bool]:
        """Return the gradients of all parameters, the depth of the walk, and whether it was truncated.

        `trace` is what `_forward` returned for u, and `slope` (runs, d, p) the derivative of the loss with respect to
        the output.
        """

    def _begin(self, n_inputs: int, n_outputs: int) -> GradientState:
        initial = self._initial(n_inputs, n_outputs)
        leaves = [self._stacked_leaf(array) for array in initial.values()]
        layout = Layout(self.algebra.dimension, tuple(initial), tuple(leaf.shape[1:] for leaf in leaves), self._joined)
        return GradientState(n_inputs, n_outputs, layout, self._stored(layout, leaves), {}, {})

    @property
    def _joined(self) -> bool:
        """Whether all parameters are stored in one array."""
        return False

    def _stored(self, layout: Layout, leaves: list[Array]) -> list[Any]:
        """Return new parameters as they are stored."""
        return layout.join(leaves)

    def _stacked_leaf(self, array: Floats) -> Array:
        stacked = pack(array) if array.ndim == 4 else array.swapaxes(-1, -2)
        return place(np.array(stacked, order="C"), self.device)

    def _update(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep:
        state, placed = self.state, place(u, self.device)
        prediction, trace = self._forward(placed)
        error = learnt = place(d, self.device) - prediction
        seen = None if observed is None else place(observed, self.device)
        if seen is not None:
            learnt = error * seen
        value, slope, weight, loss = self.loss.evaluate(learnt, state.loss, seen)
        if seen is not None:
            slope = slope * seen
        gradients, depth, truncated = self._gradients(placed, trace, slope)
        state.loss = loss
        norm = self._descend(state.layout.join(gradients))
        return StackedStep(prediction, error, value, weight, norm, depth, truncated)

    def _descend(self, gradients: list[Array]) -> Array:
        """Make one step of the optimizer with gradients as the parameters are stored, and return their norm."""
        state = self.state
        state.stored, norm, state.optimizer = self.optimizer.step(state.stored, gradients, state.optimizer)
        return norm

    def parameters(self) -> dict[str, Floats]:
        """Return copies of the parameters: (q, m, d) for matrices, (q, d) for biases, after the run axis."""
        if not self.begun:
            return {}
        public = {}
        for name, leaf in zip(self.state.layout.names, self.state.leaves(), strict=True):
            array = fetch(self._dense(leaf))
            array = array.swapaxes(-1, -2) if name.endswith("bias") else unpack(array, self.algebra.dimension)
            public[name] = np.array(array if self.runs else array[0])
        return public

    def _dense(self, leaf: Any) -> Array:
        """Return a parameter as an array."""
        return leaf

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Replace the parameters by arrays of the names and shapes that `parameters` returns; all else is kept."""
        checked = self._checked(parameters).values()
        leaves = [self._stacked_leaf(array if self.runs else array[None]) for array in checked]
        self.state.stored = self._stored(self.state.layout, leaves)
