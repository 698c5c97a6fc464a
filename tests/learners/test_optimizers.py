"""SGD and Adam against numbers and loops written out."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import PlainAdam, PlainSGD

from quatcast import LMS, RNN, SGD, Adam
from quatcast.learners.optimizers import Optimizer, OptimizerResult, global_norm

gradients = arrays(float, (2, 3, 2), elements=st.floats(-50, 50, allow_subnormal=False))


def run(optimizer, theta, sequence):
    """Parameters after all gradients, given as two arrays each."""
    parameters, state = [theta[:, :1].copy(), theta[:, 1:].copy()], {}
    for g in sequence:
        parameters, _, state = optimizer.step(parameters, [g[:, :1].copy(), g[:, 1:].copy()], state)
    return np.concatenate(parameters, axis=1)


def by_run(make, theta, sequence):
    """The same, run by run, with a plain loop."""
    done = []
    for r in range(len(theta)):
        optimizer, flat = make(r), theta[r].ravel()
        for g in sequence:
            flat = optimizer.step(flat, g[r].ravel())
        done.append(flat.reshape(theta[r].shape))
    return np.stack(done)


@pytest.mark.parametrize("clip", [2.0, None])
@given(sequence=st.lists(gradients, min_size=1, max_size=4), theta=gradients)
def test_sgd(clip, sequence, theta):
    found = run(SGD(learning_rate=[0.1, 0.3], clip=clip), theta, sequence)
    expected = by_run(lambda r: PlainSGD([0.1, 0.3][r], clip), theta, sequence)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(sequence=st.lists(gradients, min_size=1, max_size=4), theta=gradients)
def test_adam(sequence, theta):
    found = run(Adam(learning_rate=[0.1, 0.3], beta2=0.99), theta, sequence)
    expected = by_run(lambda r: PlainAdam([0.1, 0.3][r], beta2=0.99), theta, sequence)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_adam_by_hand():
    # First step: m̂ = g, v̂ = g², so that each component moves by η·g/(|g| + ε).
    theta, g = np.zeros((1, 1, 2)), np.array([[[3.0, -4.0]]])
    moved = Adam(learning_rate=0.1, epsilon=1.0).step([theta], [g], {}).parameters[0]
    np.testing.assert_allclose(moved, [[[-0.1 * 3 / 4, 0.1 * 4 / 5]]], rtol=1e-14)


def test_clipping_is_by_the_norm_over_all_parameters():
    theta, g = [np.zeros((1, 1, 1)), np.zeros((1, 1, 1))], [np.array([[[3.0]]]), np.array([[[4.0]]])]
    moved, norm, _ = SGD(learning_rate=1.0, clip=1.0).step(theta, g, {})
    assert norm == [5.0]
    assert [float(a[0, 0, 0]) for a in moved] == pytest.approx([-0.6, -0.8])


def test_adam_clips_before_its_moments():
    theta, g = np.zeros((1, 1, 2)), np.array([[[30.0, -40.0]]])
    clipped = Adam(clip=5.0).step([theta], [g.copy()], {}).state["first"][0]
    np.testing.assert_allclose(clipped, np.array([[[3.0, -4.0]]]))


@pytest.mark.parametrize("optimizer", [SGD(), Adam()], ids=repr)
def test_parameters_and_state_are_not_written_to(optimizer):
    theta = np.ones((1, 2, 2))
    _, _, state = optimizer.step([theta], [np.ones((1, 2, 2))], {})
    kept = {name: [a.copy() for a in value] for name, value in state.items() if isinstance(value, list)}
    optimizer.step([theta], [np.ones((1, 2, 2))], state)
    np.testing.assert_array_equal(theta, np.ones((1, 2, 2)))
    for name, value in kept.items():
        np.testing.assert_array_equal(state[name], value)


@pytest.mark.parametrize("optimizer", [SGD(), SGD(clip=None), Adam()], ids=repr)
def test_a_gradient_of_zero_moves_nothing(optimizer):
    moved = optimizer.step([np.ones((1, 2, 2))], [np.zeros((1, 2, 2))], {}).parameters[0]
    np.testing.assert_array_equal(moved, np.ones((1, 2, 2)))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SGD(learning_rate=0.0), "learning_rate: .* 0.0"),
        (lambda: SGD(learning_rate=[0.1, -0.1]), "rate: .*-0.1"),
        (lambda: SGD(learning_rate=np.nan), "rate: .*nan"),
        (lambda: SGD(learning_rate="fast"), "rate: .*'fast'"),
        (lambda: SGD(clip=-1.0), "clip: .*-1.0"),
        (lambda: SGD(clip=np.inf), "clip: .*inf"),
        (lambda: Adam(learning_rate=np.inf), "rate: .*inf"),
        (lambda: Adam(beta1=1.0), "beta1"),
        (lambda: Adam(epsilon=0.0), "epsilon"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("kind", [SGD, Adam])
def test_the_former_name_of_the_learning_rate_is_deprecated(kind):
    with pytest.warns(DeprecationWarning, match="rate is now called learning_rate") as caught:
        optimizer = kind(rate=0.25)
    assert optimizer == kind(learning_rate=0.25)
    assert caught[0].filename == __file__
    assert "rate" not in optimizer.settings()


@dataclass(frozen=True)
class Momentum(Optimizer):
    """An optimizer from outside the package, with a state and a setting per run."""

    learning_rate: Any = 0.01
    decay: float = 0.9

    def run_arrays(self):
        return {"learning_rate": self.learning_rate}

    def step(self, parameters, gradients, state):
        rate = np.reshape(self.learning_rate, (-1, 1))
        velocity = [self.decay * v + g for v, g in zip(state.get("v", [0.0] * len(gradients)), gradients, strict=True)]
        moved = [
            theta - (rate * v.reshape(len(v), -1)).reshape(v.shape)
            for theta, v in zip(parameters, velocity, strict=True)
        ]
        return OptimizerResult(moved, global_norm(gradients), {"v": velocity})


@pytest.mark.parametrize("kind", [LMS, RNN])
def test_an_optimizer_from_outside_is_used_and_saved(kind, tmp_path):
    rng = np.random.default_rng(0)
    learner = kind(optimizer=Momentum([0.01, 0.02]))
    for _ in range(20):
        learner.update(rng.normal(size=2), rng.normal(size=1))
    learner.save(tmp_path / "learner")
    back, u, d = kind.load(tmp_path / "learner"), rng.normal(size=2), rng.normal(size=1)
    assert back.optimizer == learner.optimizer
    for _ in range(5):
        np.testing.assert_array_equal(learner.update(u, d).prediction, back.update(u, d).prediction)
    assert learner.predict(u).shape == (2, 1)
