"""Kernels, the correntropy estimate and the two losses."""

import math
import pickle
from dataclasses import dataclass

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from oracles import unrolled

from quatcast import LMS, MCC, MSE, QLMS, QRNN, RNN, SGD, Adam, C, H, R, Replay, correntropy, kernel
from quatcast.algebra import fetch, place
from quatcast.learners.losses import Loss, LossResult

errors = arrays(float, (1, 4, 2), elements=st.floats(-3, 3, allow_subnormal=False))


def numerical_gradient(loss, e, h=1e-5):
    gradient = np.zeros_like(e)
    for index in np.ndindex(e.shape):
        ahead, behind = e.copy(), e.copy()
        ahead[index] += h
        behind[index] -= h
        gradient[index] = (loss.evaluate(ahead, {}).value[0] - loss.evaluate(behind, {}).value[0]) / (2 * h)
    return gradient


def test_kernels_by_hand():
    # exp(−25/(2·25)) = exp(−½); 1/√(2π) = 0.3989422804
    weight, norm = math.exp(-0.5), 0.3989422804014327 / 5.0
    assert kernel(5.0, 5.0, R) == pytest.approx(1 * norm * weight, rel=1e-14)
    assert kernel([3.0, 4.0], 5.0, C) == pytest.approx(2 * norm * weight, rel=1e-14)
    assert kernel([1.0, 2.0, 2.0, 4.0], 5.0) == pytest.approx(4 * norm * weight, rel=1e-14)
    np.testing.assert_allclose(kernel([0.0, 2.0], 2.0, R), [0.19947114020071635, 0.12098536225957168], rtol=1e-14)
    assert kernel(np.zeros((3, 2, 4)), 1.0, H).shape == (3, 2)


def test_kernel_refuses_the_wrong_number_of_components():
    with pytest.raises(ValueError, match=r"error: .* 4 components .* got shape \(3,\)"):
        kernel([1.0, 2.0, 3.0], 1.0, H)


def test_correntropy_by_hand():
    # Errors of modulus 0 and 2 under σ = 2: mean of 4/(√(2π)·2) and that times exp(−½).
    desired = [[1.0, 2.0, 3.0, 4.0], [1.0, 1.0, 1.0, 1.0]]
    output = [[1.0, 2.0, 3.0, 4.0], [0.0, 0.0, 0.0, 0.0]]
    peak = 2 / math.sqrt(2 * math.pi)
    assert correntropy(desired, output, sigma=2.0) == pytest.approx(peak * (1 + math.exp(-0.5)) / 2, rel=1e-14)


@pytest.mark.parametrize("loss", [MSE(), MCC(sigma=1.5), MCC(sigma=1.5, scope="channel")], ids=repr)
@given(e=errors)
def test_gradient_against_finite_differences(loss, e):
    judged = loss.evaluate(e, {})
    # The error falls as the output rises.
    np.testing.assert_allclose(judged.slope, -numerical_gradient(loss, e), atol=1e-8)
    np.testing.assert_allclose(judged.slope, np.broadcast_to(-judged.weight * e, e.shape))


@given(e=errors)
def test_mcc_tends_to_mse(e):
    wide, square = MCC(sigma=1e5).evaluate(e, {}), MSE().evaluate(e, {})
    np.testing.assert_allclose(wide.value, square.value, rtol=1e-7, atol=1e-12)
    np.testing.assert_allclose(wide.weight, square.weight, rtol=1e-7)


@given(e=arrays(float, (3, 4, 2), elements=st.floats(-1e200, 1e200)))
def test_an_infinite_width_is_the_square_error_to_the_last_bit(e):
    with np.errstate(over="ignore", invalid="ignore"):
        wide, square = MCC(sigma=math.inf).evaluate(e, {}), MSE().evaluate(e, {})
    np.testing.assert_array_equal(wide.weight, square.weight)
    np.testing.assert_array_equal(wide.value, square.value)


@pytest.mark.parametrize("kind", [RNN, QRNN])
def test_learning_under_an_infinite_width_is_learning_under_the_square_error(kind):
    rng, tail = np.random.default_rng(1), () if kind is RNN else (4,)
    settings = {"hidden": (3,), "seeds": [4, 5], "optimizer": SGD(learning_rate=[0.1, 0.3]), "init_std": 0.2}
    wide, square = kind(loss=MCC(sigma=[math.inf, math.inf]), **settings), kind(loss=MSE(), **settings)
    for _ in range(40):
        u, d = 3 * rng.normal(size=(2, *tail)), 3 * rng.normal(size=(1, *tail))
        found, expected = wide.update(u, d), square.update(u, d)
        for name in ("prediction", "loss", "weight", "gradient_norm"):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name, array in square.parameters().items():
        np.testing.assert_array_equal(wide.parameters()[name], array)


widths = st.one_of(st.just("adaptive"), st.just(math.inf), st.floats(0.1, 10.0))


@pytest.mark.parametrize("device", ["cpu", "array_api_strict", "torch"])
@given(
    sigmas=st.lists(widths, min_size=1, max_size=5),
    scope=st.sampled_from(["joint", "channel"]),
    seed=st.integers(0, 999),
    lost=st.booleans(),
)
@settings(max_examples=30)
def test_widths_of_all_kinds_side_by_side(device, sigmas, scope, seed, lost):
    if device != "cpu":
        pytest.importorskip(device)
    rng = np.random.default_rng(seed)
    together, state = MCC(sigma=sigmas, scope=scope), {}
    alone, states = [MCC(sigma=sigma, scope=scope) for sigma in sigmas], [{} for _ in sigmas]
    for n in range(6):
        e = rng.normal(size=(len(sigmas), 4, 2)) * 10.0 ** rng.integers(-2, 2)
        observed = np.array([1.0, 0.0]) if lost and n % 2 else None
        if observed is not None:
            e = e * observed
        placed = place(e, device), state, None if observed is None else place(observed, device)
        value, slope, weight, state = together.evaluate(*placed)
        for r, loss in enumerate(alone):
            single = loss.evaluate(e[r : r + 1], states[r], observed)
            states[r] = single.state
            np.testing.assert_allclose(fetch(value)[r], single.value[0], rtol=1e-12)
            np.testing.assert_allclose(fetch(slope)[r], single.slope[0], rtol=1e-12)
            np.testing.assert_allclose(fetch(weight)[r], single.weight[0], rtol=1e-12)
    assert bool(state) == ("adaptive" in sigmas)


def test_no_adaptive_arithmetic_where_no_run_is_adaptive(monkeypatch):
    def never(*_):
        raise AssertionError("a fixed kernel followed the errors")

    monkeypatch.setattr(MCC, "_follow", never)
    judged = MCC(sigma=[1.0, 2.0, math.inf]).evaluate(np.ones((3, 1, 2)), {})
    np.testing.assert_allclose(judged.weight.ravel(), [math.exp(-1.0), math.exp(-0.25), 1.0])


def test_runs_with_widths_of_all_kinds_are_saved_and_go_on(tmp_path):
    rng = np.random.default_rng(2)
    learner = QRNN((2,), loss=MCC(sigma=[2.0, "adaptive", math.inf]), seeds=[0, 1, 2])
    for _ in range(20):
        learner.update(rng.normal(size=(2, 4)), rng.normal(size=(1, 4)))
    learner.save(tmp_path / "runs.npz")
    copies = QRNN.load(tmp_path / "runs.npz"), pickle.loads(pickle.dumps(learner))
    u, d = rng.normal(size=(2, 4)), rng.normal(size=(1, 4))
    learner.update(u, d)
    for again in copies:
        assert again.loss == learner.loss
        again.update(u, d)
        for name, array in learner.parameters().items():
            np.testing.assert_array_equal(again.parameters()[name], array)


@given(e=errors)
def test_mcc_is_bounded(e):
    judged = MCC(sigma=0.5).evaluate(1e6 * e, {})
    assert 0.0 <= judged.value[0] <= 0.25


def test_channels_are_weighed_apart():
    e = np.array([[[0.0, 3.0], [0.0, 4.0]]])
    joint = MCC(sigma=5.0).evaluate(e, {})
    apart = MCC(sigma=5.0, scope="channel").evaluate(e, {})
    np.testing.assert_allclose(joint.weight, [[[math.exp(-0.5)]]])
    np.testing.assert_allclose(apart.weight, [[[1.0, math.exp(-0.5)]]])


def scales(loss, moduli):
    state, found = {}, []
    for modulus in moduli:
        state = loss.evaluate(np.array([[[float(modulus)]]]), state).state
        found.append(float(state["scale"][0, 0, 0]))
    return found


def test_adaptive_scale_by_hand():
    # s₀ = 2; 2 + ½(1 − 2) = 1.5; 1.5 + ½(min(100, 4.5) − 1.5) = 3
    assert scales(MCC(sigma="adaptive", memory=0.5, bound=3.0), [2, 1, 100]) == [2.0, 1.5, 3.0]


def test_the_width_in_force_is_that_before_the_error():
    loss = MCC(sigma="adaptive", factor=2.0, memory=0.5)
    state = loss.evaluate(np.array([[[2.0]]]), {}).state
    assert loss.evaluate(np.array([[[8.0]]]), state).weight.item() == pytest.approx(math.exp(-64 / (2 * 4.0**2)))


@given(size=st.floats(10.0, 1e100))
def test_one_outlier_cannot_drag_the_scale(size):
    before, after = scales(MCC(sigma="adaptive"), [1.0, size])
    assert after == pytest.approx(1.1 * before)


def test_a_scale_of_zero_starts_over():
    assert scales(MCC(sigma="adaptive"), [0.0, 0.0, 4.0])[-1] == 4.0


def after_a_shift(sigma):
    """Mean error over the last of 600 steps, the signal having jumped by 20 after 300."""
    learner = LMS(loss=MCC(sigma=sigma), optimizer=SGD(learning_rate=0.1, clip=None))
    rng = np.random.default_rng(0)
    level = np.where(np.arange(600) < 300, 1.0, 21.0) + 0.1 * rng.normal(size=600)
    moduli = [abs(learner.update([1.0], [target]).error[0]) for target in level]
    return np.mean(moduli[-50:])


def test_a_fixed_kernel_locks_out():
    assert after_a_shift(2.0) > 15.0


def test_the_adaptive_kernel_recovers():
    assert after_a_shift("adaptive") < 0.2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: MCC(sigma=0.0), "sigma: expected a positive number"),
        (lambda: MCC(sigma=[1.0, -1.0]), "sigma: expected a positive number"),
        (lambda: MCC(sigma=math.nan), "sigma: expected a positive number"),
        (lambda: MCC(sigma=[1.0, math.nan]), "sigma: expected a positive number"),
        (lambda: MCC(sigma="adaptative"), "sigma: .*'adaptative'"),
        (lambda: MCC(sigma=[2.0, "2.0"]), "sigma: .*'2.0'"),
        (lambda: MCC(sigma=None), "sigma: .*None"),
        (lambda: MCC(scope="marker"), "scope: .*'marker'"),
        (lambda: MCC(sigma="adaptive", memory=1.5), "memory"),
        (lambda: MCC(sigma="adaptive", bound=1.0), "bound"),
    ],
)
def test_bad_settings_are_named(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("scope", ["joint", "channel"])
def test_the_adaptive_kernel_wakes_up_after_a_long_rest(scope):
    loss, state = MCC("adaptive", scope=scope), {}
    for _ in range(200):
        state = loss.evaluate(np.full((1, 1, 2), 0.5), state).state
    for _ in range(20_000):
        judged = loss.evaluate(np.zeros((1, 1, 2)), state)
        state = judged.state
        assert np.isfinite(judged.weight).all()
    weights = []
    for _ in range(120):
        judged = loss.evaluate(np.full((1, 1, 2), 0.5), state)
        state = judged.state
        weights.append(judged.weight.min())
    assert weights[0] < 1e-6
    assert weights[-1] > 0.8


def test_the_adaptive_kernel_does_not_narrow_for_what_was_not_there():
    rng = np.random.default_rng(0)
    observed = np.array([1.0, 0.0])
    joint, channel = ({}, {})
    for _ in range(400):
        e = rng.normal(size=(1, 3, 2))
        joint = MCC("adaptive").evaluate(e * observed, joint, observed).state
        channel = MCC("adaptive", scope="channel").evaluate(e, channel, observed).state
    typical = np.sqrt(6.0)
    assert 0.7 * typical < joint["scale"][0, 0, 0] < 1.3 * typical
    first = MCC("adaptive", scope="channel").evaluate(np.full((1, 3, 2), 2.0), {}).state["scale"]
    rest = MCC("adaptive", scope="channel").evaluate(np.zeros((1, 3, 2)), {"scale": first, "largest": first}, observed)
    assert rest.state["scale"][0, 0, 0] < first[0, 0, 0]
    assert rest.state["scale"][0, 0, 1] == first[0, 0, 1]


@dataclass(frozen=True)
class Tilted(Loss):
    """A loss from outside the package, Σ[log cosh(e) + a·e]: its derivative is neither −w·e nor zero at e = 0."""

    tilt: float = 0.3

    def evaluate(self, e, state, observed=None):
        value = np.sum(np.log(np.cosh(e)) + self.tilt * e, axis=(-2, -1))
        return LossResult(value, -np.tanh(e) - self.tilt, np.ones_like(e[..., :1, :1]), state)


def test_a_loss_of_any_gradient_is_descended(tmp_path):
    rng = np.random.default_rng(3)
    inputs, target = rng.normal(size=(6, 2, 4)), rng.normal(size=(1, 4))
    learner = QRNN((3,), loss=Tilted(), optimizer=SGD(1e-300, clip=None), init_std=0.4).begin(2, 1)
    start = learner.parameters()
    for u in inputs[:-1]:
        learner.update(u, target)
    learner.optimizer = SGD(1.0, clip=None)
    learner.update(inputs[-1], target)

    def cost(parameters):
        e = target - unrolled(parameters, inputs, 1, anp, anp.tanh)
        return anp.sum(anp.log(anp.cosh(e)) + 0.3 * e)

    expected = autograd.grad(cost)(start)
    for name, array in learner.parameters().items():
        np.testing.assert_allclose(start[name] - array, expected[name], rtol=1e-9, atol=1e-9, err_msg=name)
    learner.save(tmp_path / "learner")
    assert QRNN.load(tmp_path / "learner").loss == Tilted()


@pytest.mark.parametrize(
    "make",
    [
        lambda: LMS(loss=Tilted()),
        lambda: QLMS(loss=Tilted()),
        lambda: RNN((3,), loss=Tilted(), optimizer=Adam(0.01), replay=Replay(batch=3, window=2)),
    ],
    ids=["lms", "qlms", "replay"],
)
def test_a_derivative_at_zero_does_not_teach_what_was_not_observed(make):
    rng, learner = np.random.default_rng(4), make()
    tail = () if learner.algebra.dimension == 1 else (4,)
    before = learner.begin(2, 2).parameters()["readout.bias"]
    for _ in range(5):
        learner.update(rng.normal(size=(2, *tail)), rng.normal(size=(2, *tail)), np.array([True, False]))
    moved = learner.parameters()["readout.bias"] - before
    assert moved[0].any()
    assert not moved[1].any()
