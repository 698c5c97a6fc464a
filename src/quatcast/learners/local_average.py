"""Predict the mean target of similar past inputs."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from quatcast.basics.annotations import check_positive, check_whole
from quatcast.learners.memory import TINY, MemoryLearner, MemoryState, Singles


@dataclass
class LocalState(MemoryState):
    """What a local average remembers: also the number of samples since the last one that it remembered."""

    waited: int


class LocalAverage(MemoryLearner):
    """Predict the mean target of similar past inputs.

    With D the distances from the past inputs, the targets are weighted by exp(−(D − min D)/(b·D₂₀)), where D₂₀ is the
    distance of the twentieth nearest, or of the farthest if there are fewer. The output is always between past targets,
    so it cannot run away.

    Parameters
    ----------
    bandwidth
        b, relative to the distance of the twentieth nearest input.
    memory
        Number of samples that are remembered.
    every
        Of so many samples in a row one is remembered, so that a fast signal is remembered for longer.

    Examples
    --------
    >>> learner = LocalAverage()
    >>> for turn in range(3):
    ...     for x in (0.0, 1.0):
    ...         step = learner.update([[0, x, 0, 0]], [[0, 0, 10 * x, 0]])
    >>> learner.predict([[0, 0.9, 0, 0]]).round(3)
    array([[0.   , 0.   , 9.999, 0.   ]])

    References
    ----------
    Nadaraya (1964), "On estimating regression"; Watson (1964), "Smooth regression analysis".
    """

    NEIGHBOURS = 20

    state: LocalState

    def __init__(self, bandwidth: float = 0.1, memory: int = 1000, every: int = 1) -> None:
        super().__init__(memory)
        check_positive(bandwidth=bandwidth)
        check_whole(every=every)
        self.bandwidth, self.every = bandwidth, int(every)

    def _begin(self, n_inputs: int, n_outputs: int) -> LocalState:
        return LocalState(n_inputs, n_outputs, **self._windows(), waited=0)

    def _remember(self, u: Singles, target: Singles) -> None:
        if self.state.waited == 0:
            super()._remember(u, target)
        self.state.waited = (self.state.waited + 1) % self.every

    def _output(self, u: Singles) -> Singles:
        if not self.state.count:
            return np.zeros(4 * self.state.n_outputs, dtype=np.float32)
        distances = self._distances(u, self.state.inputs.rows)
        nearest = min(self.NEIGHBOURS, len(distances)) - 1
        reach = np.float32(self.bandwidth) * np.partition(distances, nearest)[nearest]
        weights = np.exp((distances.min() - distances) / max(reach, TINY))
        return np.asarray(weights @ self.state.targets.rows / weights.sum())
