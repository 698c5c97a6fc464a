"""Least mean squares over the real, complex and quaternion numbers."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from quatcast.algebra import C, H, namespace, place
from quatcast.basics.typing import Array, Floats
from quatcast.learners.gradient import GradientLearner
from quatcast.learners.losses import MSE, Loss
from quatcast.learners.optimizers import SGD, Optimizer


class LMS(GradientLearner):
    """Least mean squares: a linear filter with a bias, y = Wx + c, that steps along e xᴴ.

    Weights start at zero.

    Parameters
    ----------
    loss
        A `Loss`, such as MSE() or MCC(...), which scales each step by the kernel weight.
    optimizer
        An `Optimizer`, such as SGD(...) or Adam(...). A sequence of learning rates gives several runs.
    device
        Device of the arrays, see `quatcast.algebra.backend`.

    Examples
    --------
    >>> learner = LMS(optimizer=SGD(learning_rate=0.1, clip=None))
    >>> for _ in range(200):
    ...     step = learner.update([1.0, 2.0], [3.0])
    >>> learner.predict([1.0, 2.0]).round(6)
    array([3.])

    References
    ----------
    Widrow and Hoff (1960), "Adaptive switching circuits".
    """

    def __init__(self, *, loss: Loss | None = None, optimizer: Optimizer | None = None, device: str = "cpu") -> None:
        self._configure(MSE() if loss is None else loss, SGD(0.01) if optimizer is None else optimizer, device)

    def _initial(self, n_inputs: int, n_outputs: int) -> dict[str, Floats]:
        runs, d = self.runs or 1, self.algebra.dimension
        return {
            "readout.weight": np.zeros((runs, n_outputs, n_inputs, d)),
            "readout.bias": np.zeros((runs, n_outputs, d)),
        }

    def _output(self, u: Array) -> Array:
        weight, bias = self.state.leaves()
        return self.algebra.apply(weight, u) + bias

    def _predict(self, inputs: list[Floats]) -> Array:
        return self._output(place(inputs[-1], self.device))

    def _forward(self, u: Array) -> tuple[Array, Any]:
        return self._output(u), None

    def _gradients(self, u: Array, trace: Any, slope: Array) -> tuple[list[Array], int, bool]:
        return [self.algebra.expand(slope).mT @ u, slope], 0, False


class CLMS(LMS):
    """Least mean squares over the complex numbers; inputs (m, 2), targets (p, 2).

    Examples
    --------
    >>> learner = CLMS(optimizer=SGD(learning_rate=0.5, clip=None))
    >>> for _ in range(100):
    ...     step = learner.update([[0.0, 1.0]], [[-1.0, 0.0]])
    >>> learner.predict([[0.0, 1.0]]).round(6)
    array([[-1.,  0.]])

    References
    ----------
    Widrow, McCool and Ball (1975), "The complex LMS algorithm".
    """

    algebra = C


class QLMS(LMS):
    """Quaternion least mean squares, y = wᵀx with inputs (m, 4) and targets (p, 4).

    Two updates are known by this name:

    - "took-mandic": w ← w + μ(2 e x* − x* e*), as published in 2009;
    - "ghr": w ← w + μ e x*, the gradient of ½|e|² by the GHR calculus, which has one term and is half as long
      on average (root mean square over all directions).

    Parameters
    ----------
    variant
        "took-mandic" or "ghr".
    loss, optimizer, device
        As for `LMS`.

    Examples
    --------
    >>> learner = QLMS(variant="ghr", optimizer=SGD(learning_rate=0.1, clip=None))
    >>> for _ in range(200):
    ...     step = learner.update([[0.0, 1.0, 0.0, 0.0]], [[0.0, 0.0, 1.0, 0.0]])
    >>> learner.predict([[0.0, 1.0, 0.0, 0.0]]).round(6) + 0.0
    array([[0., 0., 1., 0.]])

    References
    ----------
    Took and Mandic (2009), "The quaternion LMS algorithm for adaptive filtering of hypercomplex processes";
    Xu, Xia and Mandic (2016), "Optimization in quaternion dynamic systems".
    """

    algebra = H

    def __init__(
        self,
        *,
        variant: Literal["took-mandic", "ghr"] = "took-mandic",
        loss: Loss | None = None,
        optimizer: Optimizer | None = None,
        device: str = "cpu",
    ) -> None:
        if variant not in ("took-mandic", "ghr"):
            raise ValueError(f'variant: expected "took-mandic" or "ghr", got {variant!r}')
        self.variant = variant
        super().__init__(loss=loss, optimizer=optimizer, device=device)

    def _gradients(self, u: Array, trace: Any, slope: Array) -> tuple[list[Array], int, bool]:
        if self.variant == "ghr":
            return super()._gradients(u, trace, slope)
        # With s = ∂J/∂y in place of −e: 2 s x* − x* s*, and x* s* = (s x)* = (s (x*)*)*, so that both terms have the
        # same form.
        spread = self.algebra.expand(slope).mT
        weight = 2.0 * (spread @ u) - self._conjugate(spread @ self._conjugate(u, 1), -1)
        return [weight, 2.0 * slope - self._conjugate(slope, 1)], 0, False

    def _conjugate(self, x: Array, rows: int) -> Array:
        """Conjugate a stacked array in which each component has `rows` rows (-1: a quarter of all)."""
        xp = namespace(x)
        share = x.shape[-2] // 4 if rows == -1 else rows
        return xp.concat([x[..., :share, :], -x[..., share:, :]], axis=-2)
