"""Errors, coverage, loss and latency against the same figures computed from whole arrays."""

from dataclasses import replace

import numpy as np
import pytest
from breathing_feeder import OVERSHOOT, Breathing

from quatcast.live.view.statistics import BINS, Statistics

START = 1.7e9


def summary(frames, horizons=1):
    statistics = Statistics(horizons, 3)
    for frame in frames:
        statistics.add(frame)
    return statistics.summary()


@pytest.mark.parametrize("rate", [10.0, 30.0])
def test_errors_and_coverage_are_those_of_whole_arrays(rate):
    breathing = Breathing((0.2, 0.5))
    times = START + np.arange(round(55 * rate)) / rate
    found = summary([breathing.frame(k, t) for k, t in enumerate(times)], horizons=2)
    for index, horizon in enumerate(breathing.horizons):
        due = times[times + horizon <= times[-1] + 1e-5]
        moved = np.array([breathing.position(t + horizon) - breathing.position(t) for t in due])
        errors = OVERSHOOT * np.linalg.norm(moved, axis=-1)
        np.testing.assert_allclose(found["rmse"][index], np.sqrt(np.mean(errors**2, axis=0)), rtol=1e-3)
        np.testing.assert_allclose(found["coverage"][index], np.mean(errors <= 0.4 + 1.6 * horizon, axis=0), atol=2e-3)
    assert found["rate"] == pytest.approx(rate, rel=1e-3)


def test_a_target_between_two_samples_is_interpolated():
    breathing = Breathing((0.25,))
    frames = [breathing.frame(k, START + k / 10) for k in range(400)]
    exact = OVERSHOOT * np.array(
        [np.linalg.norm(breathing.position(f.target_time) - breathing.position(f.time), axis=-1) for f in frames[:-3]]
    )
    np.testing.assert_allclose(summary(frames)["rmse"][0], np.sqrt(np.mean(exact**2, axis=0)), rtol=0.03)


def test_lost_channels_are_counted_and_not_scored():
    frames = [Breathing().frame(k, START + k / 10, lost=1 if k % 4 == 0 else None) for k in range(200)]
    found = summary(frames)
    assert found["lost"] == [0.0, 0.25, 0.0]
    complete = summary([Breathing().frame(k, START + k / 10) for k in range(200)])
    assert found["rmse"][0][0] == complete["rmse"][0][0]
    assert found["rmse"][0][1] == pytest.approx(complete["rmse"][0][1], rel=0.1)


def test_forecasts_that_could_not_be_used_are_not_scored():
    usable = Breathing().frame(0, 0.0)
    bad = replace(usable, status="hold")
    frames = [replace(bad, time=START + k / 10, target_time=START + k / 10 + 0.5) for k in range(100)]
    assert summary(frames)["rmse"] == [[None, None, None]]


def test_nothing_is_interpolated_over_a_pause():
    breathing = Breathing((0.55,))
    before = [breathing.frame(k, START + k / 10) for k in range(20)]
    after = [breathing.frame(k, START + 10 + k / 10) for k in range(5)]
    assert summary(before + after)["rmse"] == summary(before)["rmse"]


def test_latency_has_median_and_high_quantile():
    frames = [replace(Breathing().frame(k, START + k / 10), sent_time=START + k / 10 + 1e-3 * k) for k in range(100)]
    assert summary(frames)["age"] == pytest.approx(np.quantile(1e-3 * np.arange(100), [0.5, 0.99]), abs=1e-6)


def test_the_last_minute_forgets_and_the_bins_are_bounded():
    wrong = replace(Breathing().frame(0, 0.0), position=np.full((3, 3), 1e6))
    frames = [replace(wrong, time=START + k / 2, target_time=START + k / 2 + 0.5) for k in range(10)]
    frames += [Breathing().frame(k, START + 100 + k / 2) for k in range(round(2 * 10 * BINS * 1.2))]
    found = summary(frames)
    assert max(found["rmse"][0]) < 10
    assert len(found["bins"]["index"]) == len(found["bins"]["rmse"]) == BINS


def test_the_error_of_a_pose_is_that_of_its_position():
    def pose(time):
        there = np.array([[3.0, 0.0, 4.0, 1.0, 0.0, 0.0, 0.0]])
        return replace(
            Breathing().frame(0, time),
            sample=np.zeros((1, 7)),
            position=there,
            radius=np.ones(1),
            filled=np.array([False]),
        )

    statistics = Statistics(1, 1)
    for k in range(20):
        statistics.add(pose(START + k / 10))
    assert statistics.summary()["rmse"] == [[5.0]]


def test_a_bin_that_has_just_begun_is_not_shown():
    start = 1.7e9 // 10 * 10
    for seconds, bins in ((21, 2), (25, 3)):
        found = summary([Breathing().frame(k, start + k / 10) for k in range(seconds * 10)])["bins"]
        assert len(found["index"]) == len(found["coverage"]) == bins


def test_nothing_yet():
    found = Statistics(1, 2).summary()
    assert (found["rmse"], found["age"], found["rate"]) == ([[None, None]], [None, None], None)
