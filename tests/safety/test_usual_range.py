"""Motion far outside the usual range of a channel, such as that of a body that has rested for long."""

import numpy as np
import pytest

from quatcast import DampedVelocity, Gate, Guarded, Mixture, Status
from quatcast.data import simulated
from quatcast.forecasting.velocity import LastPosition
from quatcast.testing.bursts import with_burst

RATE = 10.0


def rested(seconds=120, still=40, noise=0.05):
    """A body that rests with the noise of a camera and then swings through its place of rest."""
    t = np.arange(seconds * RATE) / RATE
    phase = 1.5 * np.maximum(t - still, 0.0)
    swing = np.stack([10 * np.sin(phase), 5 * np.sin(phase), 3 * np.sin(2 * phase)], axis=-1)[:, None]
    return swing + noise * np.random.default_rng(0).normal(size=swing.shape)


def make():
    members = [LastPosition(5), DampedVelocity(5, (1, 2, 4, 8))]
    return Guarded(Mixture(members, memory=400), rate=RATE)


def test_motion_after_a_long_rest_is_learnt_from_within_half_a_minute():
    """It was not learnt from for a minute, because it never stayed outside its usual range for 15 s in a row."""
    x = rested()
    forecasts = make().run(x)
    error = np.linalg.norm(forecasts.positions - x, axis=-1)
    last = np.linalg.norm(x[5:] - x[:-5], axis=-1)
    late = slice(700, None)
    assert np.sqrt(np.mean(error[late] ** 2)) < 0.5 * np.sqrt(np.mean(last[695:] ** 2))


def test_the_status_is_not_ok_while_nothing_is_learnt_from_such_motion():
    guarded = make()
    told, ok_after = [], []
    for t, row in enumerate(rested()):
        made = guarded.update(row)
        if t > 400 and guarded.state.pause:
            told.append(made)
        if t > 700:
            ok_after.append(made.status == Status.OK)
    assert len(told) > 100
    assert Status.OK not in {made.status for made in told[30:]}
    assert any("far outside the usual range" in made.reason for made in told)
    assert np.mean(ok_after) > 0.95


@pytest.mark.parametrize("every", [4.0, 12.0])
def test_single_faults_do_not_widen_the_usual_range(every):
    """A channel that is far outside for less than a fifth of the time keeps its range."""
    t = np.arange(1500) / RATE
    x = np.sin(t)[:, None, None] * np.ones(3) + 0.01 * np.random.default_rng(1).normal(size=(1500, 1, 3))
    x[(t > 30) & (t % every > every - 0.65)] += 100.0
    gate = Gate(RATE)
    for row in x:
        gate.update(row)
    assert np.sqrt(gate.state.power[0]) < 3.0


@pytest.mark.parametrize("seed", [0, 7])
def test_little_is_learnt_from_ten_seconds_of_motion_that_is_ten_times_as_large(seed):
    """It widened the usual range, and the last seconds were learnt from: errors were 18 % larger 20 s later."""
    x = simulated(seed, seconds=75)[1].positions.copy()
    mean = x[:600].mean(axis=0)
    x[600:700] = mean + 10 * (x[600:700] - mean)
    guarded, learnt = make(), []
    for t, row in enumerate(x):
        guarded.update(row)
        if 607 <= t < 700:
            learnt.append(guarded.state.pause == 0)
    assert np.mean(learnt) < 0.25


def test_nothing_is_learnt_while_the_radius_is_many_times_its_usual_size():
    """Motion that grows smoothly, by 5 % per sample, is plausible; all of it was learnt from."""
    x = simulated(seconds=72)[1].positions.copy()
    mean, times = x[:600].mean(axis=0), 1.05 ** np.arange(100.0)[:, None, None]
    x[600:700] = mean + times * (x[600:700] - mean)
    guarded, learnt = make(), []
    for row in x[:700]:
        guarded.update(row)
        learnt.append(guarded.state.pause == 0)
    assert all(learnt[600:625])
    assert not any(learnt[660:])


def test_a_channel_that_stays_outside_settles_there_although_it_was_back_for_a_moment():
    """After a burst that was taken for a shift it is back without an offset; a wider range would keep the offset."""
    x = with_burst(simulated(seconds=81)[1].positions, "unit times 1000", "one coordinate", 600, 100)
    guarded = make()
    for row in x:
        guarded.update(row)
    np.testing.assert_array_equal(guarded.gate.state.shifts.offset, 0.0)
