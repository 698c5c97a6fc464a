"""Exact real-time recurrent learning (RTRL) without the influence matrix.

A network of L recurrent layers and a linear readout, over any algebra, with v⁰(n) = u(n) and vᵏ(n) = hᵏ(n):

    fᵏ(n) = Uₖ ⊗ hᵏ(n−1) + Wₖ ⊗ vᵏ⁻¹(n) + bₖ,    hᵏ(n) = Φ(fᵏ(n)),    y(n) = V ⊗ h^L(n) + c.

Classical RTRL carries the influence matrix S(n) = ∂h(n)/∂θ along, O(q⁴) numbers worked on at each step, only to
multiply it by a vector: the gradient is λᵀS(n) with λ = ∂J/∂h(n). Written out for one layer, that product is

    λᵀS(n) = Σₛ (λₛᵀD(s)) ⊗ z(s),    λₙ = λ,    λₛ₋₁ = U(s)ᵀD(s)λₛ,

where z(s) = (h(s−1), u(s), 1), and U(s) and the slopes D(s) = Φ′(f(s)) are those that were in force at step s.
So each step is written down in a `History`, and the engine walks back through them until ‖λₛ‖ ≤ tol·‖λₙ‖. Weights have
moved since; the walk uses the old ones, as the recursion for S does. This is RTRL itself, to the tolerance, and
not back-propagation through time with today's weights. With stacked layers λ descends through the layers of a
moment before it goes back to the one before.

Arrays are stacked as `quatcast.algebra` describes, with the run axis in front: vectors (runs, d, q), matrices
(runs, d·q, m). The input u (d, m) has no run axis: all runs share it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from quatcast.algebra import Algebra, reshape, total
from quatcast.engine.activations import Activation
from quatcast.engine.adjoint import Adjoint, Reach, SingleRunAdjoint
from quatcast.engine.history import History, Moment, States
from quatcast.engine.low_rank import LowRankWeights
from quatcast.typing import Array


class Layer(NamedTuple):
    """Weights of one recurrent layer: U, W and b; W may be `LowRankWeights` in the first."""

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
        """Network of a flat list of parameters, layer by layer, the readout last."""
        *inner, weight, bias = leaves
        layers = tuple(Layer(*inner[i : i + 3]) for i in range(0, len(inner), 3))
        return cls(layers, weight, bias)


class Walk(NamedTuple):
    """Gradient of every parameter, how many moments it took, and whether λ had died out by then."""

    gradients: list[Array]
    depth: int
    converged: bool


@dataclass
class Engine:
    """The numerics of a recurrent network over an algebra.

    Each learner has its own: the walks of a single_run network use its memory again and again.

    Parameters
    ----------
    algebra
        R, C or H.
    activation
        Φ.
    tol
        A walk stops when ‖λₛ‖ ≤ tol·‖λₙ‖ in every run.
    """

    algebra: Algebra
    activation: Activation
    tol: float
    _adjoint: SingleRunAdjoint | None = field(default=None, init=False, repr=False, compare=False)

    def advance(self, net: Network, past: History, u: Array) -> None:
        """Move the states one step with the input u (d, m), and write it down. An error on the way changes nothing."""
        v, states, slopes = u, [], []
        for layer, before in zip(net.layers, past.states, strict=True):
            W = layer.input
            driven = W.drive(v) if isinstance(W, LowRankWeights) else v @ W.mT
            f = self.algebra.mix(before @ layer.recurrent.mT + driven) + layer.bias
            v = self.activation.value(f)
            states.append(v)
            slopes.append(self.activation.slope(f, v))
        past.append(u, _moment(net, slopes, past.single_run), tuple(states))
        if isinstance(net.layers[0].input, LowRankWeights):
            net.layers[0].input.take()

    def roll(self, net: Network, h: States, inputs: Array) -> States:
        """Move the states over several inputs (n, d, m) at once, for a look at the future."""
        n, d, m = inputs.shape
        first, *rest = net.layers
        # The first layer's input weights, the largest array by far, are read once for all the inputs.
        flat, W = reshape(inputs, (n * d, m)), first.input
        driven = W.product(flat) if isinstance(W, LowRankWeights) else flat @ W.mT
        for step in range(n):
            products = h[0] @ first.recurrent.mT + driven[:, step * d : (step + 1) * d, :]
            v = self.activation.value(self.algebra.mix(products) + first.bias)
            states = [v]
            for layer, before in zip(rest, h[1:], strict=True):
                f = self.algebra.mix(before @ layer.recurrent.mT + v @ layer.input.mT) + layer.bias
                v = self.activation.value(f)
                states.append(v)
            h = tuple(states)
        return h

    def output(self, net: Network, h: States) -> Array:
        """Return y = V ⊗ h^L + c, of shape (runs, d, p)."""
        return self.algebra.apply(net.weight, h[-1]) + net.bias

    def walk(self, net: Network, past: History, slope: Array, hint: int) -> Walk:
        """Gradient of a loss of the output.

        Parameters
        ----------
        net
            Parameters in force at the present step.
        past
            The steps so far, the present one included.
        slope
            Derivative of the loss with respect to the output, (runs, d, p).
        hint
            Depth that is likely to suffice. Looking whether λ has died out costs as much as several steps of the walk,
            and on a GPU much more, so it is done only after that many moments. Steps too many are left out again.
        """
        E = self.algebra.expand(slope)
        gradients = [E.mT @ past.states[-1], slope]
        lam = E @ net.weight
        adjoint = self._single_run(lam) if past.single_run else Adjoint(self.algebra, lam, len(net.layers))
        left, passed, reach = iter(past), 0, Reach(1, False)
        while not reach.converged and (ahead := list(islice(left, passed or hint + 1))):
            adjoint.back(ahead)
            passed += len(ahead)
            reach = adjoint.reach(self.tol)
        for k in range(len(net.layers) - 1, -1, -1):
            E = adjoint.spread(k, reach.depth)
            gradients = self._gradients(net.layers[k], k, E, past) + gradients
        return Walk(gradients, reach.depth, reach.converged)

    def _single_run(self, lam: Array) -> SingleRunAdjoint:
        """Adjoint of a single_run network, the same at every step."""
        if self._adjoint is None or self._adjoint.units != lam.shape[-1]:
            self._adjoint = SingleRunAdjoint(self.algebra, lam.shape[-1])
        return self._adjoint.begin(lam)

    def _gradients(self, layer: Layer, k: int, E: Array, past: History) -> list[Array]:
        """Sum δ(s) ⊗ z(s)ᴴ over the walk, the oldest moment first, for layer k, as one matrix product a weight."""
        d = self.algebra.dimension
        n, W = E.shape[-2] // d, layer.input
        by_input = W.gradient(E) if isinstance(W, LowRankWeights) else E.mT @ past.into(k, n)
        delta = total(E[:, ::d, :], axis=-2)
        return [E.mT @ past.before(k, n), by_input, reshape(delta, layer.bias.shape)]


def _moment(net: Network, slopes: list[Array], single_run: bool) -> Moment:
    """What a walk needs of a step."""
    if single_run:
        return Moment((net.layers[0].recurrent[0],), (), (slopes[0][0],))
    recurrent = tuple(layer.recurrent for layer in net.layers)
    return Moment(recurrent, tuple(layer.input for layer in net.layers[1:]), tuple(slopes))
