"""Replay: gradients over windows against autodiff and finite differences, the draws, and a whole learner."""

import pickle

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from oracles import ClassicalRTRL, Loss, PlainSGD, unrolled

from quatcast import MCC, MSE, QRNN, RNN, SGD, Adam, ComplexRNN, Replay
from quatcast.engine.replay import Draw, Memory, window_gradients

NETWORKS = {"R": RNN, "C": ComplexRNN, "H": QRNN}
INPUTS, OUTPUTS, BATCH, WINDOW = 3, 2, 4, 5
SCALE = np.array([0.7, 1.9])
"""Running scale of each channel, as an adaptive kernel would have found it."""
LOSSES = {
    "mse": (MSE(), {}, None),
    "mcc": (MCC(sigma=1.5), {}, 1.5),
    "adaptive": (MCC("adaptive"), {"scale": np.full((1, 1, 1), 1.3)}, 2.0 * 1.3),
    "adaptive-channel": (MCC("adaptive", scope="channel"), {"scale": SCALE[None, None, :]}, 2.0 * SCALE),
}


def mean_loss(parameters, windows, targets, observed, layers, sigma):
    """Mean over the windows of ½|e|² or Σσ²(1 − exp(−|e|²/2σ²)), with errors that are not observed left out."""
    total = 0.0
    for inputs, target, counts in zip(windows, targets, observed, strict=True):
        e = (target - unrolled(parameters, inputs, layers, anp, anp.tanh)) * counts[:, None]
        squared = anp.sum(e * e, axis=1)
        squared = squared if np.ndim(sigma) else anp.sum(squared)
        value = 0.5 * squared if sigma is None else -(np.square(sigma)) * anp.expm1(-squared / (2 * np.square(sigma)))
        total = total + anp.sum(value)
    return total / len(windows)


def problem(kind, hidden, seed=0):
    """A learner that has started, and windows, targets and what of them counts, as public arrays."""
    rng, d = np.random.default_rng(seed), kind.algebra.dimension
    learner = kind(hidden=hidden, optimizer=Adam(), init_std=0.4, seeds=2).begin(INPUTS, OUTPUTS)
    shaken = {name: array + 0.1 * rng.normal(size=array.shape) for name, array in learner.parameters().items()}
    learner.load_parameters(shaken)
    windows, targets = rng.normal(size=(BATCH, WINDOW, INPUTS, d)), rng.normal(size=(BATCH, OUTPUTS, d))
    observed = np.ones((BATCH, OUTPUTS))
    observed[1, 0] = 0.0
    return learner, windows, targets, observed


def gradients(learner, loss, state, windows, targets, observed, first=0):
    """Stacked gradients for public arrays, of which the first components may be left out."""
    inputs = np.ascontiguousarray(windows.transpose(1, 0, 3, 2)[:, :, first:])
    draw = Draw(inputs, targets.swapaxes(-1, -2), observed[:, None, :])
    layout, (parameters,) = learner.state.layout, learner.state.stored
    found = window_gradients(learner._engine, layout, parameters, lambda e: loss.evaluate(e, state).slope, draw)
    return layout.split([found])


def found_gradients(learner, *arguments, **options):
    """Gradients of the library, by public name."""
    d, public = learner.algebra.dimension, {}
    stacked = gradients(learner, *arguments, **options)
    for (name, array), gradient in zip(learner.parameters().items(), stacked, strict=True):
        (g,) = gradient
        public[name] = g.T if name.endswith("bias") else g.reshape(d, *array.shape[:2]).transpose(1, 2, 0)
    return public


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("hidden", [(4,), (3, 2)], ids=["one-layer", "two-layers"])
@pytest.mark.parametrize("algebra", NETWORKS)
def test_window_gradients_equal_autodiff(algebra, hidden, loss):
    mine, state, sigma = LOSSES[loss]
    learner, windows, targets, observed = problem(NETWORKS[algebra], hidden)
    found = found_gradients(learner, mine, state, windows, targets, observed)
    expected = autograd.grad(mean_loss)(learner.parameters(), windows, targets, observed, len(hidden), sigma)
    assert found.keys() == expected.keys()
    for name, gradient in expected.items():
        np.testing.assert_allclose(found[name], gradient, rtol=1e-9, atol=1e-12, err_msg=name)
    assert min(np.abs(g).max() for g in expected.values()) > 1e-4


@pytest.mark.parametrize("hidden", [(4,), (3, 2)], ids=["one-layer", "two-layers"])
@pytest.mark.parametrize("algebra", ["C", "H"])
def test_inputs_without_a_real_part_leave_the_gradient_whole(algebra, hidden):
    mine, state, sigma = LOSSES["mcc"]
    learner, windows, targets, observed = problem(NETWORKS[algebra], hidden)
    windows[..., 0] = 0.0
    found = found_gradients(learner, mine, state, windows, targets, observed, first=1)
    expected = autograd.grad(mean_loss)(learner.parameters(), windows, targets, observed, len(hidden), sigma)
    for name, gradient in expected.items():
        np.testing.assert_allclose(found[name], gradient, rtol=1e-9, atol=1e-12, err_msg=name)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("algebra", NETWORKS)
def test_window_gradients_equal_finite_differences(algebra, loss):
    mine, state, sigma = LOSSES[loss]
    learner, windows, targets, observed = problem(NETWORKS[algebra], (3, 2), seed=1)
    found = found_gradients(learner, mine, state, windows, targets, observed)
    parameters, rng, step = learner.parameters(), np.random.default_rng(5), 1e-6
    for _ in range(3):
        direction = {name: rng.normal(size=array.shape) for name, array in parameters.items()}
        ahead, behind = (
            mean_loss({n: a + s * direction[n] for n, a in parameters.items()}, windows, targets, observed, 2, sigma)
            for s in (step, -step)
        )
        slope = sum(np.sum(found[name] * direction[name]) for name in parameters)
        assert slope == pytest.approx((ahead - behind) / (2 * step), rel=1e-6, abs=1e-8)


def test_runs_have_their_own_gradients():
    _, windows, targets, observed = problem(QRNN, (3,))
    loss = MCC(sigma=[0.5, 1.0, 2.0])
    together = QRNN((3,), optimizer=Adam(), seeds=[1, 2, 3], init_std=0.4).begin(INPUTS, OUTPUTS)
    found = gradients(together, loss, {}, windows, targets, observed)
    for r, (seed, sigma) in enumerate(zip([1, 2, 3], [0.5, 1.0, 2.0], strict=True)):
        alone = QRNN((3,), optimizer=Adam(), seeds=seed, init_std=0.4).begin(INPUTS, OUTPUTS)
        expected = gradients(alone, MCC(sigma=sigma), {}, windows, targets, observed)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one[r], other[0], rtol=1e-11, atol=1e-13)


def filled(replay, count):
    memory = Memory.of(replay)
    for t in range(count):
        memory.append(
            np.full((1, 2), float(t)), np.full((1, 1), -float(t)), np.array([float(t % 2)]) if t % 3 else None
        )
    return memory


def test_draws_are_windows_of_the_recent_past_and_their_own_targets():
    replay = Replay(batch=7, window=4, memory=10)
    memory, drawn = filled(replay, 50), set()
    for _ in range(60):
        ((inputs, targets, observed),) = memory.draw(replay)
        windows = inputs.swapaxes(0, 1)
        assert windows.shape == (7, 4, 1, 2)
        assert targets.shape == (7, 1, 1)
        assert observed.shape == (7, 1, 1)
        last = windows[:, -1, 0, 0]
        np.testing.assert_array_equal(windows[:, :, 0, 0], last[:, None] + [-3, -2, -1, 0])
        np.testing.assert_array_equal(targets[:, 0, 0], -last)
        np.testing.assert_array_equal(observed[:, 0, 0], [t % 2 if t % 3 else 1 for t in last.astype(int)])
        drawn |= set(last)
    # All that have a whole window behind them among the last ten.
    assert drawn == set(range(43, 50))


def test_the_first_replay_is_as_soon_as_there_is_a_whole_window():
    replay = Replay(window=4, memory=10)
    assert [len(filled(replay, n).draw(replay)) for n in range(6)] == [0] * 4 + [1] * 2
    ((inputs, _, _),) = filled(replay, 4).draw(replay)
    assert set(inputs[0, :, 0, 0]) == {0.0}
    learner, other = (QRNN((2,), optimizer=Adam(), init_std=0.3, replay=which) for which in (replay, None))
    rng, apart = np.random.default_rng(0), []
    for _ in range(6):
        u, d = rng.normal(size=(1, 4)), rng.normal(size=(1, 4))
        for one in (learner, other):
            one.update(u, d)
        apart.append(not np.allclose(learner.predict(u), other.predict(u), atol=1e-12))
    assert apart == [False] * 3 + [True] * 3


def test_memory_knows_whether_inputs_have_a_first_component():
    replay = Replay(window=2, memory=3)
    memory = Memory.of(replay)
    for first in (0.0, 0.0, 1.0, 0.0):
        memory.append(np.array([[first], [1.0]]), np.zeros((2, 1)), None)
        assert memory.pure == (first == 0.0 and len(memory.inputs) < 3)
        for draw in memory.draw(replay):
            assert draw.inputs.shape == (2, 10, 1 if memory.pure else 2, 1)


def test_draws_follow_the_seed():
    def draws(seed):
        replay = Replay(batch=5, window=2, memory=30, seed=seed)
        memory = filled(replay, 40)
        return np.stack([memory.draw(replay)[0].targets for _ in range(5)])

    np.testing.assert_array_equal(draws(3), draws(3))
    assert not np.array_equal(draws(3), draws(4))


def test_memory_is_bounded_and_comes_back_with_its_draws(tmp_path):
    replay = Replay(batch=5, window=2, memory=30)
    assert len(pickle.dumps(filled(replay, 100))) == len(pickle.dumps(filled(replay, 1000)))
    memory = filled(replay, 100)
    memory.draw(replay)
    memory.save(tmp_path / "memory")
    back = Memory.load(tmp_path / "memory")
    for one, other in zip(memory.draw(replay)[0], back.draw(replay)[0], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("sigma", [None, 1.5], ids=["mse", "mcc"])
def test_a_learner_steps_as_rtrl_does_and_then_as_the_replays_say(sigma):
    replay, rate, memory = Replay(updates=2, batch=3, window=4, memory=12, seed=9), 0.1, []
    loss = MSE() if sigma is None else MCC(sigma=sigma)
    learner = QRNN((2,), loss=loss, optimizer=SGD(rate, clip=None), init_std=0.3, replay=replay).begin(INPUTS, OUTPUTS)
    oracle = ClassicalRTRL(learner.parameters(), Loss(sigma), PlainSGD(rate, None))
    rng, draws = np.random.default_rng(0), np.random.default_rng(9)
    for _ in range(20):
        u, d = rng.normal(size=(INPUTS, 4)), rng.normal(size=(OUTPUTS, 4))
        step = learner.update(u, d)
        predicted, _ = oracle.update(u, d)
        # Replays are computed in single precision.
        np.testing.assert_allclose(step.prediction, predicted, atol=1e-4)
        memory = [*memory, (u, d)][-12:]
        for _ in range(2 if len(memory) >= 4 else 0):
            last = draws.integers(3, len(memory), size=3)
            windows = np.array([[memory[t][0] for t in range(n - 3, n + 1)] for n in last])
            targets = np.array([memory[n][1] for n in last])
            parameters = {name: oracle.get(name) for name in oracle.shapes}
            slopes = autograd.grad(mean_loss)(parameters, windows, targets, np.ones((3, OUTPUTS)), 1, sigma)
            oracle.theta = oracle.theta - rate * np.concatenate([slopes[name].ravel() for name in oracle.shapes])
    for name, array in learner.parameters().items():
        np.testing.assert_allclose(array, oracle.get(name), atol=1e-4, err_msg=name)


def test_replay_learns_more_from_the_same_samples():
    wave = np.sin(0.3 * np.arange(400)) + 0.5 * np.sin(0.11 * np.arange(400))

    def error(replay):
        learner = RNN((6,), optimizer=SGD(0.05), init_std=0.1, replay=replay)
        errors = [learner.update(wave[t : t + 3], wave[t + 7 : t + 8]).error[0] for t in range(390)]
        return np.sqrt(np.mean(np.square(errors[200:])))

    assert error(Replay(updates=3, batch=8, window=4, memory=200)) < 0.7 * error(None)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"updates": 0}, "updates: .*0"),
        ({"batch": 2.0}, "batch: .*2.0"),
        ({"window": -1}, "window: .*-1"),
        ({"memory": "all"}, "memory: .*'all'"),
        ({"window": 12, "memory": 11}, "memory: expected at least one window of 12, got 11"),
        ({"seed": -1}, "seed: .*-1"),
        ({"seed": 0.5}, "seed: .*0.5"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Replay(**settings)


@pytest.mark.parametrize(
    ("entries", "updates", "windows"), [(None, 2, 12), (400, 2, 12), (192, 2, 12), (191, 1, 11), (100, 1, 6), (5, 1, 1)]
)
def test_long_inputs_make_fewer_and_smaller_batches(entries, updates, windows):
    replay = Replay(updates=2, batch=12, window=4, memory=20, entries=entries)
    memory = Memory.of(replay)
    for t in range(20):
        memory.append(np.full((3, 4), float(t)), np.zeros((3, 1)), None)
    assert [draw.inputs.shape for draw in memory.draw(replay)] == [(4, windows, 3, 4)] * updates
