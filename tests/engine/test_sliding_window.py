"""The last rows of a stream, against a list that keeps everything."""

import pickle

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.algebra import fetch, place
from quatcast.engine.sliding_window import FIRST, SlidingWindow


@given(capacity=st.integers(1, 7), count=st.integers(0, 40), width=st.integers(1, 3))
def test_keeps_the_last_rows_in_order(capacity, count, width):
    last, everything = SlidingWindow(capacity), []
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
    last = SlidingWindow(capacity)
    for t in range(held):
        last.append(np.array([float(t)]))
    back = SlidingWindow(capacity, last.rows)
    for t in range(held, held + more):
        last.append(np.array([float(t)]))
        back.append(np.array([float(t)]))
    np.testing.assert_array_equal(back.rows, last.rows)
    assert len(back) == len(last)


@given(capacity=st.integers(FIRST - 1, 3 * FIRST), count=st.integers(1, 9 * FIRST), n=st.integers(0, FIRST))
@settings(max_examples=30, deadline=None)
def test_there_is_room_for_all_that_is_to_be_kept_and_the_newest_can_be_asked_for(capacity, count, n):
    last = SlidingWindow(capacity)
    for t in range(count):
        last.append(np.array([float(t)]))
        np.testing.assert_array_equal(last.rows[:, 0], np.arange(max(0, t + 1 - capacity), t + 1))
    n = min(n, len(last))
    np.testing.assert_array_equal(last.last(n)[:, 0], np.arange(count - n, count))


def test_another_array_library_will_do():
    here, there = SlidingWindow(3), SlidingWindow(3)
    for t in range(20):
        row = np.full((2, 2), float(t))
        here.append(row)
        there.append(place(row, "array_api_strict"))
        np.testing.assert_array_equal(fetch(there.rows), here.rows)
        np.testing.assert_array_equal(fetch(there.last(1)), here.last(1))


def test_memory_is_flat():
    last, sizes = SlidingWindow(4), []
    for t in range(1000):
        last.append(np.full((2, 3), float(t)))
        sizes.append(len(pickle.dumps(last)))
    assert max(sizes) == sizes[3]
    assert last._buffer.shape[0] == 8


@given(capacity=st.integers(1, 5), held=st.integers(0, 25), undone=st.integers(0, 25), more=st.integers(1, 12))
def test_any_number_of_rows_can_be_undone(capacity, held, undone, more):
    last, everything = SlidingWindow(capacity), []
    for t in range(held):
        last.append(np.array([float(t)]))
        everything.append([float(t)])
    mark = last.mark()
    for round in range(3):
        for t in range(undone + round):
            last.append(np.array([-1.0 - t]))
        last.rewind(mark)
        np.testing.assert_array_equal(last.rows.ravel(), np.ravel(everything[-capacity:]))
    for t in range(more):
        last.append(np.array([100.0 + t]))
        everything.append([100.0 + t])
        np.testing.assert_array_equal(last.rows, everything[-capacity:])
