"""How lost channels continue: where they were forecast to be, or as the others suggest, whichever is known better."""

import numpy as np
import pytest

from quatcast import AdaptiveLinear, Gate, Guarded, Status, quaternion
from quatcast.forecasting.velocity import LastPosition
from quatcast.safety.steering import Target, damped, steered

RATE = 20.0


def motion(channels=1, samples=500, noise=0.01, seed=0):
    """Channels that move in ellipses of different periods, none of which is a multiple of another."""
    rng, time = np.random.default_rng(seed), np.arange(samples) / RATE
    waves = []
    for period in (1.3, 2.1, 3.4)[:channels]:
        phase = 2 * np.pi * time / period
        waves.append(np.stack([5 * np.sin(phase), 3 * np.cos(phase), np.sin(phase + 1)], axis=-1))
    return np.stack(waves, axis=1) + noise * rng.normal(size=(samples, channels, 3))


def through_gap(guarded, x, lost, length):
    """Return the largest distance of what is filled in from the truth, after all but the last `length` samples."""
    for row in x[:-length]:
        guarded.update(row)
    worst = 0.0
    for row in x[-length:]:
        gap = row.copy()
        gap[lost] = np.nan
        filled = guarded.update(gap).path.origin
        worst = max(worst, np.linalg.norm((filled - row)[lost], axis=-1).max())
    return worst


def guarded(horizons=(10,), gate=None, space="vector"):
    forecaster = AdaptiveLinear(horizons[-1], 12, horizons=list(horizons) if len(horizons) > 1 else None)
    return Guarded(forecaster, rate=RATE, gate=gate, space=space)


@pytest.mark.parametrize(("horizons", "times"), [((10,), 0.35), ((2, 10), 0.35), ((3,), 0.35), ((30,), 0.9)])
def test_a_gap_of_all_channels_is_filled_along_the_forecasts_made_before_it(horizons, times):
    """Half a second is 0.4 of the period; the longest horizon is more than a period, too long for one target."""
    x = motion()
    alone = through_gap(guarded(horizons, ByItself(RATE)), x, [0], 10)
    assert alone > 5.0  # motion that decays is off by more than the amplitude
    assert through_gap(guarded(horizons), x, [0], 10) < times * alone


def test_channels_that_tell_nothing_of_each_other_continue_by_themselves():
    x = motion(channels=3)
    alone = through_gap(guarded(gate=ByItself(RATE)), x, [0], 10)
    assert through_gap(guarded(), x, [0], 10) < 0.3 * alone


def test_a_channel_that_the_others_determine_follows_them():
    """An unpredictable walk that all share: no forecast knows where it goes, the others do."""
    rng = np.random.default_rng(1)
    walk = np.cumsum(rng.normal(size=(500, 1, 3)), axis=0)
    x = np.concatenate([walk, 0.8 * walk + 5, 1.2 * walk], axis=1) + 0.05 * rng.normal(size=(500, 3, 3))
    assert through_gap(guarded(), x, [1], 40) < 1.0


def test_a_channel_that_drifts_by_itself_is_not_pulled_back_by_the_others():
    """Its displacements hardly vary, but not because the others determine them."""
    x = motion(channels=2)
    x[:, 0] = 0.1 * np.arange(len(x))[:, None] + 0.01 * np.random.default_rng(3).normal(size=(len(x), 3))
    assert through_gap(guarded(), x, [0], 20) < 0.5


def test_half_of_a_pose_continues_by_itself():
    x = motion(channels=2)
    turns = quaternion.from_rotation_vector(0.1 * x[:, 1])
    poses = np.concatenate([x[:, 0], turns], axis=-1)[:, None]

    def worst(gate):
        one = guarded(gate=gate, space="pose")
        for row in poses[:-10]:
            one.update(row)
        gap = poses[-10:].copy()
        gap[:, :, :3] = np.nan
        return max(
            np.linalg.norm(one.update(g).path.origin[0, :3] - p[0, :3]) for g, p in zip(gap, poses[-10:], strict=True)
        )

    assert worst(Gate(RATE)) < 0.3 * worst(ByItself(RATE))


def test_forecasts_that_go_far_away_are_not_followed():
    """A forecaster that diverges must not carry the signal with it."""

    class Wild(AdaptiveLinear):
        def forecast(self, sample, observed):
            return super().forecast(sample, observed) + 1e6

    one = Guarded(Wild(10, 12), rate=RATE)
    x = motion()
    assert through_gap(one, x, [0], 20) < 20.0


def test_forecasts_whose_errors_are_not_known_are_not_followed():
    """The first error of a horizon of ten samples is known at the eleventh."""
    one, alone = (Guarded(LastPosition(10), rate=RATE, gate=gate) for gate in (Gate(RATE), ByItself(RATE)))
    for row in motion()[:10]:
        one.update(row)
        alone.update(row)
    lost = np.full((1, 3), np.nan)
    same = one.update(lost).path.origin, alone.update(lost).path.origin
    assert np.array_equal(*same)


def test_a_long_gap_stays_in_the_usual_range_and_ends_well():
    one, x = guarded(), motion(samples=1200)
    for row in x[:500]:
        one.update(row)
    for _ in range(400):
        forecast = one.update(np.full((1, 3), np.nan))
        assert np.abs(forecast.path.origin).max() < 12.0
        assert np.abs(forecast.position).max() < 20.0
    assert forecast.status == Status.HOLD
    made = [one.update(row) for row in x[900:]]
    assert made[-1].status == Status.OK
    errors = [np.linalg.norm(f.position - truth) for f, truth in zip(made[100:], x[1010:], strict=False)]
    assert np.sqrt(np.mean(np.square(errors))) < 0.2


def test_a_long_gap_is_not_filled_with_growing_oscillations():
    """The loop of filling and forecasting must not amplify what is wrong with it: at worst the mean is as good."""
    rate, samples = 57.0, 2280
    phase = 2 * np.pi * np.arange(samples) / rate / 3.7
    x = np.stack([8 * np.sin(phase), 4 * np.cos(phase), 2 * np.sin(phase + 1)], axis=-1)[:, None]
    x = x + 0.05 * np.random.default_rng(0).normal(size=x.shape)
    one, begin = Guarded(AdaptiveLinear(28, 12), rate=rate), 1710
    for row in x[:begin]:
        one.update(row)
    errors = [np.linalg.norm(one.update(np.full((1, 3), np.nan)).path.origin - row) for row in x[begin:]]
    spread = np.sqrt(np.mean(np.sum(x**2, axis=-1)))
    for second in range(2, 10):
        assert np.sqrt(np.mean(np.square(errors[57 * second : 57 * second + 57]))) < 1.6 * spread


def way_to(last, step, target, n):
    """Return the positions up to a target in n samples, from the one before the last."""
    path = [last - step, last]
    for left in range(n, 0, -1):
        path.append(steered(path[-1], path[-1] - path[-2], target, np.full(len(last), left)))
    return np.array(path)


def test_steps_towards_a_target_have_an_acceleration_that_falls_like_the_square_of_what_is_left():
    """Against the sum of cubes."""
    rng = np.random.default_rng(2)
    last, step, target = rng.normal(size=(3, 2, 3))
    for n in (1, 2, 7):
        path = way_to(last, step, target, n)
        assert np.allclose(path[-1], target)
        acceleration, left = np.diff(path, n=2, axis=0), np.arange(n, 0, -1)
        assert np.allclose(acceleration, acceleration[0] * (left / n)[:, None, None] ** 2)


def test_a_wrong_velocity_decays_on_the_way_to_a_target():
    path = way_to(np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)), 40)
    assert abs(path[-1] - path[-2]).item() < 0.4  # about a third


def test_a_forecast_is_trusted_less_the_longer_a_gap_lasts():
    target = Target(np.zeros((1, 3)), np.array([4]), np.array([4]), np.array([2.0]))
    grown = np.array([target.uncertainty(np.array([n]))[0] for n in range(12)])
    assert np.all(np.diff(grown) > 0)
    assert grown[3] == 2.0  # at the horizon, the error of the forecasts
    assert grown[7] == 16.0  # twice that time


def test_without_a_target_steps_decay():
    assert damped(np.zeros((1, 1)), np.ones((1, 1)), np.array([3])).item() == pytest.approx(0.85**3)


class ByItself(Gate):
    """A gate that is not told what was forecast."""

    def judge(self, x, aim=None):
        return super().judge(x)
