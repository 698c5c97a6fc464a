import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.data import Recording, corrupt

probability = st.floats(0.0, 0.5)


def walk(samples=400, channels=3, dimensions=3):
    steps = np.random.default_rng(7).standard_normal((samples, channels, dimensions))
    return Recording("walk", np.cumsum(steps, axis=0), np.arange(samples) / 10, 10.0, "g")


@settings(deadline=None, max_examples=40)
@given(probability, probability, st.floats(0.1, 100.0), st.integers(0, 1000), st.sampled_from([3, 4]))
def test_every_sample_is_unchanged_displaced_or_missing(glitches, dropouts, magnitude, seed, dimensions):
    clean = walk(dimensions=dimensions)
    dirty = corrupt(clean, glitches=glitches, dropouts=dropouts, magnitude=magnitude, seed=seed)
    length = np.sqrt(((dirty.positions - clean.positions) ** 2).sum(axis=-1))
    missing = np.isnan(length)
    assert np.array_equal(np.isnan(dirty.positions).all(axis=-1), missing)
    moved = ~missing & (length > 0)
    np.testing.assert_allclose(length[moved], magnitude, rtol=1e-9)
    # Six standard deviations of the mean of 1200 samples are 0.087 at most.
    assert abs(missing.mean() - dropouts) < 0.09
    assert abs(moved.sum() / max((~missing).sum(), 1) - glitches) < 0.13
    assert (dirty.name, dirty.group, dirty.channels) == (clean.name, clean.group, clean.channels)


def test_directions_have_no_preference():
    clean = walk(samples=8000)
    dirty = corrupt(clean, glitches=1.0, magnitude=1.0)
    directions = (dirty.positions - clean.positions).reshape(-1, 3)
    assert np.abs(directions.mean(axis=0)).max() < 0.02
    np.testing.assert_allclose(directions.T @ directions / len(directions), np.eye(3) / 3, atol=0.02)


def test_a_higher_probability_keeps_the_faults_of_a_lower_one():
    little = np.isnan(corrupt(walk(), dropouts=0.05, seed=3).positions[..., 0])
    much = np.isnan(corrupt(walk(), dropouts=0.2, seed=3).positions[..., 0])
    assert little.any()
    assert (much >= little).all()
    assert much.sum() > little.sum()
    assert not np.array_equal(much[:, 0], much[:, 1])


def test_the_result_depends_on_the_seed_and_the_original_does_not_change():
    clean = walk()
    before = clean.positions.copy()
    one, same, other = (corrupt(clean, glitches=0.1, seed=s).positions for s in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert np.array_equal(clean.positions, before)
    assert np.array_equal(corrupt(clean).positions, before)


@pytest.mark.parametrize("name", ["glitches", "dropouts"])
@pytest.mark.parametrize("value", [-0.1, 1.5, float("nan")])
def test_probabilities_are_checked(name, value):
    with pytest.raises(ValueError, match=f"{name}: expected a probability from 0 to 1, got {value}"):
        corrupt(walk(), **{name: value})


def test_orientations_can_be_missing_but_not_displaced():
    turned = Recording("r", np.tile([1.0, 0.0, 0.0, 0.0], (50, 1, 1)), np.arange(50) / 10, 10.0, space="orientation")
    assert np.isnan(corrupt(turned, dropouts=0.5).positions).any()
    with pytest.raises(ValueError, match=r"glitches: expected 0 for a recording of orientations, got 0\.1"):
        corrupt(turned, glitches=0.1)
