"""Forecasts for any moment: exact at the horizons, interpolated between them, refused beyond the longest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import ConstantVelocity, DampedVelocity, Guarded, Path, Status, find_space, quaternion, recommended
from quatcast.testing import smooth_positions

RATE = 10.0


def path(seconds=(0.2, 0.5, 1.0), statuses=None, **more):
    """A path along a straight line; the radius is 3 times the time."""
    t, n = np.array(seconds), len(seconds)
    origin, velocity = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), np.array([[3.0, 0.0, -1.0], [0.5, 2.0, 0.0]])
    usual = {
        "seconds": t,
        "origin": origin,
        "positions": origin + t[:, None, None] * velocity,
        "radii": 3.0 * t[:, None] * np.ones(2),
        "statuses": statuses or (Status.OK,) * n,
        "reasons": tuple(f"reason {i}" for i in range(n)),
        "replaced": np.array([False, True]),
    }
    return Path(**{**usual, **more})


def test_exact_at_the_horizons():
    one = path(positions=np.random.default_rng(0).normal(size=(3, 2, 3)))
    for i, seconds in enumerate((0.2, 0.5, 1.0)):
        made = one.forecast(seconds)
        np.testing.assert_array_equal(made.position, one.positions[i])
        np.testing.assert_array_equal(made.radius, one.radii[i])
        np.testing.assert_array_equal(made.replaced, [False, True])
        # A horizon that was computed, such as 5/10 or 0.1 + 0.4, is the same horizon.
        np.testing.assert_array_equal(one.forecast(seconds * (1 + 1e-12)).position, one.positions[i])
    np.testing.assert_array_equal(one.forecast([1.0, 0.2]).position, one.positions[[2, 0]])


@given(seconds=st.floats(1e-3, 1.0))
@settings(max_examples=30, deadline=None)
def test_a_straight_line_is_interpolated_exactly(seconds):
    one = path()
    velocity = one.positions[2] - one.origin
    made = one.forecast(seconds)
    np.testing.assert_allclose(made.position, one.origin + seconds * velocity, atol=1e-12)
    np.testing.assert_allclose(made.radius, 3.0 * max(seconds, 0.2))


def test_a_curve_is_interpolated_smoothly():
    """A sine with six horizons per period: within 3 % between the horizons, and continuous at them."""
    t = np.arange(1, 13) / 6
    curve = np.sin(2 * np.pi * t)[:, None, None] * np.ones((1, 1, 3))
    one = path(tuple(t), origin=np.zeros((1, 3)), positions=curve, radii=t[:, None], replaced=np.array([False]))
    fine = np.linspace(0.02, 2.0, 200)
    made = one.forecast(fine).position[:, 0, 0]
    assert np.abs(made - np.sin(2 * np.pi * fine))[fine > 1 / 6].max() < 0.06
    just, after = one.forecast([0.5 - 1e-7, 0.5 + 1e-7]).position[:, 0, 0]
    assert abs(after - just) < 1e-5


@pytest.mark.parametrize("seconds", [0.0, -0.1, 1.001, np.nan, np.inf, None, "0.5", True, [0.2]])
def test_other_times_are_refused(seconds):
    made = path().forecast(0.2)
    with pytest.raises(ValueError, match="seconds: expected a time above 0 and at most 1 s, got"):
        made.at(seconds)


def test_the_status_is_that_of_the_next_longer_horizon():
    one = path(statuses=(Status.OK, Status.DEGRADED, Status.WARMING_UP))
    for seconds, status, i in ((0.1, Status.OK, 0), (0.2, Status.OK, 0), (0.21, Status.DEGRADED, 1), (1.0, 0, 2)):
        made = one.forecast(seconds)
        assert (made.status, made.reason) == (status, f"reason {i}")
    for asked, worst in (
        ((0.1, 0.4), Status.DEGRADED),
        ((0.1, 0.7), Status.WARMING_UP),
        ((0.4, 0.7), Status.WARMING_UP),
    ):
        assert one.forecast(asked).status == worst
    # In the order asked for, as positions and radii are.
    several = one.forecast([1.0, 0.1, 0.5])
    assert several.statuses == (Status.WARMING_UP, Status.OK, Status.DEGRADED)
    assert several.reasons == ("reason 2", "reason 0", "reason 1")
    assert one.forecast(0.1).statuses == (Status.OK,)
    held = one.forecast(0.2).held("why")
    assert (held.status, held.reason, held.at(0.9).status, held.at(0.9).reason) == (Status.HOLD, "why", 3, "why")


def test_an_unknown_radius_stays_unknown():
    radii = np.array([[0.6, 0.6], [1.5, np.nan], [np.nan, np.nan]])
    made = [path(radii=radii).forecast(seconds).radius for seconds in (0.1, 0.3, 0.7)]
    np.testing.assert_array_equal(np.isnan(made), [[False, False], [False, True], [True, True]])


def test_what_must_not_be_used_is_worse_than_what_may_be_with_care():
    """A horizon that is warming up has no radius yet; that another one is degraded must not hide it."""
    made = path(statuses=(Status.DEGRADED, Status.WARMING_UP, Status.OK)).forecast([0.2, 0.5, 1.0])
    assert (made.status, made.reason) == (Status.WARMING_UP, "reason 1")


@given(angle=st.floats(0.1, 3.0), seed=st.integers(0, 100), seconds=st.floats(0.01, 1.0))
@settings(max_examples=30, deadline=None)
def test_unit_quaternions_stay_unit_between_horizons(angle, seed, seconds):
    """A rotation by up to 3 rad in a second about a fixed axis; the angle is between those of the neighbours."""
    axis = np.random.default_rng(seed).normal(size=3)
    axis /= np.linalg.norm(axis)
    t = np.array([0.0, 0.2, 0.5, 1.0])
    q = quaternion.from_rotation_vector((angle * t[:, None] * axis)[:, None])
    one = path(origin=q[0], positions=q[1:], radii=t[1:, None], replaced=np.array([False]), unit=slice(0, 4))
    made = one.forecast(seconds).position
    np.testing.assert_allclose(np.linalg.norm(made, axis=-1), 1.0, atol=1e-12)
    true = quaternion.from_rotation_vector(angle * seconds * axis)[None]
    assert quaternion.angle(made, true)[0] < 0.02 * angle


@pytest.mark.parametrize(("seconds", "rate", "whole"), [(0.5, 5.0, (2, 3)), (0.1, 57.0, (5, 6)), (0.25, 2.0, (1,))])
def test_a_horizon_between_two_samples(seconds, rate, whole):
    forecaster = recommended(seconds, rate)
    assert forecaster.horizon == whole[-1]
    x = np.arange(30.0)[:, None, None] * np.array([[1.0, -2.0, 0.5]]) / rate
    guarded = Guarded(_line(whole), rate=rate, seconds=seconds)
    for sample in x:
        made = guarded.update(sample)
    np.testing.assert_allclose(made.position, x[-1] + seconds * np.array([[1.0, -2.0, 0.5]]), atol=1e-9)
    assert made.position.shape == (1, 3)
    assert (len(made.statuses), len(made.path.statuses)) == (1, len(whole))
    # A run places forecasts at whole samples, so that it forecasts the next larger number of them.
    run = guarded.run(x)
    assert run.horizon == whole[-1]
    np.testing.assert_allclose(run.positions[20:], x[20:], atol=1e-9)


class _Line(ConstantVelocity):
    """Constant velocity for several horizons."""

    def __init__(self, horizon, horizons):
        super().__init__(horizon)
        self.horizons = horizons


def _line(whole):
    return _Line(whole[-1], whole if len(whole) > 1 else None)


def test_several_horizons_in_any_order():
    """Positions and radii come in the order of the question; a run has one row of forecasts per horizon."""
    x = smooth_positions(100)
    orders = ([0.1, 0.25, 0.6], [0.6, 0.1, 0.25])
    made, runs = [], []
    for asked in orders:
        guarded = Guarded(DampedVelocity(6, horizons=(1, 2, 3, 6)), rate=RATE, seconds=asked)
        for sample in x:
            forecast = guarded.update(sample)
        made.append(forecast)
        runs.append(guarded.run(x))
    for one, other in ((made[0].position, made[1].position), (made[0].radius, made[1].radius)):
        np.testing.assert_array_equal(one, other[[1, 2, 0]])
    np.testing.assert_array_equal(runs[0].positions, runs[1].positions[[1, 2, 0]])
    assert runs[0].positions.shape == (3, 100, 2, 3)
    assert runs[0].radius.shape == (3, 100, 2)
    assert [run.horizon for run in runs] == [6, 6]
    assert made[0].at(0.6).position == pytest.approx(made[0].position[2])
    # The radius grows with the horizon.
    assert (np.diff(made[0].radius, axis=0) > 0).all()


def test_each_horizon_has_the_radius_of_its_own_errors():
    """A guard of several horizons gives each the radius that a guard of that horizon alone would give."""
    x = smooth_positions(200) + 0.1 * np.random.default_rng(0).normal(size=(200, 2, 3))
    together = Guarded(_line((1, 3, 6)), rate=RATE).run(x)
    for i, h in enumerate((1, 3, 6)):
        alone = Guarded(ConstantVelocity(h), rate=RATE).run(x)
        np.testing.assert_array_equal(together.positions[i], alone.positions)
        np.testing.assert_array_equal(together.radius[i], alone.radius)


@pytest.mark.parametrize("seconds", [0.7, 0.0, [0.1, 0.9], -1.0])
def test_horizons_that_the_forecaster_does_not_reach_are_refused(seconds):
    with pytest.raises(ValueError, match=r"seconds: expected horizons from 0 to 0\.6 s, got"):
        Guarded(DampedVelocity(6), rate=RATE, seconds=seconds)


@pytest.mark.parametrize("horizon", [0.0, -1.0, np.nan, np.inf, [], [0.1, -0.1], 1e9, [[0.1]]])
def test_horizons_that_are_none_are_refused(horizon):
    with pytest.raises(ValueError, match="horizon: expected seconds above 0 and at most"):
        recommended(horizon, RATE)


def test_the_path_begins_where_the_newest_sample_is():
    """A lost sample is filled in; the path begins there."""
    guarded = Guarded(DampedVelocity(5), rate=RATE)
    x = smooth_positions(200)
    for sample in x[:-1]:
        guarded.update(sample)
    lost = x[-1].copy()
    lost[1] = np.nan
    made = guarded.update(lost)
    np.testing.assert_array_equal(made.replaced, [False, True])
    np.testing.assert_allclose(made.at(1e-6).position[0], x[-1, 0], atol=1e-3)
    np.testing.assert_allclose(made.at(1e-6).position[1], x[-1, 1], atol=1.0)


def test_poses_between_horizons():
    """Position and orientation of a pose are interpolated, and have a radius each."""
    t = np.arange(120)[:, None] / 20
    q = quaternion.from_rotation_vector(np.concatenate([0 * t, 0.4 * np.sin(t), 0.9 * t], axis=-1))
    x = np.concatenate([np.cos(t), np.sin(t), t, q], axis=-1)[:, None]
    guarded = Guarded(DampedVelocity(6, horizons=(1, 3, 6)), rate=20.0, space="pose")
    for sample in x:
        made = guarded.update(sample)
    between = made.at(0.2)
    assert made.position.shape == (3, 1, 7)
    assert made.radius.shape == (3, 1, 2)
    assert between.radius.shape == (1, 2)
    np.testing.assert_allclose(np.linalg.norm(between.position[0, 3:]), 1.0, atol=1e-12)
    distance = find_space("pose", 20.0).distance
    near, far = distance(made.position[0], between.position), distance(made.position[2], between.position)
    ends = distance(made.position[0], made.position[2])
    assert (near < ends).all()
    assert (far < ends).all()
