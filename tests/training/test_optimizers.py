"""SGD and Adam against numbers and loops written out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import PlainAdam, PlainSGD

from quatcast import SGD, Adam

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
    found = run(SGD(rate=[0.1, 0.3], clip=clip), theta, sequence)
    expected = by_run(lambda r: PlainSGD([0.1, 0.3][r], clip), theta, sequence)
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


@given(sequence=st.lists(gradients, min_size=1, max_size=4), theta=gradients)
def test_adam(sequence, theta):
    found = run(Adam(rate=[0.1, 0.3], beta2=0.99), theta, sequence)
    expected = by_run(lambda r: PlainAdam([0.1, 0.3][r], beta2=0.99), theta, sequence)
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


def test_adam_by_hand():
    # First step: m̂ = g, v̂ = g², so that each component moves by η·g/(|g| + ε).
    theta, g = np.zeros((1, 1, 2)), np.array([[[3.0, -4.0]]])
    moved = Adam(rate=0.1, epsilon=1.0).step([theta], [g], {}).parameters[0]
    np.testing.assert_allclose(moved, [[[-0.1 * 3 / 4, 0.1 * 4 / 5]]], rtol=1e-14)


def test_clipping_is_by_the_norm_over_all_parameters():
    theta, g = [np.zeros((1, 1, 1)), np.zeros((1, 1, 1))], [np.array([[[3.0]]]), np.array([[[4.0]]])]
    moved, norm, _ = SGD(rate=1.0, clip=1.0).step(theta, g, {})
    assert norm == [5.0]
    assert [float(a[0, 0, 0]) for a in moved] == pytest.approx([-0.6, -0.8])


def test_adam_clips_before_its_moments():
    theta, g = np.zeros((1, 1, 2)), np.array([[[30.0, -40.0]]])
    clipped = Adam(clip=5.0).step([theta], [g.copy()], {}).state["first"][0]
    np.testing.assert_allclose(clipped, 0.1 * np.array([[[3.0, -4.0]]]))


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
        (lambda: SGD(rate=0.0), "rate: .* 0.0"),
        (lambda: SGD(rate=[0.1, -0.1]), "rate: .*-0.1"),
        (lambda: SGD(rate=np.nan), "rate: .*nan"),
        (lambda: SGD(rate="fast"), "rate: .*'fast'"),
        (lambda: SGD(clip=-1.0), "clip: .*-1.0"),
        (lambda: SGD(clip=np.inf), "clip: .*inf"),
        (lambda: Adam(rate=np.inf), "rate: .*inf"),
        (lambda: Adam(beta1=1.0), "beta1"),
        (lambda: Adam(epsilon=0.0), "epsilon"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()
