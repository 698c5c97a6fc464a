"""Exact real-time recurrent learning (RTRL) without the influence matrix.

A network of L recurrent layers and a linear readout, over any algebra, with v⁰(n) = u(n) and vᵏ(n) = hᵏ(n):

    hᵏ(n) = cell(Uₖ ⊗ hᵏ(n−1), Wₖ ⊗ vᵏ⁻¹(n) + bₖ, hᵏ(n−1)),    y(n) = V ⊗ h^L(n) + c.

`quatcast.engine.cells` describes cells; that of the paper is Φ of the sum of its first two arguments. Classical RTRL
carries the influence matrix S(n) = ∂h(n)/∂θ along, O(q⁴) operations per step, only to multiply it by a vector: the
gradient is λᵀS(n) with λ = ∂J/∂h(n). Written out for one layer of simple cells, that product is

    λᵀS(n) = Σₛ (λₛᵀD(s)) ⊗ z(s),    λₙ = λ,    λₛ₋₁ = U(s)ᵀD(s)λₛ,

where z(s) = (h(s−1), u(s), 1), and U(s) and the slopes D(s) = Φ′(f(s)) are those that were in force at step s.
So each step is recorded in a `History`, and the engine walks back through the steps until ‖λₛ‖ ≤ tol·‖λₙ‖. Weights have
changed since; the walk uses the old ones, as the recursion for S does. This is RTRL itself, to the tolerance, and
not back-propagation through time with the present weights. With stacked layers λ descends through the layers of a
moment before it goes back to the previous moment.

Arrays are stacked as `quatcast.algebra` describes, with the run axis in front: vectors (runs, d, q), matrices
(runs, d·q, m). The input u (d, m) has no run axis: all runs share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

import numpy as np

from quatcast.algebra import Algebra, reshape, total
from quatcast.basics.typing import Array
from quatcast.engine.adjoint import Adjoint, OneLayerAdjoint, Reach
from quatcast.engine.cells import Cell, Saved
from quatcast.engine.history import History, Moment, States
from quatcast.engine.low_rank import LowRankWeights


class Layer(NamedTuple):
    """Weights of one recurrent layer: U, W and b; W of the first layer may be `LowRankWeights`."""

    recurrent: Array
    input: Array
    bias: Array


class Network(NamedTuple):
    """All parameters: the layers, V and c."""

    layers: tuple[Layer, ...]
    weight: Array
    bias: Array

    @classmethod
    def of(cls, leaves: Sequence[Array]) -> Network:
        """Build a network from a flat list of parameters, layer by layer, the readout last."""
        *inner, weight, bias = leaves
        layers = tuple(Layer(*inner[i : i + 3]) for i in range(0, len(inner), 3))
        return cls(layers, weight, bias)


class Walk(NamedTuple):
    """Gradient of every parameter, number of moments of the walk, and whether λ had decayed to the tolerance."""

    gradients: list[Array]
    depth: int
    converged: bool


@dataclass
class Engine:
    """The numerics of a recurrent network over an algebra.

    Every learner has its own engine, because the walks through one layer reuse its memory.

    Parameters
    ----------
    algebra
        R, C or H.
    cell
        Cell of all layers.
    tol
        A walk stops when ‖λₛ‖ ≤ tol·‖λₙ‖ in every run.
    """

    algebra: Algebra
    cell: Cell
    tol: float
    _adjoints: dict[tuple[int, int, int], OneLayerAdjoint] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    def forward(self, net: Network, past: History, u: Array) -> tuple[States, Moment]:
        """Return the states after one more step with the input u (d, m), and its moment; the history stays as it is."""
        mix, v, states, saved = self.algebra.mix, u, [], []
        for layer, before in zip(net.layers, past.states, strict=True):
            W = layer.input
            recurrent = before @ layer.recurrent.mT
            driven = W.drive(v, past.inputs) if isinstance(W, LowRankWeights) else v @ W.mT
            if self.cell.slope_only:
                v, kept = self.cell.forward(0.0, mix(recurrent + driven) + layer.bias, before)
            else:
                v, kept = self.cell.forward(mix(recurrent), mix(driven) + layer.bias, before)
            states.append(v)
            saved.append(kept)
        return tuple(states), self._moment(net, saved, past)

    def _moment(self, net: Network, saved: list[Saved], past: History) -> Moment:
        """Collect what a walk needs of a step."""
        if past.single_run and self.cell.slope_only:
            return Moment((net.layers[0].recurrent[0],), (), ((saved[0][0][0],),))
        recurrent = tuple(layer.recurrent for layer in net.layers)
        return Moment(recurrent, tuple(layer.input for layer in net.layers[1:]), tuple(saved))

    def append(self, net: Network, past: History, u: Array, states: States, moment: Moment) -> None:
        """Add the step that `forward` computed to the history."""
        past.append(u, moment, states)
        if isinstance(net.layers[0].input, LowRankWeights):
            net.layers[0].input.take(past.inputs)

    def roll(self, net: Network, past: History, inputs: Array, h: States | None = None) -> States:
        """Return the states after several further inputs (n, d, m), from states h or from the present ones."""
        n, d, m = inputs.shape
        mix, h = self.algebra.mix, past.states if h is None else h
        first, *rest = net.layers
        # The input weights of the first layer, the largest array by far, are read once for all inputs.
        flat, W = reshape(inputs, (n * d, m)), first.input
        products = W.product(flat, past.inputs) if isinstance(W, LowRankWeights) else flat @ W.mT
        driven = mix(reshape(products, (-1, n, d, products.shape[-1]))) + first.bias[:, None, :, :]
        for step in range(n):
            v = self.cell.advance(mix(h[0] @ first.recurrent.mT), driven[:, step, ...], h[0])
            states = [v]
            for layer, before in zip(rest, h[1:], strict=True):
                D = mix(v @ layer.input.mT) + layer.bias
                v = self.cell.advance(mix(before @ layer.recurrent.mT), D, before)
                states.append(v)
            h = tuple(states)
        return h

    def output(self, net: Network, h: States) -> Array:
        """Return y = V ⊗ h^L + c, of shape (runs, d, p)."""
        return self.algebra.apply(net.weight, h[-1]) + net.bias

    def walk(self, net: Network, past: History, slope: Array, hint: int) -> Walk:
        """Return the gradient of a loss of the output.

        Parameters
        ----------
        net
            Parameters in force at the present step.
        past
            The steps so far, the present one included.
        slope
            Derivative of the loss with respect to the output, (runs, d, p).
        hint
            Depth that is likely to suffice. A test whether λ has decayed costs as much as several steps of the walk,
            and on a GPU much more, so it is done only after that many moments. Superfluous steps are discarded.
        """
        E = self.algebra.expand(slope)
        gradients = [E.mT @ past.states[-1], slope]
        lam = E @ net.weight
        adjoint = self._adjoint(lam, len(net.layers))
        left, passed, reach = iter(past), 0, Reach(1, False)
        while not reach.converged and (ahead := list(islice(left, passed or hint + 1))):
            adjoint.back(ahead)
            passed += len(ahead)
            reach = adjoint.reach(self.tol)
        for k in range(len(net.layers) - 1, -1, -1):
            by_recurrent, by_driven = adjoint.spread(k, reach.depth)
            gradients = self._gradients(net.layers[k], k, by_recurrent, by_driven, past) + gradients
        return Walk(gradients, reach.depth, reach.converged)

    def _adjoint(self, lam: Array, layers: int) -> Adjoint | OneLayerAdjoint:
        """Return the adjoint that begins with λₙ."""
        if layers > 1 or not self.cell.slope_only or type(lam) is not np.ndarray:
            return Adjoint(self.algebra, self.cell, lam, layers)
        shape = lam.shape
        if shape not in self._adjoints:
            self._adjoints[shape] = OneLayerAdjoint(self.algebra, shape)
        return self._adjoints[shape].begin(lam)

    def _gradients(self, layer: Layer, k: int, by_recurrent: Array, by_driven: Array, past: History) -> list[Array]:
        """Return the gradients of layer k: sums over the walk, the oldest moment first, with one product per weight."""
        d, W = self.algebra.dimension, layer.input
        n = by_driven.shape[-2] // d
        if isinstance(W, LowRankWeights):
            by_input = W.gradient(by_driven, past.inputs)
        else:
            by_input = by_driven.mT @ past.into(k, n)
        by_bias = reshape(total(by_driven[:, ::d, :], axis=-2), layer.bias.shape)
        return [by_recurrent.mT @ past.before(k, n), by_input, by_bias]
