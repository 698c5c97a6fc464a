"""Settings that a learner refuses, and says why; settings that it cannot save."""

import pytest

from quatcast import LMS, MCC, MSE, QRNN, RNN, SGD, Persistence


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"hidden": ()}, r"hidden: .*\(\)"),
        ({"hidden": (3, 0)}, r"hidden: .*\(3, 0\)"),
        ({"hidden": 2.5}, r"hidden: .*2\.5"),
        ({"hidden": (2.5,)}, r"hidden: .*2\.5"),
        ({"hidden": "ten"}, "hidden: .*'ten'"),
        ({"seeds": -1}, "seeds: .*-1"),
        ({"seeds": 0.5}, "seeds: .*0.5"),
        ({"seeds": []}, r"seeds: .*"),
        ({"seeds": [[1, 2], [3, 4]]}, r"seeds: .*\(2, 2\)"),
        ({"activation": "softmax"}, "activation: expected one of tanh, sigmoid, relu, identity.*, got 'softmax'"),
        ({"activation": (abs,)}, "activation: .*pair"),
        ({"init_std": -0.1}, "init_std: .*-0.1"),
        ({"tol": 1.0}, "tol: .*1.0"),
        ({"max_depth": 0}, "max_depth: .*0"),
        ({"max_depth": 2.5}, "max_depth: .*2.5"),
        ({"device": "abacus"}, "device: .*'abacus'"),
        ({"device": "os"}, "device: .*'os'"),
        ({"device": "no.such"}, "device: .*'no.such'"),
        ({"loss": "mse"}, "loss: .*'mse'"),
        ({"optimizer": 0.1}, "optimizer: .*0.1"),
        ({"seeds": range(3), "optimizer": SGD(learning_rate=[0.1, 0.2])}, "seeds has 3, learning_rate has 2"),
        ({"seeds": range(3), "loss": MCC(sigma=[1.0, 2.0])}, "seeds has 3, sigma has 2"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        RNN(**settings)


def test_functions_cannot_be_saved(tmp_path):
    learner = RNN(activation=(abs, abs))
    with pytest.raises(
        TypeError, match=r"a checkpoint cannot hold <built-in function abs>.*use a named object instead"
    ):
        learner.save(tmp_path / "x")
    assert not list(tmp_path.iterdir())


def test_loading_another_kind_says_so(tmp_path):
    LMS(loss=MSE()).save(tmp_path / "lms")
    with pytest.raises(ValueError, match="expected a QRNN, got a LMS"):
        QRNN.load(tmp_path / "lms")


def test_persistence_needs_a_whole_sample():
    learner = Persistence()
    with pytest.raises(ValueError, match="n_inputs: expected at least the 3 numbers of one sample, got 2"):
        learner.update([1.0, 2.0], [1.0, 2.0, 3.0])
    assert learner.n_inputs is None
