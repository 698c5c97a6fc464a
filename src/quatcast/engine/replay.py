"""Learning again from the past: windows of matured samples, drawn at random and run with today's weights.

One pass over a signal teaches a network little of what the signal holds. A replay draws moments that have long had
their target, lets the network run over the inputs before each from a state of zero, and returns the gradient of the
mean loss over them. Unlike the walk of `quatcast.engine.rtrl`, all steps of a window use the same weights, so each
layer's weights are turned into plain real matrices once and everything is ordinary back-propagation through a short
window.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from quatcast.algebra import namespace, reshape
from quatcast.engine.rtrl import Engine, Network
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.training.losses import Loss, State
from quatcast.typing import Array, Floats


@dataclass(frozen=True)
class Replay:
    """How much a learner replays after each sample.

    Parameters
    ----------
    updates
        Steps of the optimiser after each sample.
    batch
        Windows whose mean gradient makes one step.
    window
        Inputs that each window runs over.
    memory
        Samples that can be drawn; older ones are forgotten.
    seed
        Seed of the draws. All runs replay the same windows.
    """

    updates: int = 1
    batch: int = 10
    window: int = 12
    memory: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("updates", "batch", "window", "memory"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise ValueError(f"{name}: a positive whole number, not {value!r}")
        if not isinstance(self.seed, int) or self.seed < 0:
            raise ValueError(f"seed: a whole number from 0, not {self.seed!r}")
        if self.memory < self.window:
            raise ValueError(f"memory: at least one window of {self.window}, not {self.memory}")


class Memory:
    """The last inputs and targets, to draw windows from.

    Examples
    --------
    >>> memory = Memory(Replay(batch=2, window=3, memory=5))
    >>> for t in range(9):
    ...     memory.append(np.full((1, 1), float(t)), np.full((1, 1), -float(t)), None)
    >>> inputs, targets, present = memory.draw()
    >>> inputs.shape, bool((inputs[:, -1] == -targets).all())
    ((2, 3, 1, 1), True)
    """

    def __init__(self, replay: Replay) -> None:
        self.replay = replay
        self.rng = np.random.default_rng(replay.seed)
        self.inputs, self.targets, self.present = (SlidingWindow(replay.memory) for _ in range(3))

    def append(self, u: Floats, d: Floats, present: Floats | None) -> None:
        """Keep a stacked input (d, m), its target (d, p), and which numbers of the target count (p,)."""
        self.inputs.append(u)
        self.targets.append(d)
        self.present.append(np.ones(d.shape[-1]) if present is None else present)

    @property
    def ready(self) -> bool:
        """Whether there is a whole window."""
        return len(self.inputs) >= self.replay.window

    def draw(self) -> tuple[Floats, Floats, Floats]:
        """Windows (batch, window, d, m), the targets (batch, d, p) of their last inputs, and what of them counts."""
        n = self.replay.window
        last = self.rng.integers(n - 1, len(self.inputs), size=self.replay.batch)
        windows = self.inputs.rows[last[:, None] + np.arange(1 - n, 1)]
        return windows, self.targets.rows[last], self.present.rows[last][:, None, :]

    def state(self) -> dict[str, Any]:
        """Everything, as a tree of arrays and plain values."""
        return {
            "inputs": self.inputs.rows.copy(),
            "targets": self.targets.rows.copy(),
            "present": self.present.rows.copy(),
            "rng": self.rng.bit_generator.state,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Take back what `state` gave."""
        self.inputs.rows, self.targets.rows = state["inputs"], state["targets"]
        self.present.rows = state["present"]
        self.rng.bit_generator.state = state["rng"]


def window_gradients(
    engine: Engine, net: Network, loss: Loss, state: State, windows: Array, targets: Array, present: Array
) -> list[Array]:
    """Gradient of the mean loss over windows (batch, n, d, m) whose last outputs should be targets (batch, d, p).

    Errors count `present` times, (batch, 1, p) of 0 and 1.

    Flattened numbers make rows: every layer is h(s) = φ(h(s−1)Uᵀ + v(s)Wᵀ + b) with real matrices, for all runs and
    windows at once. Rows are ordered (step, window), so that a step is a slice, and what a step gives is written into
    one array a layer: asking for fresh memory would take longer than the arithmetic.
    """
    xp, algebra = namespace(windows), engine.algebra
    batch, n, d, m = windows.shape
    runs = net.bias.shape[0]
    steps = [slice(s * batch, (s + 1) * batch) for s in range(n)]
    weights = [(algebra.matrix(layer.recurrent), algebra.matrix(layer.input)) for layer in net.layers]
    readout = algebra.matrix(net.weight)
    flat = reshape(xp.permute_dims(windows, (1, 0, 2, 3)), (n * batch, d * m))
    # Points of space are pure quaternions: a quarter of the largest products is with zeros.
    silent = m if d > 1 and not bool(xp.any(windows[:, :, 0, :] != 0.0)) else 0

    v, states, slopes = flat[:, silent:], [], []
    for k, (U, W) in enumerate(weights):
        h = v @ (W if k else W[:, :, silent:]).mT
        h += reshape(net.layers[k].bias, (runs, 1, -1))
        slope, last = xp.empty_like(h), None
        for now in steps:
            f = h[:, now, :] if last is None else h[:, now, :] + last @ U.mT
            last = engine.activation.value(f)
            slope[:, now, :] = engine.activation.slope(f, last)
            h[:, now, :] = last
        v = h
        states.append(h)
        slopes.append(slope)

    # The error of each window, with the batch before the run axis as the losses expect.
    output = last @ readout.mT + reshape(net.bias, (runs, 1, -1))
    output = reshape(xp.permute_dims(output, (1, 0, 2)), (batch, runs, d, -1))
    error = (targets[:, None, :, :] - output) * present[:, None, :, :]
    pull = -loss.evaluate(error, state).weight * error / batch
    rows = xp.permute_dims(reshape(pull, (batch, runs, -1)), (1, 0, 2))
    gradients = [algebra.fold(rows.mT @ last), reshape(xp.sum(rows, axis=-2), net.bias.shape)]

    # Backward, layer by layer from the top: δ(s) = φ′(f(s))·(λ(s) + δ(s+1)U), with λ from the layer above.
    above: list[Array] = [0.0] * (n - 1) + [rows @ readout]
    for k in range(len(weights) - 1, -1, -1):
        U, W = weights[k]
        delta, back = slopes[k], above[-1]
        for s in range(n - 1, -1, -1):
            delta[:, steps[s], :] *= back
            if s:
                back = delta[:, steps[s], :] @ U + above[s - 1]
        if k:
            into_inputs = delta.mT @ states[k - 1]
        else:
            into_inputs = xp.zeros_like(W)
            into_inputs[:, :, silent:] = delta.mT @ flat[:, silent:]
        # The state before the first step of a window is zero.
        into_states = delta[:, batch:, :].mT @ states[k][:, :-batch, :]
        gradients = [
            algebra.fold(into_states),
            algebra.fold(into_inputs),
            reshape(xp.sum(delta, axis=-2), net.layers[k].bias.shape),
            *gradients,
        ]
        if k:
            spread = delta @ W
            above = [spread[:, now, :] for now in steps]
    return gradients
