"""Kernel ridge regression on the last samples, solved by a few conjugate gradient steps per sample."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from quatcast.basics.annotations import check_positive, check_whole
from quatcast.learners.memory import TINY, MemoryLearner, MemoryState, Singles


@dataclass
class KernelState(MemoryState):
    """What a kernel ridge regression remembers, beside its inputs and targets.

    Sample i has row i modulo `memory`, so that new samples take the place of the oldest.

    Attributes
    ----------
    fitted
        Number of samples that K contains, the last `memory` of them; later ones are in the inputs and targets only.
    coefficients, residual, direction
        (4·p, memory): Aᵀ, the residual Rᵀ = (Y − (K + α)A)ᵀ, and the direction Pᵀ of the last step. In this order the
        products with K, which is symmetric, take less time.
    solved, solution
        Number of samples of the last fit that was finished, and its coefficients (4·p, n), the oldest sample first.
    """

    fitted: int
    solved: int
    solution: Singles
    coefficients: Singles
    residual: Singles
    direction: Singles
    kernel: Singles = field(init=False)
    """K, computed from the inputs when `known` differs from `fitted`."""
    known: int = field(init=False)
    """Number of samples that K was computed for."""
    arrived: dict[int, Singles] = field(init=False)
    """Rows of K, by the number of their sample, for samples that came since the last fit."""

    def __post_init__(self) -> None:
        self.kernel, self.known, self.arrived = np.zeros((0, 0), dtype=np.float32), -1 if self.fitted else 0, {}

    def rewind(self, mark: Any) -> None:
        """Take the fields back; K is then computed anew."""
        super().rewind(mark)
        self.known, self.arrived = -1, {}


class KernelRidge(MemoryLearner):
    """Kernel ridge regression on the last samples, solved by a few conjugate gradient steps per sample.

    With k(u, v) = exp(−D(u, v)/w), the output is Σₛ k(u, u(s))·A(s), and the coefficients A solve (K + α)A = Y for the
    targets Y of the remembered samples. Every `refit` samples the new ones take the place of the oldest, and a new
    descent by conjugate gradients starts from the present coefficients. With R = Y − (K + α)A, each target by itself,

        P ← R + ⟨R, R⟩/⟨R′, R′⟩·P,    A ← A + ⟨R, R⟩/⟨P, (K + α)P⟩·P,

    where R′ is the residual of the step before. The cost of a step is one product with K; `descents` of them are made
    per refit, spread over its samples, and outputs are computed with the last finished solution. K itself is not saved
    but computed from the inputs again.

    Parameters
    ----------
    width
        w > 0.
    regularization
        α > 0.
    memory
        Number of samples that are remembered.
    refit
        Number of samples from one fit to the next.
    descents
        Number of conjugate gradient steps per fit.

    Examples
    --------
    >>> learner = KernelRidge(width=1.0, regularization=1e-3)
    >>> for x in np.linspace(0.0, 3.0, 50):
    ...     step = learner.update([[0, x, 0, 0]], [[0, np.sin(x), 0, 0]])
    >>> bool(abs(learner.predict([[0, 1.0, 0, 0]])[0, 1] - np.sin(1.0)) < 0.02)
    True

    References
    ----------
    Tobar and Mandic (2014), "Quaternion reproducing kernel Hilbert spaces: existence and uniqueness conditions";
    Hestenes and Stiefel (1952), "Methods of conjugate gradients for solving linear systems".
    """

    state: KernelState

    def __init__(
        self,
        width: float = 2.0,
        *,
        regularization: float = 0.3,
        memory: int = 1000,
        refit: int = 10,
        descents: int = 12,
    ) -> None:
        super().__init__(memory)
        check_positive(width=width, regularization=regularization)
        check_whole(refit=refit, descents=descents)
        if refit > memory:
            raise ValueError(f"refit: expected at most the {memory} samples of the memory, got {refit!r}")
        self.width, self.regularization = width, regularization
        self.refit, self.descents = int(refit), int(descents)

    def _begin(self, n_inputs: int, n_outputs: int) -> KernelState:
        zeros = np.zeros((4 * n_outputs, self.memory), dtype=np.float32)
        return KernelState(
            n_inputs,
            n_outputs,
            **self._windows(2 * self.refit),
            fitted=0,
            coefficients=zeros,
            residual=zeros,
            direction=zeros,
            solved=0,
            solution=zeros[:, :0],
        )

    def _output(self, u: Singles) -> Singles:
        state = self.state
        if not state.solved:
            return np.zeros(4 * state.n_outputs, dtype=np.float32)
        return np.asarray(state.solution @ self._similarity(u, state.solved))

    def _remember(self, u: Singles, target: Singles) -> None:
        super()._remember(u, target)
        state = self.state
        # All rows at once would make every fit a long step.
        state.arrived[state.count - 1] = self._similarity(u, state.count)
        phase = state.count % self.refit
        if phase == 0:
            self._refit()
        for _ in range(self._until(phase + 1) - self._until(phase) - (phase == 0)):
            self._descend()

    def _until(self, samples: int) -> int:
        """Return how many products with K are made in that many samples from a fit on, which itself takes the first.

        They are spread evenly over the samples until the next fit.
        """
        return max(samples > 0, (2 * samples * (self.descents + 1) + self.refit) // (2 * self.refit))

    def _samples(self, count: int) -> slice:
        """Return where the last `memory` of the first `count` samples are in the windows."""
        end = len(self.state.inputs) - (self.state.count - count)
        return slice(end - min(count, self.memory), end)

    def _similarity(self, u: Singles, count: int) -> Singles:
        """Return k of an input and the last `memory` of the first `count` samples, the oldest first."""
        past = self.state.inputs.rows[self._samples(count)]
        return np.asarray(np.exp(self._distances(u, past) / np.float32(-self.width)))

    def _rows(self, count: int) -> NDArray[np.int64]:
        """Return the rows of K of the last `memory` of the first `count` samples, the oldest first."""
        return np.arange(max(0, count - self.memory), count) % self.memory

    def _kernel(self) -> Singles:
        """Return K of the fitted samples; the rows that it lacks are computed."""
        state = self.state
        rows = self._rows(state.fitted)
        if state.known != state.fitted:
            if len(state.kernel) < self.memory:
                state.kernel = np.zeros((self.memory, self.memory), dtype=np.float32)
            fresh = len(rows) if state.known < 0 else min(state.fitted - state.known, len(rows))
            first, past = len(rows) - fresh, state.inputs.rows[self._samples(state.fitted)]
            new = np.empty((fresh, len(rows)), dtype=np.float32)
            for i in range(first, len(rows)):
                k = state.arrived.pop(state.fitted - len(rows) + i, None)
                # A row that was computed when its sample came ends with that sample and may begin before the others.
                new[i - first, : i + 1] = self._similarity(past[i], state.fitted)[: i + 1] if k is None else k[-1 - i :]
            corner, later = new[:, first:], np.triu_indices(fresh, 1)
            corner[later] = corner.T[later]
            # One block, because the numbers of a single column are far apart in memory.
            block = np.roll(new, rows[0], axis=1)
            state.kernel[rows[first:], : len(rows)] = block
            state.kernel[: len(rows), rows[first:]] = block.T
            state.known, state.arrived = state.fitted, {}
        return state.kernel[: len(rows), : len(rows)]

    def _refit(self) -> None:
        """Use the present solution, put the new samples in the place of the oldest, and begin a new descent."""
        state = self.state
        # Indexing would give another layout in memory than a checkpoint, and products that round differently.
        state.solved, state.solution = state.fitted, np.take(state.coefficients, self._rows(state.fitted), axis=1)
        fresh, state.fitted = state.count - state.fitted, state.count
        rows = self._rows(state.fitted)
        K, n = self._kernel(), len(rows)
        A, R = state.coefficients.copy(), np.zeros_like(state.residual)
        A[:, rows[-fresh:]] = 0.0
        R[:, rows] = state.targets.rows[self._samples(state.fitted)].T
        R[:, :n] -= A[:, :n] @ K + np.float32(self.regularization) * A[:, :n]
        state.coefficients, state.residual, state.direction = A, R, R

    def _descend(self) -> None:
        """Make one conjugate gradient step."""
        state = self.state
        n = min(state.fitted, self.memory)
        if not n:
            return
        A, R, P = state.coefficients.copy(), state.residual.copy(), state.direction.copy()
        a, r, p = A[:, :n], R[:, :n], P[:, :n]
        moved = p @ self._kernel() + np.float32(self.regularization) * p
        power = _products(r, r)
        step = power / np.maximum(_products(p, moved), TINY)
        a += step * p
        r -= step * moved
        p *= _products(r, r) / np.maximum(power, TINY)
        p += r
        state.coefficients, state.residual, state.direction = A, R, P


def _products(x: Singles, y: Singles) -> Singles:
    """Return the scalar products (m, 1) of the rows of x and y (m, n)."""
    return np.asarray(np.einsum("ij,ij->i", x, y)[:, None])
