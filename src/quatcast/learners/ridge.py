"""Ridge regression that is refitted as samples arrive."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from quatcast.basics.annotations import check_positive, check_whole, is_whole
from quatcast.basics.typing import Floats
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.learners.base import Learner, LearnerState, StackedStep
from quatcast.learners.inverse import MATRICES, Inverse

LARGE = 1e12
"""Sum of the squares of all inputs, in multiples of the penalty, beyond which every fit solves the normal equations."""
ROUNDING = 1e-13
"""Smallest penalty in that case, relative to the sum of squares: a smaller one would be lost in rounding."""
AT_ONCE = 15
"""Fewest samples of a part of a fit: fits to more are divided, so that no sample takes long."""
PAGE = 2**18
"""Numbers that are written at once to memory that is provided in advance: a large page of the system, 2 MiB."""
LARGEST_ROOM = 2**25
"""Most numbers that are provided in advance, 256 MiB."""


@dataclass
class RidgeState(LearnerState):
    """What a refitted regression remembers. Lists have one entry per run.

    Attributes
    ----------
    theta
        Weights (n, d·p) in use.
    fitted
        Weights of the last part of a fit; those of the last fit are in use, or those of `load_parameters`.
    inverse
        P of the features that are not silent.
    gram, cross
        Σφφᵀ of these features and Σφdᵀ (n, d·p), once the inputs are large in the sense of `LARGE`; empty and zero
        before.
    size
        Sum of the squares of all features.
    silent
        Number of leading features that have been zero in all samples.
    inputs, targets
        Inputs (d, m) and targets (runs, d·p) since the last parts of fits. Features are larger, and a fit computes them
        again.
    steps
        Number of samples.
    """

    theta: list[Floats]
    fitted: list[Floats]
    inverse: list[Inverse]
    gram: list[Floats]
    cross: list[Floats]
    size: list[float]
    silent: list[int]
    inputs: SlidingWindow
    targets: SlidingWindow
    steps: int


class Fit(NamedTuple):
    """Result of a part of a fit of one run: weights of the features that are not silent, and what the state becomes.

    `change` are the arguments of `Inverse.change`, None if the inputs are large; then there are `gram` and `cross`.
    """

    theta: Floats
    size: float
    silent: int
    change: dict[str, Floats] | None
    gram: Floats = np.zeros((0, 0))
    cross: Floats = np.zeros((0, 0))


class Ridge(Learner):
    """Linear regression on all samples so far, refitted at intervals.

    With φ the input followed by a one, the weights θ minimise Σₛ |d(s) − θφ(s)|² + λ|θ|², where the bias is not
    penalised. A target that was not observed is replaced by its prediction, which leaves its weights unchanged.

    A fit does not solve the normal equations afresh. With Λ the penalties and P = (Σₛ φφᵀ + Λ)⁻¹, the inputs φ and
    targets d of the samples since the last fit, as rows of R and D, change P and θᵀ by Woodbury's identity,

        LLᵀ = I + RPRᵀ,    K = L⁻¹RP,    P ← P − KᵀK,    θᵀ ← θᵀ + KᵀL⁻¹(D − Rθᵀ),

    in a fraction of the time. A fit to many samples does so in several parts as they arrive. The first part does the
    same for all weights but the bias and then adds the bias, whose penalty is so small that a P that began with its
    inverse would keep large rounding errors. Inputs that are very large relative to the penalty are fitted by the
    normal equations each time, because P would lose its precision. Leading features that have always been zero, such as
    the real parts of points in space, have no weight and are left out.

    Parameters
    ----------
    regularization
        λ > 0.
    refit
        Number of samples from one fit to the next.
    features
        Number of features up to which this holds. With more, fits are as many times rarer, because their time grows
        with its square, and hardly with the number of samples. None for no limit.

    Examples
    --------
    >>> learner = Ridge(regularization=1e-6, refit=1)
    >>> for x in (1.0, 2.0, 3.0, 4.0):
    ...     step = learner.update([x], [2 * x + 1])
    >>> learner.predict([10.0]).round(3)
    array([21.])
    """

    state: RidgeState

    def __init__(self, regularization: float = 30.0, refit: int = 10, *, features: int | None = None) -> None:
        check_positive(regularization=regularization)
        check_whole(refit=refit)
        if features is not None and not is_whole(features):
            raise ValueError(f"features: expected a positive whole number, or None, got {features!r}")
        self.regularization, self.refit, self.features = regularization, int(refit), features
        # Memory for the matrices P of all runs, and how many numbers of it have been written to.
        self._room, self._written = np.empty(0), 0

    def _interval(self, n: int) -> int:
        """Return the number of samples from one fit to the next for n features."""
        return self.refit if self.features is None else self.refit * math.ceil(n / self.features)

    @property
    def _parts(self) -> int:
        """Number of parts of a fit. Where fits are rare because there are many features, parts are as rare."""
        return max(1, self.refit // AT_ONCE)

    @property
    def _flat_seeds(self) -> list[int]:
        return [0]

    def _due(self, steps: int) -> list[tuple[int, int, bool]]:
        """Return the runs that are fitted once there are that many samples, to how many, and whether the fit is whole.

        Of the T samples from one fit to the next, part j = 1, …, k ends with sample p = ⌈jT/k⌉.
        """
        T = self._interval(len(self.state.theta[0]))
        k = self._parts
        # Different seeds are fitted at different samples, so that the work is spread evenly.
        seeds, due = self._flat_seeds, []
        for r, seed in enumerate(seeds):
            p = (steps - 1 + seed + r * ((T - self.refit) // len(seeds))) % T + 1
            if p * k % T < k:
                before = -(-(p * k // T - 1) * T // k)
                due.append((r, min(steps, p - before), p == T))
        return due

    def parameters(self) -> dict[str, Floats]:
        """Return the weights (p, features, d) and bias (p, d) of the readout, after the run axis.

        The features are the numbers of the input, component by component; for `QELM` those of the neurons follow.
        """
        if not self.begun:
            return {}
        theta = np.stack(self.state.theta)
        theta = theta.reshape(*theta.shape[:2], self.algebra.dimension, -1).transpose(0, 3, 1, 2)
        return self._shown({"readout.weight": theta[:, :, :-1], "readout.bias": theta[:, :, -1]})

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Replace the parameters by arrays of the names and shapes that `parameters` returns, until the next fit."""
        self._load(self._checked(parameters))

    def _load(self, parameters: Mapping[str, Floats]) -> None:
        weight, bias = parameters["readout.weight"], parameters["readout.bias"]
        theta = np.concatenate([weight, bias[..., None, :]], axis=-2)
        theta = theta.reshape(-1, *theta.shape[-3:]).transpose(0, 2, 3, 1)
        shape = self.state.theta[0].shape
        self.state.theta = [np.array(run, order="C").reshape(shape) for run in theta]

    def _shown(self, arrays: Mapping[str, Floats]) -> dict[str, Floats]:
        """Copy arrays, with the run axis only if there are runs."""
        return {name: np.array(array if self.runs else array[0]) for name, array in arrays.items()}

    def _features(self, u: Floats, run: int | None = None) -> Floats:
        """Return φ of a stacked input (d, m) for all runs, (runs, n), or of inputs (N, d, m) for one run, (N, n)."""
        numbers = u.reshape(-1, u.shape[-2] * u.shape[-1])
        return np.concatenate([numbers, np.ones((len(numbers), 1))], axis=1)

    def _width(self, n_inputs: int) -> int:
        """Return the number of features."""
        return self.algebra.dimension * n_inputs + 1

    def _begin(self, n_inputs: int, n_outputs: int) -> RidgeState:
        return RidgeState(n_inputs, n_outputs, **self._blank(self._width(n_inputs), n_outputs))

    def _provide(self, n_inputs: int, n_outputs: int) -> None:
        size = MATRICES * len(self._flat_seeds) * self._width(n_inputs) ** 2
        if size > LARGEST_ROOM:
            return
        if len(self._room) != size:
            self._room, self._written = np.empty(size), 0
        self._room[self._written : self._written + PAGE] = 0.0
        self._written += PAGE

    def _blank(self, n: int, n_outputs: int) -> dict[str, Any]:
        """Fields of the initial state for n features."""
        runs, width = len(self._flat_seeds), self.algebra.dimension * n_outputs
        zeros, interval = [np.zeros((n, width))] * runs, self._interval(n)
        parts = self._parts
        inverse = [Inverse.of(np.zeros((0, 0)), pieces=max(1, interval // parts - 1)) for _ in range(runs)]
        room, self._room = self._room, np.empty(0)
        if room.size == MATRICES * runs * n * n:
            for one, memory in zip(inverse, room.reshape(runs, MATRICES, n * n), strict=True):
                one.spare = list(memory)
        return {
            "theta": list(zeros),
            "fitted": list(zeros),
            "cross": list(zeros),
            "inverse": inverse,
            "gram": [np.zeros((0, 0))] * runs,
            "size": [0.0] * runs,
            "silent": [n] * runs,
            "inputs": SlidingWindow(-(-interval // parts)),
            "targets": SlidingWindow(-(-interval // parts)),
            "steps": 0,
        }

    def _penalty(self, n: int) -> Floats:
        """Penalty of each feature; the last one is the constant, whose weight is the bias."""
        penalty = np.full(n, float(self.regularization))
        penalty[-1] = 1e-6 * self.regularization
        return penalty

    def _output(self, rows: Floats) -> Floats:
        outputs = [row @ theta for row, theta in zip(rows, self.state.theta, strict=True)]
        return np.stack(outputs).reshape(len(rows), self.algebra.dimension, -1)

    def _predict(self, inputs: list[Floats]) -> Floats:
        return self._output(self._features(inputs[-1]))

    def _update(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep:
        prediction = self._predict([u])
        error = d - prediction
        loss = 0.5 * np.sum(error * error, axis=(-2, -1))
        moved = np.zeros(len(prediction))
        if observed is None or observed.any():
            moved = self._take(u, np.where(True if observed is None else observed > 0, d, prediction))
        return StackedStep(prediction, error, loss, np.ones((len(prediction), 1, 1)), moved)

    def _learn(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep | None:
        if observed is not None and not observed.all():
            return self._update(u, d, observed)
        # Without missing targets no prediction is needed, and features only for a fit.
        self._take(u, np.broadcast_to(d, (len(self.state.theta), *d.shape[-2:])))
        return None

    def _take(self, u: Floats, target: Floats) -> Floats:
        """Remember an input and its target (runs, d, p), fit the runs whose turn it is; how far their weights moved."""
        state = self.state
        due = self._due(state.steps + 1)
        marks = [window.mark() for window in (state.inputs, state.targets)] if due else []
        state.inputs.append(u)
        state.targets.append(target.reshape(len(target), -1))
        state.steps += 1
        try:
            fits = [self._fit(r, fresh) for r, fresh, _ in due]
        except np.linalg.LinAlgError:
            state.inputs.rewind(marks[0])
            state.targets.rewind(marks[1])
            state.steps -= 1
            raise
        moved = np.zeros(len(target))
        for (r, _, whole), fit in zip(due, fits, strict=True):
            moved[r] = self._use(r, fit, whole)
        fitted = {r for r, _, _ in due}
        for r, inverse in enumerate(state.inverse):
            if r not in fitted:
                inverse.advance()  # a part of what its last fit has left to do
        return moved

    def _fit(self, r: int, fresh: int) -> Fit:
        """Fit run r to the last samples, those that it has not been fitted to."""
        state = self.state
        R, D = self._features(state.inputs.last(fresh), r), state.targets.last(fresh)[:, r]
        first = min(state.silent[r], int(R.any(axis=0).argmax()))
        R, fitted = R[:, first:], state.fitted[r][first:]
        size = state.size[r] + float(np.vdot(R, R))
        penalty = self._penalty(len(state.fitted[r]))[first:]
        is_first = state.steps == fresh
        P = state.inverse[r].finished()
        if len(state.gram[r]) or size > LARGE * self.regularization:
            return self._solve_large(r, R, D, penalty, size, first)
        if is_first:
            change = _first_inverse(R, penalty)
            theta = change["diagonal"][:, None] * (b := R.T @ D)
            theta += change["plus"].T @ (change["plus"] @ b) - change["minus"].T @ (change["minus"] @ b)
            return Fit(theta, size, first, change)
        P = _grown(P, 1.0 / penalty)
        RP = R @ P
        L = np.linalg.cholesky(RP @ R.T + np.eye(fresh))
        both = np.linalg.solve(L, np.concatenate([RP, D - R @ fitted], axis=1))
        K = both[:, : len(P)]
        return Fit(fitted + K.T @ both[:, len(P) :], size, first, {"matrix": P, "minus": np.ascontiguousarray(K)})

    def _use(self, r: int, fit: Fit, whole: bool) -> float:
        """Go on with a part of a fit of run r; use its weights if the fit is whole, and return how far they moved."""
        state = self.state
        theta = np.zeros_like(state.fitted[r])
        theta[fit.silent :] = fit.theta
        state.fitted[r] = theta
        state.size[r], state.silent[r] = fit.size, fit.silent
        if fit.change is not None:
            state.inverse[r].change(**fit.change)
        else:
            state.gram[r], state.cross[r] = fit.gram, fit.cross
            state.inverse[r] = Inverse.of(np.zeros((0, 0)), pieces=1)
        if not whole:
            return 0.0
        moved = float(np.linalg.norm(theta - state.theta[r]))
        state.theta[r] = theta
        return moved

    def _solve_large(self, r: int, R: Floats, D: Floats, penalty: Floats, size: float, silent: int) -> Fit:
        """Solve the normal equations of run r for all but the silent features."""
        state, n = self.state, len(penalty)
        gram, cross = state.gram[r], state.cross[r].copy()
        if not len(gram):
            P = state.inverse[r].matrix
            whole: Floats = np.asarray(np.linalg.inv(P), dtype=float) if len(P) else P
            cross[len(cross) - len(whole) :] = whole @ state.fitted[r][len(cross) - len(whole) :]
            gram = whole - np.diag(penalty[n - len(whole) :])
        gram = _grown(gram, np.zeros(n)) + R.T @ R
        cross[-n:] += R.T @ D
        # A smaller penalty would be lost in rounding.
        limited = np.maximum(penalty, ROUNDING * size)
        theta = np.asarray(np.linalg.solve(gram + np.diag(limited), cross[-n:]))
        return Fit(theta, size, silent, None, gram, cross)


def _grown(matrix: Floats, diagonal: Floats) -> Floats:
    """Return a matrix for more features, which come first and have a diagonal of their own."""
    if len(matrix) == len(diagonal):
        return matrix
    grown, new = np.diag(diagonal), len(diagonal) - len(matrix)
    grown[new:, new:] = matrix
    return grown


def _first_inverse(R: Floats, penalty: Floats) -> dict[str, Floats]:
    """Return (RᵀR + Λ)⁻¹ for few rows R, whose last number is one, and penalties Λ, equal but for the last one.

    With X the other numbers of the rows and λ their penalty, A⁻¹ = (I − Xᵀ(λI + XXᵀ)⁻¹X)/λ is the inverse without the
    last row and column, b = Xᵀ1 and s = 1ᵀ1 + Λₙ − bᵀA⁻¹b = Λₙ + λ1ᵀ(λI + XXᵀ)⁻¹1 what they add, so that the inverse is
    A⁻¹ + (A⁻¹b)(A⁻¹b)ᵀ/s, −A⁻¹b/s and 1/s: a diagonal matrix minus the products of few rows plus that of one.
    """
    X, lam, n = R[:, :-1], penalty[0], R.shape[1]
    L = np.linalg.cholesky(lam * np.eye(len(X)) + X @ X.T)
    K, z = np.linalg.solve(L, X), np.linalg.solve(L, np.ones(len(X)))
    s = penalty[-1] + lam * (z @ z)
    diagonal, minus = np.full(n, 1.0 / lam), np.zeros((len(X), n))
    diagonal[-1], minus[:, :-1] = 0.0, K / np.sqrt(lam)
    plus = np.append(K.T @ z, -1.0)[None] / np.sqrt(s)
    return {"matrix": np.zeros((0, 0)), "diagonal": diagonal, "minus": minus, "plus": plus}
