"""What a recurrent network remembers of its last steps, for the walks of `quatcast.engine.rtrl`."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from quatcast.algebra import fetch, namespace, place, reshape
from quatcast.engine.low_rank import SPARE
from quatcast.engine.sliding_window import SlidingWindow
from quatcast.typing import Array

States = tuple[Array, ...]


class Moment(NamedTuple):
    """Weights and slopes of one step; each field has one entry a layer.

    `recurrent` and `between` are the weights U and W then in force (W of the first layer is never walked through and
    left out), `slopes` is D. Those of a single_run network have no run axis.
    """

    recurrent: tuple[Array, ...]
    between: tuple[Array, ...]
    slopes: tuple[Array, ...]


class History:
    """The present states of a network, its last moments, and the states and inputs of all of them.

    Parameters
    ----------
    depth
        Moments that are kept.
    states
        First state of each layer, (runs, d, q).

    Attributes
    ----------
    states
        State of each layer after the last step.
    inputs
        The last inputs (d, m), more than there are moments.
    steps
        Steps so far.
    single_run
        Whether the network is one layer of one run under NumPy: the one that forecasts live, which has shortcuts.
    """

    def __init__(self, depth: int, states: States) -> None:
        self.states, self.steps = states, 0
        self.single_run = len(states) == 1 and states[0].shape[0] == 1 and type(states[0]) is np.ndarray
        self.inputs = SlidingWindow(depth + SPARE)
        self._moments: deque[Moment] = deque(maxlen=depth)
        self._tracks = [SlidingWindow(depth + 1) for _ in states]
        self._follow(states)

    def append(self, u: Array, moment: Moment, states: States) -> None:
        """Take in a step: its input, what a walk needs of it, and the states after it."""
        self.inputs.append(u)
        self._moments.append(moment)
        self.steps += 1
        self._follow(states)

    def _follow(self, states: States) -> None:
        self.states = states
        for track, h in zip(self._tracks, states, strict=True):
            track.append(h)

    def __len__(self) -> int:
        return len(self._moments)

    def __iter__(self) -> Iterator[Moment]:
        """Moments, the newest first."""
        return reversed(self._moments)

    def before(self, layer: int, n: int) -> Array:
        """States (runs, d·n, q) of a layer before each of the n newest moments, the oldest first."""
        return _in_a_row(self._tracks[layer].last(n + 1)[:-1, ...])

    def into(self, layer: int, n: int) -> Array:
        """What went into a layer at the n newest moments: states (runs, d·n, q) or, into the first, inputs (d·n, m)."""
        if layer:
            return _in_a_row(self._tracks[layer - 1].last(n))
        inputs = self.inputs.last(n)
        return reshape(inputs, (-1, inputs.shape[-1]))

    def state(self) -> dict[str, Any]:
        """Everything, as NumPy arrays and plain values."""
        return {
            "moments": [[[fetch(array) for array in field] for field in moment] for moment in self._moments],
            "tracks": [fetch(track.rows).copy() for track in self._tracks],
            "inputs": fetch(self.inputs.rows).copy(),
            "steps": self.steps,
        }

    def restore(self, state: Mapping[str, Any], device: str) -> None:
        """Take back what `state` gave, onto a device."""
        self._moments.clear()
        for moment in state["moments"]:
            self._moments.append(Moment(*(tuple(place(array, device) for array in field) for field in moment)))
        for track, rows in zip(self._tracks, state["tracks"], strict=True):
            track.rows = place(rows, device)
        self.states = tuple(track.last(1)[0, ...] + 0.0 for track in self._tracks)
        self.inputs.rows = place(state["inputs"], device)
        self.steps = state["steps"]


def _in_a_row(rows: Array) -> Array:
    """Arrays (n, runs, d, q) one below the other: (runs, n·d, q), with no copy where there is one run."""
    n, runs, d, q = rows.shape
    return reshape(namespace(rows).permute_dims(rows, (1, 0, 2, 3)), (runs, n * d, q))
