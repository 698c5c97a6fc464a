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
(runs, d·q, m). The input u (d, m) has no run axis: all runs share it. All functions are pure, but that deferred input
weights (`quatcast.deferred`) remember the inputs that they are driven by.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from quatcast.activations import Activation
from quatcast.algebra import Algebra, Array, namespace, reshape
from quatcast.backend import fetch
from quatcast.deferred import Deferred


class Layer(NamedTuple):
    """Weights of one recurrent layer: U, W and b; W may be `Deferred` in the first."""

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


class Leg(NamedTuple):
    """Part of a walk: E of each layer, the oldest moment first, ‖λ‖² (runs, n) after each moment, and the last λ."""

    spread: list[Array]
    squared: Array
    lam: list[Array]


class Reach(NamedTuple):
    """Moments that a walk takes, whether λ has died out after them, and which each run needs (runs, depth), as 0 and 1.

    The last is in the order of E, the oldest moment first, and None where every run needs all.
    """

    depth: int
    converged: bool
    alive: Array | None


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
            f = self.algebra.mix(before @ layer.recurrent.mT + _drive(v, layer.input)) + layer.bias
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
        flat, W = reshape(inputs, (n * d, m)), first.input
        driven = W.product(flat) if isinstance(W, Deferred) else flat @ W.mT
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
            Moments, the newest first; at least one.
        h
            States after the present step.
        slope
            Derivative of the loss with respect to the output, (runs, d, p).
        hint
            Depth that is likely to suffice. Looking whether λ has died out costs as much as several steps of the walk,
            and on a GPU much more, so it is done only after that many moments. Steps too many are left out again.
        """
        E = self.algebra.expand(slope)
        gradients = [E.mT @ h[-1], slope]
        lam: list[Array] = [0.0] * (len(net.layers) - 1) + [E @ net.weight]
        limit = self.tol**2 * _squared_norm(lam[-1])
        moments: list[Moment] = []
        legs: list[Leg] = []
        left, reach = iter(history), Reach(1, False, None)
        while not reach.converged and (ahead := list(islice(left, len(moments) or hint + 1))):
            moments += ahead
            legs.append(self._back(ahead, lam))
            lam = legs[-1].lam
            reach = _reach(_joined([leg.squared for leg in legs], 1), limit)
        passed = moments[reach.depth - 1 :: -1]
        for k in range(len(net.layers) - 1, -1, -1):
            E = _joined([leg.spread[k] for leg in reversed(legs)], -2)[:, -reach.depth * self.algebra.dimension :, :]
            E = E if reach.alive is None else _masked(E, reach.alive)
            gradients = self._gradients(net.layers[k], k, E, passed) + gradients
        return Walk(gradients, reach.depth, reach.converged)

    def _back(self, moments: Sequence[Moment], lam: Sequence[Array]) -> Leg:
        """Take λ of every layer back through moments, the newest first."""
        if len(lam) == 1 and lam[0].shape[0] == 1 and type(lam[0]) is np.ndarray:
            return self._back_alone(moments, lam[0])
        lam, xp, expand = list(lam), namespace(lam[-1]), self.algebra.expander(lam[-1])
        spread: list[list[Array]] = [[] for _ in lam]
        trail: list[list[Array]] = [[] for _ in lam]
        for moment in moments:
            for k in range(len(lam) - 1, -1, -1):
                E = expand(lam[k] * moment.slopes[k])
                spread[k].append(E)
                lam[k] = E @ moment.recurrent[k]
                if k:
                    lam[k - 1] = lam[k - 1] + E @ moment.between[k - 1]
                    trail[k].append(lam[k])
            trail[0].append(lam[0])
        squared = sum(
            xp.sum(reshape(xp.vecdot(passed, passed), (passed.shape[0], len(moments), -1)), axis=-1)
            for passed in (xp.concat(states, axis=-2) for states in trail)
        )
        return Leg([xp.concat(layer[::-1], axis=-2) for layer in spread], squared, lam)

    def _back_alone(self, moments: Sequence[Moment], lam: Array) -> Leg:
        """`_back` for one layer of one run under NumPy: the same products into memory that is set aside once."""
        M, _ = self.algebra.mixing(lam)
        n, (_, d, q) = len(moments), lam.shape
        spread, trail, delta, x = np.empty((n, d * d, q)), np.empty((n, d, q)), np.empty((d, q)), lam[0]
        shaped = spread.reshape(n, d, d * q)
        for moment, products, E, after in zip(moments, spread[::-1], shaped[::-1], trail, strict=True):
            np.multiply(x, moment.slopes[0][0], out=delta)
            M.dot(delta, products)
            x = E.dot(moment.recurrent[0][0], after)
        passed = trail.reshape(1, n, d * q)
        return Leg([shaped.reshape(1, n * d, d * q)], np.vecdot(passed, passed), [x[None]])

    def _gradients(self, layer: Layer, k: int, E: Array, moments: list[Moment]) -> list[Array]:
        """Sum δ(s) ⊗ z(s)ᴴ over the walk, the oldest moment first, for layer k, as one matrix product a weight."""
        xp, d = namespace(E), self.algebra.dimension
        before = xp.concat([moment.before[k] for moment in moments], axis=-2)
        if isinstance(layer.input, Deferred):
            by_input = layer.input.gradient(E)
        else:
            by_input = E.mT @ xp.concat([moment.inputs[k] for moment in moments], axis=-2)
        delta = xp.sum(E[:, ::d, :], axis=-2)
        return [E.mT @ before, by_input, reshape(delta, layer.bias.shape)]


def _drive(v: Array, W: Array | Deferred) -> Array:
    """Return v Wᵀ for the next input of a layer."""
    return W.take(v) if isinstance(W, Deferred) else v @ W.mT


def _reach(squared: Array, limit: Array) -> Reach:
    """How far back a walk has to go, from ‖λ‖² (runs, n) after each moment.

    A run's walk is over when its own λ has died out for good, as far as was looked, however deep the others still go:
    to the tolerance it is the walk that it would have made alone. A run that has become NaN does not keep the others
    walking.
    """
    xp, (runs, n) = namespace(squared), squared.shape
    above = squared > limit[:, None]
    if runs == 1:
        last = np.flatnonzero(fetch(above))
        most = int(last[-1]) + 2 if last.size else 1
        return Reach(min(most, n), most <= n, None)
    back = xp.arange(1, n + 1, dtype=squared.dtype, device=squared.device)
    # One moment more than the last after which λ is above its limit, and at least one.
    needed = xp.max(xp.astype(above, squared.dtype) * back, axis=1) + 1.0
    most = int(xp.max(needed))
    alive = xp.flip(back[: min(most, n)]) <= needed[:, None]
    return Reach(min(most, n), most <= n, xp.astype(alive, squared.dtype))


def _masked(E: Array, alive: Array) -> Array:
    """E with zeros for the moments that a run does not walk through."""
    runs, n = alive.shape
    return reshape(reshape(E, (runs, n, -1)) * alive[:, :, None], E.shape)


def _joined(parts: list[Array], axis: int) -> Array:
    """Parts one after the other; most walks have but one."""
    return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=axis)


def _squared_norm(x: Array) -> Array:
    """‖x‖² of each run."""
    flat = reshape(x, (x.shape[0], -1))
    return namespace(flat).vecdot(flat, flat)
