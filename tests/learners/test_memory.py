"""Kernel ridge regression against a plain solution of its equations, and local averages against their formula."""

import copy

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import KernelRidge, LocalAverage
from quatcast.algebra import quaternion
from quatcast.testing import fingerprint

M, P, WIDTH, PENALTY = 5, 2, 1.5, 0.2
KINDS = {
    "kernel ridge": lambda: KernelRidge(WIDTH, regularization=PENALTY, memory=60, refit=5),
    "local average": lambda: LocalAverage(memory=60),
}
both = pytest.mark.parametrize("make", KINDS.values(), ids=KINDS.keys())


def samples(n, seed=0, pure=True):
    """Inputs along a curve with a little noise, and targets that depend on them smoothly."""
    rng = np.random.default_rng(seed)
    t = np.arange(n)[:, None, None] / 7
    u = np.sin(t + np.arange(M)[:, None] * 0.4 + np.arange(4)) + 0.2 * rng.normal(size=(n, M, 4))
    if pure:
        u[..., 0] = 0.0
    d = np.stack([np.cos(u[:, 0]) + u[:, 1], u[:, 2] * u[:, 3] - 1.0], axis=1)
    return u, d


def taught(learner, u, d):
    for one, target in zip(u, d, strict=True):
        learner.update(one, target)
    return learner


def distances(u, v):
    """D between inputs (n, m, 4) and (k, m, 4), in double precision."""
    return np.linalg.norm(u[:, None] - v[None], axis=-1).mean(axis=-1)


def plain_kernel_ridge(u, d, fresh, width, penalty):
    K = np.exp(-distances(u, u) / width)
    A = np.linalg.solve(K + penalty * np.eye(len(u)), d.reshape(len(u), -1))
    return (np.exp(-distances(fresh, u) / width) @ A).reshape(len(fresh), P, 4)


@pytest.mark.parametrize(("n", "pure"), [(300, True), (300, False), (43, True)])
def test_kernel_ridge_solves_its_equations(n, pure):
    """Outputs use the last fit that was finished, that of the window `refit` samples ago."""
    u, d = samples(n, pure=pure)
    memory, refit = 60, 10
    learner = taught(KernelRidge(WIDTH, regularization=PENALTY, memory=memory, refit=refit, descents=20), u, d)
    fresh, _ = samples(20, seed=1, pure=pure)
    end = n // refit * refit - refit
    window = slice(max(0, end - memory), end)
    expected = plain_kernel_ridge(u[window], d[window], fresh, WIDTH, PENALTY)
    found = np.stack([learner.predict(one) for one in fresh])
    np.testing.assert_allclose(found, expected, atol=1e-3)
    # The window matters: one that ends ten samples later gives something else.
    other = plain_kernel_ridge(u[end - 20 : end + 3], d[end - 20 : end + 3], fresh, WIDTH, PENALTY)
    assert np.abs(found - other).max() > 0.02


def test_the_usual_number_of_descents_suffices():
    """Twelve steps per fit, each fit beginning where the last one ended, are as good as a direct solution."""
    u, d = samples(700)
    learner = taught(KernelRidge(WIDTH, regularization=PENALTY, memory=300), u, d)
    fresh, _ = samples(50, seed=1)
    expected = plain_kernel_ridge(u[390:690], d[390:690], fresh, WIDTH, PENALTY)
    found = np.stack([learner.predict(one) for one in fresh])
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.01 * np.std(d)


def test_local_average_is_its_formula():
    u, d = samples(100)
    learner = taught(LocalAverage(0.3, memory=60), u, d)
    fresh, _ = samples(20, seed=1)
    for one in fresh:
        D = distances(one[None], u[40:])[0]
        weights = np.exp(-(D - D.min()) / (0.3 * np.sort(D)[19]))
        np.testing.assert_allclose(learner.predict(one), np.tensordot(weights, d[40:], 1) / weights.sum(), atol=1e-4)


def test_a_local_average_that_skips_samples_remembers_for_longer():
    u, d = samples(100)
    fresh, _ = samples(20, seed=1)
    sparse, dense = taught(LocalAverage(memory=30, every=3), u, d), taught(LocalAverage(memory=30), u[12::3], d[12::3])
    assert (sparse.state.inputs.rows == dense.state.inputs.rows).all()
    np.testing.assert_array_equal([sparse.predict(one) for one in fresh], [dense.predict(one) for one in fresh])


def test_a_local_average_stays_between_the_targets():
    u, d = samples(90)
    learner = taught(LocalAverage(memory=60), u, d)
    for one in (100.0 * u[3], np.zeros((M, 4)), u[50]):
        output = learner.predict(one)
        assert (output >= d[30:].min(axis=0) - 1e-5).all()
        assert (output <= d[30:].max(axis=0) + 1e-5).all()


@both
@given(seed=st.integers(0, 1000))
@settings(max_examples=5, deadline=None)
def test_outputs_turn_with_inputs_and_targets(make, seed):
    u, d = samples(80, seed=seed)
    d[..., 0] = 0.0
    turn = quaternion.random_unit(seed)
    fresh, _ = samples(1, seed=seed + 1)
    plain = taught(make(), u, d).predict(fresh[0])
    turned = taught(make(), quaternion.rotation(u, turn), quaternion.rotation(d, turn))
    np.testing.assert_allclose(
        turned.predict(quaternion.rotation(fresh[0], turn)), quaternion.rotation(plain, turn), atol=1e-3
    )


@both
@pytest.mark.parametrize("at", [0, 3, 40, 63, 100])
def test_a_saved_learner_goes_on_bit_for_bit(make, at, tmp_path):
    u, d = samples(140)
    learner = taught(make().begin(M, P), u[:at], d[:at])
    learner.save(tmp_path / "learner")
    loaded = type(learner).load(tmp_path / "learner")
    assert fingerprint(loaded) == fingerprint(learner)
    for one, target in zip(u[at:], d[at:], strict=True):
        np.testing.assert_array_equal(loaded.predict(one), learner.predict(one))
        step, expected = loaded.update(one, target), learner.update(one, target)
        np.testing.assert_array_equal(step.prediction, expected.prediction)
    assert fingerprint(loaded) == fingerprint(learner)


@both
def test_steps_can_be_undone(make):
    """Every step is made twice, the first time with a wrong target and undone, around refits too."""
    u, d = samples(150)
    learner, twin = make().begin(M, P), make().begin(M, P)
    for t, (one, target) in enumerate(zip(u, d, strict=True)):
        mark = learner.mark()
        learner.update(one[::-1], target + 3.0)
        learner.rewind(mark)
        step, expected = learner.update(one, target), twin.update(one, target)
        np.testing.assert_array_equal(step.prediction, expected.prediction, err_msg=f"sample {t}")
    assert fingerprint(learner) == fingerprint(twin)


@both
def test_a_target_that_is_not_observed_does_not_count(make):
    u, d = samples(100)
    learner, other = make(), make()
    for n, (one, target) in enumerate(zip(u, d, strict=True)):
        observed = np.array([True, n % 3 > 0])
        learner.update(one, target, observed)
        other.update(one, np.where(observed[:, None], target, 99.0), observed)
    np.testing.assert_array_equal(learner.predict(u[0]), other.predict(u[0]))
    before = fingerprint(learner)
    learner.update(u[0], d[0], np.array([False, False]))
    assert fingerprint(learner) == before


@both
def test_memory_is_bounded(make):
    u, d = samples(400)
    learner = taught(make(), u[:200], d[:200])
    sizes = []
    for one, target in zip(u[200:], d[200:], strict=True):
        learner.update(one, target)
        sizes.append(len(learner.state.inputs))
    assert max(sizes) == min(sizes) <= 70
    copied = copy.deepcopy(learner)
    np.testing.assert_array_equal(copied.predict(u[0]), learner.predict(u[0]))


def test_kernel_ridge_withstands_equal_inputs_and_large_numbers():
    learner = KernelRidge(memory=30, refit=5, regularization=1e-3)
    for value in [0.0] * 40 + [1.0] * 40 + [1e4] * 40:
        learner.update(np.full((2, 4), value), np.full((1, 4), value))
    assert np.isfinite(learner.predict(np.full((2, 4), 1e4))).all()
    np.testing.assert_allclose(learner.predict(np.full((2, 4), 1e4)), 1e4, rtol=1e-3)


@pytest.mark.parametrize(
    ("kind", "settings", "message"),
    [
        (KernelRidge, {"width": 0.0}, "width: expected a positive finite number, got 0.0"),
        (KernelRidge, {"width": np.nan}, "width: expected a positive finite number, got nan"),
        (KernelRidge, {"regularization": -1.0}, "regularization: expected a positive finite number, got -1.0"),
        (KernelRidge, {"memory": 0}, "memory: expected a positive whole number, got 0"),
        (KernelRidge, {"refit": 2.5}, "refit: expected a positive whole number, got 2.5"),
        (KernelRidge, {"descents": 0}, "descents: expected a positive whole number, got 0"),
        (KernelRidge, {"memory": 5}, "refit: expected at most the 5 samples of the memory, got 10"),
        (LocalAverage, {"bandwidth": 0.0}, "bandwidth: expected a positive finite number, got 0.0"),
        (LocalAverage, {"memory": 1.5}, "memory: expected a positive whole number, got 1.5"),
        (LocalAverage, {"every": 0}, "every: expected a positive whole number, got 0"),
    ],
)
def test_bad_settings_are_refused(kind, settings, message):
    with pytest.raises(ValueError, match=message):
        kind(**settings)


@both
def test_learning_without_a_prediction_leaves_the_same_state(make):
    """A forecaster asks for no prediction of samples that it learns from, but for those that were not observed."""
    u, d = samples(90, pure=False)
    one, other = make().begin(M, P), make().begin(M, P)
    rng = np.random.default_rng(2)
    for t, (input_, target) in enumerate(zip(u, d, strict=True)):
        mask = [None, rng.integers(0, 2, P).astype(float)][t % 2]
        pair = input_.T.copy(), target.T.copy(), mask
        step = one._update(*pair)
        assert other._learn(*pair) is None
        assert (step.weight == 1).all()
        assert fingerprint(one) == fingerprint(other)


@given(st.integers(1, 200), st.integers(1, 40))
def test_the_products_of_a_fit_are_spread_evenly_over_its_samples(refit, descents):
    learner = KernelRidge(refit=refit, descents=descents)
    made = [learner._until(n + 1) - learner._until(n) for n in range(refit)]
    assert sum(made) == descents + 1, "the fit itself, and its descents"
    assert made[0] >= 1
    assert max(made) - min(made) <= 1 or refit > descents
    assert max(made) <= -(-(descents + 1) // refit) + 1
