"""Replay: learning again from windows of past samples, drawn at random and run with the present weights.

One pass over a signal uses little of what it contains. A replay draws moments whose target is known, runs the network
from a state of zero over the inputs before each, and returns the gradient of the mean loss over them. Unlike in the
walk of `quatcast.engine.rtrl`, all steps of a window use the same weights, so the weights of each layer are converted
to plain real matrices once, and the rest is ordinary back-propagation through a short window.

Replays are remembered and computed in single precision, which takes half the time. The gradient of a few random windows
is an estimate with an error of some percent, so that rounding by 1e-7 does not matter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from quatcast.algebra import Algebra, namespace, reshape, total
from quatcast.basics.annotations import check_whole, is_whole
from quatcast.basics.typing import Array, Floats
from quatcast.checkpoint import Checkpointable, State
from quatcast.engine.cells import Saved
from quatcast.engine.parameters import Layout
from quatcast.engine.rtrl import Engine
from quatcast.engine.sliding_window import SlidingWindow


@dataclass(frozen=True)
class Replay(Checkpointable):
    """Settings of the replays of a recurrent learner.

    Parameters
    ----------
    updates
        Number of steps of the optimizer after each sample.
    batch
        Number of windows whose mean gradient makes one step.
    window
        Number of inputs of each window.
    memory
        Number of samples that can be drawn; older ones are forgotten.
    seed
        Seed of the draws. All runs replay the same windows.
    entries
        Limit on the entries of all inputs of a batch, so that long inputs take no longer. Where `batch` windows would
        exceed it, there are fewer, and one step of the optimizer per sample. None for no limit.

    Examples
    --------
    >>> from quatcast import Adam, QRNN
    >>> learner = QRNN((5,), optimizer=Adam(0.01), replay=Replay(updates=2, batch=8, window=6))
    """

    updates: int = 1
    batch: int = 10
    window: int = 12
    memory: int = 1000
    seed: int = 0
    entries: int | None = None

    def __post_init__(self) -> None:
        check_whole(updates=self.updates, batch=self.batch, window=self.window, memory=self.memory)
        if self.entries is not None:
            check_whole(entries=self.entries)
        if not is_whole(self.seed, 0):
            raise ValueError(f"seed: expected a whole number from 0, got {self.seed!r}")
        if self.memory < self.window:
            raise ValueError(f"memory: expected at least one window of {self.window}, got {self.memory}")

    def sizes(self, m: int) -> tuple[int, int]:
        """Return the numbers of updates and of windows of each, for inputs of m entries."""
        if self.entries is None or self.entries >= self.batch * self.window * m:
            return self.updates, self.batch
        return 1, max(1, self.entries // (self.window * m))


class Draw(NamedTuple):
    """Windows drawn for one step of the optimizer.

    Attributes
    ----------
    inputs
        (window, batch, d, m), the oldest step first; (window, batch, d − 1, m) if the first component is zero
        everywhere, so that products with it are left out.
    targets
        Targets (batch, d, p) of the last inputs.
    observed
        (batch, 1, p): 1 where a target was observed, otherwise 0.
    """

    inputs: Array
    targets: Array
    observed: Array


@dataclass
class Memory(State):
    """The last inputs and targets, to draw windows from.

    `pure` tells whether the first component of all inputs so far was zero, as it is for points in space.

    Examples
    --------
    >>> replay = Replay(batch=2, window=3, memory=5)
    >>> memory = Memory.of(replay)
    >>> for t in range(9):
    ...     memory.append(np.full((1, 1), float(t)), np.full((1, 1), -float(t)), None)
    >>> ((inputs, targets, observed),) = memory.draw(replay)
    >>> inputs.shape, bool((inputs[-1] == -targets).all())
    ((3, 2, 1, 1), True)
    """

    inputs: SlidingWindow
    targets: SlidingWindow
    observed: SlidingWindow
    rng: np.random.Generator
    pure: bool = True

    @classmethod
    def of(cls, replay: Replay) -> Self:
        """Begin with an empty memory."""
        inputs, targets, observed = (SlidingWindow(replay.memory) for _ in range(3))
        return cls(inputs, targets, observed, np.random.default_rng(replay.seed))

    def append(self, u: Floats, d: Floats, observed: Floats | None) -> None:
        """Add a stacked input (d, m), its target (d, p), and which numbers of the target were observed (p,)."""
        self.inputs.append(u.astype(np.float32))
        self.targets.append(d.astype(np.float32))
        self.observed.append(np.ones(d.shape[-1], np.float32) if observed is None else observed.astype(np.float32))
        self.pure = self.pure and not u[0].any()

    def draw(self, replay: Replay) -> list[Draw]:
        """Draw the windows of each update, or nothing as long as there is no whole window."""
        n, rows = replay.window, self.inputs.rows
        if len(rows) < n:
            return []
        last = self.rng.integers(n - 1, len(rows), size=replay.sizes(rows.shape[-1]))
        first = 1 if self.pure and rows.shape[1] > 1 else 0
        inputs = rows[last[:, None, :] + np.arange(1 - n, 1)[:, None], first:]
        targets, observed = self.targets.rows[last], self.observed.rows[last][:, :, None, :]
        return [Draw(*arrays) for arrays in zip(inputs, targets, observed, strict=True)]


def window_gradients(
    engine: Engine, layout: Layout, parameters: Array, slope: Callable[[Array], Array], draw: Draw
) -> Array:
    """Return the gradient of the mean loss over windows, an array like the parameters.

    Parameters
    ----------
    engine
        Numerics of the network.
    layout, parameters
        Parameters of the network, joined in one array (runs, d, N).
    slope
        Function that returns the derivative of the loss with respect to the output for an error (batch, runs, d, p).
    draw
        The windows, of the same precision as the parameters.
    """
    # Flattened numbers make rows (step, window), which real matrices act on, with the runs side by side:
    # arrays (n·batch, runs, …). A step is a contiguous part of them.
    xp, (n, batch, parts, m), d = namespace(parameters), draw.inputs.shape, layout.dimension
    runs, rows, silent = parameters.shape[0], n * batch, d - parts
    real = RealForm(engine.algebra, layout, parameters)
    top = len(layout.names) - 2
    weights = [(real.matrix(k), real.matrix(k + 1, 0 if k else silent)) for k in range(0, top, 3)]
    readout = real.matrix(top)
    flat = reshape(draw.inputs, (rows, parts * m))

    v, trace = flat, []
    for k, (U, W) in enumerate(weights):
        # All runs share the inputs of the first layer, so that one product serves all of them.
        D = _per_run(v, W.mT) if k else v @ reshape(W, (-1, parts * m)).mT
        D = reshape(D, (rows, -1))
        D += reshape(real.bias(3 * k + 2), (-1,))
        v, saved = _forward(engine, U, reshape(D, (n, batch, runs, d, -1)))
        trace.append((v, saved))
    last = v[-batch:, ...]

    output = reshape(_per_run(last, readout.mT), (batch, runs, d, -1)) + real.bias(top + 1)
    observed = draw.observed[:, None, :, :]
    pull = slope((draw.targets[:, None, :, :] - output) * observed) * (observed / batch)
    pull = reshape(pull, (batch, runs, -1))
    real.add_matrix(top, _outer(pull, last))
    real.add_bias(top + 1, total(pull, axis=0))

    above, lam = None, _per_run(pull, readout)
    for k in range(len(weights) - 1, -1, -1):
        (U, W), (states, saved) = weights[k], trace[k]
        by_recurrent, by_driven = _backward(engine, U, saved, lam, above)
        if k:
            real.add_matrix(3 * k + 1, _outer(by_driven, trace[k - 1][0]))
            above = reshape(_per_run(by_driven, W), (n, batch, runs, -1))
            lam = above[-1, ...]
        else:
            real.add_matrix(1, xp.permute_dims(by_driven, (1, 2, 0)) @ flat, silent)
        # The state before the first step of a window is zero.
        real.add_matrix(3 * k, _outer(by_recurrent[batch:, ...], states[:-batch, ...]))
        real.add_bias(3 * k + 2, xp.ones_like(flat[:, 0]) @ reshape(by_driven, (rows, -1)))
    return real.gradient()


class RealForm:
    """Real matrices of joined parameters, and the gradient with respect to the parameters from theirs.

    The real matrix of W takes the flattened v to the flattened W ⊗ v. One product with the table
    of the algebra computes all matrices, and another one converts all their gradients back.

    Parameters
    ----------
    algebra
        R, C or H.
    layout, parameters
        Parameters joined in one array (runs, d, N).
    """

    def __init__(self, algebra: Algebra, layout: Layout, parameters: Array) -> None:
        d, (runs, _, size) = algebra.dimension, parameters.shape
        self._layout, self._parameters = layout, parameters
        self._table = algebra.blocks(parameters)
        self._blocks = reshape(self._table @ parameters, (runs, d, d, size))
        self._by_blocks = namespace(parameters).empty_like(self._blocks)

    def matrix(self, k: int, first: int = 0) -> Array:
        """Return the real matrix (runs, d·q, (d − first)·m) of a parameter, without `first` components of v."""
        rows, m = self._layout.shapes[k]
        runs, d = self._blocks.shape[:2]
        blocks = reshape(self._blocks[:, :, first:, self._layout.places[k]], (runs, d, d - first, rows // d, m))
        return reshape(namespace(blocks).permute_dims(blocks, (0, 1, 3, 2, 4)), (runs, rows, -1))

    def bias(self, k: int) -> Array:
        """Return a bias (runs, d, q)."""
        return self._parameters[:, :, self._layout.places[k]]

    def add_matrix(self, k: int, gradient: Array, first: int = 0) -> None:
        """Store the gradient with respect to the result of `matrix`."""
        rows, m = self._layout.shapes[k]
        runs, d = self._blocks.shape[:2]
        by_blocks = self._by_blocks[:, :, :, self._layout.places[k]]
        by_blocks[:, :, :first, :] = 0.0
        blocks = reshape(gradient, (runs, d, rows // d, d - first, m))
        # A view, because only the last axis is split.
        view = reshape(by_blocks[:, :, first:, :], (runs, d, d - first, rows // d, m))
        view[...] = namespace(blocks).permute_dims(blocks, (0, 1, 3, 2, 4))

    def add_bias(self, k: int, gradient: Array) -> None:
        """Store the gradient with respect to a bias: it is multiplied by the number one, which has one component."""
        place, (runs, d) = self._layout.places[k], self._blocks.shape[:2]
        self._by_blocks[:, :, 0, place] = reshape(gradient, (runs, d, -1))
        self._by_blocks[:, :, 1:, place] = 0.0

    def gradient(self) -> Array:
        """Return the gradient with respect to the parameters, (runs, d, N)."""
        runs, d, _, size = self._blocks.shape
        return self._table.mT @ reshape(self._by_blocks, (runs, d * d, size))


def _forward(engine: Engine, U: Array, driven: Array) -> tuple[Array, list[Saved]]:
    """Run one layer, from D (n, batch, runs, d, G·q) to its states (n·batch, runs, d·q) and what its cells saved."""
    xp, (n, batch, runs, d, width) = namespace(driven), driven.shape
    units = width // engine.cell.gates
    states = xp.empty((n, batch, runs, d * units), dtype=driven.dtype, device=driven.device)
    R, saved = xp.zeros_like(driven[0, ...]), []
    h = R[..., :units]
    for s in range(n):
        if s:
            R = reshape(_per_run(states[s - 1, ...], U.mT), R.shape)
        h, kept = engine.cell.forward(R, driven[s, ...], h)
        states[s, ...] = reshape(h, (batch, runs, -1))
        saved.append(kept)
    return reshape(states, (n * batch, runs, -1)), saved


def _backward(engine: Engine, U: Array, saved: list[Saved], lam: Array, above: Array | None) -> tuple[Array, Array]:
    """Take λ (batch, runs, d·q) of the last step back through one layer.

    `above` (n, batch, runs, d·q) is what the layer above adds at each step, None for the top layer. Returns the
    derivatives with respect to R and D, (n·batch, runs, d·G·q).
    """
    xp, (batch, runs, width), n = namespace(lam), lam.shape, len(saved)
    d, cell = engine.algebra.dimension, engine.cell
    shape = (n, batch, runs, cell.gates * width)
    by_driven = xp.empty(shape, dtype=lam.dtype, device=lam.device)
    by_recurrent = by_driven if cell.slope_only else xp.empty_like(by_driven)
    for s in range(n - 1, -1, -1):
        to_recurrent, to_driven, direct = cell.backward(reshape(lam, (batch, runs, d, -1)), saved[s])
        by_driven[s, ...] = reshape(to_driven, shape[1:])
        if not cell.slope_only:
            by_recurrent[s, ...] = reshape(to_recurrent, shape[1:])
        if s:
            lam = _per_run(by_recurrent[s, ...], U)
            if direct is not None:
                lam = lam + reshape(direct, lam.shape)
            if above is not None:
                lam = lam + above[s - 1, ...]
    return reshape(by_recurrent, (n * batch, runs, -1)), reshape(by_driven, (n * batch, runs, -1))


def _per_run(rows: Array, matrix: Array) -> Array:
    """Multiply rows (n, runs, a) by matrices (runs, a, b), run by run: (n, runs, b)."""
    if matrix.shape[0] == 1:
        return (rows[:, 0, :] @ matrix[0, ...])[:, None, :]
    if type(rows) is np.ndarray:
        product = np.empty((*rows.shape[:2], matrix.shape[-1]), dtype=rows.dtype)
        np.matmul(rows.transpose(1, 0, 2), matrix, out=product.transpose(1, 0, 2))
        return product
    xp = namespace(rows)
    return xp.permute_dims(xp.permute_dims(rows, (1, 0, 2)) @ matrix, (1, 0, 2))


def _outer(left: Array, right: Array) -> Array:
    """Sum the outer products of rows (n, runs, a) and (n, runs, b), run by run: (runs, a, b)."""
    xp = namespace(left)
    return xp.permute_dims(left, (1, 2, 0)) @ xp.permute_dims(right, (1, 0, 2))
