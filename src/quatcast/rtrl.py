"""Exact real-time recurrent learning (RTRL) without the influence matrix.

A network of L recurrent layers and a linear readout, over any algebra, with v⁰(n) = u(n) and vᵏ(n) = hᵏ(n):

    fᵏ(n) = Uₖ ⊗ hᵏ(n−1) + Wₖ ⊗ vᵏ⁻¹(n) + bₖ,    hᵏ(n) = Φ(fᵏ(n)),    y(n) = V ⊗ h^L(n) + c.

Classical RTRL carries the influence matrix S(n) = ∂h(n)/∂θ along, O(q⁴) numbers worked on at each step, only to
multiply it by a vector: the gradient is λᵀS(n) with λ = ∂J/∂h(n). Written out for one layer, that product is

    λᵀS(n) = Σₛ (λₛᵀD(s)) ⊗ z(s),    λₙ = λ,    λₛ₋₁ = U(s)ᵀD(s)λₛ,

where z(s) = (h(s−1), u(s), 1), and U(s) and the slopes D(s) = Φ′(f(s)) are those that were in force at step s.
So the engine remembers each step as a `Moment` and walks back through them until ‖λₛ‖ ≤ tol·‖λₙ‖. Weights have
moved since; the walk uses the old ones, as the recursion for S does. This is RTRL itself, to the tolerance, and
not back-propagation through time with today's weights. With stacked layers λ descends through the layers of a
moment before it goes back to the one before.

Arrays are stacked as `quatcast.algebra` describes, with the run axis in front: vectors (runs, d, q), matrices
(runs, d·q, m). The input u (d, m) has no run axis: all runs share it. All functions are pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from quatcast.activations import Activation
from quatcast.algebra import Algebra, Array, namespace, reshape


class Layer(NamedTuple):
    """Weights of one recurrent layer: U, W and b."""

    recurrent: Array
    input: Array
    bias: Array


class Network(NamedTuple):
    """All parameters: the layers, V and c."""

    layers: tuple[Layer, ...]
    weight: Array
    bias: Array

    def leaves(self) -> list[Array]:
        """Parameters as a flat list, layer by layer, the readout last."""
        return [array for layer in self.layers for array in layer] + [self.weight, self.bias]

    @classmethod
    def of(cls, leaves: Sequence[Array]) -> Network:
        """Network of a flat list of parameters."""
        *inner, weight, bias = leaves
        layers = tuple(Layer(*inner[i : i + 3]) for i in range(0, len(inner), 3))
        return cls(layers, weight, bias)


class Moment(NamedTuple):
    """One step as a later walk needs it; each field has one entry a layer.

    `recurrent` and `between` are the weights U and W then in force (W of the first layer is never walked
    through and left out), `slopes` D, `before` the state h(n−1) and `inputs` v(n).
    """

    recurrent: tuple[Array, ...]
    between: tuple[Array, ...]
    slopes: tuple[Array, ...]
    before: tuple[Array, ...]
    inputs: tuple[Array, ...]


class Walk(NamedTuple):
    """Gradient of every parameter, how many moments it took, and whether λ had died out by then."""

    gradients: list[Array]
    depth: int
    converged: bool


States = tuple[Array, ...]


@dataclass(frozen=True)
class Engine:
    """The numerics of a recurrent network over an algebra.

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

    def advance(self, net: Network, h: States, u: Array) -> tuple[States, Moment]:
        """Move the states one step with the input u (d, m)."""
        v, states, slopes, inputs = u, [], [], []
        for layer, before in zip(net.layers, h, strict=True):
            f = self.algebra.mix(before @ layer.recurrent.mT + v @ layer.input.mT) + layer.bias
            inputs.append(v)
            v = self.activation.value(f)
            states.append(v)
            slopes.append(self.activation.slope(f, v))
        recurrent = tuple(layer.recurrent for layer in net.layers)
        between = tuple(layer.input for layer in net.layers[1:])
        return tuple(states), Moment(recurrent, between, tuple(slopes), h, tuple(inputs))

    def roll(self, net: Network, h: States, inputs: Array) -> States:
        """Move the states over several inputs (n, d, m) at once, for a look at the future."""
        n, d, m = inputs.shape
        first, *rest = net.layers
        # The first layer's input weights, the largest array by far, are read once for all the inputs.
        driven = reshape(inputs, (n * d, m)) @ first.input.mT
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

    def walk(self, net: Network, history: Iterable[Moment], h: States, slope: Array, hint: int) -> Walk:
        """Gradient of a loss of the output.

        Parameters
        ----------
        net
            Parameters in force at the present step.
        history
            Moments, the newest first.
        h
            States after the present step.
        slope
            Derivative of the loss with respect to the output, (runs, d, p).
        hint
            Depth before which the walk does not look whether it may stop: looking costs as much as a step of
            the walk, and on a GPU much more. Steps too many are found out from behind, and left out.
        """
        xp, expand = namespace(slope), self.algebra.expand
        top = len(net.layers) - 1
        E = expand(slope)
        readout = [E.mT @ h[-1], slope]
        lam: list[Array] = [0.0] * top + [E @ net.weight]
        limit = self.tol**2 * _squared_norm(lam[top:])
        spread: list[list[Array]] = [[] for _ in net.layers]
        trail: list[tuple[Array, ...]] = []
        moments: list[Moment] = []
        converged = not bool(xp.any(lam[top] != 0.0))
        if not converged:
            for moment in history:
                for k in range(top, -1, -1):
                    E = expand(lam[k] * moment.slopes[k])
                    spread[k].append(E)
                    lam[k] = E @ moment.recurrent[k]
                    if k:
                        lam[k - 1] = lam[k - 1] + E @ moment.between[k - 1]
                moments.append(moment)
                trail.append(tuple(lam))
                # Written so that a run that has become NaN does not keep the others walking.
                if len(moments) >= hint and not bool(xp.any(_squared_norm(lam) > limit)):
                    converged = True
                    break
        depth = len(moments)
        while depth > 1 and not bool(xp.any(_squared_norm(trail[depth - 2]) > limit)):
            depth, converged = depth - 1, True
        alive = _alive(trail[: depth - 1], limit) if depth > 1 and limit.shape[0] > 1 else None
        layers = [
            self._gradients(layer, k, spread[k][:depth], moments[:depth], alive) for k, layer in enumerate(net.layers)
        ]
        return Walk([g for gradients in layers for g in gradients] + readout, depth, converged)

    def _gradients(
        self, layer: Layer, k: int, spread: list[Array], moments: list[Moment], alive: Array | None
    ) -> list[Array]:
        """Sum δ(s) ⊗ z(s)ᴴ over the walk for layer k, as one matrix product a weight."""
        xp, d = namespace(layer.bias), self.algebra.dimension
        if not moments:
            return [xp.zeros_like(array) for array in layer]
        E = xp.concat(spread, axis=-2)
        if alive is not None:
            runs, rows, width = E.shape
            E = reshape(reshape(E, (runs, rows // d, d * width)) * alive, (runs, rows, width))
        before = xp.concat([moment.before[k] for moment in moments], axis=-2)
        inputs = xp.concat([moment.inputs[k] for moment in moments], axis=-2)
        delta = xp.sum(E[:, ::d, :], axis=-2)
        return [E.mT @ before, E.mT @ inputs, reshape(delta, layer.bias.shape)]


def _alive(trail: Sequence[tuple[Array, ...]], limit: Array) -> Array:
    """Which moments each run walks through, as ones and zeros (runs, depth, 1).

    A run's walk is over when its own λ has died out, however deep the others still go, so that it is the walk that it
    would have made alone. `trail` has λ after every moment but the last.
    """
    xp, runs = namespace(limit), limit.shape[0]
    layers = [xp.concat(list(lam), axis=-2) for lam in zip(*trail, strict=True)]
    squared = sum(xp.sum(reshape(xp.vecdot(lam, lam), (runs, len(trail), -1)), axis=-1) for lam in layers)
    lives = xp.astype(squared > limit[:, None], limit.dtype)
    to_come = xp.flip(xp.cumulative_sum(xp.flip(lives, axis=1), axis=1), axis=1)
    first = xp.ones((runs, 1), dtype=limit.dtype, device=limit.device)
    return xp.concat([first, xp.astype(to_come > 0.0, limit.dtype)], axis=1)[:, :, None]


def _squared_norm(lam: Sequence[Array]) -> Array:
    """‖λ‖² of each run, over all layers."""
    flat = [reshape(x, (x.shape[0], -1)) for x in lam]
    return sum(namespace(x).vecdot(x, x) for x in flat)
