"""The inverse Gram matrix of a regression: compared with a matrix that is computed at once."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.learners.inverse import Inverse


def rows(seed, k, n):
    return np.random.default_rng(seed).normal(size=(k, n))


def begun(n, seed=0):
    A = rows(seed, n, n)
    return A @ A.T


@given(n=st.integers(1, 30), pieces=st.integers(1, 12), diagonal=st.booleans(), after=st.integers(0, 14))
@settings(max_examples=60, deadline=None)
def test_a_change_in_pieces_is_the_change_at_once(n, pieces, diagonal, after):
    before = np.diag(np.arange(1.0, n + 1)) if diagonal else begun(n)
    P, K, G = Inverse.of(np.zeros((0, 0)), pieces), rows(1, 3, n), rows(2, 1, n)
    if diagonal:
        P.change(P.matrix, minus=K, plus=G, diagonal=np.diagonal(before))
    else:
        P.change(before, minus=K, plus=G)
    for _ in range(after):
        P.advance()
    np.testing.assert_allclose(P.finished(), before - K.T @ K + G.T @ G, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(P.matrix, P.matrix.T)
    assert not P.advance()


@pytest.mark.parametrize("kept", [0, 1, 3, 7])
def test_saving_or_undoing_half_a_change_changes_no_bit(kept):
    whole, broken = (Inverse.of(begun(40), pieces=7) for _ in range(2))
    for P in (whole, broken):
        P.change(P.matrix, minus=rows(3, 4, 40))
    for _ in range(kept):
        broken.advance()
    broken = pickle.loads(pickle.dumps(broken))
    mark = broken.mark()
    for seed in range(3):
        broken.change(broken.finished(), minus=rows(seed, 4, 40))
        broken.advance()
    broken.rewind(mark)
    np.testing.assert_array_equal(broken.finished(), whole.finished())


def test_the_present_matrix_and_the_marked_one_are_never_written_to():
    P = Inverse.of(begun(12), pieces=3)
    for step in range(20):
        P.mark()
        held = [(P.matrix, P.matrix.copy())]
        for _ in range(1 + step % 3):
            P.change(P.finished(), minus=0.01 * rows(step, 2, 12))
            held.append((P.matrix, P.matrix.copy()))
            P.advance()
            assert np.array_equal(*held[0])
            assert np.array_equal(*held[-1])
