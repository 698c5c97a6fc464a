"""Cells and activations from outside the package, and the undoing of steps."""

import copy
import pickle
from dataclasses import dataclass

import autograd
import autograd.numpy as anp
import numpy as np
import pytest

from quatcast import QRNN, RNN, SGD, Adam, Replay
from quatcast.engine.activations import activation, register_activation
from quatcast.engine.cells import Cell, SimpleCell
from quatcast.learners.gated import QGRU

KEPT = 0.6


class LeakyCell(Cell):
    """h(n) = a·h(n−1) + (1 − a)·tanh(R + D)."""

    def forward(self, recurrent, driven, before):
        state = np.tanh(recurrent + driven)
        return KEPT * before + (1 - KEPT) * state, ((1 - KEPT) * (1 - state * state),)

    def backward(self, lam, saved):
        delta = lam * saved[0]
        return delta, delta, KEPT * lam


class LeakyRNN(RNN):
    def make_cell(self):
        return LeakyCell()


def leaky(parameters, inputs, layers):
    h = [np.zeros(parameters[f"layers.{k}.bias"].shape[0]) for k in range(layers)]
    for u in inputs:
        v, states = u, []
        for k in range(layers):
            f = parameters[f"layers.{k}.recurrent"][:, :, 0] @ h[k] + parameters[f"layers.{k}.input"][:, :, 0] @ v
            v = KEPT * h[k] + (1 - KEPT) * anp.tanh(f + parameters[f"layers.{k}.bias"][:, 0])
            states.append(v)
        h = states
    return parameters["readout.weight"][:, :, 0] @ h[-1] + parameters["readout.bias"][:, 0]


@pytest.mark.parametrize("hidden", [(3,), (3, 2)], ids=["one-layer", "two-layers"])
def test_a_cell_from_outside_has_the_gradient_of_autodiff(hidden, tmp_path):
    rng = np.random.default_rng(0)
    inputs, target = rng.normal(size=(9, 2)), rng.normal(size=1)
    learner = LeakyRNN(hidden, optimizer=SGD(1e-300, clip=None), init_std=0.5).begin(2, 1)
    start = learner.parameters()
    for u in inputs[:-1]:
        learner.update(u, target)
    learner.save(tmp_path / "learner")
    learner = LeakyRNN.load(tmp_path / "learner")
    learner.optimizer = SGD(1.0, clip=None)
    learner.update(inputs[-1], target)
    expected = autograd.grad(lambda p: 0.5 * anp.sum((target - leaky(p, inputs, len(hidden))) ** 2))(start)
    for name, array in learner.parameters().items():
        np.testing.assert_allclose(start[name] - array, expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(
        LeakyRNN(hidden, init_std=0.5).begin(2, 1).predict(*inputs), leaky(start, inputs, len(hidden))
    )


@dataclass(frozen=True)
class PlainSimpleCell(SimpleCell):
    """The simple cell without the shortcuts for cells that only save a slope."""

    slope_only = False


class PlainQRNN(QRNN):
    def make_cell(self):
        return PlainSimpleCell(activation(self.activation))


@pytest.mark.parametrize("replay", [None, Replay(batch=3, window=3)], ids=["rtrl", "replay"])
@pytest.mark.parametrize("seeds", [1, [1, 2]], ids=["one-run", "two-runs"])
@pytest.mark.parametrize("hidden", [(3,), (3, 2)], ids=["one-layer", "two-layers"])
def test_shortcuts_change_nothing(hidden, seeds, replay):
    rng = np.random.default_rng(1)
    fast, plain = (kind(hidden, seeds=seeds, replay=replay, init_std=0.3) for kind in (QRNN, PlainQRNN))
    for _ in range(60):
        u, d = rng.normal(size=(2, 4)), rng.normal(size=(1, 4))
        one, other = fast.update(u, d), plain.update(u, d)
        np.testing.assert_allclose(one.prediction, other.prediction, rtol=0, atol=1e-12)
        assert one.depth == other.depth


def softplus(f):
    return np.logaddexp(f, 0.0)


def softplus_slope(f):
    return 0.5 * (1.0 + np.tanh(0.5 * f))


def test_a_registered_activation_is_saved_by_name(tmp_path):
    register_activation("softplus", softplus, lambda f: 0.0 * f)
    register_activation("softplus", softplus, softplus_slope)
    rng = np.random.default_rng(0)
    learner = RNN((3,), activation="softplus", init_std=0.3)
    same = RNN((3,), activation=(softplus, softplus_slope), init_std=0.3)
    for _ in range(10):
        u, d = rng.normal(size=2), rng.normal(size=1)
        np.testing.assert_array_equal(learner.update(u, d).prediction, same.update(u, d).prediction)
    learner.save(tmp_path / "learner")
    assert RNN.load(tmp_path / "learner").predict(u) == learner.predict(u)


def test_a_name_of_an_activation_is_given_once():
    with pytest.raises(ValueError, match="name: 'tanh' is the name of another activation"):
        register_activation("tanh", softplus, softplus_slope)
    with pytest.raises(ValueError, match="name: expected a word, got ''"):
        register_activation("", softplus, softplus_slope)
    with pytest.raises(ValueError, match="activation: expected a name or a pair"):
        register_activation("broken", softplus, 1.0)


@pytest.mark.parametrize(
    "settings",
    [{}, {"optimizer": Adam(0.01)}, {"replay": Replay(updates=2, batch=3, window=3, memory=7)}, {"seeds": [1, 2]}],
    ids=["sgd", "adam", "replay", "runs"],
)
@pytest.mark.parametrize("kind", [QRNN, QGRU])
def test_steps_of_a_network_can_be_undone(kind, settings):
    """Marks are taken at every step and go back over several, so that every buffer overflows between them."""
    rng = np.random.default_rng(2)
    learner = kind((3,), max_depth=5, init_std=0.3, **settings).begin(2, 1)
    other = copy.deepcopy(learner)
    for step in range(80):
        mark, before = learner.mark(), pickle.dumps(learner)
        for _ in range(1 + step % 9):
            learner.update(rng.normal(size=(2, 4)), rng.normal(size=(1, 4)))
        learner.rewind(mark)
        if step % 9 == 0:
            assert pickle.dumps(pickle.loads(pickle.dumps(learner))) == pickle.dumps(pickle.loads(before))
        u, d = rng.normal(size=(2, 4)), rng.normal(size=(1, 4))
        mine, expected = learner.update(u, d), other.update(u, d)
        np.testing.assert_array_equal(mine.prediction, expected.prediction)
        np.testing.assert_array_equal(mine.gradient_norm, expected.gradient_norm)
