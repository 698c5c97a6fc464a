import pickle
from pathlib import Path

import numpy as np
import pytest

from quatcast.data import Recording, read
from quatcast.data.assembly import UnknownChannelError

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
        ({"rate": 20.0}, r"times: expected 0\.2 s for 5 samples at 20 Hz, got 0\.4 s; give another rate"),
        ({"times": [0.0, 0.1, 0.2, 0.5, 0.6]}, "or rows of NaN for samples that the times skip"),
        ({"rate": 0.0}, "rate: expected a positive number of Hz, got 0.0"),
        ({"rate": np.nan}, "rate: expected a positive"),
        ({"rate": None}, "rate: expected a positive number of Hz, got None"),
        ({"rate": "10"}, "rate: expected a positive number of Hz, got '10'"),
        (
            {"positions": np.zeros((5, 2, 3), dtype=complex)},
            "positions: expected real numbers, got an array of type comp",
        ),
        ({"positions": np.full((5, 2, 3), "a")}, "positions: expected real numbers"),
        ({"positions": np.full((5, 2, 3), "a", dtype=object)}, "positions: expected real numbers"),
        ({"units": "mm"}, "units: expected a list of texts, got the text 'mm'"),
        ({"channels": "ab"}, "channels: expected a list of texts, got the text 'ab'"),
        ({"channels": (1, 2)}, r"channels: expected a list of texts, got \(1, 2\)"),
        ({"units": (None, "mm")}, r"units: expected a list of texts, got \(None, 'mm'\)"),
        ({"group": None}, "group: expected a text, got None"),
        ({"channels": ("a",)}, "channels: expected 2 different names, got"),
        ({"channels": ("a", "a")}, "channels: expected 2 different names, got"),
    ],
)
def test_malformed_arguments_are_named(change, words):
    with pytest.raises(ValueError, match=words) as caught:
        Recording(**GOOD | change)
    assert str(caught.value).startswith("recording 'r': ")


def test_times_may_have_jitter():
    times = np.arange(5) / 10 + 0.04 * np.array([-1, 1, 0, -1, 1])
    assert Recording(**GOOD | {"times": times}).rate == 10.0


def test_a_name_must_be_a_text():
    with pytest.raises(ValueError, match="recording 7: name: expected a text, got 7"):
        Recording(**GOOD | {"name": 7})


def test_infinity_is_refused_with_its_position():
    positions = np.zeros((5, 2, 3))
    positions[3, 1, 2] = -np.inf
    with pytest.raises(ValueError, match=r"positions: .* got -inf at sample 3, channel 'b', axis 2"):
        Recording(**GOOD | {"positions": positions, "channels": ("a", "b")})


def test_masked_values_and_none_are_missing():
    positions = np.ones((5, 2, 3))
    masked = np.ma.masked_array(9999 * positions, mask=False)
    masked[3, 1] = np.ma.masked
    recording = Recording(**GOOD | {"positions": masked})
    assert np.argwhere(np.isnan(recording.positions)).tolist() == [[3, 1, 0], [3, 1, 1], [3, 1, 2]]
    listed = [[[None, 1, 2], [3, 4, 5]]] * 5
    assert np.isnan(Recording(**GOOD | {"positions": listed}).positions).sum() == 5


def test_unknown_channel_is_named_by_the_error(tmp_path: Path) -> None:
    (tmp_path / "walk.csv").write_text("time,hip.x,hip.y,hip.z\n0,1,2,3\n0.1,1,2,3\n")
    with pytest.raises(
        UnknownChannelError, match=r"^channels: expected some of hip in walk.csv, got 'knee'$"
    ) as caught:
        read(tmp_path / "walk.csv", channels=["hip", "knee"])
    assert caught.value.channel == "knee"
    assert pickle.loads(pickle.dumps(caught.value)).channel == "knee"
