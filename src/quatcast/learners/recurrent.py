"""Recurrent networks over the real, complex and quaternion numbers, trained by exact RTRL."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from quatcast.algebra import C, H, namespace, place
from quatcast.basics.annotations import check_whole, is_number
from quatcast.basics.typing import Array, Floats
from quatcast.engine.activations import Pair, activation
from quatcast.engine.cells import Cell, SimpleCell
from quatcast.engine.history import History, States
from quatcast.engine.low_rank import LowRankWeights
from quatcast.engine.parameters import Layout
from quatcast.engine.replay import Draw, Memory, Replay, window_gradients
from quatcast.engine.rtrl import Engine, Network
from quatcast.learners.base import StackedStep
from quatcast.learners.gradient import GradientLearner, GradientState
from quatcast.learners.losses import MSE, Loss
from quatcast.learners.optimizers import SGD, Optimizer


@dataclass
class RecurrentState(GradientState):
    """State of a recurrent network.

    Attributes
    ----------
    past
        The last steps.
    depth
        Depth of the last walk.
    memory
        Samples to replay, None for a network without replay.
    """

    past: History
    depth: int
    memory: Memory | None


class Foreseen(NamedTuple):
    """States of a network after inputs that it has not learnt from, computed before they are needed.

    Attributes
    ----------
    stored
        Parameters that they were computed with; each step of the optimizer replaces this list.
    inputs, states
        The inputs, and the states after the last of them.
    """

    stored: list[Any]
    inputs: list[Floats]
    states: States

    def covers(self, stored: list[Any], inputs: list[Floats]) -> bool:
        """Return whether the states are those after these inputs, with these parameters."""
        same = stored is self.stored and len(inputs) == len(self.inputs)
        return same and all(one is other for one, other in zip(inputs, self.inputs, strict=True))


class RNN(GradientLearner):
    """Recurrent network with real weights, inputs (m,) and targets (p,).

    The hidden layers have recurrence on themselves and a split activation; the readout is linear with a bias. See
    `quatcast.engine.rtrl` for the equations and for how the gradient is computed.

    Parameters
    ----------
    hidden
        Number of units of each hidden layer.
    loss
        A `Loss`, such as MSE() or MCC(...).
    optimizer
        An `Optimizer`, such as SGD(...) or Adam(...).
    seeds
        Seed of the initial weights. A sequence gives one run per seed, all learning side by side from the same
        input; a loss or an optimizer may also have one value per run.
    activation
        "tanh", "sigmoid", "relu", "identity", the name of a registered activation, or a pair of functions (φ, φ′).
    init_std
        Standard deviation of the initial weights; biases start at zero.
    tol
        Relative tolerance: the walk ends when λ has decayed to this fraction.
    max_depth
        Number of past steps that are kept; `Step.truncated` is True if they did not suffice.
    replay
        Settings of the replays after each sample, see `quatcast.engine.replay`; None for no replay, as published.
    device
        Device of the arrays, see `quatcast.algebra.backend`.

    Examples
    --------
    >>> import numpy as np
    >>> learner = RNN(hidden=(8,), seeds=0)
    >>> wave = np.sin(0.3 * np.arange(1000))
    >>> errors = [learner.update(wave[t : t + 2], wave[t + 2 : t + 3]).error[0] for t in range(900)]
    >>> bool(np.std(errors[-100:]) < 0.1 * np.std(wave))
    True

    References
    ----------
    Williams and Zipser (1989), "A learning algorithm for continually running fully recurrent neural networks".
    """

    recurrent = True
    state: RecurrentState
    _foreseen: Foreseen | None = None

    def __init__(
        self,
        hidden: int | Sequence[int] = (20,),
        *,
        loss: Loss | None = None,
        optimizer: Optimizer | None = None,
        seeds: int | Sequence[int] = 0,
        activation: str | Pair = "tanh",
        init_std: float = 0.02,
        tol: float = 1e-12,
        max_depth: int = 256,
        replay: Replay | None = None,
        device: str = "cpu",
    ) -> None:
        units = np.atleast_1d(np.asarray(hidden))
        if units.dtype.kind not in "iu" or units.ndim != 1 or np.any(units < 1):
            raise ValueError(f"hidden: expected one positive whole number of units per layer, got {hidden!r}")
        self.hidden = tuple(int(q) for q in units)
        flat = np.atleast_1d(np.asarray(seeds))
        if flat.dtype.kind not in "iu" or np.any(flat < 0):
            raise ValueError(f"seeds: expected a whole number from 0, or a sequence of them, got {seeds!r}")
        if not (is_number(init_std) and init_std >= 0):
            raise ValueError(f"init_std: expected a finite number from 0, got {init_std!r}")
        if not (is_number(tol) and 0 <= tol < 1):
            raise ValueError(f"tol: expected at least 0 and less than 1, got {tol!r}")
        check_whole(max_depth=max_depth)
        if replay is not None and not isinstance(replay, Replay):
            raise ValueError(f"replay: expected Replay(...) or None, got {replay!r}")
        self.seeds, self.activation, self.init_std = seeds, activation, init_std
        self.tol, self.max_depth, self.replay = tol, int(max_depth), replay
        self.make_cell()
        self._configure(MSE() if loss is None else loss, SGD() if optimizer is None else optimizer, device)

    def make_cell(self) -> Cell:
        """Return the cell of all layers; a subclass overrides this to use another one."""
        return SimpleCell(activation(self.activation))

    @cached_property
    def _engine(self) -> Engine:
        return Engine(self.algebra, self.make_cell(), self.tol)

    def _run_arrays(self) -> dict[str, Any]:
        return {"seeds": self.seeds, **super()._run_arrays()}

    def _initial(self, n_inputs: int, n_outputs: int) -> dict[str, Floats]:
        d, gates, widths = self.algebra.dimension, self._engine.cell.gates, (n_inputs, *self.hidden)
        shapes: dict[str, tuple[int, ...]] = {}
        for k, (m, q) in enumerate(zip(widths, self.hidden, strict=False)):
            shapes |= {
                f"layers.{k}.recurrent": (gates * q, q, d),
                f"layers.{k}.input": (gates * q, m, d),
                f"layers.{k}.bias": (gates * q, d),
            }
        shapes |= {"readout.weight": (n_outputs, widths[-1], d), "readout.bias": (n_outputs, d)}
        seeds = np.broadcast_to(np.asarray(self.seeds), (self.runs or 1,))
        generators = [np.random.default_rng(int(seed)) for seed in seeds]

        def draw(rng: np.random.Generator, name: str) -> Floats:
            return np.zeros(shapes[name]) if name.endswith("bias") else rng.normal(0.0, self.init_std, shapes[name])

        return {name: np.stack([draw(rng, name) for rng in generators]) for name in shapes}

    @property
    def _low_rank(self) -> bool:
        """Whether the input weights of the first layer are `LowRankWeights`; a replay needs them at every step."""
        return self.optimizer.proportional and self.replay is None

    @property
    def _joined(self) -> bool:
        return not self._low_rank

    def _stored(self, layout: Layout, leaves: list[Array]) -> list[Any]:
        stored = super()._stored(layout, leaves)
        if self._low_rank:
            stored[1] = LowRankWeights.of(self.algebra, stored[1])
        return stored

    def _dense(self, leaf: Any) -> Array:
        return leaf.dense(self.state.past.inputs) if isinstance(leaf, LowRankWeights) else leaf

    def _begin(self, n_inputs: int, n_outputs: int) -> RecurrentState:
        runs, d = self.runs or 1, self.algebra.dimension
        zero = tuple(place(np.zeros((runs, d, q)), self.device) for q in self.hidden)
        past, memory = History.of(self.max_depth, zero), Memory.of(self.replay) if self.replay else None
        return RecurrentState(**super()._begin(n_inputs, n_outputs).settings(), past=past, depth=0, memory=memory)

    def _network(self) -> Network:
        return Network.of(self.state.leaves())

    def _predict(self, inputs: list[Floats]) -> Array:
        net, (*before, last) = self._network(), inputs
        h = self._roll(net, before)
        return self._engine.output(net, self._engine.roll(net, self.state.past, place(last[None], self.device), h))

    def _foresee(self, inputs: list[Floats]) -> None:
        self._foreseen = Foreseen(self.state.stored, inputs, self._roll(self._network(), inputs))

    def _roll(self, net: Network, inputs: list[Floats]) -> States:
        """Return the states after inputs, which may have been foreseen."""
        if self._foreseen is not None and self._foreseen.covers(self.state.stored, inputs):
            return self._foreseen.states
        if not inputs:
            return self.state.past.states
        return self._engine.roll(net, self.state.past, place(np.stack(inputs), self.device))

    def _forward(self, u: Array) -> tuple[Array, Any]:
        net = self._network()
        states, moment = self._engine.forward(net, self.state.past, u)
        return self._engine.output(net, states), (net, states, moment)

    def _gradients(self, u: Array, trace: Any, slope: Array) -> tuple[list[Array], int, bool]:
        state, (net, states, moment) = self.state, trace
        self._engine.append(net, state.past, u, states, moment)
        # The depths of successive walks differ little, so the first test is at the depth of the last one.
        walk = self._engine.walk(net, state.past, slope, hint=state.depth)
        state.depth = walk.depth
        # A walk that arrives at the zero state of the very first step has left nothing out.
        forgotten = state.past.steps > len(state.past)
        return walk.gradients, walk.depth, forgotten and not walk.converged

    def _update(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep:
        memory, replay = self.state.memory, self.replay
        if memory is None or replay is None:
            return super()._update(u, d, observed)
        mark = self.state.mark()
        try:
            step = super()._update(u, d, observed)
            memory.append(u, d, observed)
            for draw in memory.draw(replay):
                self._descend([self._replayed(Draw._make(place(array, self.device) for array in draw))])
        except Exception:
            self.state.rewind(mark)
            raise
        return step

    def _replayed(self, draw: Draw) -> Array:
        """Return the gradient over windows in single precision, as the parameters are stored."""
        (joined,) = self.state.stored
        xp = namespace(joined)

        def slope(error: Array) -> Array:
            found = self.loss.evaluate(xp.astype(error, joined.dtype), self.state.loss).slope
            return xp.astype(found, error.dtype)

        single = xp.astype(joined, draw.inputs.dtype)
        gradient = window_gradients(self._engine, self.state.layout, single, slope, draw)
        return xp.astype(gradient, joined.dtype)


class ComplexRNN(RNN):
    """Recurrent network with complex weights, inputs (m, 2) and targets (p, 2); otherwise as `RNN`.

    Examples
    --------
    >>> ComplexRNN(hidden=(5,)).begin(n_inputs=3, n_outputs=1).parameters()["layers.0.input"].shape
    (5, 3, 2)
    """

    algebra = C


class QRNN(RNN):
    """Recurrent network with quaternion weights, inputs (m, 4) and targets (p, 4); otherwise as `RNN`.

    The network of the paper is one hidden layer, tanh, and `loss=MCC(...)`.

    Examples
    --------
    >>> from quatcast import MCC
    >>> learner = QRNN(hidden=(10,), loss=MCC(sigma=2.0), optimizer=SGD(learning_rate=0.05, clip=2.0), seeds=range(3))
    >>> learner.begin(n_inputs=6, n_outputs=2).predict(np.ones((6, 4))).shape
    (3, 2, 4)

    References
    ----------
    Bourigault, Xu and Mandic, "Quaternion recurrent neural network with real-time recurrent learning and maximum
    correntropy criterion".
    """

    algebra = H
