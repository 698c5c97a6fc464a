"""Exactly repeated values: coarse encoders and robots that stand are no faults, markers that were lost are."""

import numpy as np
import pytest

from quatcast import Gate
from quatcast.data import simulated

RATE = 10.0


def frozen(x, start=0):
    """Share of samples from `start` on that are called frozen, for each channel."""
    gate = Gate(RATE)
    reasons = np.array([gate.update(row).reasons for row in x])
    return (reasons[start:] == "frozen").mean(axis=0)


def robot(channels, seconds=80, cycle=4.0, stand=2.0, resolution=0.01):
    """Joints that go smoothly from point to point and stand there, read by encoders."""
    t = np.arange(seconds * RATE) / RATE
    k, u = (t // cycle).astype(int), np.clip((t % cycle) / (cycle - stand), 0.0, 1.0)[:, None, None]
    points = np.random.default_rng(0).uniform(-100.0, 100.0, size=(k[-1] + 2, channels, 3))
    x = points[k] + (points[k + 1] - points[k]) * (10 * u**3 - 15 * u**4 + 6 * u**5)
    return resolution * np.round(x / resolution)


@pytest.mark.parametrize("channels", [1, 6])
def test_a_robot_that_stands_is_not_frozen(channels):
    assert frozen(robot(channels), start=200).max() == 0.0


def test_a_coarse_encoder_that_moves_slowly_is_not_frozen():
    t = np.arange(1200) / RATE
    swing = np.round(np.stack([8 * np.sin(0.3 * t), 4 * np.sin(0.3 * t), 0 * t], axis=-1) / 0.5) * 0.5
    drift = np.round(np.stack([0.4 * t, 0 * t, 0 * t], axis=-1))
    assert frozen(swing[:, None], start=300).max() < 0.02
    assert frozen(drift[:, None], start=300).max() == 0.0


def test_a_robot_that_stands_far_longer_than_ever_is_frozen():
    x = robot(1)
    x[620:] = x[619]
    assert frozen(x, start=680).min() == 1.0


@pytest.mark.parametrize("channels", [1, 3])
def test_lost_markers_stay_frozen_however_often_they_were_lost(channels):
    """Reappearing where they were by chance does not make repeats ordinary."""
    x = np.round(simulated(seed=3, seconds=300)[1].positions[:, :channels], 1)
    for start in range(200, 2900, 100):
        x[start : start + 50] = x[start]
    limit = 3 if channels == 3 else 9
    late = np.zeros(len(x), dtype=bool)
    for start in range(200, 2900, 100):
        late[start + limit : start + 50] = True
    gate = Gate(RATE)
    found = np.array([gate.update(row).reasons[0] == "frozen" for row in x])
    assert found[late].mean() > 0.99
