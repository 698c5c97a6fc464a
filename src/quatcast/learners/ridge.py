"""Ridge regression refitted as samples come, on the input itself or on random features of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra import H, pack, unpack
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.learners.base import Learner, StackedStep
from quatcast.typing import Floats

LARGE = 1e12
"""Sum of the squares of all inputs, in multiples of the penalty, from which every fit is a new one."""
ROUNDING = 1e-13
"""Of that sum: the least penalty that then counts."""
_ARRAYS = ("gram", "cross", "inverse", "fitted", "theta", "silent")


class Ridge(Learner):
    """Linear regression on all samples so far, refitted now and then.

    With φ the input and a one, the weights θ minimise Σₛ |d(s) − θφ(s)|² + λ|θ|², the bias being free. A target that
    is not present is taken to be what was predicted, which leaves its weights where they are.

    A fit does not solve the normal equations afresh. With Λ the penalties and P = (Σₛ φφᵀ + Λ)⁻¹, the inputs φ and
    targets d of the samples since the last fit, as rows of R and D, change P and θᵀ by Woodbury's identity,

        LLᵀ = I + RPRᵀ,    K = L⁻¹RP,    P ← P − KᵀK,    θᵀ ← θᵀ + KᵀL⁻¹(D − Rθᵀ),

    in a fraction of the time. The first fit inverts: the bias is all but free, and a P that began with that freedom
    would carry its rounding for ever. Inputs that are large beyond measure beside the penalty are fitted afresh each
    time, because P would keep little but rounding of them. Leading features that have always been zero, as the real
    parts of points of space are, have no weight and are left out.

    Parameters
    ----------
    regularization
        λ > 0.
    refit
        Samples from one fit to the next.

    Examples
    --------
    >>> learner = Ridge(regularization=1e-6, refit=1)
    >>> for x in (1.0, 2.0, 3.0, 4.0):
    ...     step = learner.update([x], [2 * x + 1])
    >>> learner.predict([10.0]).round(3)
    array([21.])
    """

    _theta: Floats

    def __init__(self, regularization: float = 30.0, refit: int = 10) -> None:
        if not (np.isfinite(regularization) and regularization > 0):
            raise ValueError(f"regularization: must be positive and finite, not {regularization!r}")
        if not isinstance(refit, int | np.integer) or refit < 1:
            raise ValueError(f"refit: a whole number of samples from 1, not {refit!r}")
        self.regularization, self.refit = regularization, refit
        self._flat_seeds = [0]

    def parameters(self) -> dict[str, Floats]:
        """Weights (p, features, d) and bias (p, d) of the readout, behind the run axis.

        The features are the numbers of the input, component by component; for `QELM` then those of the neurons.
        """
        if self.n_inputs is None:
            return {}
        runs, n, _ = self._theta.shape
        theta = self._theta.reshape(runs, n, self.algebra.dimension, -1).transpose(0, 3, 1, 2)
        return self._shown({"readout.weight": theta[:, :, :-1], "readout.bias": theta[:, :, -1]})

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Take parameters of the names and shapes that `parameters` gives; they serve until the next fit."""
        self._take(self._checked(parameters))

    def _take(self, parameters: Mapping[str, Floats]) -> None:
        weight, bias = parameters["readout.weight"], parameters["readout.bias"]
        theta = np.concatenate([weight, bias[..., None, :]], axis=-2)
        theta = theta.reshape(-1, *theta.shape[-3:]).transpose(0, 2, 3, 1)
        self._theta = np.array(theta.reshape(self._theta.shape), order="C")

    def _shown(self, arrays: Mapping[str, Floats]) -> dict[str, Floats]:
        """Copies with the run axis only where there are runs."""
        return {name: np.array(array if self.runs else array[0]) for name, array in arrays.items()}

    def _features(self, u: Floats) -> Floats:
        """φ of a stacked input (d, m), of shape (runs, n)."""
        return np.append(u.reshape(-1), 1.0)[None, :]

    def _start(self) -> None:
        assert self.n_inputs is not None
        assert self.n_outputs is not None
        d = self.algebra.dimension
        rows = self._features(np.zeros((d, self.n_inputs)))
        runs, n = rows.shape
        self._silent = np.full(runs, n)
        self._gram, self._cross = np.zeros((runs, n, n)), np.zeros((runs, n, d * self.n_outputs))
        self._fitted = np.zeros((runs, n, d * self.n_outputs))
        self._theta = np.zeros((runs, n, d * self.n_outputs))
        self._rows, self._goals = SlidingWindow(self.refit), SlidingWindow(self.refit)
        self._steps = 0
        self._penalty = np.full(n, float(self.regularization))
        self._penalty[-1] = 1e-6 * self.regularization
        self._inverse = np.stack([np.diag(1.0 / self._penalty)] * runs)

    def _output(self, rows: Floats) -> Floats:
        return (rows[:, None, :] @ self._theta).reshape(len(rows), self.algebra.dimension, -1)

    def _predict(self, inputs: list[Floats]) -> Floats:
        return self._output(self._features(inputs[-1]))

    def _update(self, u: Floats, d: Floats, present: Floats | None) -> StackedStep:
        rows = self._features(u)
        prediction = self._output(rows)
        error = d - prediction
        goal = np.where(True if present is None else present > 0, d, prediction)
        self._rows.append(rows)
        self._goals.append(goal.reshape(len(rows), -1))
        self._steps += 1
        loss = 0.5 * np.sum(error * error, axis=(-2, -1))
        return StackedStep(prediction, error, loss, np.ones((len(rows), 1, 1)), self._refit())

    def _refit(self) -> Floats:
        """Fit the runs whose turn it is, and tell how far each has moved.

        Different seeds take different turns, so that no sample waits for all.
        """
        moved = np.zeros(len(self._flat_seeds))
        for r, seed in enumerate(self._flat_seeds):
            if (self._steps + seed) % self.refit:
                continue
            fresh = min(self._steps, self.refit)
            R, D = self._rows.rows[-fresh:, r], self._goals.rows[-fresh:, r]
            first = self._silent[r] = min(self._silent[r], R.any(axis=0).argmax())
            R, P, theta = R[:, first:], self._inverse[r, first:, first:], self._fitted[r, first:]
            gram, cross = self._gram[r, first:, first:], self._cross[r, first:]
            gram += R.T @ R
            cross += R.T @ D
            size = np.trace(gram)
            if size > LARGE * self.regularization:
                # Sums of squares only grow: P is not needed any more. A penalty lost in rounding would be none.
                penalty = np.maximum(self._penalty[first:], ROUNDING * size)
                theta[:] = np.linalg.solve(gram + np.diag(penalty), cross)
            elif self._steps <= self.refit:
                P[:] = np.linalg.inv(gram + np.diag(self._penalty[first:]))
                theta[:] = P @ cross
            else:
                RP = R @ P
                L = np.linalg.cholesky(RP @ R.T + np.eye(fresh))
                both = np.linalg.solve(L, np.concatenate([RP, D - R @ theta], axis=1))
                K = both[:, : len(P)]
                P -= K.T @ K
                theta += K.T @ both[:, len(P) :]
            moved[r] = np.linalg.norm(self._fitted[r] - self._theta[r])
            self._theta[r] = self._fitted[r]
        return moved

    def _state(self) -> dict[str, Any]:
        arrays = {name: getattr(self, f"_{name}").copy() for name in _ARRAYS}
        return arrays | {"rows": self._rows.rows.copy(), "goals": self._goals.rows.copy(), "steps": self._steps}

    def _restore_state(self, state: Mapping[str, Any]) -> None:
        for name in _ARRAYS:
            setattr(self, f"_{name}", state[name].copy())
        self._rows.rows, self._goals.rows, self._steps = state["rows"], state["goals"], state["steps"]


class QELM(Ridge):
    """Quaternion extreme learning machine: ridge regression on the input and on random quaternion neurons.

    The features are u and Φ(W ⊗ u + b), with Φ the split tanh and W, b drawn once and never trained. What a network
    must find by descent, the regression finds at once; what it cannot do is shape its neurons.

    Parameters
    ----------
    units
        Random neurons.
    gain
        Root mean square of W ⊗ u, component by component, for inputs of unit size.
    regularization, refit
        As for `Ridge`.
    seeds
        Seed of the neurons; a sequence gives one run a seed.

    Examples
    --------
    >>> learner = QELM(units=5, seeds=range(3))
    >>> learner.update(np.ones((2, 4)), np.ones((1, 4))).prediction.shape
    (3, 1, 4)

    References
    ----------
    Huang, Zhu and Siew (2006), "Extreme learning machine: theory and applications";
    Minemoto, Isokawa, Nishimura and Matsui (2017), "Feed forward neural network with random quaternionic neurons".
    """

    algebra = H

    def __init__(
        self,
        units: int = 50,
        *,
        gain: float = 1.5,
        regularization: float = 50.0,
        refit: int = 10,
        seeds: int | Sequence[int] = 0,
    ) -> None:
        super().__init__(regularization, refit)
        flat = np.atleast_1d(np.asarray(seeds))
        if flat.dtype.kind not in "iu" or flat.ndim != 1 or len(flat) == 0 or np.any(flat < 0):
            raise ValueError(f"seeds: a whole number from 0, or a sequence of them, not {seeds!r}")
        if not isinstance(units, int | np.integer) or units < 1:
            raise ValueError(f"units: a whole number from 1, not {units!r}")
        if not (np.isfinite(gain) and gain > 0):
            raise ValueError(f"gain: must be positive and finite, not {gain!r}")
        self.units, self.gain, self.seeds = units, gain, seeds
        self._flat_seeds = [int(seed) for seed in flat]

    @property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return len(self._flat_seeds) if np.ndim(self.seeds) else None

    def _start(self) -> None:
        assert self.n_inputs is not None
        weights, biases = [], []
        for seed in self._flat_seeds:
            rng = np.random.default_rng(seed)
            # A component of W ⊗ u sums as many products as a pure quaternion input has coordinates.
            spread = self.gain / np.sqrt(3 * self.n_inputs)
            weights.append(pack(rng.normal(0.0, spread, (self.units, self.n_inputs, 4))))
            biases.append(rng.uniform(-1.0, 1.0, (4, self.units)))
        self._weights, self._biases = np.stack(weights), np.stack(biases)
        super()._start()

    def parameters(self) -> dict[str, Floats]:
        """Readout as for `Ridge`, and the neurons' W (units, m, 4) and b (units, 4), behind the run axis."""
        if self.n_inputs is None:
            return {}
        neurons = {"neurons.weight": unpack(self._weights, 4), "neurons.bias": self._biases.swapaxes(-1, -2)}
        return super().parameters() | self._shown(neurons)

    def _state(self) -> dict[str, Any]:
        return super()._state() | {"weights": self._weights, "biases": self._biases}

    def _restore_state(self, state: Mapping[str, Any]) -> None:
        super()._restore_state(state)
        self._weights, self._biases = state["weights"], state["biases"]

    def _take(self, parameters: Mapping[str, Floats]) -> None:
        weights = pack(parameters["neurons.weight"]).reshape(self._weights.shape)
        biases = parameters["neurons.bias"].swapaxes(-1, -2).reshape(self._biases.shape)
        if not (np.array_equal(weights, self._weights) and np.array_equal(biases, self._biases)):
            # Sums over what the old neurons made of past samples say nothing about the new ones.
            self._weights, self._biases = weights, biases
            super()._start()
        super()._take(parameters)

    def _features(self, u: Floats) -> Floats:
        f = H.apply(self._weights, u) + self._biases
        rows = np.ones((len(f), u.size + f[0].size + 1))
        rows[:, : u.size] = u.reshape(-1)
        rows[:, u.size : -1] = np.tanh(f).reshape(len(f), -1)
        return rows
