"""The last rows of a stream, against a list that keeps everything."""

import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quatcast.sliding import Sliding


@given(capacity=st.integers(1, 7), count=st.integers(0, 40), width=st.integers(1, 3))
def test_keeps_the_last_rows_in_order(capacity, count, width):
    last, everything = Sliding(capacity), []
    for t in range(count):
        row = np.arange(width) + 10.0 * t
        last.append(row)
        everything.append(row.copy())
        row[:] = np.nan
        assert len(last) == min(t + 1, capacity)
        np.testing.assert_array_equal(last.rows, everything[-capacity:])
    assert len(last.rows) == len(last) == min(count, capacity)


@given(capacity=st.integers(1, 5), held=st.integers(0, 12), more=st.integers(0, 12))
def test_rows_that_are_put_back_go_on(capacity, held, more):
    last, back = Sliding(capacity), Sliding(capacity)
    for t in range(held):
        last.append(np.array([float(t)]))
    back.rows = last.rows.copy()
    for t in range(held, held + more):
        last.append(np.array([float(t)]))
        back.append(np.array([float(t)]))
    np.testing.assert_array_equal(back.rows, last.rows)
    assert len(back) == len(last)


def test_memory_is_flat():
    last, sizes = Sliding(4), []
    for t in range(1000):
        last.append(np.full((2, 3), float(t)))
        sizes.append(len(pickle.dumps(last)))
    # The place of the newest row takes one number more than none at all.
    assert max(sizes) <= sizes[0] + 4
