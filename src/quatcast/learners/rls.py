"""Recursive least squares: the linear filter that minimises the exponentially weighted square error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.typing import Floats
from quatcast.learners.base import Learner, LearnerState, StackedStep, count_runs


@dataclass
class RLSState(LearnerState):
    """Weights θ (runs, p, n) and inverse correlation matrix P (runs, n, n)."""

    theta: Floats
    P: Floats


class RLS(Learner):
    """Exponentially weighted recursive least squares with a bias.

    With x the input followed by a one, P the inverse of the weighted correlation matrix and θ the weights,

        k = Px/(λ + xᵀPx),    θ ← θ + e kᵀ,    P ← (P − k xᵀP)/λ.

    If the input stops varying, P would grow without bound in all other directions. While the trace of P exceeds its
    initial value, therefore, only the direction of the input is forgotten and P does not grow: with
    s = xᵀPx, P ← P − max(0, s + λ − 1)/(s(λ + s)) Px xᵀP, which has the same fixed point s = 1 − λ for that direction.

    Parameters
    ----------
    forgetting
        λ in (0, 1]: a sample counts λⁿ after n steps. A sequence gives each run its own.
    regularization
        δ > 0: P starts as the identity divided by δ. A sequence gives each run its own.

    Examples
    --------
    >>> learner = RLS(forgetting=1.0, regularization=1e-6)
    >>> for x in (1.0, 2.0, 3.0, 4.0):
    ...     step = learner.update([x], [2 * x + 1])
    >>> learner.predict([10.0]).round(3)
    array([21.])

    References
    ----------
    Haykin (2002), "Adaptive Filter Theory", chapter 9.
    """

    state: RLSState

    def __init__(self, forgetting: float | ArrayLike = 0.99, regularization: float | ArrayLike = 1.0) -> None:
        for name, value in (("forgetting", forgetting), ("regularization", regularization)):
            array = np.asarray(value)
            if array.dtype.kind not in "fiu" or not (np.all(array > 0) and np.all(np.isfinite(array))):
                raise ValueError(f"{name}: expected positive finite numbers, got {value!r}")
        if np.any(np.asarray(forgetting, dtype=float) > 1):
            raise ValueError(f"forgetting: expected at most 1, got {forgetting!r}")
        self.forgetting = forgetting
        self.regularization = regularization
        self._runs = count_runs({"forgetting": forgetting, "regularization": regularization})

    @property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return self._runs

    def _begin(self, n_inputs: int, n_outputs: int) -> RLSState:
        runs, n = self.runs or 1, n_inputs + 1
        initial = np.broadcast_to(1.0 / np.asarray(self.regularization, dtype=float), (runs,))
        return RLSState(n_inputs, n_outputs, np.zeros((runs, n_outputs, n)), initial[:, None, None] * np.eye(n))

    def _output(self, x: Floats) -> Floats:
        return (self.state.theta @ x)[:, None, :]

    def _predict(self, inputs: list[Floats]) -> Floats:
        return self._output(np.append(inputs[-1][0], 1.0))

    def _update(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep:
        x = np.append(u[0], 1.0)
        lam = np.broadcast_to(np.asarray(self.forgetting, dtype=float), (self.runs or 1,))
        prediction = self._output(x)
        error = d - prediction
        Px = self.state.P @ x
        s = Px @ x
        gain = Px / (lam + s)[:, None]
        learnt = error if observed is None else error * observed
        change = learnt[:, 0, :, None] * gain[:, None, :]
        self.state.theta = self.state.theta + change
        ceiling = len(x) / np.asarray(self.regularization, dtype=float)
        free = np.trace(self.state.P, axis1=-2, axis2=-1) <= ceiling
        shrink = np.where(free, 1.0, np.maximum(s + lam - 1.0, 0.0) / np.maximum(s, np.finfo(float).tiny)) / (lam + s)
        # Written as an outer square, the correction keeps P symmetric to the last bit.
        root = Px * np.sqrt(shrink)[:, None]
        P = self.state.P - root[:, :, None] * root[:, None, :]
        P /= np.where(free, lam, 1.0)[:, None, None]
        self.state.P = P
        loss = 0.5 * np.sum(error * error, axis=(-2, -1))
        norm = np.linalg.norm(change, axis=(-2, -1))
        return StackedStep(prediction, error, loss, np.ones((len(lam), 1, 1)), norm)

    def parameters(self) -> dict[str, Floats]:
        """Return the weights (p, m, 1) and bias (p, 1), after the run axis."""
        if not self.begun:
            return {}
        theta = self.state.theta[..., None] if self.runs else self.state.theta[0, ..., None]
        return {"readout.weight": theta[..., :-1, :].copy(), "readout.bias": theta[..., -1, :].copy()}

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Replace the parameters by arrays of the names and shapes that `parameters` returns."""
        taken = self._checked(parameters)
        theta = np.concatenate([taken["readout.weight"], taken["readout.bias"][..., None, :]], axis=-2)
        self.state.theta = theta.reshape(self.state.theta.shape)
