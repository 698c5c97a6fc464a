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


def turned(degrees):
    """Quaternions of rotations about x; the angle between two of them is the difference of theirs."""
    half = np.radians(degrees) / 2
    return np.array([[np.cos(half), np.sin(half), 0.0, 0.0]])


def test_poses_have_figures_of_positions_and_of_orientations():
    def pose(k):
        there, here = turned(3.0 * k + 10 + k % 2), turned(3.0 * k)
        return replace(
            Breathing().frame(0, START + k / 10),
            target_time=START + k / 10 + 0.25,  # Between two samples, where 7.5° more have been turned.
            position=np.concatenate([[[3.0, 0.0, 4.0]], there], axis=1),
            sample=np.concatenate([np.zeros((1, 3)), here * (-1) ** k], axis=1),  # q and -q are one orientation.
            radius=np.array([6.0]),
            angle_radius=np.radians([3.0]),
            filled=np.array([False]),
        )

    statistics = Statistics(1, 1, "pose")
    for k in range(43):
        statistics.add(pose(k))
    found = statistics.summary()
    assert found["rmse"] == [[pytest.approx(5.0)]]
    assert found["coverage"] == [[1.0]]
    assert found["angle_rmse"] == [[pytest.approx(np.radians(np.sqrt((2.5**2 + 3.5**2) / 2)), rel=1e-3)]]
    assert found["angle_coverage"] == [[0.5]]
    assert found["bins"]["rmse"][0] == [pytest.approx(5.0)]


def test_the_error_of_an_orientation_is_an_angle():
    statistics = Statistics(1, 1, "orientation")
    for k in range(30):
        frame = replace(Breathing().frame(0, START + k / 10), radius=np.radians([30.0]), filled=np.array([False]))
        statistics.add(replace(frame, sample=turned(0.0), position=-turned(40.0)))
    found = statistics.summary()
    assert found["rmse"] == [[pytest.approx(np.radians(40.0))]]
    assert found["coverage"] == [[0.0]]
    assert "angle_rmse" not in found


def test_a_bin_that_has_just_begun_is_not_shown():
    start = 1.7e9 // 10 * 10
    for seconds, bins in ((21, 2), (25, 3)):
        found = summary([Breathing().frame(k, start + k / 10) for k in range(seconds * 10)])["bins"]
        assert len(found["index"]) == len(found["coverage"]) == bins


def test_nothing_yet():
    found = Statistics(1, 2).summary()
    assert (found["rmse"], found["age"], found["rate"]) == ([[None, None]], [None, None], None)
