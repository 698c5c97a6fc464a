"""Classical RTRL for one recurrent layer, the reference of the benchmark.

It carries the influence matrix S(n) = ∂h(n)/∂θ of the recurrent layer, with θ = (U, W, b):

    S(n) = D(n)[A(U) S(n−1) + ∂(θ ⊗ z(n))/∂θ],    z(n) = (h(n−1), u(n), 1),    ∂J/∂θ = λᵀS(n).

It is as fast as NumPy allows: A(U) is the real d·q × d·q matrix of the product with U, its product with S is one dense
matrix product into a buffer that is allocated once, and the direct term is added only where it is not zero. The
cost remains O(d³q³(q + m)) per step, because the matrix has d·q rows and d·q·(q + m + 1) columns.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from quatcast import Algebra

Floats = NDArray[np.float64]


class ClassicalRTRL:
    """Recurrent network over an algebra, tanh, mean square error, plain gradient steps of clipped norm."""

    def __init__(self, algebra: Algebra, hidden: int, n_inputs: int, n_outputs: int, rate: float, clip: float) -> None:
        rng = np.random.default_rng(0)
        d, q = algebra.dimension, hidden
        self.table, self.rate, self.clip = algebra.table, rate, clip
        self.theta = rng.normal(0.0, 0.02, (d, q, q + n_inputs + 1))
        self.theta[:, :, -1] = 0.0
        self.readout = rng.normal(0.0, 0.02, (d, n_outputs, q))
        self.bias = np.zeros((d, n_outputs))
        self.h = np.zeros((d, q))
        self.influence = np.zeros((d * q, self.theta.size))
        self.buffer = np.zeros_like(self.influence)

    def left(self, weights: Floats) -> Floats:
        """Return the real matrix (d·p, d·q) of the product with a matrix (d, p, q) of numbers."""
        d, p, q = weights.shape
        return np.asarray(np.einsum("apq,abc->cpbq", weights, self.table)).reshape(d * p, d * q)

    def update(self, u: Floats, target: Floats) -> Floats:
        """Advance with the input u (d, m), learn from the target (d, p), return the prediction."""
        d, q = self.h.shape
        one = np.zeros((d, 1))
        one[0] = 1.0
        z = np.concatenate([self.h, u, one], axis=1)
        A = self.left(self.theta[:, :, :q])
        np.matmul(A, self.influence, out=self.buffer)
        direct = np.einsum("bj,abc->caj", z, self.table)
        units = np.arange(q)
        self.buffer.reshape(d, q, d, q, -1)[:, units, :, units, :] += direct
        self.h = np.tanh(np.einsum("aij,bj,abc->ci", self.theta, z, self.table, optimize=True))
        self.buffer *= (1.0 - self.h * self.h).reshape(-1, 1)
        self.influence, self.buffer = self.buffer, self.influence

        V = self.left(self.readout)
        prediction = (V @ self.h.reshape(-1)).reshape(d, -1) + self.bias
        slope = prediction - target
        gradients = [
            (slope.reshape(-1) @ V @ self.influence).reshape(self.theta.shape),
            np.einsum("cp,bq,abc->apq", slope, self.h, self.table, optimize=True),
            slope,
        ]
        norm = float(np.sqrt(sum(np.vdot(g, g) for g in gradients)))
        step = self.rate * min(1.0, self.clip / norm) if norm > 0.0 else 0.0
        for parameter, g in zip((self.theta, self.readout, self.bias), gradients, strict=True):
            parameter -= step * g
        return prediction
