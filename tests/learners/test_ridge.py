"""Refitted ridge regressions against least squares on all samples at once, and neurons against numpy-quaternion."""

import copy

import numpy as np
import pytest
import quaternion as nq

from quatcast import QELM, Ridge
from quatcast.learners import ridge
from quatcast.testing import fingerprint

PENALTY, M, P, UNITS = 2.5, 3, 2, 4


def least_squares(X, Y, penalty):
    """Ridge solution (features, outputs) and bias: rows of √λ·I beside zeros, a bias that hardly costs anything."""
    n = X.shape[1]
    rows = np.vstack([np.column_stack([X, np.ones(len(X))]), np.diag([penalty**0.5] * n + [(1e-6 * penalty) ** 0.5])])
    theta = np.linalg.lstsq(rows, np.vstack([Y, np.zeros((n + 1, Y.shape[1]))]), rcond=None)[0]
    return theta[:-1], theta[-1]


def real_samples(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, M)), rng.normal(size=(n, P)) + 3.0


def quaternion_samples(n, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, M, 4)), rng.normal(size=(n, P, 4)) - 2.0


def features(u, weight, bias):
    """Input and tanh(W u + b), a quaternion at a time; components of all inputs in turn, then those of all neurons."""
    q, neurons = nq.as_quat_array(u), []
    for row, b in zip(nq.as_quat_array(weight), nq.as_quat_array(bias), strict=True):
        f = b
        for w, x in zip(row, q, strict=True):
            f = f + w * x
        neurons.append([np.tanh(f.w), np.tanh(f.x), np.tanh(f.y), np.tanh(f.z)])
    return np.concatenate([np.array(numbers).T.ravel() for numbers in (u, neurons)])


@pytest.mark.parametrize(
    ("refit", "more"),
    [
        (1, {}),
        (4, {}),
        (6, {"refit": 3, "features": 2}),
        (4, {"features": 4}),
        (47, {}),
        (40, {"refit": 20, "features": 2}),
    ],
)
def test_ridge_is_the_least_squares_solution_whenever_it_is_fitted(refit, more):
    """Four features, of which two are too many for a fit every three samples; many samples are fitted in parts."""
    U, D = real_samples(21 if refit < 10 else 150)
    learner = Ridge(PENALTY, **{"refit": refit} | more).begin(M, P)
    for n, (u, d) in enumerate(zip(U, D, strict=True), start=1):
        before = learner.parameters()
        learner.update(u, d)
        found = learner.parameters()
        if n % refit:
            assert all(np.array_equal(before[name], found[name]) for name in found)
            continue
        weight, bias = least_squares(U[:n], D[:n], PENALTY)
        np.testing.assert_allclose(found["readout.weight"][..., 0].T, weight, atol=1e-9)
        np.testing.assert_allclose(found["readout.bias"][:, 0], bias, atol=1e-7)
        np.testing.assert_allclose(learner.predict(U[0]), U[0] @ weight + bias, atol=1e-7)


def test_a_target_that_is_not_observed_is_replaced_by_its_prediction():
    U, D = real_samples(20)
    learner, goals = Ridge(PENALTY, refit=5), D.copy()
    for n, (u, d) in enumerate(zip(U, D, strict=True)):
        observed = np.array([True, n % 3 > 0])
        step = learner.update(u, d, observed)
        goals[n] = np.where(observed, d, step.prediction)
    weight, _ = least_squares(U, goals, PENALTY)
    np.testing.assert_allclose(learner.parameters()["readout.weight"][..., 0].T, weight, atol=1e-9)
    # The channel that was always there is fitted as if nothing had happened.
    np.testing.assert_allclose(weight[:, 0], least_squares(U, D, PENALTY)[0][:, 0], atol=1e-9)
    assert not np.allclose(weight[:, 1], least_squares(U, D, PENALTY)[0][:, 1], atol=1e-3)


def check_qelm(parameters, U, D, fitted, u):
    """Compare the parameters of one run with the solution on `fitted` samples; return the output for u."""
    rows = [features(x, parameters["neurons.weight"], parameters["neurons.bias"]) for x in U[:fitted]]
    goals = D[:fitted].reshape(fitted, -1)
    weight, bias = least_squares(np.array(rows), goals, PENALTY)
    np.testing.assert_allclose(parameters["readout.weight"].swapaxes(0, 1).reshape(weight.shape), weight, atol=1e-8)
    np.testing.assert_allclose(parameters["readout.bias"].ravel(), bias, atol=1e-6)
    return (features(u, parameters["neurons.weight"], parameters["neurons.bias"]) @ weight + bias).reshape(P, 4)


def test_qelm_is_the_least_squares_solution_on_its_neurons():
    U, D = quaternion_samples(24)
    learner = QELM(UNITS, regularization=PENALTY, refit=6)
    for u, d in zip(U, D, strict=True):
        learner.update(u, d)
    fresh = quaternion_samples(1, seed=4)[0][0]
    np.testing.assert_allclose(learner.predict(fresh), check_qelm(learner.parameters(), U, D, 24, fresh), atol=1e-6)


@pytest.mark.parametrize(("refit", "rarer"), [(5, 1), (5, 2), (32, 1)])
def test_seeds_take_turns_and_arrive_at_the_same_fits(refit, rarer):
    count = 22 if refit < 10 else 80
    U, D = quaternion_samples(count)
    seeds = [0, 3, 11]
    features = -(-(4 * (M + UNITS) + 1) // rarer)
    learner = QELM(UNITS, regularization=PENALTY, refit=refit, features=features, seeds=seeds)
    alone = [QELM(UNITS, regularization=PENALTY, refit=1, seeds=seed) for seed in seeds]
    apart = refit * (rarer - 1) // 3
    moments = [
        [n for n in range(1, count + 1) if (n + seed + r * apart) % (refit * rarer) == 0]
        for r, seed in enumerate(seeds)
    ]
    assert len({tuple(m) for m in moments}) == 3
    for n, (u, d) in enumerate(zip(U, D, strict=True), start=1):
        moved = learner.update(u, d).gradient_norm
        np.testing.assert_array_equal(moved > 0, [n in m for m in moments])
        for r, one in enumerate(alone):
            one.update(u, d)
            if n in moments[r]:
                # A fit at some samples is the fit that one at every sample has by then.
                np.testing.assert_allclose(
                    learner.parameters()["readout.weight"][r], one.parameters()["readout.weight"], atol=1e-9
                )
    found = learner.parameters()
    for r, m in enumerate(moments):
        check_qelm({name: array[r] for name, array in found.items()}, U, D, m[-1], U[0])


def test_neurons_follow_the_seed_and_have_the_gain():
    gain, units, m = 1.5, 400, 30
    learner = QELM(units, gain=gain, seeds=[1, 1, 2]).begin(m, 1)
    weight = learner.parameters()["neurons.weight"]
    assert weight.shape == (3, units, m, 4)
    assert np.array_equal(weight[0], weight[1])
    assert not np.array_equal(weight[0], weight[2])
    u = np.random.default_rng(0).normal(size=(m, 4)) * [0, 1, 1, 1]
    f = nq.as_float_array(np.sum(nq.as_quat_array(weight[0]) * nq.as_quat_array(u), axis=1))
    assert np.sqrt(np.mean(f**2)) == pytest.approx(gain * np.sqrt(np.mean(u[:, 1:] ** 2)), rel=0.1)


def test_random_neurons_fit_what_a_line_cannot():
    rng = np.random.default_rng(0)
    U = rng.uniform(-1, 1, size=(400, 1, 4))
    D = np.stack([np.prod(U[:, :, :2], axis=-1), *[np.zeros((400, 1))] * 3], axis=-1)
    errors = {}
    for units in (1, 25):
        learner = QELM(units, regularization=1e-3, refit=50)
        errors[units] = [learner.update(u, d).error for u, d in zip(U, D, strict=True)]
    assert np.std(errors[25][200:]) < 0.2 * np.std(D)
    assert np.std(errors[1][200:]) > 0.8 * np.std(D)


def test_thousands_of_fits_leave_the_solution_where_it_belongs():
    """Inputs that hardly vary in some directions and are all but alike in others; few outputs, much rounding."""
    rng = np.random.default_rng(5)
    U = rng.normal(size=(4000, 12)) @ (rng.normal(size=(12, 12)) * np.logspace(0, -6, 12)) + 5.0
    D = np.sin(U[:, :P]) + 0.1 * rng.normal(size=(4000, P))
    learner = Ridge(0.01, refit=2)
    for u, d in zip(U, D, strict=True):
        learner.update(u, d)
    weight, bias = least_squares(U, D, 0.01)
    found = learner.parameters()
    np.testing.assert_allclose(found["readout.weight"][..., 0].T, weight, atol=1e-7)
    np.testing.assert_allclose(found["readout.bias"][:, 0], bias, atol=1e-7)


@pytest.mark.parametrize("wakes", [None, 7, 17])
def test_features_that_are_silent_at_first_are_fitted_when_they_speak(wakes):
    U, D = quaternion_samples(26)
    U[:wakes, :, 0] = 0.0
    learner = QELM(UNITS, regularization=PENALTY, refit=2)
    for u, d in zip(U, D, strict=True):
        learner.update(u, d)
    check_qelm(learner.parameters(), U, D, 26, U[0])
    assert np.any(learner.parameters()["readout.weight"][:, :M]) == (wakes is not None)


def test_loaded_weights_do_not_change_the_next_fit():
    U, D = real_samples(12)
    learner, other = Ridge(PENALTY, refit=4), Ridge(PENALTY, refit=4)
    for n, (u, d) in enumerate(zip(U, D, strict=True), start=1):
        for one in (learner, other):
            one.update(u, d)
        if n == 8:
            other.load_parameters({name: array + 1.0 for name, array in other.parameters().items()})
            assert not np.allclose(learner.predict(u), other.predict(u))
    np.testing.assert_array_equal(learner.predict(U[0]), other.predict(U[0]))


def test_loaded_parameters_serve_until_the_next_fit():
    U, D = quaternion_samples(9)
    taught, learner = (QELM(UNITS, regularization=PENALTY, refit=4, seeds=seed) for seed in (7, 8))
    for u, d in zip(U[:8], D[:8], strict=True):
        taught.update(u, d)
        learner.update(-u, 2 * d)
    learner.load_parameters(taught.parameters())
    np.testing.assert_allclose(learner.predict(U[0]), taught.predict(U[0]), atol=1e-12)
    # Fits go on with the new neurons and only with what they have seen themselves.
    fresh, targets = quaternion_samples(4, seed=3)
    for u, d in zip(fresh, targets, strict=True):
        learner.update(u, d)
    check_qelm(learner.parameters(), fresh, targets, 4, U[0])


def test_loaded_neurons_are_saved(tmp_path):
    learner = QELM(UNITS, seeds=1).begin(M, P)
    learner.load_parameters(QELM(UNITS, seeds=2).begin(M, P).parameters())
    learner.save(tmp_path / "qelm.checkpoint")
    for name, array in QELM.load(tmp_path / "qelm.checkpoint").parameters().items():
        np.testing.assert_array_equal(array, learner.parameters()[name])


def test_neurons_of_the_seeds_are_not_saved_but_drawn_again(tmp_path):
    learner = QELM(200, seeds=[1, 2]).begin(30, P)
    learner.save(tmp_path / "qelm")
    assert learner.parameters()["neurons.weight"].nbytes == 384_000
    assert (tmp_path / "qelm").stat().st_size < 130_000
    loaded = QELM.load(tmp_path / "qelm")
    for name, array in loaded.parameters().items():
        np.testing.assert_array_equal(array, learner.parameters()[name])
    other = QELM.load(tmp_path / "qelm")
    other.state.checksum += 1
    with pytest.raises(ValueError, match="draws other neurons"):
        other.predict(np.zeros((30, 4)))


def test_a_copied_state_does_not_change_afterwards():
    learner = Ridge(PENALTY, refit=2)
    U, D = real_samples(8)
    for u, d in zip(U[:4], D[:4], strict=True):
        learner.update(u, d)
    state = copy.deepcopy(learner.state)
    before = fingerprint(state)
    for u, d in zip(U[4:], D[4:], strict=True):
        learner.update(u, d)
    assert fingerprint(state) == before


@pytest.mark.parametrize("steps", [1, 3, 8, 20])
def test_several_fits_are_undone_together(steps):
    """A step of a forecaster that catches up contains several fits, and a fit reuses the memory of the last but one."""
    U, D = real_samples(60)
    learner = Ridge(PENALTY, refit=2)
    for u, d in zip(U[:21], D[:21], strict=True):
        learner.update(u, d)
    for _ in range(2):
        before, mark = fingerprint(learner), learner.mark()
        for u, d in zip(U[21 : 21 + steps], D[21 : 21 + steps], strict=True):
            learner.update(u, d)
        assert fingerprint(learner) != before
        learner.rewind(mark)
        assert fingerprint(learner) == before


def test_a_fit_reuses_memory():
    U, D = real_samples(60)
    learner, matrices = Ridge(PENALTY, refit=2), []
    for u, d in zip(U, D, strict=True):
        learner.mark()
        learner.update(u, d)
        matrices.append(learner.state.inverse[0].matrix)
    assert len({id(matrix) for matrix in matrices if matrix.size}) <= 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"regularization": 0.0}, "regularization: .*0.0"),
        ({"regularization": float("nan")}, "regularization: .*nan"),
        ({"refit": 0}, "refit: .*0"),
        ({"refit": 2.5}, "refit: .*2.5"),
        ({"features": 0}, "features: .*0"),
        ({"features": 1.5}, "features: .*1.5"),
        ({"units": 0}, "units: .*0"),
        ({"units": 2.0}, "units: .*2.0"),
        ({"gain": -1.0}, "gain: .*-1.0"),
        ({"gain": float("inf")}, "gain: .*inf"),
        ({"seeds": -1}, "seeds: .*-1"),
        ({"seeds": []}, r"seeds: .*\[\]"),
        ({"seeds": 1.5}, "seeds: .*1.5"),
        ({"seeds": [[1], [2]]}, r"seeds: .*\[\[1\], \[2\]\]"),
    ],
    ids=str,
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        QELM(**settings)


@pytest.mark.parametrize("large", [1e3, 1e6, 1e9])
def test_inputs_far_larger_than_all_before_are_fitted_as_well(large):
    learner, errors = Ridge(regularization=30.0, refit=10), []
    for t in range(300):
        scale = 1e-3 if t < 100 else large
        wave = scale * np.sin(0.1 * (t + np.arange(8)))
        errors.append(float(learner.update(wave[:6], wave[7:]).error[0]) / scale)
    assert np.max(np.abs(errors[200:])) < 1e-4


@pytest.mark.parametrize(("scale", "atol"), [(1.0, 1e-12), (1e2, 1e-12), (1e3, 1e-11), (1e4, 1e-9), (1e5, 1e-5)])
def test_a_burst_of_large_inputs_does_not_spoil_small_ones(scale, atol):
    """The sum of squares grows to 10¹¹ penalties at 10⁵, and the fit must still be right for inputs of size one."""
    rng = np.random.default_rng(6)
    U, noise = rng.normal(size=(1200, 12)), 0.1 * rng.normal(size=(1200, P))
    size = np.where(np.arange(1200) // 50 == 10, scale, 1.0)[:, None]
    U, D = size * U, size * (U @ rng.normal(size=(12, P)) + noise)
    learner = Ridge(30.0, refit=10)
    for u, d in zip(U, D, strict=True):
        learner.update(u, d)
    weight, bias = least_squares(U, D, 30.0)
    found = [learner.predict(u) for u in U[-100:]]
    np.testing.assert_allclose(found, U[-100:] @ weight + bias, atol=atol * np.abs(D[-100:]).max())


def test_memory_that_is_provided_in_advance_is_used_and_changes_no_bit():
    plain, provided = (QELM(units=UNITS, refit=4, seeds=[0, 1]) for _ in range(2))
    provided._provide(M, P)
    room = provided._room
    for u, d in zip(*quaternion_samples(60), strict=True):
        np.testing.assert_array_equal(provided.update(u, d).prediction, plain.update(u, d).prediction)
    one, other = provided.state.inverse
    assert all(np.shares_memory(memory, room) for run in (one, other) for memory in (run.matrix, run.after))
    assert not np.shares_memory(one.matrix, other.matrix)


def test_memory_is_provided_a_page_at_a_time_and_only_if_it_is_not_huge():
    learner = QELM(units=300, refit=4)
    for _ in range(2):
        learner._provide(M, P)
        assert not learner._room[: learner._written].any()
    assert learner._written == 2 * ridge.PAGE < learner._room.size
    learner._provide(10_000, P)
    assert learner._room.size == 3 * (4 * (M + 300) + 1) ** 2
