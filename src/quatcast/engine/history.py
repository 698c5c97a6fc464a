"""Memory of the last steps of a recurrent network, through which `quatcast.engine.rtrl` takes λ back."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Self

import numpy as np

from quatcast.algebra import namespace, reshape
from quatcast.basics.typing import Array
from quatcast.checkpoint import State
from quatcast.engine.cells import Saved
from quatcast.engine.low_rank import SPARE
from quatcast.engine.sliding_window import SlidingWindow

States = tuple[Array, ...]


class Moment(NamedTuple):
    """Weights and saved arrays of one step; each field has one entry per layer.

    `recurrent` and `between` are the weights U and W that were in force (W of the first layer is not needed and left
    out); `saved` is what the cell saved. See `OneLayerAdjoint` for when they have no run axis.
    """

    recurrent: tuple[Array, ...]
    between: tuple[Array, ...]
    saved: tuple[Saved, ...]


@dataclass
class History(State):
    """The last moments of a network, and the states and inputs of all of them.

    Attributes
    ----------
    states
        State (runs, d, q) of each layer after the last step.
    inputs
        The last inputs (d, m), `SPARE` more than there are moments.
    tracks
        The last states of each layer.
    moments
        The last moments.
    steps
        Number of steps so far.
    single_run
        Whether the network is one layer of one run under NumPy; its moments have no run axis if the cell allows.
    """

    states: States
    inputs: SlidingWindow
    tracks: list[SlidingWindow]
    moments: deque[Moment]
    steps: int
    single_run: bool = field(init=False)

    def __post_init__(self) -> None:
        self.single_run = len(self.states) == 1 and self.states[0].shape[0] == 1 and type(self.states[0]) is np.ndarray
        # A checkpoint gives plain tuples back.
        self.moments = deque(map(Moment._make, self.moments), maxlen=self.moments.maxlen)

    @classmethod
    def of(cls, depth: int, states: States) -> Self:
        """Begin with the first state of each layer, to remember `depth` moments."""
        tracks = [SlidingWindow(depth + 1) for _ in states]
        for track, h in zip(tracks, states, strict=True):
            track.append(h)
        return cls(states, SlidingWindow(depth + SPARE), tracks, deque(maxlen=depth), 0)

    def append(self, u: Array, moment: Moment, states: States) -> None:
        """Add a step: its input, its moment, and the states after it."""
        self.inputs.append(u)
        self.moments.append(moment)
        self.steps += 1
        self.states = states
        for track, h in zip(self.tracks, states, strict=True):
            track.append(h)

    def __len__(self) -> int:
        return len(self.moments)

    def __iter__(self) -> Iterator[Moment]:
        """Iterate over the moments, the newest first."""
        return reversed(self.moments)

    def before(self, layer: int, n: int) -> Array:
        """Return the states (runs, d·n, q) of a layer before each of the n newest moments, the oldest first."""
        return _in_a_row(self.tracks[layer].last(n + 1)[:-1, ...])

    def into(self, layer: int, n: int) -> Array:
        """Return the inputs of a layer at the n newest moments: (d·n, m) of the network, or states (runs, d·n, q)."""
        if layer:
            return _in_a_row(self.tracks[layer - 1].last(n))
        inputs = self.inputs.last(n)
        return reshape(inputs, (-1, inputs.shape[-1]))


def _in_a_row(rows: Array) -> Array:
    """Reshape arrays (n, runs, d, q) to (runs, n·d, q), without a copy if there is one run."""
    n, runs, d, q = rows.shape
    return reshape(namespace(rows).permute_dims(rows, (1, 0, 2, 3)), (runs, n * d, q))
