"""Radii and moments between horizons of orientations, whose coordinates are not points."""

import pickle

import numpy as np
import pytest

from quatcast import AdaptiveLinear, Guarded, Status, find_space, quaternion

RATE = 20.0


def turning(turns, samples=500, noise=0.002, wobble=0.0):
    """A body that turns about an axis, some turns per second, as a tracker sees it."""
    t = np.arange(samples) / RATE
    spin = quaternion.from_rotation_vector(np.stack([0 * t, 0 * t, 2 * np.pi * turns * t], axis=-1))
    tilt = quaternion.from_rotation_vector(np.stack([wobble * np.sin(t), 0 * t, 0 * t], axis=-1))
    seen = quaternion.from_rotation_vector(noise * np.random.default_rng(0).normal(size=(samples, 3)))
    return quaternion.product(quaternion.product(spin, tilt), seen)[:, None]


def poses(q):
    return np.concatenate([np.zeros((len(q), 1, 3)) + np.sin(np.arange(len(q)))[:, None, None], q], axis=-1)


def covered(forecaster, x, moments, start=250):
    """Share of orientations within the radius some samples later, and the largest error, for each of these moments."""
    made = [forecaster.update(row) for row in x]
    for ahead in moments:
        pairs = [(one.at(ahead / RATE), then) for one, then in zip(made[start:], x[start + ahead :], strict=False)]
        assert {one.status for one, _ in pairs} == {Status.OK}
        errors = np.array([quaternion.angle(one.position[..., -4:], then[..., -4:])[0] for one, then in pairs])
        yield np.mean(errors <= [one.radius[..., -1].item() for one, _ in pairs]), errors.max()


@pytest.mark.parametrize("turns", [0.2, 2.0, 7.0])
def test_any_moment_of_a_body_that_turns_is_within_its_radius(turns):
    """Quaternions half a turn apart tell nothing of the way between them, and coordinates do."""
    forecaster = Guarded(AdaptiveLinear(30, 8, horizons=[1, 30]), rate=RATE, space="orientation")
    found = list(covered(forecaster, turning(turns), (4, 15, 28)))
    assert len(found) == 3
    for share, largest in found:
        assert share > 0.9
        assert largest < 0.3


@pytest.mark.parametrize("space", ["orientation", "pose"])
def test_the_radius_of_fast_rotations_is_that_of_angles(space):
    """Errors in coordinates are half as large here as angles, because the axis of a turn is not known exactly."""
    q = turning(3.0, noise=0.005, wobble=0.2)
    x = q if space == "orientation" else poses(q)
    ((share, _),) = covered(Guarded(AdaptiveLinear(6), rate=RATE, space=space), x, [6])
    assert share > 0.92


def test_turned_rooms_and_signs_change_no_radius():
    q, room = turning(3.0, 200), quaternion.from_rotation_vector([1.0, -2.0, 0.5])
    signs = np.random.default_rng(1).choice([-1.0, 1.0], size=(200, 1, 1))
    radii = []
    for x in (q, signs * q, quaternion.product(room, q)):
        forecaster = Guarded(AdaptiveLinear(6), rate=RATE, space="orientation")
        radii.append([forecaster.update(row).at(0.2).radius for row in x][-1])
    np.testing.assert_allclose(radii[1], radii[0], rtol=1e-9)
    np.testing.assert_allclose(radii[2], radii[0], rtol=1e-6)


def test_a_shift_is_no_error():
    """A channel that continues elsewhere is compared without its offset, as positions are."""
    t = np.arange(500) / RATE
    q = quaternion.from_rotation_vector(np.stack([0.05 * np.sin(2 * t), 0.03 * np.cos(2 * t), 0 * t], axis=-1))[:, None]
    q[400:] = quaternion.product(quaternion.from_rotation_vector([2.0, 0.0, 0.0]), q[400:])
    forecaster = Guarded(AdaptiveLinear(6), rate=RATE, space="orientation")
    made = [forecaster.update(row) for row in q]
    assert made[-1].radius[0] < 10 * made[390].radius[0]


def test_a_body_that_rests_has_no_errors():
    q = np.tile(quaternion.from_rotation_vector([0.3, -0.7, 0.2]), (200, 1, 1))
    forecaster = Guarded(AdaptiveLinear(6), rate=RATE, space="orientation")
    assert [forecaster.update(row).radius[0] for row in q][-1] == 0.0


def test_a_forecast_does_not_change_after_it_was_made():
    """It may be copied and asked for other moments after the next samples."""
    forecaster = Guarded(AdaptiveLinear(30), rate=RATE, space="pose")
    x = poses(turning(1.0, 200))
    made = [forecaster.update(row) for row in x[:150]][-1]
    before = made.at(0.7).position
    for row in x[150:]:
        forecaster.update(row)
    np.testing.assert_array_equal(made.at(0.7).position, before)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(made)).at(0.7).position, before)


def test_moments_continue_the_horizons_and_the_newest_sample():
    forecaster = Guarded(AdaptiveLinear(30, horizons=[10, 30]), rate=RATE, space="orientation")
    for row in (x := turning(2.0, 300, noise=0.0)):
        made = forecaster.update(row)
    angle = find_space("orientation", RATE).distance
    assert angle(made.at(1e-9).position, x[-1])[0] < 1e-6
    for i, seconds in enumerate((0.5, 1.5)):
        for near in (seconds - 1e-7, min(seconds + 1e-7, 1.5)):
            assert angle(made.at(near).position, made.position[i])[0] < 1e-4
