"""Parameters of a learner in one array, so that an optimizer and a replay need few array operations."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from math import prod
from typing import Any

from quatcast.algebra import namespace, reshape
from quatcast.checkpoint import State


@dataclass
class Layout(State):
    """How the parameters of a learner are stored: each by itself, or all in one array (runs, d, N).

    Attributes
    ----------
    dimension
        d, the dimension of the algebra.
    names
        Name of each parameter.
    shapes
        Stacked shape of each parameter without the run axis: (d·q, m) for a matrix, (d, q) for a bias.
    joined
        Whether all parameters are in one array. If not, a parameter may be something else than an array
        (`LowRankWeights`, and `FactoredGradient` for its gradient).
    places
        Part of the last axis that each parameter occupies.

    Examples
    --------
    >>> import numpy as np
    >>> layout = Layout(2, ("weight", "bias"), ((4, 3), (2, 2)), joined=True)
    >>> (array,) = layout.join([np.ones((5, 4, 3)), np.zeros((5, 2, 2))])
    >>> array.shape, [parameter.shape for parameter in layout.split([array])]
    ((5, 2, 8), [(5, 4, 3), (5, 2, 2)])
    """

    dimension: int
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    joined: bool
    places: list[slice] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        ends = accumulate((prod(shape) // self.dimension for shape in self.shapes), initial=0)
        self.places = [slice(*pair) for pair in pairwise(ends)]

    def split(self, stored: list[Any]) -> list[Any]:
        """Return the parameters one by one, matrices (runs, d·q, m) and biases (runs, d, q)."""
        if not self.joined:
            return stored
        (array,) = stored
        # Copies, so that a history that keeps one parameter does not keep all of them in memory.
        return [reshape(array[:, :, k] + 0.0, (-1, *shape)) for k, shape in zip(self.places, self.shapes, strict=True)]

    def join(self, parameters: list[Any]) -> list[Any]:
        """Return the parameters as they are stored."""
        if not self.joined:
            return parameters
        rows = [reshape(array, (array.shape[0], self.dimension, -1)) for array in parameters]
        return [namespace(rows[0]).concat(rows, axis=-1)]
