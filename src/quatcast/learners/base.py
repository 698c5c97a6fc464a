"""What every learner is: a thing that predicts, and learns from one sample at a time.

The classes here hold state, check what people hand in and turn public arrays into stacked ones and back. A
concrete learner adds pure numerics: how it starts, predicts and updates.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast import checkpoint
from quatcast.algebra import Algebra, R, fetch
from quatcast.engine.replay import Replay
from quatcast.training.losses import MCC, MSE
from quatcast.training.optimizers import SGD, Adam
from quatcast.typing import Array, Floats


@dataclass(frozen=True)
class Step:
    """What one update did. With several runs every field but `depth` and `truncated` has a leading run axis.

    Attributes
    ----------
    prediction
        Output before the update: what would have been predicted for this target.
    error
        Target minus prediction.
    loss
        Value of the loss.
    weight
        Kernel weight in (0, 1], always 1 under the mean square error; one a channel where the kernel is.
    gradient_norm
        Norm of the gradient over all parameters, before clipping.
    depth
        Past steps that the gradient went through; 0 for learners without memory.
    truncated
        True if `max_depth` was reached before the gradient had died out to the tolerance.
    """

    prediction: Floats
    error: Floats
    loss: Any
    weight: Any
    gradient_norm: Any
    depth: int = 0
    truncated: bool = False


class StackedStep(NamedTuple):
    """A `Step` in stacked arrays (runs, d, p), as a learner's numerics return it."""

    prediction: Array
    error: Array
    loss: Array
    weight: Array
    gradient_norm: Array
    depth: int = 0
    truncated: bool = False


class Learner(ABC):
    """Base of all learners."""

    algebra: ClassVar[Algebra] = R
    recurrent: ClassVar[bool] = False
    """Whether it has a state that inputs move; else the last input alone makes the output."""
    _kinds: ClassVar[dict[str, type[Learner]]] = {}

    n_inputs: int | None = None
    n_outputs: int | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Learner._kinds[cls.__name__] = cls

    # What people call.

    def start(self, n_inputs: int, n_outputs: int) -> Self:
        """Begin anew with inputs of n_inputs and targets of n_outputs numbers; the first update does it if need be."""
        for name, value in (("n_inputs", n_inputs), ("n_outputs", n_outputs)):
            if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name}: a positive whole number, not {value!r}")
        self._check_sizes(int(n_inputs), int(n_outputs))
        self.n_inputs, self.n_outputs = int(n_inputs), int(n_outputs)
        self._start()
        return self

    def predict(self, *inputs: ArrayLike) -> Floats:
        """Output after rolling the state forward over the inputs; the learner stays as it is.

        Parameters
        ----------
        *inputs
            Arrays (m,) of real numbers, or (m, d) of complex numbers or quaternions, one a time step.

        Returns
        -------
        Array (p,) or (p, d), with a leading run axis where there are several runs.
        """
        if self.n_inputs is None:
            raise ValueError(f"{type(self).__name__} has not started: call start(n_inputs, n_outputs) or update first")
        if not inputs:
            raise ValueError("predict: needs at least one input")
        many = len(inputs) > 1
        stacked = [self._stack(f"inputs[{i}]" if many else "input", u, self.n_inputs) for i, u in enumerate(inputs)]
        with np.errstate(over="ignore", invalid="ignore"):
            return self._public(self._predict(stacked))

    def update(self, u: ArrayLike, d: ArrayLike, present: ArrayLike | None = None) -> Step:
        """Advance one step with the input u and learn from the target d.

        Parameters
        ----------
        u
            Input, (m,) or (m, d) as for `predict`.
        d
            Target, (p,) or (p, d).
        present
            Which of the p numbers of the target are real, (p,) of bool; the others are not learnt from. All of them
            if left out.
        """
        stacked = self._stack("u", u, self.n_inputs), self._stack("d", d, self.n_outputs)
        mask = self._mask(present, stacked[1].shape[-1])
        if self.n_inputs is None:
            self.start(stacked[0].shape[-1], stacked[1].shape[-1])
        with np.errstate(over="ignore", invalid="ignore"):
            out = self._update(*stacked, mask)
        return Step(
            self._public(out.prediction),
            self._public(out.error),
            self._per_run(out.loss),
            self._per_run(out.weight),
            self._per_run(out.gradient_norm),
            out.depth,
            out.truncated,
        )

    def parameters(self) -> dict[str, Floats]:
        """Parameters as plain arrays, copied: (q, m, d) for matrices, (q, d) for biases, behind the run axis."""
        return {}

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Take parameters of the names and shapes that `parameters` gives."""
        if parameters:
            raise ValueError(f"parameters: {type(self).__name__} has none, not {', '.join(parameters)}")

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to a file: settings, parameters, history, optimiser and random state."""
        checkpoint.write(path, self.to_tree())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a learner that `save` wrote; it goes on bit for bit where it was."""
        tree = checkpoint.read(path)
        learner = Learner.from_tree(tree) if isinstance(tree, dict) else tree
        if not isinstance(learner, cls):
            raise ValueError(f"{path}: holds a {type(learner).__name__}, not a {cls.__name__}")
        return learner

    def clone(self) -> Self:
        """Return a learner with the same settings that has seen nothing."""
        return type(self)(**self.settings())

    def __copy__(self) -> Self:
        # Learners change in place: one that shared its memory with another would be neither.
        return copy.deepcopy(self)

    @property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return None

    def settings(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {name: getattr(self, name) for name in inspect.signature(type(self)).parameters}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.settings().items())})"

    def to_tree(self) -> dict[str, Any]:
        """Everything about the learner as a tree for `quatcast.checkpoint`."""
        return {
            "class": type(self).__name__,
            "settings": {name: _describe(name, value) for name, value in self.settings().items()},
            "shape": [self.n_inputs, self.n_outputs],
            "state": None if self.n_inputs is None else self._state(),
        }

    @staticmethod
    def from_tree(tree: Mapping[str, Any]) -> Learner:
        """Learner of a tree that `to_tree` gave."""
        kind = Learner._kinds.get(tree["class"])
        if kind is None:
            raise ValueError(f"no learner is called {tree['class']!r}")
        learner = kind(**{name: _restore(value) for name, value in tree["settings"].items()})
        if tree["shape"][0] is not None:
            learner.start(*tree["shape"])
            learner._restore_state(tree["state"])
        return learner

    # What a concrete learner says.

    def _check_sizes(self, n_inputs: int, n_outputs: int) -> None:  # noqa: B027
        """Refuse sizes that the learner cannot work with; most take any."""

    @abstractmethod
    def _start(self) -> None:
        """Set the initial state for n_inputs and n_outputs."""

    @abstractmethod
    def _predict(self, inputs: list[Floats]) -> Array:
        """Output (runs, d, p) after stacked inputs (d, m)."""

    @abstractmethod
    def _update(self, u: Floats, d: Floats, present: Floats | None) -> StackedStep:
        """Learn from a stacked input (d, m) and target (d, p), whose error counts `present` times (p,), 0 or 1."""

    def _state(self) -> dict[str, Any]:
        """State as a tree of NumPy arrays and plain values."""
        return {}

    def _restore_state(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Take back what `_state` gave; a learner without state has nothing to take."""

    def _checked(self, parameters: Mapping[str, ArrayLike]) -> dict[str, Floats]:
        """Copy parameters, refusing names, shapes and values that `parameters` could not have given."""
        own = self.parameters()
        if not own:
            raise ValueError(f"{type(self).__name__} has not started: call start(n_inputs, n_outputs) first")
        if set(parameters) != set(own):
            raise ValueError(f"parameters: expected {', '.join(own)}; got {', '.join(parameters) or 'none'}")
        taken = {name: np.array(parameters[name], dtype=float) for name in own}
        for name, array in taken.items():
            if array.shape != own[name].shape:
                raise ValueError(f"{name}: shape {own[name].shape} expected, not {array.shape}")
            check_finite(name, array)
        return taken

    # Public arrays to stacked ones and back.

    def _stack(self, name: str, x: ArrayLike, length: int | None) -> Floats:
        """Check a public array and copy it, components first: (d, length)."""
        d = self.algebra.dimension
        try:
            given = np.asarray(x)
        except ValueError as error:
            raise ValueError(f"{name}: an array of numbers expected ({error})") from error
        if given.dtype.kind not in "fiu":
            raise ValueError(f"{name}: real numbers expected, not an array of type {given.dtype}")
        right = given.ndim == 1 if d == 1 else given.ndim == 2 and given.shape[1] == d
        if not right or given.shape[0] == 0 or (length is not None and given.shape[0] != length):
            m = "m" if length is None else str(length)
            expected = f"({m},)" if d == 1 else f"({m}, {d})"
            raise ValueError(f"{name}: shape {expected} expected by {type(self).__name__}, not {given.shape}")
        check_finite(name, given)
        return np.array(given.reshape(-1, d).T, dtype=np.float64, order="C")

    def _mask(self, present: ArrayLike | None, length: int) -> Floats | None:
        """Check which numbers of a target are present: (length,) of 0 and 1, None for all."""
        if present is None:
            return None
        given = np.asarray(present)
        if given.dtype != np.bool_ or given.shape != (length,):
            raise ValueError(f"present: {length} values True or False expected, not {present!r}")
        return None if given.all() else given.astype(np.float64)

    def _public(self, stacked: Array) -> Floats:
        """Array (p,) or (p, d), behind a run axis if there are runs, of a stacked one (runs, d, p)."""
        array = fetch(stacked)
        array = array[:, 0, :] if self.algebra.dimension == 1 else array.swapaxes(-1, -2)
        return np.array(array if self.runs else array[0])

    def _per_run(self, values: Array) -> Any:
        """A number, or an array over runs, of stacked values (runs,) or (runs, 1, n)."""
        array = fetch(values)
        if array.ndim == 3:
            array = array[:, 0, 0] if array.shape[-1] == 1 else array[:, 0, :]
        if self.runs:
            return np.array(array)
        return float(array[0]) if array.ndim == 1 else np.array(array[0])


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Raise a ValueError that names the first entry that is not finite."""
    flat = array.reshape(-1)
    # A finite sum of squares says it all, several times faster than a look at every entry.
    if math.isfinite(np.vdot(flat, flat)):
        return
    finite = np.isfinite(array)
    if not finite.all():
        where = tuple(int(i) for i in np.argwhere(~finite)[0])
        position = ", ".join(map(str, where))
        raise ValueError(f"{name}: all values must be finite, but {name}[{position}] is {array[where]}")


def count_runs(arrays: Mapping[str, Any]) -> int | None:
    """Runs that settings ask for: the common length of those that are sequences, None where none is."""
    lengths = {name: len(np.atleast_1d(value)) for name, value in arrays.items() if np.ndim(value) > 0}
    for name, value in arrays.items():
        if np.ndim(value) > 1 or (np.ndim(value) == 1 and len(value) == 0):
            raise ValueError(f"{name}: one value or a flat sequence of them, one a run, not shape {np.shape(value)}")
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"settings that differ from run to run must have one value a run, but {given}")
    return next(iter(lengths.values()), None)


_PARTS: dict[str, type[Any]] = {kind.__name__: kind for kind in (MSE, MCC, SGD, Adam, Replay)}


def _describe(name: str, value: Any) -> Any:
    """Setting as plain values."""
    if type(value).__name__ in _PARTS:
        fields = {f.name: _describe(f.name, getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"part": type(value).__name__, "fields": fields}
    if isinstance(value, range):
        return list(value)
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    if isinstance(value, Sequence) and not isinstance(value, str):
        if any(callable(item) for item in value):
            raise ValueError(f"{name}: functions cannot be saved; use a named one to save this learner")
        return [_describe(name, item) for item in value]
    return value


def _restore(value: Any) -> Any:
    """Setting from plain values."""
    if isinstance(value, dict):
        return _PARTS[value["part"]](**{name: _restore(field) for name, field in value["fields"].items()})
    return copy.copy(value)
