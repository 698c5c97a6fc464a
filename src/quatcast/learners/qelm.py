"""Quaternion extreme learning machine: ridge regression on random quaternion neurons."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from quatcast.algebra import H, pack, unpack
from quatcast.basics.annotations import check_positive, check_whole
from quatcast.basics.typing import Floats
from quatcast.learners.ridge import Ridge, RidgeState


@dataclass
class QELMState(RidgeState):
    """What a `QELM` remembers: what a `Ridge` remembers, and which neurons it has.

    Attributes
    ----------
    loaded
        Neurons W (runs, 4·units, m) and b (runs, 4, units) from `load_parameters`; empty for those of the seeds, which
        are drawn again when a checkpoint is read.
    checksum
        Checksum of the neurons of the seeds.
    """

    loaded: list[Floats]
    checksum: int
    neurons: list[Floats] = field(init=False)
    """The neurons in use; empty until they are drawn."""

    def __post_init__(self) -> None:
        self.neurons = self.loaded


class QELM(Ridge):
    """Quaternion extreme learning machine: ridge regression on the input and on random quaternion neurons.

    The features are u and Φ(W ⊗ u + b), with Φ the split tanh and W, b drawn once and never trained. The regression
    finds the readout at once, where a network needs many steps of descent; in return the neurons are not adapted.

    Parameters
    ----------
    units
        Number of random neurons.
    gain
        Root mean square of W ⊗ u, component by component, for inputs of unit size.
    regularization, refit, features
        See `Ridge`.
    seeds
        Seed of the neurons; a sequence gives one run per seed.

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
    state: QELMState

    def __init__(
        self,
        units: int = 50,
        *,
        gain: float = 1.5,
        regularization: float = 50.0,
        refit: int = 10,
        features: int | None = None,
        seeds: int | Sequence[int] = 0,
    ) -> None:
        super().__init__(regularization, refit, features=features)
        flat = np.atleast_1d(np.asarray(seeds))
        if flat.dtype.kind not in "iu" or flat.ndim != 1 or len(flat) == 0 or np.any(flat < 0):
            raise ValueError(f"seeds: expected a whole number from 0, or a sequence of them, got {seeds!r}")
        check_whole(units=units)
        check_positive(gain=gain)
        self.units, self.gain, self.seeds = int(units), gain, seeds

    @property
    def _flat_seeds(self) -> list[int]:
        return [int(seed) for seed in np.atleast_1d(np.asarray(self.seeds))]

    @property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return len(self._flat_seeds) if np.ndim(self.seeds) else None

    def _width(self, n_inputs: int) -> int:
        return 4 * (n_inputs + self.units) + 1

    def _begin(self, n_inputs: int, n_outputs: int) -> QELMState:
        blank = self._blank(self._width(n_inputs), n_outputs)
        return QELMState(n_inputs, n_outputs, **blank, loaded=[], checksum=_checksum(self._draw(n_inputs)))

    def _draw(self, n_inputs: int) -> list[Floats]:
        """Return the neurons W (runs, 4·units, m) and b (runs, 4, units) of the seeds."""
        weights, biases = [], []
        # A component of W ⊗ u sums as many products as a pure quaternion input has coordinates.
        spread = self.gain / np.sqrt(3 * n_inputs)
        for seed in self._flat_seeds:
            rng = np.random.default_rng(seed)
            weights.append(pack(rng.normal(0.0, spread, (self.units, n_inputs, 4))))
            biases.append(rng.uniform(-1.0, 1.0, (4, self.units)))
        return [np.stack(weights), np.stack(biases)]

    def _neurons(self) -> list[Floats]:
        """Return the neurons in use, drawn again if the state comes from a checkpoint."""
        state = self.state
        if not state.neurons:
            drawn = self._draw(state.n_inputs)
            if _checksum(drawn) != state.checksum:
                raise ValueError("QELM: this version of NumPy draws other neurons than the one that began the learner")
            state.neurons = drawn
        return state.neurons

    def parameters(self) -> dict[str, Floats]:
        """Return the readout as `Ridge` does, and the neurons' W (units, m, 4) and b (units, 4), after the run axis."""
        if not self.begun:
            return {}
        weights, biases = self._neurons()
        neurons = {"neurons.weight": unpack(weights, 4), "neurons.bias": biases.swapaxes(-1, -2)}
        return super().parameters() | self._shown(neurons)

    def _load(self, parameters: Mapping[str, Floats]) -> None:
        state, own = self.state, self._neurons()
        given = [pack(parameters["neurons.weight"]), parameters["neurons.bias"].swapaxes(-1, -2)]
        loaded = [array.reshape(old.shape) for array, old in zip(given, own, strict=True)]
        if not all(map(np.array_equal, loaded, own)):
            # Sums over features of the previous neurons are of no use for the new ones.
            blank = self._blank(len(state.theta[0]), state.n_outputs)
            self.state = replace(state, **blank, loaded=loaded)
        super()._load(parameters)

    def _features(self, u: Floats, run: int | None = None) -> Floats:
        weights, biases = self._neurons() if run is None else (neurons[run] for neurons in self._neurons())
        f = H.apply(weights, u) + biases
        size = u.shape[-2] * u.shape[-1]
        rows = np.ones((len(f), size + f[0].size + 1))
        rows[:, :size] = u.reshape(-1, size)
        rows[:, size:-1] = np.tanh(f).reshape(len(f), -1)
        return rows


def _checksum(arrays: Sequence[Floats]) -> int:
    return zlib.crc32(b"".join(array.tobytes() for array in arrays))
