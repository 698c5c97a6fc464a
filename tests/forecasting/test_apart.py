"""Parts of a signal, each with a forecaster of its own."""

import numpy as np
import pytest

from quatcast import Apart, ConstantVelocity, Forecaster, Guarded, Kalman, Mixture, Ridge, RigidBody, quaternion
from quatcast.forecasting import recipe
from quatcast.forecasting.contract import mark_of, rewind_to

HORIZON = 3


def ridge(horizons=None):
    return Forecaster(Ridge(1.0, refit=5), horizon=HORIZON, horizons=horizons, lags=4, target="displacement", train=20)


def walk(samples=80, rows=4, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(samples, rows, 3)), axis=0)


@pytest.mark.parametrize("horizons", [None, [1, 3]])
def test_each_part_is_forecast_as_if_the_others_were_not_there(horizons):
    x = walk()
    together = Apart([ridge(horizons), Kalman(HORIZON, horizons=horizons)]).run(x).positions
    np.testing.assert_array_equal(together[..., :2, :], ridge(horizons).run(x[:, :2]).positions)
    np.testing.assert_array_equal(together[..., 2:, :], Kalman(HORIZON, horizons=horizons).run(x[:, 2:]).positions)


def test_a_part_that_is_not_observed_does_not_keep_the_other_from_learning():
    x, apart, alone = walk(), Apart([ridge(), ridge()]), ridge()
    apart.begin((4, 3))
    alone.begin((2, 3))
    for row in x:
        made = apart.forecast(row, np.array([True, True, False, False]))
        np.testing.assert_array_equal(made[:2], alone.forecast(row[:2], np.array([True, True])))
        apart.learn()
        alone.learn()


def test_a_step_is_undone_in_all_parts():
    x, one, other = walk(60), Apart([ridge(), ridge()]), Apart([ridge(), ridge()])
    one.begin((4, 3))
    other.begin((4, 3))
    for row in x:
        mark = mark_of(one)
        one.forecast(-row, np.ones(4, dtype=bool))
        one.learn()
        rewind_to(one, mark)
        np.testing.assert_array_equal(one.update(row), other.update(row))


def test_a_file_continues_bit_for_bit(tmp_path):
    x, one = walk(70), Apart([ridge(), Kalman(HORIZON)])
    for row in x[:40]:
        one.update(row)
    one.save(tmp_path / "apart")
    other = Apart.load(tmp_path / "apart")
    for row in x[40:]:
        np.testing.assert_array_equal(one.update(row), other.update(row))


def test_the_warm_up_is_that_of_the_slowest_part():
    assert Apart([ridge(), Kalman(HORIZON)]).warmup == ridge().warmup == 20


def test_members_are_told_the_orientations():
    body, other = RigidBody(HORIZON, space="orientation"), RigidBody(HORIZON, space="orientation")
    apart = Apart([body, other])
    apart.begin((2, 3))
    turn = quaternion.from_rotation_vector([[0.0, 0.0, 0.3]])
    apart.orient(turn)
    for member in (body, other):
        np.testing.assert_allclose(member.state.frame, quaternion.rotation_matrix(turn))


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ([], "at least one"),
        ([ConstantVelocity(2), ConstantVelocity(3)], "same horizons"),
        ([ConstantVelocity(2), "velocity"], r"members\[1\]"),
        ([Forecaster(Ridge(), horizon=2, labels="lookahead")], "causal"),
    ],
)
@pytest.mark.parametrize("combine", [Apart, Mixture])
def test_members_that_cannot_step_together_are_refused(combine, members, message):
    with pytest.raises(ValueError, match=message):
        combine(members)


def test_rows_that_cannot_be_divided_are_refused():
    with pytest.raises(ValueError, match="2 parts of equal size"):
        Apart([ConstantVelocity(2), ConstantVelocity(2)]).run(walk(rows=3))


def test_an_orientation_that_tells_nothing_hardly_disturbs_the_position(monkeypatch):
    """With learners that see both halves of a pose, the ratio is 1.08, with a training of 15 s as with 30 s."""
    for name, seconds in (("TRAIN", 15.0), ("CATCH_UP", 2.0), ("MEMORY", 30.0)):
        monkeypatch.setattr(recipe, name, seconds)
    rng, time = np.random.default_rng(2), np.arange(400) / 10
    breath = np.sin(1.6 * time + 0.8 * np.sin(0.3 * time))
    x = breath[:, None, None] * [[8.0, 3.0, 1.0]] + 0.01 * rng.normal(size=(400, 1, 3))
    turn = np.cumsum(0.02 * rng.normal(size=x.shape), axis=0)
    poses = np.concatenate([x, quaternion.from_rotation_vector(turn)], axis=-1)
    errors = []
    for space, samples in (("position", x), ("pose", poses)):
        made = Guarded(recipe.experts(5, 10.0, space=space), rate=10.0, space=space).run(samples).positions
        errors.append(np.sqrt(np.mean((made - samples)[250:, :, :3] ** 2)))
    assert errors[1] < 1.02 * errors[0]
