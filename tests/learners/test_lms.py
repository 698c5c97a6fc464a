"""LMS against padasip and complex arithmetic, QLMS against loops over numpy-quaternion."""

import numpy as np
import pytest
import quaternion as nq

from quatcast import CLMS, LMS, MCC, MSE, QLMS, SGD, Adam

RATE = 0.02


def test_lms_equals_padasip():
    """Padasip has no bias, so it is given the constant one as a last input."""
    import padasip  # which takes a second that test processes without this test need not wait

    rng = np.random.default_rng(0)
    u, d = rng.normal(size=(300, 5)), rng.normal(size=300)
    learner = LMS(optimizer=SGD(learning_rate=RATE, clip=None))
    mine = [learner.update(x, [y]).prediction[0] for x, y in zip(u, d, strict=True)]
    theirs, _, weights = padasip.filters.FilterLMS(n=6, mu=RATE, w="zeros").run(d, np.hstack([u, np.ones((300, 1))]))
    np.testing.assert_allclose(mine, theirs, atol=1e-12)
    # The rows of padasip's history are the weights before each step; one more step gives the last.
    assert np.abs(weights[-1]).max() > 0.01


def test_clms_equals_complex_arithmetic():
    rng = np.random.default_rng(1)
    u, d = rng.normal(size=(200, 3, 2)), rng.normal(size=(200, 2, 2))
    learner = CLMS(optimizer=SGD(learning_rate=RATE, clip=None))
    w, b = np.zeros((2, 3), complex), np.zeros(2, complex)
    for x, y in zip(u, d, strict=True):
        z = x[:, 0] + 1j * x[:, 1]
        predicted = w @ z + b
        e = y[:, 0] + 1j * y[:, 1] - predicted
        step = learner.update(x, y)
        np.testing.assert_allclose(step.prediction, np.stack([predicted.real, predicted.imag], axis=1), atol=1e-12)
        w, b = w + RATE * np.outer(e, z.conj()), b + RATE * e


@pytest.mark.parametrize("variant", ["took-mandic", "ghr"])
@pytest.mark.parametrize("sigma", [None, 2.0], ids=["mse", "mcc"])
def test_qlms_equals_a_plain_loop(variant, sigma):
    rng = np.random.default_rng(2)
    u, d = rng.normal(size=(200, 3, 4)), rng.normal(size=(200, 2, 4))
    loss = MSE() if sigma is None else MCC(sigma=sigma)
    learner = QLMS(variant=variant, loss=loss, optimizer=SGD(learning_rate=RATE, clip=None))
    zero = nq.quaternion(0, 0, 0, 0)
    w, b = np.full((2, 3), zero), np.full(2, zero)
    for x, y in zip(u, d, strict=True):
        inputs, targets = nq.as_quat_array(x), nq.as_quat_array(y)
        predicted = [b[p] + sum((w[p, j] * inputs[j] for j in range(3)), zero) for p in range(2)]
        step = learner.update(x, y)
        np.testing.assert_allclose(step.prediction, nq.as_float_array(np.array(predicted)), atol=1e-12)
        errors = [targets[p] - predicted[p] for p in range(2)]
        weight = 1.0 if sigma is None else np.exp(-sum(e.norm() for e in errors) / (2 * sigma**2))
        for p, e in enumerate(errors):
            for j, one in enumerate([*inputs, nq.one]):
                if variant == "ghr":
                    change = RATE * weight * (e * one.conj())
                else:
                    change = RATE * weight * (2 * e * one.conj() - one.conj() * e.conj())
                if j < 3:
                    w[p, j] += change
                else:
                    b[p] += change
    np.testing.assert_allclose(learner.parameters()["readout.weight"], nq.as_float_array(w), atol=1e-12)
    np.testing.assert_allclose(learner.parameters()["readout.bias"], nq.as_float_array(b), atol=1e-12)


@pytest.mark.parametrize(
    "learner",
    [
        QLMS(optimizer=SGD(learning_rate=0.02, clip=None)),
        QLMS(variant="ghr", optimizer=SGD(learning_rate=0.05)),
        QLMS(variant="ghr", optimizer=Adam(learning_rate=0.05)),
    ],
    ids=repr,
)
def test_qlms_identifies_a_quaternion_system(learner):
    rng = np.random.default_rng(3)
    true = nq.as_quat_array(rng.normal(size=(2, 4)))
    for _ in range(1500):
        x = rng.normal(size=(2, 4))
        y = sum(true * nq.as_quat_array(x), nq.quaternion(0, 0, 0, 0))
        step = learner.update(x, nq.as_float_array(y)[None])
    assert np.linalg.norm(step.error) < 1e-2


def test_prediction_of_several_inputs_is_that_of_the_last():
    learner = LMS(optimizer=SGD(learning_rate=0.1))
    learner.update([1.0, 2.0], [3.0])
    assert learner.predict([5.0, 5.0], [1.0, 1.0]) == learner.predict([1.0, 1.0])


def test_an_unknown_variant_is_named():
    with pytest.raises(ValueError, match=r"variant: .*'hr'"):
        QLMS(variant="hr")
