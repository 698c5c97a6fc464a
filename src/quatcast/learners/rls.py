"""Recursive least squares, the linear filter that LMS only approaches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.learners.base import Learner, StackedStep, count_runs
from quatcast.typing import Floats


class RLS(Learner):
    """Exponentially weighted recursive least squares with a bias.

    With x the input and a one, P the inverse of the weighted correlation matrix and θ the weights,

        k = Px/(λ + xᵀPx),    θ ← θ + e kᵀ,    P ← (P − k xᵀP)/λ.

    An input that stops varying would let P grow without bound in all directions but its own. While the trace of P
    exceeds its initial value, only the direction of the input is therefore forgotten, and P must not grow: with
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

    def __init__(self, forgetting: float | ArrayLike = 0.99, regularization: float | ArrayLike = 1.0) -> None:
        for name, value in (("forgetting", forgetting), ("regularization", regularization)):
            array = np.asarray(value, dtype=float)
            if not (np.all(array > 0) and np.all(np.isfinite(array))):
                raise ValueError(f"{name}: must be positive and finite, not {value!r}")
        if np.any(np.asarray(forgetting, dtype=float) > 1):
            raise ValueError(f"forgetting: must not exceed 1, not {forgetting!r}")
        self.forgetting = forgetting
        self.regularization = regularization
        self._runs = count_runs({"forgetting": forgetting, "regularization": regularization})

    @property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return self._runs

    def _start(self) -> None:
        assert self.n_inputs is not None
        assert self.n_outputs is not None
        runs, n = self.runs or 1, self.n_inputs + 1
        initial = np.broadcast_to(1.0 / np.asarray(self.regularization, dtype=float), (runs,))
        self._theta = np.zeros((runs, self.n_outputs, n))
        self._P = initial[:, None, None] * np.eye(n)
        self._ceiling = n * initial

    def _output(self, x: Floats) -> Floats:
        return (self._theta @ x)[:, None, :]

    def _predict(self, inputs: list[Floats]) -> Floats:
        return self._output(np.append(inputs[-1][0], 1.0))

    def _update(self, u: Floats, d: Floats, present: Floats | None) -> StackedStep:
        x = np.append(u[0], 1.0)
        lam = np.broadcast_to(np.asarray(self.forgetting, dtype=float), (self.runs or 1,))
        prediction = self._output(x)
        error = d - prediction
        Px = self._P @ x
        s = Px @ x
        gain = Px / (lam + s)[:, None]
        learnt = error if present is None else error * present
        change = learnt[:, 0, :, None] * gain[:, None, :]
        self._theta = self._theta + change
        free = np.trace(self._P, axis1=-2, axis2=-1) <= self._ceiling
        shrink = np.where(free, 1.0, np.maximum(s + lam - 1.0, 0.0) / np.maximum(s, np.finfo(float).tiny)) / (lam + s)
        # Written as an outer square, the correction keeps P symmetric to the last bit.
        root = Px * np.sqrt(shrink)[:, None]
        self._P = self._P - root[:, :, None] * root[:, None, :]
        self._P /= np.where(free, lam, 1.0)[:, None, None]
        loss = 0.5 * np.sum(error * error, axis=(-2, -1))
        norm = np.linalg.norm(change, axis=(-2, -1))
        return StackedStep(prediction, error, loss, np.ones((len(lam), 1, 1)), norm)

    def parameters(self) -> dict[str, Floats]:
        """Weights (p, m, 1) and bias (p, 1), behind the run axis."""
        if self.n_inputs is None:
            return {}
        theta = self._theta[..., None] if self.runs else self._theta[0, ..., None]
        return {"readout.weight": theta[..., :-1, :].copy(), "readout.bias": theta[..., -1, :].copy()}

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Take weights and bias of the names and shapes that `parameters` gives."""
        taken = self._checked(parameters)
        theta = np.concatenate([taken["readout.weight"], taken["readout.bias"][..., None, :]], axis=-2)
        self._theta = theta.reshape(self._theta.shape)

    def _state(self) -> dict[str, Any]:
        return {"theta": self._theta, "P": self._P}

    def _restore_state(self, state: Mapping[str, Any]) -> None:
        self._theta, self._P = state["theta"], state["P"]
