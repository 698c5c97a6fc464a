"""Spaces: charts compared with numpy-quaternion and integrated motion, and what turning the room or the body does."""

import numpy as np
import pytest
import quaternion as nq
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import quaternion as qt
from quatcast.forecasting.spaces import SPACES, find_space

RATE = 57.0
seeds = st.integers(0, 2**32 - 1)


def smooth_path(seed, steps=40, channels=2, size=0.2):
    """Unit quaternions (steps, channels, 4) that turn by about `size` rad per sample, about axes that change."""
    rng = np.random.default_rng(seed)
    turns = rng.standard_normal((channels, 3)) + np.cumsum(0.3 * rng.standard_normal((steps, channels, 3)), axis=0)
    path = [qt.random_unit(rng, channels)]
    for turn in size * turns[1:]:
        path.append(qt.product(path[-1], qt.from_rotation_vector(turn)))
    return np.array(path)


def develop(path, kind="orientation", accepted=None, rate=RATE):
    """Coordinates of every sample, and the space and chart after the last."""
    space = find_space(kind, rate)
    chart = space.begin(path.shape[1])
    rows = []
    for t, sample in enumerate(path):
        rows.append(space.to_coordinates(chart, sample))
        taken = np.ones(len(rows[-1]), dtype=bool) if accepted is None else accepted[t]
        space.accept(chart, sample, rows[-1], taken)
    return np.array(rows), space, chart


def by_numpy_quaternion(path):
    """The same coordinates of one channel, from another library's rotation vectors."""
    q = nq.from_float_array(path)
    steps = nq.as_rotation_vector(q[:-1].conjugate() * q[1:])
    return np.concatenate([np.zeros((1, 3)), np.cumsum(steps, axis=0)])


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_coordinates_are_those_of_numpy_quaternion(seed):
    path = smooth_path(seed, channels=1, size=0.1)
    y, _, _ = develop(path)
    np.testing.assert_allclose(y[:, 0], by_numpy_quaternion(path[:, 0]), atol=1e-12)


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_coordinates_lead_back_to_the_sample(seed):
    """With 0 seconds ahead the forecast of a coordinate is its orientation, near the reference and far from it."""
    path = smooth_path(seed)
    _, space, chart = develop(path)
    for q in (path[-1], qt.random_unit(seed, 2)):
        back = space.from_coordinates(chart, space.to_coordinates(chart, q), 0.0)
        np.testing.assert_allclose(space.distance(back, q), 0.0, atol=1e-7)
        np.testing.assert_allclose(np.abs(np.sum(back * q, axis=-1)), 1.0, atol=1e-14)


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_signs_of_quaternions_change_nothing(seed):
    path = smooth_path(seed)
    flips = np.random.default_rng(seed).choice([-1.0, 1.0], size=(*path.shape[:2], 1))
    y, space, chart = develop(path)
    flipped, _, other = develop(flips * path)
    np.testing.assert_allclose(flipped, y, rtol=0, atol=1e-12)
    forecast = space.from_coordinates(chart, y[-1] + 0.3, 0.1)
    np.testing.assert_allclose(space.from_coordinates(other, y[-1] + 0.3, 0.1), flips[-1] * forecast, atol=1e-12)


@given(seed=seeds, ahead=st.floats(0, 10), far=st.floats(0, 20))
@settings(max_examples=50, deadline=None)
def test_forecasts_are_unit_quaternions_with_the_sign_of_the_input(seed, ahead, far):
    path = smooth_path(seed) * np.random.default_rng(seed).uniform(0.91, 1.09, (40, 2, 1))
    y, space, chart = develop(path)
    coordinates = y[-1] + far * np.random.default_rng(seed).standard_normal((5, 2, 3))
    forecast = space.from_coordinates(chart, coordinates, ahead)
    assert forecast.shape == (5, 2, 4)
    np.testing.assert_allclose(qt.modulus(forecast), 1.0, atol=1e-14)
    assert (np.sum(forecast * path[-1], axis=-1) >= 0).all()


@given(seed=seeds)
@settings(max_examples=30, deadline=None)
def test_turning_the_room_leaves_coordinates_and_turning_the_body_turns_them(seed):
    path, turn = smooth_path(seed), qt.random_unit(seed + 1)
    y, space, chart = develop(path)
    ahead = y[-1] + [0.3, -0.2, 0.5]
    forecast = space.from_coordinates(chart, ahead, 0.1)

    room, _, turned = develop(qt.product(turn, path))
    np.testing.assert_allclose(room, y, rtol=0, atol=1e-12)
    moved = space.from_coordinates(turned, ahead, 0.1)
    np.testing.assert_allclose(moved, qt.product(turn, forecast), atol=1e-12)

    def rotated(points):
        return qt.vector(qt.rotation(qt.pure(points), qt.conjugate(turn)))

    body, _, turned = develop(qt.product(path, turn))
    np.testing.assert_allclose(body, rotated(y), rtol=0, atol=1e-11)
    moved = space.from_coordinates(turned, rotated(ahead), 0.1)
    np.testing.assert_allclose(space.distance(moved, qt.product(forecast, turn)), 0.0, atol=1e-7)


def integrated(start, rate_of_change, seconds, steps=20000):
    """Rotation vectors of the motion with ω(s) = start + s·rate_of_change from 0 to `seconds`, by tiny steps."""
    q, dt = qt.ONE, seconds / steps
    for k in range(steps):
        q = qt.product(q, qt.from_rotation_vector(dt * (start + (k + 0.5) * dt * rate_of_change)))
    return q


@pytest.mark.parametrize("seconds", [0.05, 0.1, 0.2])
def test_the_second_magnus_term_follows_integrated_motion(seconds, monkeypatch):
    """For an angular velocity that changes linearly the factor is 1/6, and the error is of third order or better."""
    monkeypatch.setattr("quatcast.forecasting.orientation.BEND", 1 / 6)
    start, change = np.array([3.0, -1.0, 2.0]), np.array([4.0, 9.0, -6.0])
    space = find_space("orientation", RATE)
    chart = space.begin(1)
    chart.velocity, chart.seen = start[None], np.array([True])
    truth = integrated(start, change, seconds, steps=2000)
    D = seconds * start + seconds**2 / 2 * change
    plain = space.distance(qt.from_rotation_vector(D)[None], truth)
    corrected = space.distance(space.from_coordinates(chart, D[None], seconds), truth)
    assert corrected < 0.06 * plain
    chart.velocity = -start[None]
    assert space.distance(space.from_coordinates(chart, D[None], seconds), truth) > 1.5 * plain


def test_the_angular_velocity_is_extrapolated_to_the_newest_sample():
    """With ω(t) = (1 + 6t, 0, 0) rad/s the estimate is exact, also across a gap of three samples."""
    time = np.arange(20) / RATE
    path = qt.from_rotation_vector(np.stack([time + 3 * time**2, 0 * time, 0 * time], axis=-1))[:, None]
    accepted = np.ones((20, 1), dtype=bool)
    for last in (19, 16):
        accepted[last + 1 :] = False
        accepted[last - 3 : last] = last == 19
        _, _, chart = develop(path, accepted=accepted)
        np.testing.assert_allclose(chart.velocity, [[1 + 6 * time[last], 0, 0]], atol=1e-9)
    np.testing.assert_array_equal(chart.age, 3)


def test_forecasts_start_from_the_last_accepted_sample():
    """Rejected samples leave no trace, and the seconds count from the newest sample, accepted or not."""
    path = smooth_path(3, channels=1)
    accepted = np.ones((len(path), 1), dtype=bool)
    accepted[[10, 11]] = False
    faulty = path.copy()
    faulty[10:12] = qt.random_unit(7, (2, 1))
    y, _, chart = develop(faulty, accepted=accepted)
    clean, _, without = develop(path, accepted=accepted)
    np.testing.assert_array_equal(y[12:], clean[12:])
    np.testing.assert_array_equal(chart.reference, without.reference)

    lost = np.concatenate([path, np.full((3, 1, 4), np.nan)])
    _, space, chart = develop(path)
    _, _, late = develop(lost)
    target = chart.coordinates + np.array([[0.2, 0.5, -0.1]])
    now, later = space.from_coordinates(chart, target, 3 / RATE + 0.1), space.from_coordinates(late, target, 0.1)
    np.testing.assert_allclose(now, later, atol=1e-15)


def test_repeated_samples_repeat_their_coordinates_exactly():
    """The gate recognises a frozen tracker by values that are equal to the last bit."""
    path = smooth_path(5, channels=50)
    y, space, chart = develop(path)
    for sign in (1, -1):
        np.testing.assert_array_equal(space.to_coordinates(chart, sign * path[-1]), y[-1])


@pytest.mark.parametrize(
    "bad", [[0, 0, 0, 0], [1.2, 0, 0, 0], [0.8, 0, 0, 0], [np.nan, 0, 0, 1], [np.inf, 0, 0, 0], [1e200, 1e200, 0, 0]]
)
def test_what_is_no_unit_quaternion_is_missing(bad):
    path = smooth_path(1)
    path[20, 1] = bad
    path[0, 1] = bad
    y, _, chart = develop(path)
    missing = np.isnan(y).all(axis=-1)
    np.testing.assert_array_equal(np.argwhere(missing), [[0, 1], [20, 1]])
    assert np.isfinite(y[~missing]).all()
    np.testing.assert_array_equal(y[1, 1], 0.0)
    assert np.isfinite(chart.velocity).all()


def test_a_turn_by_half_a_circle_has_one_logarithm():
    for v in ([1.0, 0, 0], [0, -1.0, 0], [0, 0.6, -0.8]):
        q = np.array([0.0, *v])
        np.testing.assert_array_equal(qt.rotation_vector(q), qt.rotation_vector(-q))
        np.testing.assert_allclose(np.linalg.norm(qt.rotation_vector(q)), np.pi)


def test_a_pose_is_a_position_and_an_orientation():
    path = smooth_path(9)
    positions = np.random.default_rng(0).standard_normal((len(path), 2, 3))
    poses = np.concatenate([positions, path], axis=-1)
    poses[5, 0, 1], poses[6, 1, 3:] = np.nan, np.nan
    y, space, chart = develop(poses, "pose")
    lone, orientation, lone_chart = develop(poses[..., 3:])
    assert y.shape == (40, 4, 3)
    np.testing.assert_array_equal(y[:, 2:], lone)
    assert np.isnan(y[5, 0]).all()
    np.testing.assert_array_equal(np.delete(y[:, :2], 5, axis=0), np.delete(positions, 5, axis=0))
    assert np.isnan(y[6]).any(axis=-1).tolist() == [False, False, False, True]

    paths = y[-1] + np.array([0.0, 0.1, 0.4])[:, None, None]
    ahead = np.array([0.0, 0.1, 0.2])
    made = space.from_coordinates(chart, paths, ahead)
    assert made.shape == (3, 2, 7)
    np.testing.assert_array_equal(made[..., 3:], orientation.from_coordinates(lone_chart, paths[:, 2:], ahead))
    np.testing.assert_array_equal(made[..., :3], paths[:, :2])
    for k, seconds in enumerate(ahead):
        np.testing.assert_array_equal(made[k], space.from_coordinates(chart, paths[k], seconds))
    distances = space.distance(made, poses[-1])
    np.testing.assert_allclose(distances[:, :2], np.linalg.norm(made[..., :3] - poses[-1, :, :3], axis=-1))
    np.testing.assert_allclose(distances[:, 2:], qt.angle(made[..., 3:], path[-1]))


def test_vectors_are_their_own_coordinates():
    for kind, k in (("position", 3), ("vector", 4), ("vector", 6)):
        x = np.random.default_rng(0).standard_normal((10, 2, k))
        x[3, 1, 0] = np.inf
        y, space, chart = develop(x, kind)
        assert np.isnan(y[3, 1]).all()
        np.testing.assert_array_equal(y[4:], x[4:])
        np.testing.assert_array_equal(space.from_coordinates(chart, y[-1], 1.0), x[-1])


@pytest.mark.parametrize("kind", ["orientation", "pose"])
def test_a_chart_can_be_undone_and_saved(kind, tmp_path):
    path = smooth_path(2)
    if kind == "pose":
        path = np.concatenate([np.zeros((len(path), 2, 3)), path], axis=-1)
    _, space, chart = develop(path[:-1], kind)
    mark = chart.mark()
    chart.save(tmp_path / "chart")
    before = space.to_coordinates(chart, path[-1])
    space.accept(chart, path[-1], before, np.ones(len(before), dtype=bool))
    after = space.from_coordinates(chart, before, 0.3)
    chart.rewind(mark)
    kept = type(chart).load(tmp_path / "chart")
    for again in (chart, kept):
        np.testing.assert_array_equal(space.to_coordinates(again, path[-1]), before)
        space.accept(again, path[-1], before, np.ones(len(before), dtype=bool))
        np.testing.assert_array_equal(space.from_coordinates(again, before, 0.3), after)
    space.save(tmp_path / "space")
    assert type(space).load(tmp_path / "space").rate == RATE


def test_names_units_and_refusals():
    pose = find_space("pose", RATE)
    assert pose.names(["a", "b"]) == ("a position", "b position", "a orientation", "b orientation")
    assert pose.units(2, "mm") == ("mm", "mm", "rad", "rad")
    assert find_space("orientation", RATE).names(["a"]) == ("a",)
    assert list(SPACES) == ["position", "vector", "orientation", "pose"]
    pose.check((2, 7))
    with pytest.raises(ValueError, match='sample: expected 7 numbers per channel for the space "pose", got 4'):
        pose.check((2, 4))
    with pytest.raises(ValueError, match=r"space: expected one of 'position', .* got 'euler'"):
        find_space("euler", RATE)
    with pytest.raises(ValueError, match="rate: expected a positive finite number, got 0"):
        find_space("pose", 0)
