"""The first seconds of the recommended forecaster, and samples whose time stamps do not fit the sampling rate."""

import re

import numpy as np
import pytest

from quatcast import ConstantVelocity, DampedVelocity, Guarded, Status, recommended
from quatcast.data import extmarker, simulated
from quatcast.forecasting.recipe import WARMUP
from quatcast.safety.status import SEVERITY
from quatcast.testing import fingerprint, smooth_positions

RATE, ERRORS = 10.0, 20
WHEN = re.compile(r"ends in (\d+\.\d) s")


@pytest.fixture(scope="module")
def first():
    """The first 38 s of a recording, and what was forecast for two horizons."""
    x = simulated(seconds=38)[1].positions
    forecaster = recommended([0.5, 1.0], RATE)
    return x, [forecaster.update(row) for row in x]


def test_there_is_a_forecast_from_the_second_sample_on(first):
    x, made = first
    assert all(np.isfinite(forecast.position).all() for forecast in made[1:])
    # It is no wild guess: never further from the newest sample than the signal moves in a breath.
    size = np.ptp(x, axis=0).max()
    assert max(np.abs(f.position - row).max() for f, row in zip(made[1:], x[1:], strict=True)) < 1.5 * size


def test_a_radius_comes_after_twenty_errors(first):
    """The first forecast is made at the first sample; its error is known a horizon later."""
    _, made = first
    known = np.array([np.isfinite(forecast.radius).all(axis=-1) for forecast in made])
    for i, h in enumerate((5, 10)):
        begin = int(known[:, i].argmax())
        assert begin in (h + ERRORS - 1, h + ERRORS)
        assert known[begin:, i].all()


def test_early_radii_hold(first):
    x, made = first
    for i, h in enumerate((5, 10)):
        radius = np.array([forecast.radius[i] for forecast in made[:-h]])
        error = np.linalg.norm(np.array([f.position[i] for f in made[:-h]]) - x[h:], axis=-1)
        known = np.isfinite(radius)
        assert np.mean(error[known] <= radius[known]) > 0.85


def test_warming_up_ends_when_it_was_said_to_end(first):
    _, made = first
    statuses = [forecast.status for forecast in made]
    end = next(t for t, status in enumerate(statuses) if status != Status.WARMING_UP)
    assert end + 1 == pytest.approx(WARMUP * RATE, abs=2)
    for t, forecast in enumerate(made[:end]):
        said = WHEN.search(forecast.reason)
        assert said, forecast.reason
        assert (t + 1) / RATE + float(said[1]) == pytest.approx((end + 1) / RATE, abs=0.25)
    assert all(made[t].reason == "" for t in range(end, len(made)) if statuses[t] == Status.OK)
    assert Status.OK in statuses


def test_early_forecasts_beat_the_plainest_ones(first):
    """From 5 to 35 s below persistence and constant velocity, at both horizons."""
    x, made = first
    part = slice(50, 350)
    for i, h in enumerate((5, 10)):
        forecasts = np.full_like(x, np.nan)
        forecasts[h:] = [forecast.position[i] for forecast in made[:-h]]
        still = np.concatenate([x[:h], x[:-h]])
        others = (still, ConstantVelocity(h).run(x).positions)
        error, *simple = (np.sqrt(np.mean((f - x)[part] ** 2)) for f in (forecasts, *others))
        assert error < min(simple)


@pytest.mark.parametrize("h", [10, 20])
def test_early_forecasts_of_slow_irregular_motion_beat_the_plainest_ones(extmarker_folder, h):
    """In the first half minute of recording 7, constant velocity is better than most members, 1 and 2 s ahead."""
    x = extmarker(extmarker_folder)[6].positions[:350]
    made = recommended(h / RATE, RATE).run(x).positions
    still = np.concatenate([x[:h], x[:-h]])
    error, *simple = (np.sqrt(np.mean((f - x)[50:] ** 2)) for f in (made, still, ConstantVelocity(h).run(x).positions))
    assert error < min(simple)


def test_a_recording_of_a_few_samples_is_forecast():
    forecaster = recommended(0.1, 50.0)
    made = [forecaster.update(row) for row in smooth_positions(40)]
    assert all(np.isfinite(forecast.position).all() for forecast in made[1:])
    assert {forecast.status for forecast in made} == {Status.WARMING_UP}
    assert made[-1].reason.endswith("s")


# Time stamps.


def guarded():
    forecaster = Guarded(DampedVelocity(5), rate=RATE)
    for t, row in enumerate(smooth_positions(100)):
        made = forecaster.update(row, time=100.0 + t / RATE)
    assert made.status == Status.OK
    return forecaster


NEXT = smooth_positions(103)[100:]


@pytest.mark.parametrize("step", [0.1, 0.051, 0.149])
def test_a_time_stamp_may_be_off_by_half_an_interval(step):
    made = guarded().update(NEXT[0], time=109.9 + step)
    assert (made.status, made.reason) == (Status.OK, "")


@pytest.mark.parametrize(("step", "said"), [(0.2, "0.2"), (0.04, "0.04"), (0.0, "0"), (3.0, "3")])
def test_a_time_stamp_that_does_not_fit_is_reported(step, said):
    forecaster = guarded()
    made = forecaster.update(NEXT[0], time=109.9 + step)
    assert made.status == Status.DEGRADED
    assert made.reason == f"sample {said} s after the last one instead of 0.1 s"
    # The forecast itself is that of a sample in time, and the next sample is judged by this one.
    np.testing.assert_array_equal(made.position, guarded().update(NEXT[0]).position)
    made = forecaster.update(NEXT[1], time=110.0 + step)
    assert (made.status, made.reason) == (Status.OK, "")


@pytest.mark.parametrize(("true", "said"), [(34, "34"), (45, "45"), (48.6, ""), (51.4, ""), (60, "60"), (90, "90")])
def test_time_stamps_of_another_rate_are_reported(true, said):
    """Each step fits for itself."""
    forecaster = Guarded(DampedVelocity(5), rate=50.0)
    made = [forecaster.update(row, time=7.0 + t / true).reason for t, row in enumerate(smooth_positions(150))]
    expected = f"time stamps at {said} Hz instead of 50 Hz" if said else ""
    assert made[-1] == expected
    assert not any("time stamps" in reason for reason in made[:49])


def test_jitter_and_gaps_are_no_other_rate():
    times = np.arange(300) / 50 + np.random.default_rng(0).uniform(-0.004, 0.004, 300)
    times[150:] += 3.0
    forecaster = Guarded(DampedVelocity(5), rate=50.0)
    made = [forecaster.update(row, time=t).reason for t, row in zip(times, smooth_positions(300), strict=True)]
    assert not any("time stamps" in reason for reason in made)


def test_a_time_stamp_before_the_last_one_is_reported():
    made = guarded().update(NEXT[0], time=109.9 - 4.9)
    assert made.reason == "sample 4.9 s before the last one instead of 0.1 s after it"


def test_samples_without_time_stamps_are_not_judged():
    forecaster = guarded()
    for row, time in zip(NEXT, (None, 500.0, np.nan), strict=True):
        made = forecaster.update(row, time=time)
        assert (made.status, made.reason) == (Status.OK, "")


def test_a_time_stamp_adds_to_other_reasons():
    forecaster = Guarded(DampedVelocity(5), rate=RATE)
    forecaster.update(NEXT[0], time=1.0)
    made = forecaster.update(NEXT[1], time=5.0)
    assert made.status == Status.WARMING_UP
    assert made.reason.endswith("; sample 4 s after the last one instead of 0.1 s")
    assert SEVERITY.index(made.status) > SEVERITY.index(Status.DEGRADED)


def test_the_time_stamp_of_the_last_sample_is_saved(tmp_path):
    forecaster = guarded()
    forecaster.save(tmp_path / "guarded")
    made = Guarded.load(tmp_path / "guarded").update(NEXT[0], time=111.0)
    assert made.reason == "sample 1.1 s after the last one instead of 0.1 s"


@pytest.mark.parametrize("time", ["a", "1.5", True, [1.0], np.datetime64("2026-01-01")])
def test_a_time_that_is_no_number_is_named_and_changes_nothing(time):
    forecaster = guarded()
    before = fingerprint(forecaster)
    with pytest.raises(ValueError, match="time: expected a number of seconds, or None, got"):
        forecaster.update(NEXT[0], time=time)
    assert fingerprint(forecaster) == before
