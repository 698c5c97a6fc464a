"""The simulator: reproducibility, groups and sizes, and the resemblance to real recordings."""

import numpy as np
import pytest

from quatcast.data import extmarker, simulated
from quatcast.data.breathing import Breaths, Rhythm, breathe, episodes, moments, wander

HORIZONS = (2, 5, 10, 20)
REAL_PERSISTENCE = (1.09, 2.47, 4.37, 6.86)
"""RMSE of persistence in mm on the nine real recordings, 0.2, 0.5, 1.0 and 2.0 s ahead, from sample 601 on."""
BANDS = (0.0, 0.05, 0.12, 0.35, 0.7, 5.0)


def persistence(recordings):
    return np.mean(
        [
            [np.sqrt(np.mean(np.sum((p[600:] - p[600 - h : -h]) ** 2, axis=-1))) for h in HORIZONS]
            for p in (recording.positions for recording in recordings)
        ],
        axis=0,
    )


def spectrum(recording):
    """Return the share of the power in each frequency band, summed over all coordinates."""
    signal = recording.positions.reshape(len(recording), -1)
    signal = (signal - signal.mean(axis=0)) * np.hanning(len(signal))[:, None]
    power = (np.abs(np.fft.rfft(signal, axis=0)) ** 2).sum(axis=1)
    frequencies = np.fft.rfftfreq(len(signal), 1 / recording.rate)
    shares = np.histogram(frequencies, BANDS, weights=power)[0]
    return shares / shares.sum()


@pytest.fixture(scope="module")
def nine():
    return simulated()


def test_order_groups_names_and_lengths_are_those_of_extmarker(nine):
    assert [r.name for r in nine] == [
        "sim-1-talk", "sim-2-regular", "sim-3-change", "sim-4-laugh-talk", "sim-5-regular",
        "sim-6-regular", "sim-7-other", "sim-8-regular", "sim-9-regular",
    ]  # fmt: skip
    assert [r.group[0] for r in nine] == list("iriirrirr")
    real = [2220, 1383, 1297, 1422, 1307, 1171, 726, 3199, 3061]
    assert [len(r) for r in nine] == pytest.approx(real, abs=10)
    assert {(r.rate, r.positions.shape[1:]) for r in nine} == {(10.0, (3, 3))}


def test_the_result_depends_on_the_seed():
    one, same, other = (simulated(seed, seconds=30) for seed in (4, 4, 5))
    for a, b, c in zip(one, same, other, strict=True):
        assert np.array_equal(a.positions, b.positions)
        assert not np.array_equal(a.positions, c.positions)
    regular = [r.positions for r in one if r.name.endswith("regular")]
    assert not np.array_equal(regular[0], regular[1])


def test_positions_start_at_zero_in_steps_of_a_tenth(nine):
    for recording in nine:
        assert not recording.positions[0].any()
        np.testing.assert_allclose(recording.positions * 10, np.round(recording.positions * 10), atol=1e-9)


@pytest.mark.parametrize("seconds", [0.1, 7.3, 61.0, 130.0])
def test_a_longer_simulation_begins_with_the_shorter(seconds):
    dirt = {"glitches": 0.02, "dropouts": 0.05}
    for short, long in zip(simulated(3, seconds=seconds, **dirt), simulated(3, seconds=140, **dirt), strict=True):
        assert len(short) == round(seconds * 10)
        np.testing.assert_array_equal(short.positions, long.positions[: len(short)])


def test_glitches_and_dropouts_affect_existing_samples(nine):
    for clean, dirty in zip(nine, simulated(glitches=0.03, dropouts=0.1), strict=True):
        missing = np.isnan(dirty.positions[..., 0])
        assert 0.06 < missing.mean() < 0.14
        length = np.linalg.norm(dirty.positions - clean.positions, axis=-1)[~missing]
        assert 0.01 < (length > 0).mean() < 0.06
        np.testing.assert_allclose(length[length > 0], 30.0)


@pytest.mark.parametrize("seconds", [0.0, -1.0, "soon"])
def test_empty_recordings_are_refused(seconds):
    with pytest.raises(ValueError, match=r"seconds: expected a duration from 0\.1 to 1e\+06 s, got"):
        simulated(seconds=seconds)


def test_resemblance_in_persistence():
    """Persistence has the error of the real recordings, within 10 % for the default seed and 15 % for others."""
    np.testing.assert_allclose(persistence(simulated()), REAL_PERSISTENCE, rtol=0.10)
    for seed in range(1, 6):
        np.testing.assert_allclose(persistence(simulated(seed)), REAL_PERSISTENCE, rtol=0.15)


def test_resemblance_in_size(nine):
    """The ranges per axis resemble those published for the real recordings."""
    widest = np.max([np.ptp(r.positions, axis=0).max(axis=0) for r in nine], axis=0)
    narrowest = np.min([np.ptp(r.positions, axis=0).max(axis=0) for r in nine], axis=0)
    assert (widest < [50, 20, 65]).all()
    assert (narrowest > [4, 1.5, 12]).all()


def test_the_breathing_rhythm_dominates_regular_recordings_only(nine):
    rhythm = {r.name: spectrum(r)[2] for r in nine}
    assert min(share for name, share in rhythm.items() if "regular" in name) > 0.7
    assert rhythm["sim-4-laugh-talk"] < 0.6
    assert rhythm["sim-7-other"] < 0.1
    fast = {r.name: spectrum(r)[4] for r in nine}
    assert fast["sim-4-laugh-talk"] > 5 * max(share for name, share in fast.items() if "regular" in name)


def test_resemblance_in_spectrum(extmarker_folder, nine):
    real, ours = extmarker(extmarker_folder), nine
    for group in ("regular", "irregular"):
        a, b = (np.mean([spectrum(r) for r in s if r.group == group], axis=0) for s in (real, ours))
        print(f"{group}: real {np.round(a, 3)}, simulated {np.round(b, 3)}")
        np.testing.assert_allclose(b, a, atol=0.1)
    real_rmse, our_rmse = persistence(real), persistence(ours)
    print(f"persistence: real {np.round(real_rmse, 2)}, simulated {np.round(our_rmse, 2)}")
    np.testing.assert_allclose(real_rmse, REAL_PERSISTENCE, atol=0.005)


def test_values_of_one_breath():
    """Check a breath of 4 s and depth 2, from level 0.5 to level 0.1, with the peak after 1 s and 1 s of rest."""
    breaths = Breaths(
        starts=np.array([0.0, 5.0]),
        periods=np.array([4.0, 4.0]),
        depths=np.array([2.0, 2.0]),
        levels=np.array([0.5, 0.1]),
        sharpness=np.array([1.0, 1.0]),
        inhale=np.array([0.25, 0.25]),
    )
    level_at_peak = 0.5 - 0.4 * (3 * 0.25**2 - 2 * 0.25**3)
    np.testing.assert_allclose(breaths(np.array([0.0, 1.0, 4.0, 4.9])), [0.5, 2.0 + level_at_peak, 0.1, 0.1])
    fine = breaths(np.linspace(0.0, 4.9, 491))
    assert np.argmax(fine) == 100
    assert np.abs(np.diff(fine)).max() < 0.05, "no jumps"


def test_variation_of_breaths():
    breaths = breathe(np.random.default_rng(0), Rhythm(period=5.0, spread=0.1), seconds=20_000)
    assert breaths.starts[0] < -5.0
    assert breaths.starts[-1] > 20_000
    assert np.mean(breaths.periods) == pytest.approx(5.0, rel=0.02)
    for values in (breaths.periods, breaths.depths):
        assert 0.09 < np.std(np.log(values)) < 0.13
    np.testing.assert_allclose(np.diff(breaths.starts), breaths.periods[:-1])
    still = breathe(np.random.default_rng(0), Rhythm(period=5.0, spread=0.0), seconds=100)
    np.testing.assert_allclose(still.periods, 5.0)


def test_pauses_delay_the_next_breath_and_changes_last():
    paused = breathe(np.random.default_rng(1), Rhythm(5.0, pauses=0.3), seconds=5000)
    rest = np.diff(paused.starts) - paused.periods[:-1]
    assert 0.2 < np.mean(rest > 1e-9) < 0.4
    changed = breathe(np.random.default_rng(1), Rhythm(5.0, spread=0.0, changes=0.1), seconds=5000)
    new = np.mean(np.abs(np.diff(changed.periods)) > 1e-9)
    assert 0.05 < new < 0.15


def test_variance_and_correlation_of_wander():
    noise = wander(np.random.default_rng(2), (50_000, 2), memory=10.0)
    assert np.std(noise) == pytest.approx(1.0, abs=0.05)
    assert np.mean(noise[10:] * noise[:-10]) == pytest.approx(np.exp(-1), abs=0.05)


def test_intervals_of_moments():
    times = np.array(list(moments(np.random.default_rng(3), 30.0, 60_000)))
    assert np.mean(np.diff(times)) == pytest.approx(30.0, rel=0.05)
    assert np.diff(times).min() >= 10.0
    assert times[-1] < 60_000


@pytest.mark.parametrize("kind", ["talk", "laugh", "cough"])
def test_episodes_are_short_and_bounded(kind):
    times = np.arange(6000) / 10
    takeover, motion = episodes(np.random.default_rng(4), times, 40.0, kind)
    assert 0.0 <= takeover.min() <= takeover.max() <= 0.85
    assert not motion[takeover == 0].any()
    assert 0.005 < np.mean(takeover > 0) < 0.3
    assert 0.5 < np.abs(motion).max() < 4.0
