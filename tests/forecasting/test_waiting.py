"""The queue of waiting samples against a deque."""

from collections import deque

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from quatcast.forecasting.waiting import Waiting
from quatcast.testing import fingerprint

CAPACITY = 70


@given(st.lists(st.sampled_from(["append", "append", "append", "popleft", "mark", "rewind"]), max_size=400))
def test_equals_a_deque(steps: list[str]) -> None:
    """More samples than one buffer holds, and undone steps in between."""
    queue, expected = Waiting(CAPACITY), deque[float](maxlen=CAPACITY)
    mark, kept = queue.mark(), expected.copy()
    for t, step in enumerate(steps * 3):
        if step == "append":
            queue.append(np.full((2, 3), float(t)), np.array([True, t % 2 == 0]))
            expected.append(float(t))
        elif step == "mark":
            mark, kept = queue.mark(), expected.copy()
        elif step == "rewind":
            queue.rewind(mark)
            expected = kept.copy()
        elif expected:
            x, observed = queue.popleft()
            assert (x == expected.popleft()).all()
            assert observed.tolist() == [True, x[0, 0] % 2 == 0]
        assert len(queue) == len(expected)
    assert [row[0, 0] for row in queue.positions] == list(expected)
    again = Waiting(**queue.settings())
    assert fingerprint(again) == fingerprint(queue)
