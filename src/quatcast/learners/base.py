"""What all learners have in common: they predict, and learn from one pair of input and target at a time.

The classes here check what users pass in and convert between public arrays and the stacked arrays of
`quatcast.algebra.tables`. A concrete learner adds its numerics: how it begins, predicts and updates.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from quatcast.algebra import Algebra, R, fetch
from quatcast.basics.annotations import check_whole
from quatcast.basics.typing import Array, Floats
from quatcast.checkpoint import Checkpointable, State

LARGEST_SIZE = 10_000_000
"""Limit on the numbers of an input or a target of a learner that is read from a file."""
LARGEST_INPUT = 1e50
"""Numbers from here on are refused: their squares and products would overflow."""


@dataclass(frozen=True)
class Step:
    """Result of one update. With several runs every field but `depth` and `truncated` has a leading run axis.

    Attributes
    ----------
    prediction
        Output before the update: what would have been predicted for this target.
    error
        Target minus prediction.
    loss
        Value of the loss.
    weight
        Kernel weight in (0, 1], always 1 under the mean square error; one per channel if the kernel is per channel.
    gradient_norm
        Norm of the gradient over all parameters, before clipping.
    depth
        Number of past steps that the gradient went through; 0 for learners without memory.
    truncated
        True if `max_depth` was reached before the gradient had decayed to the tolerance.

    Examples
    --------
    >>> from quatcast import LMS
    >>> step = LMS().update([1.0, 2.0], [3.0])
    >>> step.prediction, step.error, step.loss
    (array([0.]), array([3.]), 4.5)
    """

    prediction: Floats
    error: Floats
    loss: Any
    weight: Any
    gradient_norm: Any
    depth: int = 0
    truncated: bool = False


class StackedStep(NamedTuple):
    """A `Step` in stacked arrays (runs, d, p), as the numerics of a learner return it.

    Examples
    --------
    A step of a learner with one run, one real output, and nothing to learn:

    >>> prediction, target = np.zeros((1, 1, 1)), np.full((1, 1, 1), 2.0)
    >>> error = target - prediction
    >>> loss = 0.5 * np.sum(error**2, axis=(-2, -1))
    >>> StackedStep(prediction, error, loss, weight=np.ones((1, 1, 1)), gradient_norm=np.zeros(1)).loss
    array([2.])
    """

    prediction: Array
    error: Array
    loss: Array
    weight: Array
    gradient_norm: Array
    depth: int = 0
    truncated: bool = False


@dataclass
class LearnerState(State):
    """Sizes of a learner that has begun; the state of a concrete learner adds what it has learnt.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class MeanState(LearnerState):
    ...     total: float = 0.0
    ...     count: int = 0
    >>> MeanState(n_inputs=3, n_outputs=1)
    MeanState(n_inputs=3, n_outputs=1, total=0.0, count=0)
    """

    n_inputs: int
    n_outputs: int


class Learner(Checkpointable, ABC):
    """Base class of all learners: implement `_begin`, `_predict` and `_update`.

    The public methods check their arguments and convert them to stacked arrays, so that an implementation contains
    nothing but its numerics.

    Examples
    --------
    A learner that always predicts the last target:

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class RepeatState(LearnerState):
    ...     last: np.ndarray
    >>> class Repeat(Learner):
    ...     def _begin(self, n_inputs, n_outputs):
    ...         return RepeatState(n_inputs, n_outputs, last=np.zeros((1, 1, n_outputs)))
    ...     def _predict(self, inputs):
    ...         return self.state.last
    ...     def _update(self, u, d, observed):
    ...         prediction, self.state.last = self.state.last, d[None]
    ...         error = d - prediction
    ...         loss = 0.5 * np.sum(error**2, axis=(-2, -1))
    ...         return StackedStep(prediction, error, loss, weight=np.ones((1, 1, 1)), gradient_norm=np.zeros(1))
    >>> learner = Repeat()
    >>> step = learner.update([1.0, 2.0], [5.0])
    >>> learner.predict([0.0, 0.0])
    array([5.])
    """

    algebra: ClassVar[Algebra] = R
    recurrent: ClassVar[bool] = False
    """Whether the output depends on earlier inputs too; otherwise the last input alone determines it."""
    repeats: ClassVar[bool] = False
    """Whether it only repeats what it is given: it then forecasts positions, whatever their scale."""

    # Public methods.

    def begin(self, n_inputs: int, n_outputs: int) -> Self:
        """Begin anew with inputs of n_inputs and targets of n_outputs numbers; the first `update` does it if needed."""
        check_whole(n_inputs=n_inputs, n_outputs=n_outputs)
        self.state = self._begin(int(n_inputs), int(n_outputs))
        return self

    def start(self, n_inputs: int, n_outputs: int) -> Self:
        """Call `begin`, its new name."""
        warnings.warn("Learner.start is now called begin", DeprecationWarning, stacklevel=2)
        return self.begin(n_inputs, n_outputs)

    @property
    def n_inputs(self) -> int | None:
        """Numbers per input; None before the learner has begun."""
        return self.state.n_inputs if self.begun else None

    @property
    def n_outputs(self) -> int | None:
        """Numbers per target; None before the learner has begun."""
        return self.state.n_outputs if self.begun else None

    def predict(self, *inputs: ArrayLike) -> Floats:
        """Return the output after rolling the state forward over the inputs; the learner itself does not change.

        Parameters
        ----------
        *inputs
            Arrays (m,) of real numbers, or (m, d) of complex numbers or quaternions, one per time step.

        Returns
        -------
        output
            Array (p,) or (p, d), with a leading run axis if there are several runs.
        """
        if not self.begun:
            raise ValueError(f"{type(self).__name__} has not begun: call begin(n_inputs, n_outputs) or update first")
        if not inputs:
            raise ValueError("predict: expected at least one input")
        many = len(inputs) > 1
        stacked = [self._stack(f"inputs[{i}]" if many else "input", u, self.n_inputs) for i, u in enumerate(inputs)]
        with np.errstate(over="ignore", invalid="ignore"):
            return self._public(self._predict(stacked))

    def update(self, u: ArrayLike, d: ArrayLike, observed: ArrayLike | None = None) -> Step:
        """Advance one step with the input u and learn from the target d.

        Parameters
        ----------
        u
            Input, (m,) or (m, d) as for `predict`.
        d
            Target, (p,) or (p, d).
        observed
            Booleans (p,): which numbers of the target were really seen; the others are not learnt from. All of them if
            omitted.
        """
        stacked = self._stack("u", u, self.n_inputs), self._stack("d", d, self.n_outputs)
        mask = self._mask(observed, stacked[1].shape[-1])
        new = not self.begun
        try:
            if new:
                self.begin(stacked[0].shape[-1], stacked[1].shape[-1])
            with np.errstate(over="ignore", invalid="ignore"):
                out = self._update(*stacked, mask)
        except BaseException:
            if new:
                self.rewind(None)
            raise
        prediction, error = self._public(out.prediction), self._public(out.error)
        loss, weight, norm = map(self._per_run, (out.loss, out.weight, out.gradient_norm))
        return Step(prediction, error, loss, weight, norm, out.depth, out.truncated)

    def parameters(self) -> dict[str, Floats]:
        """Return copies of the parameters: (q, m, d) for matrices, (q, d) for biases, after the run axis."""
        return {}

    def load_parameters(self, parameters: Mapping[str, ArrayLike]) -> None:
        """Replace the parameters by arrays of the names and shapes that `parameters` returns."""
        if parameters:
            raise ValueError(f"parameters: {type(self).__name__} has none, got {', '.join(parameters)}")

    def rehearse(self) -> None:
        """Predict and learn once, with zeros."""
        d, sizes = self.algebra.dimension, (self.state.n_inputs, self.state.n_outputs)
        if not all(0 < n * d <= LARGEST_SIZE for n in sizes):
            raise ValueError(f"n_inputs, n_outputs: expected 1 to {LARGEST_SIZE:,} numbers, got {sizes}")
        u, target = (np.zeros((n, d) if d > 1 else n) for n in sizes)
        outputs = self.predict(u), self.update(u, target).prediction
        expected = (self.runs, *target.shape) if self.runs else target.shape
        if any(output.shape != expected for output in outputs):
            raise ValueError(f"the output has shape {outputs[0].shape}, expected {expected}")

    @property
    def runs(self) -> int | None:
        """Number of parallel runs; None for a single run without a run axis."""
        return None

    # What a concrete learner implements.

    @abstractmethod
    def _begin(self, n_inputs: int, n_outputs: int) -> LearnerState:
        """Return the initial state, or raise a ValueError for sizes that the learner cannot work with."""

    @abstractmethod
    def _predict(self, inputs: list[Floats]) -> Array:
        """Return the output (runs, d, p) after stacked inputs (d, m)."""

    @abstractmethod
    def _update(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep:
        """Learn from a stacked input (d, m) and target (d, p); `observed` (p,) is 0 where a target was not seen.

        A step that fails leaves the state as it was.
        """

    def _learn(self, u: Floats, d: Floats, observed: Floats | None) -> StackedStep | None:
        """Do what `_update` does for a caller that does not need the prediction.

        A learner whose output is expensive and not needed to learn overrides this and returns None, which means a
        step of weight one.
        """
        return self._update(u, d, observed)

    def _provide(self, n_inputs: int, n_outputs: int) -> None:
        """Provide a part of the memory that a learner of this size will need; by default nothing.

        A forecaster calls this at every sample as long as it collects samples. The first access to a page of memory
        takes so long that a learner which accesses many of them at once makes a sample wait.
        """

    def _foresee(self, inputs: list[Floats]) -> None:
        """Do in advance what `_predict` will do with these inputs and one more; by default nothing."""

    def _checked(self, parameters: Mapping[str, ArrayLike]) -> dict[str, Floats]:
        """Copy parameters, refusing names, shapes and values that `parameters` could not have returned."""
        own = self.parameters()
        if not own:
            raise ValueError(f"{type(self).__name__} has not begun: call begin(n_inputs, n_outputs) first")
        if set(parameters) != set(own):
            raise ValueError(f"parameters: expected {', '.join(own)}, got {', '.join(parameters) or 'none'}")
        taken = {name: np.array(parameters[name], dtype=float) for name in own}
        for name, array in taken.items():
            if array.shape != own[name].shape:
                raise ValueError(f"{name}: expected shape {own[name].shape}, got {array.shape}")
            check_finite(name, array)
        return taken

    # Conversion between public and stacked arrays.

    def _stack(self, name: str, x: ArrayLike, length: int | None) -> Floats:
        """Check a public array and copy it, components first: (d, length)."""
        d = self.algebra.dimension
        try:
            given = np.asarray(x)
        except ValueError as error:
            raise ValueError(f"{name}: expected an array of numbers ({error})") from error
        if given.dtype.kind not in "fiu":
            raise ValueError(f"{name}: expected real numbers, got an array of type {given.dtype}")
        right = given.ndim == 1 if d == 1 else given.ndim == 2 and given.shape[1] == d
        if not right or given.shape[0] == 0 or (length is not None and given.shape[0] != length):
            m = "m" if length is None else str(length)
            expected = f"({m},)" if d == 1 else f"({m}, {d})"
            raise ValueError(f"{name}: {type(self).__name__} expected shape {expected}, got {given.shape}")
        check_finite(name, given)
        return np.array(given.reshape(-1, d).T, dtype=np.float64, order="C")

    def _mask(self, observed: ArrayLike | None, length: int) -> Floats | None:
        """Check which numbers of a target were observed: (length,) of 0 and 1, None for all."""
        if observed is None:
            return None
        given = np.asarray(observed)
        if given.dtype != np.bool_ or given.shape != (length,):
            raise ValueError(f"observed: expected {length} values True or False, got {observed!r}")
        return None if given.all() else given.astype(np.float64)

    def _public(self, stacked: Array) -> Floats:
        """Convert a stacked array (runs, d, p) to (p,) or (p, d), after a run axis if there are runs."""
        array, d = fetch(stacked), self.algebra.dimension
        if array.ndim != 3 or array.shape[:2] != (self.runs or 1, d):
            expected = f"a stacked output of shape ({self.runs or 1}, {d}, {self.n_outputs})"
            raise ValueError(f"{type(self).__name__}: expected {expected}, got {array.shape}")
        array = array[:, 0, :] if d == 1 else array.swapaxes(-1, -2)
        return np.array(array if self.runs else array[0])

    def _per_run(self, values: Array) -> Any:
        """Convert stacked values (runs,) or (runs, 1, n) to a number, or to an array over runs."""
        array = fetch(values)
        if array.ndim == 3:
            array = array[:, 0, 0] if array.shape[-1] == 1 else array[:, 0, :]
        if self.runs:
            return np.array(array)
        return float(array[0]) if array.ndim == 1 else np.array(array[0])


def check_finite(name: str, array: NDArray[Any]) -> None:
    """Raise a ValueError that names the first entry that is not finite, or too large to be squared."""
    array = np.asarray(array, dtype=np.float64)  # the limit is infinite in single precision
    flat = array.reshape(-1)
    # A small sum of squares is sufficient, and several times faster than checking every entry.
    if np.vdot(flat, flat) < LARGEST_INPUT**2:
        return
    bad = ~(np.abs(array) < LARGEST_INPUT)
    if bad.any():
        where = tuple(int(i) for i in np.argwhere(bad)[0])
        position = ", ".join(map(str, where))
        expected = f"finite values below {LARGEST_INPUT:g}" if np.isfinite(array[where]) else "finite values"
        raise ValueError(f"{name}: expected {expected}, but {name}[{position}] is {array[where]}")


def count_runs(arrays: Mapping[str, Any]) -> int | None:
    """Return the number of runs: the common length of the settings that are sequences, None if none is."""
    lengths = {name: len(np.atleast_1d(value)) for name, value in arrays.items() if np.ndim(value) > 0}
    for name, value in arrays.items():
        if np.ndim(value) > 1 or (np.ndim(value) == 1 and len(value) == 0):
            raise ValueError(f"{name}: expected one value or a flat sequence, one per run, got shape {np.shape(value)}")
    if len(set(lengths.values())) > 1:
        given = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(f"settings that differ between runs must have one value per run, but {given}")
    return next(iter(lengths.values()), None)
