"""Embedding of positions as inputs and targets, compared with sums written out coordinate by coordinate."""

import math

import numpy as np
import pytest
import quaternion as nq
from hypothesis import given
from hypothesis import strategies as st

from quatcast.algebra import C, H, R
from quatcast.forecasting.embedding import Embedding, as_delays, decode, encode

DELAYS, HORIZON = (5, 2, 0), 3


def walk(dimensions=3, channels=2, samples=40, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(samples, channels, dimensions)), axis=0)


def rms(values):
    values = list(values)
    return math.sqrt(math.fsum(v * v for v in values) / len(values))


@pytest.mark.parametrize(
    ("lags", "delays"),
    [(1, (0,)), (4, (3, 2, 1, 0)), (np.int64(2), (1, 0)), ([0, 7, 3], (7, 3, 0)), (range(3), (2, 1, 0)), ((4,), (4,))],
)
def test_delays_come_longest_first(lags, delays):
    assert as_delays(lags) == delays


@pytest.mark.parametrize("lags", [0, -2, True, 2.5, [0.5, 1], [], [3, 3], [0, -1], "ten", [[0, 1]]], ids=str)
def test_bad_lags_are_named(lags):
    with pytest.raises(ValueError, match=r"^lags: "):
        as_delays(lags)


@pytest.mark.parametrize(("algebra", "dimensions"), [(R, 2), (R, 5), (C, 1), (C, 2), (H, 1), (H, 3), (H, 4)], ids=str)
def test_numbers_of_an_algebra_hold_the_coordinates_and_give_them_back(algebra, dimensions):
    x = walk(dimensions)
    for row in x:
        stacked = encode(algebra, row)
        for c, point in enumerate(row):
            for i, value in enumerate(point):
                if algebra is R:
                    assert stacked[0, c * dimensions + i] == value
                else:
                    assert stacked[algebra.dimension - dimensions + i, c] == value
        # Nothing else is in there.
        assert stacked.shape == ((1, row.size) if algebra is R else (algebra.dimension, len(row)))
        assert np.abs(stacked).sum() == pytest.approx(np.abs(row).sum())
    many = np.stack([encode(algebra, row) for row in x])
    np.testing.assert_array_equal(decode(algebra, many, x.shape[1], dimensions), x)
    # A window is encoded sample by sample, the oldest first.
    np.testing.assert_array_equal(encode(algebra, x), np.concatenate(list(many), axis=-1))


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="5-D signal does not fit into the 4 components"):
        encode(H, np.zeros((2, 5)))


@pytest.mark.parametrize("scale_by", ["coordinate", "channel"])
def test_scales_are_those_of_the_training_samples(scale_by):
    x = walk()
    embedding = Embedding.fit(x, DELAYS, [HORIZON], "displacement", scale_by, R)
    T, channels, dimensions = x.shape
    for c in range(channels):
        for i in range(dimensions):
            shared = range(dimensions) if scale_by == "channel" else [i]
            mean = [math.fsum(x[:, c, k]) / T for k in range(dimensions)]
            assert embedding.center[c, i] == pytest.approx(mean[i])
            assert embedding.input_scale[-1, c, i] == pytest.approx(
                rms(x[t, c, k] - mean[k] for t in range(T) for k in shared)
            )
            for delay, scale in zip(DELAYS[:-1], embedding.input_scale[:-1], strict=True):
                moved = [x[t, c, k] - x[t - delay, c, k] for t in range(delay, T) for k in shared]
                assert scale[c, i] == pytest.approx(rms(moved))
            moved = [x[t, c, k] - x[t - HORIZON, c, k] for t in range(HORIZON, T) for k in shared]
            assert embedding.target_scale[0, c, i] == pytest.approx(rms(moved))


def test_what_never_moves_keeps_its_unit():
    x = walk()
    x[:, 0, 1] = 7.0
    x[:, 1] = [1.0, 2.0, 3.0]
    embedding = Embedding.fit(x, DELAYS, [HORIZON], "displacement", "coordinate", R)
    assert embedding.input_scale[-1, 0, 1] == embedding.target_scale[0, 0, 1] == 1.0
    for scale_by in ("coordinate", "channel"):
        embedding = Embedding.fit(x, DELAYS, [HORIZON], "displacement", scale_by, R)
        assert np.all(embedding.input_scale[-1, 1] == 1.0)
        assert np.all(embedding.input_scale[:, 1] == 1.0)
        assert np.isfinite(embedding.input(x[list(DELAYS)])).all()


def test_delays_and_horizons_beyond_the_training_samples_keep_their_unit():
    x = walk(samples=4)
    embedding = Embedding.fit(x, (9, 1, 0), [20], "displacement", "channel", H)
    assert np.all(embedding.input_scale[0] == 1.0)
    assert np.all(embedding.input_scale[1] != 1.0)
    assert np.all(embedding.target_scale == 1.0)


@pytest.mark.parametrize("algebra", [R, H], ids=str)
@pytest.mark.parametrize("target", ["position", "displacement"])
def test_inputs_are_scaled_samples_or_displacements(target, algebra):
    x = walk()
    embedding = Embedding.fit(x, DELAYS, [HORIZON], target, "coordinate", algebra)
    window = np.stack([x[20 - delay] for delay in DELAYS])
    expected = []
    for n in range(len(DELAYS)):
        for c in range(2):
            for i in range(3):
                value = window[n, c, i]
                if target == "position" or n == len(DELAYS) - 1:
                    expected.append((value - embedding.center[c, i]) / embedding.input_scale[-1, c, i])
                else:
                    expected.append((value - window[-1, c, i]) / embedding.input_scale[n, c, i])
    found = embedding.input(window)
    flat = found[0] if algebra is R else found[1:].T.reshape(-1)
    np.testing.assert_allclose(flat, expected, rtol=1e-14)
    assert algebra is R or np.all(found[0] == 0.0)


@given(
    algebra=st.sampled_from([R, H]),
    target=st.sampled_from(["position", "displacement"]),
    scale_by=st.sampled_from(["coordinate", "channel"]),
    dimensions=st.integers(1, 4),
    seed=st.integers(0, 99),
)
def test_a_target_stands_for_its_sample(algebra, target, scale_by, dimensions, seed):
    x = walk(dimensions, seed=seed)
    embedding = Embedding.fit(x, DELAYS, [HORIZON], target, scale_by, algebra)
    np.testing.assert_allclose(
        embedding.position(x[7], embedding.target_of(x[7], x[10:11])), x[10:11], rtol=1e-12, atol=1e-12
    )
    # If the target is the position, it does not matter where the input ended.
    moved = embedding.target_of(x[8], x[10][None])
    assert np.array_equal(moved, embedding.target_of(x[7], x[10][None])) == (target == "position")


@pytest.mark.parametrize("target", ["position", "displacement"])
def test_turning_space_turns_the_numbers_when_a_channel_has_one_scale(target):
    x = walk()
    turn = nq.as_rotation_matrix(np.quaternion(0.3, -0.5, 0.7, 0.2).normalized())
    plain = Embedding.fit(x, DELAYS, [HORIZON], target, "channel", H)
    turned = Embedding.fit(x @ turn.T, DELAYS, [HORIZON], target, "channel", H)
    window = np.stack([x[20 - delay] for delay in DELAYS])
    for one, other in (
        (plain.input(window), turned.input(window @ turn.T)),
        (plain.target_of(x[3], x[6][None]), turned.target_of(x[3] @ turn.T, (x[6] @ turn.T)[None])),
    ):
        np.testing.assert_allclose(turn @ one[1:], other[1:], atol=1e-12)
    by_coordinate = Embedding.fit(x @ turn.T, DELAYS, [HORIZON], target, "coordinate", H)
    assert not np.allclose(
        turn @ plain.target_of(x[3], x[6][None])[1:], by_coordinate.target_of(x[3] @ turn.T, (x[6] @ turn.T)[None])[1:]
    )


@pytest.mark.parametrize("scale_by", ["coordinate", "channel"])
def test_what_never_moves_keeps_its_unit_though_its_mean_is_rounded(scale_by):
    x = np.full((300, 2, 3), (10.1, -33.3, 712.7))
    embedding = Embedding.fit(x, as_delays(4), [3], "displacement", scale_by, H)
    np.testing.assert_array_equal(embedding.input_scale[-1], np.ones((2, 3)))
    np.testing.assert_array_equal(embedding.input_scale, np.ones((4, 2, 3)))
