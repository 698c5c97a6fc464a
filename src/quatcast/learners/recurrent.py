"""Recurrent networks over the real, complex and quaternion numbers, trained by exact RTRL."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from quatcast.algebra import C, H, place
from quatcast.engine.activations import Pair, activation
from quatcast.engine.history import History
from quatcast.engine.low_rank import LowRankWeights
from quatcast.engine.replay import Memory, Replay, window_gradients
from quatcast.engine.rtrl import Engine, Network
from quatcast.learners.base import StackedStep
from quatcast.learners.gradient import GradientLearner
from quatcast.training.losses import MSE, Loss
from quatcast.training.optimizers import SGD, Optimizer
from quatcast.typing import Array, Floats


class RNN(GradientLearner):
    """Recurrent network with real weights, inputs (m,) and targets (p,).

    Layers with recurrence on themselves, a split activation and a linear readout with bias; see `quatcast.engine.rtrl`
    for the equations and for how the gradient is found.

    Parameters
    ----------
    hidden
        Units of each hidden layer.
    loss
        MSE() or MCC(...).
    optimizer
        SGD(...) or Adam(...).
    seeds
        Seed of the initial weights. A sequence gives one run a seed, all learning side by side from the same
        input; a loss or an optimiser may also hold one value a run.
    activation
        "tanh", "sigmoid", "relu", "identity", or a pair of functions (φ, φ′).
    init_std
        Standard deviation of the initial weights; biases start at zero.
    tol
        Relative size at which the rest of the gradient is left out.
    max_depth
        Past steps that are kept; `Step.truncated` tells when they did not suffice.
    replay
        What to learn again after each sample, see `quatcast.engine.replay`; None for nothing, as published.
    device
        Where the arrays live, see `quatcast.algebra.backend`.

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
            raise ValueError(f"hidden: one positive whole number of units a layer, not {hidden!r}")
        self.hidden = tuple(int(q) for q in units)
        flat = np.atleast_1d(np.asarray(seeds))
        if flat.dtype.kind not in "iu" or np.any(flat < 0):
            raise ValueError(f"seeds: a whole number from 0, or a sequence of them, not {seeds!r}")
        if not (init_std >= 0 and np.isfinite(init_std)):
            raise ValueError(f"init_std: must not be negative, not {init_std!r}")
        if not 0 <= tol < 1:
            raise ValueError(f"tol: at least 0 and below 1, not {tol!r}")
        if not isinstance(max_depth, int | np.integer) or max_depth < 1:
            raise ValueError(f"max_depth: a whole number from 1, not {max_depth!r}")
        if replay is not None and not isinstance(replay, Replay):
            raise ValueError(f"replay: Replay(...) or None, not {replay!r}")
        self.seeds, self.activation, self.init_std = seeds, activation, init_std
        self.tol, self.max_depth, self.replay = tol, int(max_depth), replay
        self._engine = self._make_engine()
        self._configure(loss or MSE(), optimizer or SGD(), device, seeds=seeds)

    def _make_engine(self) -> Engine:
        return Engine(self.algebra, activation(self.activation), self.tol)

    def _initial(self) -> dict[str, Floats]:
        assert self.n_inputs is not None
        assert self.n_outputs is not None
        d, widths = self.algebra.dimension, (self.n_inputs, *self.hidden)
        shapes: dict[str, tuple[int, ...]] = {}
        for k, (m, q) in enumerate(zip(widths, self.hidden, strict=False)):
            shapes |= {
                f"layers.{k}.recurrent": (q, q, d),
                f"layers.{k}.input": (q, m, d),
                f"layers.{k}.bias": (q, d),
            }
        shapes |= {"readout.weight": (self.n_outputs, widths[-1], d), "readout.bias": (self.n_outputs, d)}
        seeds = np.broadcast_to(np.asarray(self.seeds), (self.runs or 1,))
        self._generators = [np.random.default_rng(int(seed)) for seed in seeds]
        return {
            name: np.stack(
                [
                    np.zeros(shape) if name.endswith("bias") else rng.normal(0.0, self.init_std, shape)
                    for rng in self._generators
                ]
            )
            for name, shape in shapes.items()
        }

    def _start(self) -> None:
        super()._start()
        runs, d = self.runs or 1, self.algebra.dimension
        zero = tuple(place(np.zeros((runs, d, q)), self.device) for q in self.hidden)
        self._past = History(self.max_depth, zero)
        self._depth = 0
        self._memory = Memory(self.replay) if self.replay else None
        self._defer()

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Take parameters of the names and shapes that `parameters` gives; the state stays as it is."""
        super().load_parameters(parameters)
        self._defer()

    def _defer(self) -> None:
        """Defer the input weights, where steps are multiples of the gradient and nothing else asks for the weights."""
        if isinstance(self.optimizer, SGD) and self.replay is None:
            self._leaves[1] = LowRankWeights(self.algebra, self._leaves[1], self._past.inputs)

    def _predict(self, inputs: list[Floats]) -> Array:
        net = Network.of(self._leaves)
        rolled = self._engine.roll(net, self._past.states, place(np.stack(inputs), self.device))
        return self._engine.output(net, rolled)

    def _forward(self, u: Array) -> Array:
        net = Network.of(self._leaves)
        self._engine.advance(net, self._past, u)
        return self._engine.output(net, self._past.states)

    def _gradients(self, slope: Array) -> tuple[list[Array], int, bool]:
        # Depths of successive walks differ little, so looking begins at the last one.
        walk = self._engine.walk(Network.of(self._leaves), self._past, slope, hint=self._depth)
        self._depth = walk.depth
        # A walk that arrives at the zero state of the very first step has left nothing out.
        forgotten = self._past.steps > len(self._past)
        return walk.gradients, walk.depth, forgotten and not walk.converged

    def _update(self, u: Floats, d: Floats, present: Floats | None) -> StackedStep:
        outcome = super()._update(u, d, present)
        if self._memory is not None:
            self._memory.append(u, d, present)
            self._replay(self._memory)
        return outcome

    def _replay(self, memory: Memory) -> None:
        if not memory.ready:
            return
        for _ in range(memory.replay.updates):
            drawn = [place(array, self.device) for array in memory.draw()]
            net = Network.of(self._leaves)
            gradients = window_gradients(self._engine, net, self.loss, self._loss_state, *drawn)
            self._leaves, _, self._optimizer_state = self.optimizer.step(self._leaves, gradients, self._optimizer_state)

    def _state(self) -> dict[str, Any]:
        return super()._state() | {
            "memory": self._memory.state() if self._memory else None,
            "past": self._past.state(),
            "depth": self._depth,
            "generators": [rng.bit_generator.state for rng in self._generators],
        }

    def _restore_state(self, state: Mapping[str, Any]) -> None:
        super()._restore_state(state)
        self._past.restore(state["past"], self.device)
        self._depth = state["depth"]
        if self._memory:
            self._memory.restore(state["memory"])
        for rng, saved in zip(self._generators, state["generators"], strict=True):
            rng.bit_generator.state = saved

    def __getstate__(self) -> dict[str, Any]:
        # The engine holds the functions of the activation, which need not be picklable.
        return {name: value for name, value in self.__dict__.items() if name != "_engine"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._engine = self._make_engine()


class ComplexRNN(RNN):
    """Recurrent network with complex weights, inputs (m, 2) and targets (p, 2); otherwise as `RNN`.

    Examples
    --------
    >>> ComplexRNN(hidden=(5,)).start(n_inputs=3, n_outputs=1).parameters()["layers.0.input"].shape
    (5, 3, 2)
    """

    algebra = C


class QRNN(RNN):
    """Recurrent network with quaternion weights, inputs (m, 4) and targets (p, 4); otherwise as `RNN`.

    The network of the paper is one hidden layer, tanh, and `loss=MCC(...)`.

    Examples
    --------
    >>> from quatcast.training.losses import MCC
    >>> learner = QRNN(hidden=(10,), loss=MCC(sigma=2.0), optimizer=SGD(rate=0.05, clip=2.0), seeds=range(3))
    >>> learner.start(n_inputs=6, n_outputs=2).predict(np.ones((6, 4))).shape
    (3, 2, 4)

    References
    ----------
    Bourigault, Xu and Mandic, "Quaternion recurrent neural network with real-time recurrent learning and maximum
    correntropy criterion".
    """

    algebra = H
