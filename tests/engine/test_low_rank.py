"""Low-rank input weights equal a matrix to which every step is added at once."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import QRNN, SGD, Adam, C, H, R, Replay, checkpoint
from quatcast.engine.low_rank import BLOCK, ROOM, SPARE, LowRankWeights
from quatcast.engine.sliding_window import SlidingWindow

ALGEBRAS = pytest.mark.parametrize("algebra", [R, C, H], ids=repr)
REACH, UNITS, INPUTS, RUNS = 70, 3, 5, 2


class Plain:
    """The oracle: one array, one product for every step, by einsum over the table of the algebra."""

    def __init__(self, algebra, weights):
        self.table, self.W, self.inputs = algebra.table, weights, []

    def gradient(self, deltas):
        """Σₛ of the derivative of Σᵧᵢ δᵧᵢ(s)·(W ⊗ z(s))ᵧᵢ with respect to W, for deltas (k, runs, d, q)."""
        z = np.stack(self.inputs[len(self.inputs) - len(deltas) :])
        G = np.einsum("abc,srcq,sbm->raqm", self.table, deltas, z)
        return G.reshape(self.W.shape)


def pair(algebra, rng):
    W = rng.normal(size=(RUNS, algebra.dimension * UNITS, INPUTS))
    return LowRankWeights.of(algebra, W.copy()), SlidingWindow(REACH + SPARE), Plain(algebra, W)


def step(deferred, inputs, plain, algebra, depth, rng):
    """One step of both with the same input, gradient and factor; the largest disagreement of all that they tell."""
    d = algebra.dimension
    u, v = rng.normal(size=(d, INPUTS)), rng.normal(size=(4, INPUTS))
    apart = [
        np.abs(deferred.product(v, inputs) - v @ plain.W.mT).max(),
        np.abs(deferred.drive(u, inputs) - u @ plain.W.mT).max(),
    ]
    inputs.append(u)
    deferred.take(inputs)
    plain.inputs.append(u)
    deltas = rng.normal(size=(min(depth, len(plain.inputs)), RUNS, d, UNITS))
    spread = np.concatenate([algebra.expand(delta) for delta in deltas], axis=-2)
    G, factor = plain.gradient(deltas), rng.uniform(-0.1, 0.1, (RUNS, 1, 1))
    gradient = deferred.gradient(spread, inputs)
    apart.append(np.abs(gradient.squared_norm() / np.sum(G * G, axis=(1, 2)) - 1.0).max())
    gradient.add(factor)
    plain.W = plain.W + factor * G
    apart.append(np.abs(deferred.dense(inputs) - plain.W).max())
    return max(apart)


@ALGEBRAS
@settings(max_examples=15, deadline=None)
@given(data=st.data())
def test_every_step_is_that_of_a_plain_matrix(algebra, data):
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    deferred, inputs, plain = pair(algebra, rng)
    # Depths that stay, that jump beyond a block and back, and that reach the last input kept.
    for _ in range(data.draw(st.integers(1, 6))):
        depth = data.draw(st.sampled_from([1, 2, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, REACH]))
        for _ in range(data.draw(st.sampled_from([1, BLOCK - 1, BLOCK, (ROOM + 1) * BLOCK]))):
            assert step(deferred, inputs, plain, algebra, depth, rng) < 1e-11


def test_inputs_are_kept_for_as_long_as_a_walk_may_reach():
    rng = np.random.default_rng(1)
    deferred, inputs, plain = pair(H, rng)
    for _ in range(5 * REACH):
        assert step(deferred, inputs, plain, H, 1, rng) < 1e-11
    assert step(deferred, inputs, plain, H, REACH, rng) < 1e-11


@ALGEBRAS
def test_continues_from_a_checkpoint_bit_for_bit(algebra, tmp_path):
    rng = np.random.default_rng(2)
    deferred, inputs, plain = pair(algebra, rng)
    for n in range(3 * BLOCK + 5):
        step(deferred, inputs, plain, algebra, 1 + n % 30, rng)
    checkpoint.write(tmp_path / "weights", [deferred, inputs])
    seen = []
    for each, own in ((deferred, inputs), checkpoint.read(tmp_path / "weights")):
        draws, twin = np.random.default_rng(3), Plain(algebra, plain.W)
        twin.inputs = list(plain.inputs)
        for _ in range(2 * REACH):
            step(each, own, twin, algebra, 40, draws)
        seen.append(each.dense(own))
    np.testing.assert_array_equal(*seen)


def test_only_steps_along_the_gradient_are_deferred():
    kinds = {
        "sgd": QRNN((2,), optimizer=SGD()),
        "adam": QRNN((2,), optimizer=Adam()),
        "replay": QRNN((2,), optimizer=SGD(), replay=Replay()),
    }
    deferred = {
        name for name, learner in kinds.items() if isinstance(learner.begin(3, 1).state.leaves()[1], LowRankWeights)
    }
    assert deferred == {"sgd"}


@ALGEBRAS
def test_steps_can_be_undone(algebra):
    rng = np.random.default_rng(4)
    deferred, inputs, plain = pair(algebra, rng)
    for n in range(4 * BLOCK):
        marks, W = (deferred.mark(), inputs.mark()), plain.W
        # More steps than there is room for, with walks that reach further than those before.
        for depth in (1 + n % 40,) * (1 if n % 30 else 2 * BLOCK):
            step(deferred, inputs, plain, algebra, depth, rng)
        deferred.rewind(marks[0])
        inputs.rewind(marks[1])
        plain.W, plain.inputs = W, list(inputs.rows)
        np.testing.assert_allclose(deferred.dense(inputs), W, atol=1e-11)
        assert step(deferred, inputs, plain, algebra, 1 + n % 40, rng) < 1e-11
