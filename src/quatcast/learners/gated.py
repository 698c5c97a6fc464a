"""Gated recurrent units over the real and the quaternion numbers, trained by exact RTRL."""

from __future__ import annotations

from dataclasses import dataclass

from quatcast.algebra import H, namespace
from quatcast.basics.typing import Array
from quatcast.engine.activations import Activation, activation, sigmoid
from quatcast.engine.cells import Cell, Saved
from quatcast.learners.recurrent import RNN


@dataclass(frozen=True)
class GatedCell(Cell):
    """Cell of a gated recurrent unit with split gates, in the form that resets after the matrix product.

    The gates are, in the order of the last axis, z (update), r (reset) and n (candidate), and with φ the activation

        z = σ(R_z + D_z),    r = σ(R_r + D_r),    n = φ(D_n + r ⊙ R_n),    h(n) = z ⊙ h(n−1) + (1 − z) ⊙ n.

    Every product ⊙ and every function acts on each component by itself, so that λ comes back multiplied by slopes:

        ∂J/∂R = λ ⊙ (s_z, s_n r′ R_n, s_n r),    ∂J/∂D = λ ⊙ (s_z, s_n r′ R_n, s_n),    ∂J/∂h(n−1) = λ ⊙ z,

    with s_z = (h(n−1) − n) z (1 − z), s_n = (1 − z) φ′ and r′ = r (1 − r).

    Examples
    --------
    >>> import numpy as np
    >>> zero = np.zeros((1, 4, 6))
    >>> state, _ = GatedCell(activation("tanh")).forward(zero, zero, np.ones((1, 4, 2)))
    >>> state[0, 0]
    array([0.5, 0.5])
    """

    activation: Activation
    gates = 3

    def forward(self, recurrent: Array, driven: Array, before: Array) -> tuple[Array, Saved]:
        """Return h(n), and the slopes by R, by D and by h(n−1)."""
        q = before.shape[-1]
        both = sigmoid(recurrent[..., : 2 * q] + driven[..., : 2 * q])
        z, r, product = both[..., :q], both[..., q:], recurrent[..., 2 * q :]
        f = driven[..., 2 * q :] + r * product
        candidate = self.activation.value(f)
        by_candidate = (1.0 - z) * self.activation.slope(f, candidate)
        by_update = (before - candidate) * z * (1.0 - z)
        by_reset = by_candidate * product * r * (1.0 - r)
        concat = namespace(before).concat
        by_recurrent = concat([by_update, by_reset, by_candidate * r], axis=-1)
        by_driven = concat([by_update, by_reset, by_candidate], axis=-1)
        return z * before + (1.0 - z) * candidate, (by_recurrent, by_driven, z)

    def backward(self, lam: Array, saved: Saved) -> tuple[Array, Array, Array | None]:
        """Return λ times the slopes."""
        by_recurrent, by_driven, direct = saved
        thrice = namespace(lam).concat([lam, lam, lam], axis=-1)
        return thrice * by_recurrent, thrice * by_driven, lam * direct


class GRU(RNN):
    """Gated recurrent unit with real weights, inputs (m,) and targets (p,).

    With v the input of a layer, h its state, σ the logistic function and φ the activation,

        z = σ(U_z h + W_z v + b_z),    r = σ(U_r h + W_r v + b_r),
        n = φ(W_n v + b_n + r ⊙ (U_n h)),    h ← z ⊙ h + (1 − z) ⊙ n,

    and the readout is linear with a bias. The reset gate r acts after the matrix product, and U_n h has no bias of its
    own. The gradient is that of real-time recurrent learning, as for `RNN`.

    The parameters are those of `RNN` with three rows per unit: `layers.k.recurrent` (3q, q, 1), `layers.k.input`
    (3q, m, 1) and `layers.k.bias` (3q, 1) hold the gates z, r and n in this order.

    Parameters
    ----------
    hidden, loss, optimizer, seeds, activation, init_std, tol, max_depth, replay, device
        As for `RNN`; `activation` is φ.

    Examples
    --------
    >>> import numpy as np
    >>> from quatcast import Adam
    >>> learner = GRU(hidden=(8,), optimizer=Adam(learning_rate=0.01), init_std=0.3)
    >>> wave = np.sin(0.3 * np.arange(1000))
    >>> errors = [learner.update(wave[t : t + 2], wave[t + 2 : t + 3]).error[0] for t in range(900)]
    >>> bool(np.std(errors[-100:]) < 0.2 * np.std(wave))
    True

    References
    ----------
    Cho et al. (2014), "Learning phrase representations using RNN encoder-decoder for statistical machine translation".
    """

    def make_cell(self) -> Cell:
        """Return a gated cell."""
        return GatedCell(activation(self.activation))


class QGRU(GRU):
    """Gated recurrent unit with quaternion weights, inputs (m, 4) and targets (p, 4).

    The equations are those of `GRU`, with quaternion matrix products and split gates: σ, φ and ⊙ act on each of the
    four components of a quaternion by itself.

    Parameters
    ----------
    hidden, loss, optimizer, seeds, activation, init_std, tol, max_depth, replay, device
        As for `RNN`; `activation` is φ.

    Examples
    --------
    >>> import numpy as np
    >>> learner = QGRU(hidden=(5,)).begin(n_inputs=6, n_outputs=2)
    >>> learner.parameters()["layers.0.input"].shape, learner.predict(np.ones((6, 4))).shape
    ((15, 6, 4), (2, 4))

    References
    ----------
    Parcollet et al. (2019), "Quaternion recurrent neural networks", for split gates with quaternion weights.
    """

    algebra = H
