"""Classical real-time recurrent learning, written from its equations to judge the history engine.

Everything is real here: a number of the algebra is d real components, a product with a matrix of numbers is a real
matrix made of left multiplication blocks, and the influence matrices Jₖ(n) = ∂hᵏ(n)/∂θ are carried forward,

    Jₖ(n) = Dₖ(n)[Uₖ Jₖ(n−1) + Wₖ Jₖ₋₁(n) + ∂(Uₖ ⊗ h + Wₖ ⊗ v + bₖ)/∂θ],

with all parameters θ of all layers as columns. No line of it is shared with the library.
"""

from collections import deque

import numpy as np

# Left multiplication by each basis element, as real matrices: LEFT[d][α] is v ↦ e_α v.
LEFT = {
    1: np.array([[[1.0]]]),
    2: np.array([[[1, 0], [0, 1]], [[0, -1], [1, 0]]], dtype=float),
    4: np.array(
        [
            [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
            [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0]],
            [[0, 0, -1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, -1, 0, 0]],
            [[0, 0, 0, -1], [0, 0, -1, 0], [0, 1, 0, 0], [1, 0, 0, 0]],
        ],
        dtype=float,
    ),
}


def real_matrix(weights):
    """Real matrix (p·d, q·d) of a matrix (p, q, d) of numbers."""
    d = weights.shape[-1]
    return sum(np.kron(weights[:, :, a], LEFT[d][a]) for a in range(d))


def outer_jacobian(rows, v):
    """∂(A ⊗ v)/∂A, shape (rows·d, rows·q·d), for any A with `rows` rows and v of shape (q, d)."""
    d = v.shape[-1]
    block = np.einsum("acb,jb->cja", LEFT[d], v).reshape(d, -1)
    return np.kron(np.eye(rows), block)


def unrolled(parameters, inputs, layers, np_like, activation):
    """Output (p, d) of the network after the inputs, written with plain sums for NumPy or autograd."""
    d = inputs.shape[-1]

    def times(weights, v):
        return np_like.einsum("pqa,acb,qb->pc", weights, LEFT[d], v)

    h = [np.zeros(parameters[f"layers.{k}.bias"].shape) for k in range(layers)]
    for u in inputs:
        v, states = u, []
        for k in range(layers):
            f = times(parameters[f"layers.{k}.recurrent"], h[k]) + times(parameters[f"layers.{k}.input"], v)
            v = activation(f + parameters[f"layers.{k}.bias"])
            states.append(v)
        h = states
    return times(parameters["readout.weight"], h[-1]) + parameters["readout.bias"]


def unrolled_gru(parameters, inputs, layers, np_like):
    """`unrolled` for gated recurrent units with split gates in the order update, reset, candidate."""
    d = inputs.shape[-1]

    def times(weights, v):
        return np_like.einsum("pqa,acb,qb->pc", weights, LEFT[d], v)

    def sigmoid(f):
        return 1.0 / (1.0 + np_like.exp(-f))

    h = [np.zeros((parameters[f"layers.{k}.recurrent"].shape[1], d)) for k in range(layers)]
    for u in inputs:
        v, states = u, []
        for k in range(layers):
            q = h[k].shape[0]
            recurrent = times(parameters[f"layers.{k}.recurrent"], h[k])
            driven = times(parameters[f"layers.{k}.input"], v) + parameters[f"layers.{k}.bias"]
            z, r = sigmoid(recurrent[:q] + driven[:q]), sigmoid(recurrent[q : 2 * q] + driven[q : 2 * q])
            v = z * h[k] + (1.0 - z) * np_like.tanh(driven[2 * q :] + r * recurrent[2 * q :])
            states.append(v)
        h = states
    return times(parameters["readout.weight"], h[-1]) + parameters["readout.bias"]


class Loss:
    """½|e|², or σ²(1 − exp(−|e|²/2σ²)) with a fixed or an adaptive width, jointly or a channel at a time."""

    def __init__(self, sigma=None, scope="joint", factor=2.0, memory=0.05, bound=3.0):
        self.sigma, self.scope = sigma, scope
        self.factor, self.memory, self.bound = factor, memory, bound
        self.scale = None

    def weight(self, e):
        """Kernel weight of an error (p, d), as a column."""
        if self.sigma is None:
            return np.ones((1, 1))
        modulus = np.array([[np.linalg.norm(e)]]) if self.scope == "joint" else np.linalg.norm(e, axis=1)[:, None]
        if self.sigma == "adaptive":
            if self.scale is None:
                self.scale = modulus.copy()
            sigma = self.factor * self.scale
            clipped = np.minimum(modulus, self.bound * self.scale)
            self.scale = (1 - self.memory) * self.scale + self.memory * clipped
        else:
            sigma = self.sigma
        return np.exp(-(modulus**2) / (2 * sigma**2))


class PlainSGD:
    def __init__(self, rate, clip):
        self.rate, self.clip = rate, clip

    def step(self, theta, g):
        norm = np.linalg.norm(g)
        if self.clip is not None and norm > self.clip:
            g = g * self.clip / norm
        return theta - self.rate * g


class PlainAdam:
    def __init__(self, rate, beta1=0.9, beta2=0.999, epsilon=1e-8):
        self.rate, self.beta1, self.beta2, self.epsilon = rate, beta1, beta2, epsilon
        self.t, self.m, self.v = 0, 0.0, 0.0

    def step(self, theta, g):
        self.t += 1
        self.m = self.beta1 * self.m + (1 - self.beta1) * g
        self.v = self.beta2 * self.v + (1 - self.beta2) * g**2
        corrected_m = self.m / (1 - self.beta1**self.t)
        corrected_v = self.v / (1 - self.beta2**self.t)
        return theta - self.rate * corrected_m / (np.sqrt(corrected_v) + self.epsilon)


class ClassicalRTRL:
    """A tanh network with any number of recurrent layers.

    Parameters are those of a learner, by public name. `variant` makes it wrong on purpose: "todays-weights" is
    back-propagation through time that forgets which weights were in force, "printed-output-rule" steps the readout
    along e without the kernel weight, as printed in the paper.
    """

    def __init__(self, parameters, loss, optimizer, variant="exact"):
        self.shapes = {name: array.shape for name, array in parameters.items()}
        self.theta = np.concatenate([array.ravel() for array in parameters.values()])
        self.loss, self.optimizer, self.variant = loss, optimizer, variant
        self.layers = sum(name.endswith("recurrent") for name in parameters)
        self.h = [np.zeros(self.shapes[f"layers.{k}.recurrent"][1:]) for k in range(self.layers)]
        self.J = [np.zeros((h.size, self.theta.size)) for h in self.h]
        self.past = deque(maxlen=40)

    def where(self, name):
        before = 0
        for other, shape in self.shapes.items():
            if other == name:
                return slice(before, before + int(np.prod(shape)))
            before += int(np.prod(shape))
        raise KeyError(name)

    def get(self, name):
        return self.theta[self.where(name)].reshape(self.shapes[name])

    def influence(self, k, J, J_below, before, v, slopes):
        """One step of the recursion for layer k."""
        units = before.shape[0]
        new = real_matrix(self.get(f"layers.{k}.recurrent")) @ J
        if k:
            new += real_matrix(self.get(f"layers.{k}.input")) @ J_below
        new[:, self.where(f"layers.{k}.recurrent")] += outer_jacobian(units, before)
        new[:, self.where(f"layers.{k}.input")] += outer_jacobian(units, v)
        new[:, self.where(f"layers.{k}.bias")] += np.eye(before.size)
        return slopes.reshape(-1, 1) * new

    def forward(self, u):
        moment, v = [], u
        for k in range(self.layers):
            f = real_matrix(self.get(f"layers.{k}.recurrent")) @ self.h[k].ravel()
            f = f + real_matrix(self.get(f"layers.{k}.input")) @ v.ravel() + self.get(f"layers.{k}.bias").ravel()
            state = np.tanh(f).reshape(self.h[k].shape)
            moment.append((self.h[k], v, 1 - state**2))
            self.h[k] = v = state
        self.past.append(moment)

    def influences(self):
        if self.variant == "todays-weights":
            past, J = list(self.past), [np.zeros_like(J) for J in self.J]
        else:
            past, J = [self.past[-1]], self.J
        for moment in past:
            for k, (before, v, slopes) in enumerate(moment):
                J[k] = self.influence(k, J[k], J[k - 1], before, v, slopes)
        return J

    def update(self, u, d):
        """Advance with u (m, d), learn from d (p, d); return the prediction and the gradient, unclipped."""
        self.forward(u)
        self.J = self.influences()
        V = real_matrix(self.get("readout.weight"))
        y = (V @ self.h[-1].ravel()).reshape(d.shape) + self.get("readout.bias")
        e = d - y
        slope = -self.loss.weight(e) * e
        g = slope.ravel() @ V @ self.J[-1]
        at_readout = -e if self.variant == "printed-output-rule" else slope
        g[self.where("readout.weight")] += at_readout.ravel() @ outer_jacobian(d.shape[0], self.h[-1])
        g[self.where("readout.bias")] += at_readout.ravel()
        self.theta = self.optimizer.step(self.theta, g)
        return y, g


class ClassicalGRU(ClassicalRTRL):
    """Gated recurrent units by the same method, with the influence matrix of every gate.

    With the products a = U ⊗ h + W ⊗ v + b of the gates z and r, P = Uₙ ⊗ h and Q = Wₙ ⊗ v + bₙ of the candidate,

        ∂h′ = z ∂h + (h − n) z(1 − z) ∂a_z + (1 − z)(1 − n²)[∂Q + r ∂P + P r(1 − r) ∂a_r].

    The variant "no-carry" leaves out z ∂h, and is wrong on purpose.
    """

    def forward(self, u):
        moment, v = [], u
        for k in range(self.layers):
            h, shape = self.h[k], self.h[k].shape
            P = (real_matrix(self.get(f"layers.{k}.recurrent")) @ h.ravel()).reshape(3, *shape)
            Q = (real_matrix(self.get(f"layers.{k}.input")) @ v.ravel()).reshape(3, *shape)
            Q = Q + self.get(f"layers.{k}.bias").reshape(3, *shape)
            z, r = (1.0 / (1.0 + np.exp(-P[g] - Q[g])) for g in (0, 1))
            n = np.tanh(Q[2] + r * P[2])
            moment.append((h, v, tuple(part.reshape(-1, 1) for part in (h, z, r, n, P[2]))))
            self.h[k] = v = z * h + (1.0 - z) * n
        self.past.append(moment)

    def influence(self, k, J, J_below, before, v, slopes):
        h, z, r, n, P = slopes
        rows = 3 * before.shape[0]
        by_states = real_matrix(self.get(f"layers.{k}.recurrent")) @ J
        by_states[:, self.where(f"layers.{k}.recurrent")] += outer_jacobian(rows, before)
        by_inputs = np.zeros_like(by_states)
        if k:
            by_inputs += real_matrix(self.get(f"layers.{k}.input")) @ J_below
        by_inputs[:, self.where(f"layers.{k}.input")] += outer_jacobian(rows, v)
        by_inputs[:, self.where(f"layers.{k}.bias")] += np.eye(rows * before.shape[1])
        (dz, dr, dP), (ez, er, dQ) = np.split(by_states, 3), np.split(by_inputs, 3)
        carried = 0.0 if self.variant == "no-carry" else z * J
        candidate = dQ + r * dP + P * r * (1 - r) * (dr + er)
        return carried + (h - n) * z * (1 - z) * (dz + ez) + (1 - z) * (1 - n**2) * candidate
