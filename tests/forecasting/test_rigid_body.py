"""Linear prediction in the frame of the body, compared with least squares whose frames come from numpy-quaternion."""

import numpy as np
import pytest
import quaternion as nq

from quatcast import AdaptiveLinear, Guarded, Mixture, RigidBody
from quatcast import quaternion as qt
from quatcast.forecasting.spaces import find_space
from quatcast.testing import forecaster_checks, smooth_positions

LAGS, MEMORY, PENALTY, RATE = 4, 60.0, 0.3, 50.0


def make(horizon=3, **more):
    return RigidBody(horizon, LAGS, memory=MEMORY, regularization=PENALTY, **more)


BANK = {"poses": make, "orientations": lambda: make(space="orientation")}


@pytest.mark.parametrize("maker", BANK.values(), ids=BANK.keys())
@pytest.mark.parametrize("check", forecaster_checks(), ids=lambda check: check.__name__)
def test_the_bank_of_checks(maker, check):
    check(maker, smooth_positions(90))


def carried(steps=160, channels=2, seed=0, noise=0.02):
    """Poses (steps, channels, 7) of bodies that are pushed along their own axes while they turn about others."""
    rng = np.random.default_rng(seed)
    position, q = rng.standard_normal((channels, 3)), qt.random_unit(rng, channels)
    phase, rows = rng.uniform(0, 6, (channels, 3)), []
    for t in range(steps):
        turn = 0.15 * np.sin(0.11 * t + phase)
        push = np.cos(0.11 * t + phase[:, ::-1]) + 3.0 * turn
        position = position + qt.vector(qt.rotation(qt.pure(push + noise * rng.standard_normal(push.shape)), q))
        q = qt.product(q, qt.from_rotation_vector(turn + noise * 0.1 * rng.standard_normal(push.shape)))
        rows.append(np.concatenate([position, q], axis=-1))
    return np.array(rows)


def develop(poses, space="pose"):
    """Coordinates (T, rows, 3) of all samples."""
    kind, rows = find_space(space, RATE), []
    chart = kind.begin(poses.shape[1])
    for sample in poses:
        rows.append(kind.to_coordinates(chart, sample))
        kind.accept(chart, sample, rows[-1], np.ones(len(rows[-1]), dtype=bool))
    return np.array(rows)


def feed(forecaster, poses, space="pose", observed=None):
    """Let a forecaster learn from all samples, and return what it made of each."""
    y = develop(poses, space)
    forecaster.begin(y.shape[1:])
    made = []
    for t, sample in enumerate(poses):
        forecaster.orient(sample[:, -4:])
        made.append(forecaster.forecast(y[t], np.ones(y.shape[1], bool) if observed is None else observed[t]))
        forecaster.learn()
    return np.array(made)


def pairs_of(poses, c, horizons, space):
    """Inputs and targets of one channel, as the docstring defines them."""
    y, n = develop(poses, space), poses.shape[1]
    R = nq.as_rotation_matrix(nq.from_float_array(poses[:, c, -4:]))
    x, turned = y[:, c], y[:, -n + c]
    center, inputs, targets = np.zeros(3), [], []
    for t in range(len(y)):
        center = center + (x[t] - center) / min(t + 1, MEMORY)
        if t < LAGS - 1:
            continue
        before = range(LAGS - 1, 0, -1)
        moved = [R[t].T @ v for v in [*(x[t - k] - x[t] for k in before), x[t] - center]] if space == "pose" else []
        inputs.append(np.concatenate([*moved, *(turned[t - k] - turned[t] for k in before), *R[t]]))
        if t + max(horizons) < len(y):
            ahead = [[R[t].T @ (x[t + h] - x[t])] * (space == "pose") + [turned[t + h] - turned[t]] for h in horizons]
            targets.append(np.concatenate([part for one in ahead for part in one]))
    return np.array(inputs), np.array(targets)


def least_squares(inputs, targets, space):
    """Minimise Σ λᵃ|d − Wᵀφ|² + λⁿ|P W|², with the power of the first input as penalty, kind by kind."""
    power = (inputs[0] ** 2).reshape(-1, 3).mean(axis=-1)
    moved, turned, frame = np.split(power, [LAGS * (space == "pose"), LAGS * (space == "pose") + LAGS - 1])
    kinds = [np.maximum(kind, 1e-3 * kind.mean()) for kind in (moved, turned, frame) if kind.size]
    penalty = PENALTY * np.concatenate(kinds).repeat(3)
    phi, lam = inputs[: len(targets)], 1 - 1 / MEMORY
    weight = lam ** (np.arange(len(phi))[::-1] / 2)
    rows = np.vstack([weight[:, None] * phi, lam ** (len(phi) / 2) * np.diag(np.sqrt(penalty))])
    goal = np.vstack([weight[:, None] * targets, np.zeros((phi.shape[1], targets.shape[1]))])
    return np.linalg.lstsq(rows, goal, rcond=None)[0]


@pytest.mark.parametrize("horizons", [(3,), (1, 3)])
@pytest.mark.parametrize("space", ["pose", "orientation"])
def test_weights_are_those_of_weighted_least_squares(space, horizons):
    poses = carried()[..., 3 * (space == "orientation") :]
    forecaster = make(space=space, horizons=None if len(horizons) == 1 else horizons)
    feed(forecaster, poses, space)
    for c in range(2):
        inputs, targets = pairs_of(poses, c, horizons, space)
        expected = least_squares(inputs, targets, space)
        np.testing.assert_allclose(forecaster.state.weights[c], expected, atol=1e-6 * np.abs(expected).max())


def test_the_answer_is_turned_back_to_the_room():
    poses = carried()
    made = feed(make(), poses)[-1]
    for c in range(2):
        inputs, targets = pairs_of(poses, c, (3,), "pose")
        moved = inputs[-1] @ least_squares(inputs, targets[:-1], "pose")  # the answer comes before the last is learnt
        R = nq.as_rotation_matrix(nq.from_float_array(poses[-1, c, 3:]))
        y = develop(poses)[-1]
        np.testing.assert_allclose(made[c], y[c] + R @ moved[:3], atol=1e-5)
        np.testing.assert_allclose(made[2 + c], y[2 + c] + moved[3:], atol=1e-5)


def guarded(poses, forecaster=None):
    return Guarded(forecaster or make(), rate=RATE, space="pose").run(poses).positions


def test_turning_the_room_turns_the_forecasts():
    poses, r = carried(), qt.random_unit(3)
    turned = np.concatenate([qt.vector(qt.rotation(qt.pure(poses[..., :3]), r)), qt.product(r, poses[..., 3:])], -1)
    plain, found = guarded(poses)[60:], guarded(turned)[60:]
    np.testing.assert_allclose(found[..., :3], qt.vector(qt.rotation(qt.pure(plain[..., :3]), r)), atol=1e-5)
    assert qt.angle(found[..., 3:], qt.product(r, plain[..., 3:])).max() < 1e-6


def test_mounting_the_sensor_in_another_way_changes_nothing():
    poses, b = carried(), qt.random_unit(4)
    turned = np.concatenate([poses[..., :3], qt.product(poses[..., 3:], b)], axis=-1)
    plain, found = guarded(poses)[60:], guarded(turned)[60:]
    np.testing.assert_allclose(found[..., :3], plain[..., :3], atol=1e-5)
    assert qt.angle(found[..., 3:], qt.product(plain[..., 3:], b)).max() < 1e-6


def test_the_unit_of_positions_makes_no_difference():
    poses = carried()
    metres = poses * np.array([1e-3] * 3 + [1.0] * 4)
    np.testing.assert_allclose(guarded(metres)[60:, :, :3] * 1e3, guarded(poses)[60:, :, :3], atol=1e-5)


def test_a_carried_body_is_forecast_better_in_its_own_frame():
    poses = carried(600, noise=0.1)
    errors = [np.square(guarded(poses, one) - poses)[200:, :, :3].mean() ** 0.5
              for one in (RigidBody(3), AdaptiveLinear(3))]  # fmt: skip
    assert errors[0] < 0.5 * errors[1]


def test_members_of_a_mixture_are_told_the_orientations():
    class Plain:
        horizon = 3

        def begin(self, shape):
            pass

        def forecast(self, sample, observed):
            return sample + 1e3

        def learn(self):
            pass

    poses = carried()
    mixed = Guarded(Mixture([Plain(), make()]), rate=RATE, space="pose")
    mixed.run(poses)
    np.testing.assert_allclose(
        mixed.forecaster.members[1].state.frame,
        nq.as_rotation_matrix(nq.from_float_array(poses[-1, :, 3:])),
        atol=1e-12,
    )


def test_nothing_is_learnt_while_one_half_of_a_pose_is_lost():
    poses = carried(100)
    observed = np.ones((100, 4), dtype=bool)
    observed[60:, 2] = False  # the orientation of the first body
    whole, lost = make(), make()
    feed(whole, poses[:60])
    feed(lost, poses, observed=observed)
    np.testing.assert_array_equal(lost.state.weights[0], whole.state.weights[0])
    assert (lost.state.weights[1] != whole.state.weights[1]).any()


def test_a_body_that_does_not_turn_stays_where_it_is():
    """Without rotation there is nothing to learn about it; the forecast is the last pose, and finite."""
    poses = np.concatenate([np.cumsum(np.ones((60, 1, 3)), axis=0), np.tile([1.0, 0, 0, 0], (60, 1, 1))], axis=-1)
    made = guarded(poses)[-1, 0]
    np.testing.assert_allclose(made[:3], poses[-4, 0, :3])
    np.testing.assert_allclose(made[3:], [1, 0, 0, 0])


@pytest.mark.parametrize("shape", [(3, 3), (2, 4)])
def test_other_coordinates_are_refused(shape):
    with pytest.raises(ValueError, match="coordinates of poses"):
        make().begin(shape)


def test_other_spaces_are_refused():
    with pytest.raises(ValueError, match="space: expected"):
        make(space="position")
