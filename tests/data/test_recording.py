import pickle

import numpy as np
import pytest

from quatcast.data import Recording

GOOD = {"name": "r", "positions": np.zeros((5, 2, 3)), "times": np.arange(5) / 10, "rate": 10.0}


def test_fields_and_defaults():
    recording = Recording(**GOOD)
    assert len(recording) == 5
    assert recording.duration == pytest.approx(0.4)
    assert recording.dimensions == 3
    assert recording.group == ""
    assert recording.channels == ("channel1", "channel2")


def test_arrays_are_copies_that_cannot_be_written():
    source = np.zeros((5, 2, 3))
    recording = Recording(**GOOD | {"positions": source})
    source[0] = 1.0
    assert not recording.positions.any()
    for array in (recording.positions, recording.times):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0


def test_missing_samples_are_allowed_and_survive_pickling():
    positions = np.zeros((5, 2, 4))
    positions[3, 1] = np.nan
    recording = pickle.loads(pickle.dumps(Recording(**GOOD | {"positions": positions})))
    np.testing.assert_array_equal(recording.positions, positions)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"positions": np.zeros(5)}, r"shape \(samples, channels, 3 or 4\), got \(5,\)"),
        ({"positions": np.zeros((5, 6))}, r"got \(5, 6\)"),
        ({"positions": np.zeros((5, 2, 2))}, r"got \(5, 2, 2\)"),
        ({"positions": np.zeros((0, 2, 3)), "times": np.zeros(0)}, r"got \(0, 2, 3\)"),
        ({"times": np.arange(4) / 10}, r"times: expected shape \(5,\), one per sample, got \(4,\)"),
        ({"times": [0.0, 0.1, 0.1, 0.2, 0.3]}, "times: expected finite increasing values, got 0.1 at sample 2"),
        ({"times": [0.0, 0.1, np.nan, 0.2, 0.3]}, "got nan at sample 2"),
        ({"rate": 0.0}, "rate: expected a positive number of Hz, got 0.0"),
        ({"rate": np.nan}, "rate: expected a positive"),
        ({"channels": ("a",)}, "channels: expected 2 different names, got"),
        ({"channels": ("a", "a")}, "channels: expected 2 different names, got"),
    ],
)
def test_malformed_arguments_are_named(change, words):
    with pytest.raises(ValueError, match=words) as caught:
        Recording(**GOOD | change)
    assert str(caught.value).startswith("recording 'r': ")


def test_infinity_is_refused_with_its_position():
    positions = np.zeros((5, 2, 3))
    positions[3, 1, 2] = -np.inf
    with pytest.raises(ValueError, match=r"positions: .* got -inf at sample 3, channel 'b', axis 2"):
        Recording(**GOOD | {"positions": positions, "channels": ("a", "b")})
