"""Gated recurrent units: exact against classical RTRL and autodiff, on another array library, and in batches."""

import autograd
import autograd.numpy as anp
import comparison
import numpy as np
import pytest
from comparison import public, side_by_side
from oracles import ClassicalGRU, Loss, PlainAdam, PlainSGD, unrolled_gru

from quatcast import MCC, MSE, SGD, Adam, Replay
from quatcast.algebra import fetch
from quatcast.engine.replay import Draw, window_gradients
from quatcast.learners.gated import GRU, QGRU

KINDS = {"R": GRU, "H": QGRU}
HIDDEN = pytest.mark.parametrize("hidden", [(3,), (3, 2)], ids=["one-layer", "two-layers"])
ALGEBRAS = pytest.mark.parametrize("algebra", KINDS)
OPTIMIZERS = {
    "sgd": (SGD(0.2, 1.0), lambda: PlainSGD(0.2, 1.0)),
    "adam": (Adam(0.01), lambda: PlainAdam(0.01)),
}
INPUTS, OUTPUTS = 2, 1


def signal(steps, d):
    return comparison.signal(steps, d, INPUTS, OUTPUTS)


def compare(kind, hidden, optimizer, steps=150, variant="exact", sigma=None):
    """Largest difference between the predictions of learner and oracle, and the learner's steps."""
    mine, plain = OPTIMIZERS[optimizer]
    loss = MSE() if sigma is None else MCC(sigma=sigma)
    learner = kind(hidden, loss=loss, optimizer=mine, init_std=0.3, seeds=5, max_depth=steps).begin(INPUTS, OUTPUTS)
    start = learner.parameters()
    oracle = ClassicalGRU(start, Loss(sigma), plain(), variant)
    worst, taken = side_by_side(learner, oracle, *signal(steps, kind.algebra.dimension))
    for name, array in learner.parameters().items():
        worst = max(worst, np.abs(array - oracle.get(name)).max())
        assert np.abs(array - start[name]).max() > 1e-2
    return worst, taken


@HIDDEN
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@ALGEBRAS
def test_equals_classical_rtrl(algebra, optimizer, hidden):
    worst, steps = compare(KINDS[algebra], hidden, optimizer, steps=300)
    assert worst < 1e-9
    assert max(step.depth for step in steps) > 20
    assert not any(step.truncated for step in steps)


def test_equals_classical_rtrl_under_the_correntropy():
    worst, _ = compare(QGRU, (3,), "sgd", sigma=1.5)
    assert worst < 1e-9


@pytest.mark.parametrize("variant", ["todays-weights", "no-carry"])
@pytest.mark.xfail(reason="wrong on purpose: the comparison must notice", raises=AssertionError, strict=True)
def test_a_wrong_gradient_is_noticed(variant):
    worst, _ = compare(GRU, (3,), "sgd", steps=100, variant=variant)
    assert worst < 1e-9


def cost(parameters, inputs, target, layers, sigma):
    e = target - unrolled_gru(parameters, inputs, layers, anp)
    squared = anp.sum(e * e)
    return 0.5 * squared if sigma is None else -(sigma**2) * anp.expm1(-squared / (2 * sigma**2))


@pytest.mark.parametrize("sigma", [None, 4.0], ids=["mse", "mcc"])
@HIDDEN
@ALGEBRAS
def test_frozen_gradient_equals_autodiff(algebra, hidden, sigma):
    kind = KINDS[algebra]
    d = kind.algebra.dimension
    inputs, targets = signal(12, d)
    loss = MSE() if sigma is None else MCC(sigma=sigma)
    learner = kind(hidden, loss=loss, optimizer=SGD(1e-300, clip=None), init_std=0.4, seeds=2).begin(INPUTS, OUTPUTS)
    start = learner.parameters()
    for u in inputs[:-1]:
        learner.update(public(u, d), public(targets[-1], d))
    learner.optimizer = SGD(1.0, clip=None)
    learner.update(public(inputs[-1], d), public(targets[-1], d))
    expected = autograd.grad(cost)(start, inputs, targets[-1], len(hidden), sigma)
    for name, array in learner.parameters().items():
        np.testing.assert_allclose(start[name] - array, expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
    assert max(np.abs(g).max() for g in expected.values()) > 1e-2


@HIDDEN
@ALGEBRAS
def test_window_gradients_equal_autodiff(algebra, hidden):
    kind, rng, batch, n = KINDS[algebra], np.random.default_rng(0), 4, 5
    d = kind.algebra.dimension
    learner = kind(hidden, optimizer=Adam(), init_std=0.4).begin(INPUTS, OUTPUTS)
    windows, targets = rng.normal(size=(batch, n, INPUTS, d)), rng.normal(size=(batch, OUTPUTS, d))
    draw = Draw(windows.transpose(1, 0, 3, 2).copy(), targets.swapaxes(1, 2), np.ones((batch, 1, OUTPUTS)))
    layout, (joined,) = learner.state.layout, learner.state.stored
    found = layout.split([window_gradients(learner._engine, layout, joined, lambda e: -e, draw)])
    parameters = learner.parameters()

    def mean(parameters):
        return sum(cost(parameters, w, t, len(hidden), None) for w, t in zip(windows, targets, strict=True)) / batch

    for (name, expected), (g,) in zip(autograd.grad(mean)(parameters).items(), found, strict=True):
        mine = g.T if name.endswith("bias") else g.reshape(d, *expected.shape[:2]).transpose(1, 2, 0)
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-12, err_msg=name)


REPLAY = Replay(updates=1, batch=3, window=3, memory=20)


@pytest.mark.parametrize(
    "settings",
    [{"optimizer": SGD(0.1)}, {"optimizer": Adam(0.01)}, {"optimizer": Adam(0.01), "replay": REPLAY}],
    ids=["sgd", "adam", "replay"],
)
@HIDDEN
@ALGEBRAS
def test_another_array_library_gives_the_same(algebra, hidden, settings):
    kind = KINDS[algebra]
    d = kind.algebra.dimension
    here, there = (
        kind(hidden, init_std=0.3, seeds=[1, 2], device=device, **settings) for device in ("cpu", "array_api_strict")
    )
    for u, y in zip(*signal(26, d), strict=True):
        mine, theirs = here.update(public(u, d), public(y, d)), there.update(public(u, d), public(y, d))
        np.testing.assert_allclose(mine.prediction, theirs.prediction, rtol=0, atol=1e-12)
    ahead = [public(u, d) for u in signal(5, d)[0]]
    np.testing.assert_allclose(here.predict(*ahead), there.predict(*ahead), rtol=0, atol=1e-12)
    assert type(there.state.past.states[0]).__module__.startswith("array_api_strict")
    assert fetch(there.state.past.states[0]).shape == (2, d, hidden[0])


@ALGEBRAS
def test_runs_in_a_batch_equal_runs_alone(algebra):
    kind = KINDS[algebra]
    d = kind.algebra.dimension
    together = kind((3,), seeds=[4, 7], optimizer=SGD([0.05, 0.2]), init_std=0.3)
    alone = [kind((3,), seeds=seed, optimizer=SGD(rate), init_std=0.3) for seed, rate in ((4, 0.05), (7, 0.2))]
    for u, y in zip(*signal(60, d), strict=True):
        batch = together.update(public(u, d), public(y, d)).prediction
        for r, one in enumerate(alone):
            step = one.update(public(u, d), public(y, d))
            np.testing.assert_allclose(batch[r], step.prediction, rtol=0, atol=1e-10)
