"""What a forecaster refuses: the error names the argument, and nothing changes."""

import math
import pickle

import numpy as np
import pytest
from test_forecaster import TRAIN, walk

from quatcast import QRNN, RLS, Forecaster, Mixture, Persistence
from quatcast.data import simulated


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"learner": "rls"}, "learner: expected a quatcast learner, got 'rls'"),
        ({"horizon": 0}, "horizon: .*0"),
        ({"horizon": 2.5}, "horizon: .*2.5"),
        ({"horizon": True}, "horizon: .*True"),
        ({"train": 0}, "train: .*0"),
        ({"train": "all"}, "train: .*'all'"),
        ({"catch_up": 1}, "catch_up: expected at least 2 samples, .*got 1"),
        ({"catch_up": 2.5}, "catch_up: .*2.5"),
        ({"lags": 0}, "lags: .*0"),
        ({"lags": [1, 1]}, r"lags: .*\[1, 1\]"),
        ({"labels": "future"}, "labels: expected one of 'causal', 'lookahead', got 'future'"),
        ({"target": "speed"}, "target: .*'speed'"),
        ({"scale_by": "recording"}, "scale_by: .*'recording'"),
        ({"learner": Persistence(), "target": "displacement"}, "target: Persistence forecasts positions"),
    ],
    ids=lambda value: str(value)[:40],
)
def test_bad_settings_are_named(settings, message):
    with pytest.raises(ValueError, match=message):
        Forecaster(**({"learner": RLS(), "horizon": 2} | settings))


@pytest.mark.parametrize("begun", [0, 5, TRAIN + 5], ids=["fresh", "waiting", "running"])
@pytest.mark.parametrize(
    ("sample", "message"),
    [
        ([[0.0, 0.0, 0.0], [0.0, math.nan, 0.0]], r"sample: .*sample\[1, 1\] is nan"),
        ([[0.0, 0.0, 0.0], [0.0, 0.0, -math.inf]], r"sample: .*sample\[1, 2\] is -inf"),
        (np.zeros((2, 3), dtype=bool), "sample: .*bool"),
        (np.zeros((2, 3), dtype=complex), "sample: .*complex128"),
        ([["a", "b", "c"]], "sample: .*<U1"),
        (np.zeros(3), r"sample: expected shape \(channels, dimensions\), got \(3,\)"),
        (np.zeros((0, 3)), r"sample: .*\(0, 3\)"),
        (np.zeros((2, 5)), r"sample: expected (at most 4 coordinates .*got 5|shape \(2, 3\) as before, got \(2, 5\))"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_a_bad_sample_is_named_and_changes_nothing(sample, message, begun):
    forecaster = Forecaster(QRNN((2,)), horizon=2, lags=2, train=TRAIN)
    for row in walk()[:begun]:
        forecaster.update(row)
    before = pickle.dumps(forecaster)
    with pytest.raises(ValueError, match=message):
        forecaster.update(sample)
    assert pickle.dumps(forecaster) == before


@pytest.mark.parametrize("begun", [5, TRAIN + 5], ids=["waiting", "running"])
def test_channels_neither_come_nor_go(begun):
    forecaster = Forecaster(RLS(), horizon=2, lags=2, train=TRAIN)
    for row in walk()[:begun]:
        forecaster.update(row)
    before = pickle.dumps(forecaster)
    with pytest.raises(ValueError, match=r"sample: expected shape \(2, 3\) as before, got \(3, 3\)"):
        forecaster.update(np.zeros((3, 3)))
    assert pickle.dumps(forecaster) == before


def test_a_recording_in_place_of_its_positions_is_named():
    recording = simulated(seconds=5)[1]
    with pytest.raises(ValueError, match="positions: expected real numbers, got a Recording; give its positions"):
        Forecaster(RLS(), horizon=2, lags=2, train=TRAIN).run(recording)


@pytest.mark.parametrize("observed", [[True], [1, 0], True, [True, True, False]], ids=str)
def test_a_bad_mask_is_named_and_changes_nothing(observed):
    forecaster = Forecaster(RLS(), horizon=2, lags=2, train=TRAIN)
    for row in walk()[:20]:
        forecaster.update(row)
    before = pickle.dumps(forecaster)
    with pytest.raises(ValueError, match="observed: expected 2 values True or False, got "):
        forecaster.update(np.zeros((2, 3)), observed=observed)
    assert pickle.dumps(forecaster) == before


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        (np.zeros((20, 3)), r"positions: expected shape \(T, channels, dimensions\), got \(20, 3\)"),
        (np.full((20, 1, 3), np.nan), r"positions: .*positions\[0, 0, 0\] is nan"),
        (np.zeros((20, 1, 5)), "expected at most 4 coordinates .*got 5"),
        (np.full((20, 1, 3), "a", dtype=object), "positions: .*object"),
    ],
    ids=lambda value: str(value)[:30] if isinstance(value, str) else "",
)
def test_a_bad_recording_is_named_and_changes_nothing(positions, message):
    forecaster = Forecaster(QRNN((2,)), horizon=2, lags=2, train=TRAIN)
    forecaster.run(walk(20))
    before = pickle.dumps(forecaster)
    with pytest.raises(ValueError, match=message):
        forecaster.run(positions)
    assert pickle.dumps(forecaster) == before


def test_a_recording_too_short_for_the_scaling_has_no_forecasts():
    """As for a mixture or a guard around the forecaster, and for `update` row by row."""
    x = walk(TRAIN - 1)
    forecaster = Forecaster(RLS(), horizon=2, lags=2, train=TRAIN)
    assert np.isnan(forecaster.run(x).positions).all()
    assert np.isnan(Mixture([forecaster.clone()]).run(x).positions).all()
    with pytest.raises(ValueError, match=f"training: expected at least {TRAIN} samples of shape"):
        forecaster.run(walk(), training=x)
    ahead = Forecaster(RLS(), horizon=2, lags=2, train=TRAIN, labels="lookahead")
    with pytest.raises(ValueError, match=f"positions: expected at least {TRAIN} samples of shape"):
        ahead.run(x)


def test_what_is_handed_in_is_neither_written_to_nor_kept():
    x = walk()
    one, other = (Forecaster(RLS(), horizon=2, lags=2, train=TRAIN) for _ in range(2))
    for row in x:
        lent = row.copy()
        np.testing.assert_array_equal(one.update(row), other.update(lent))
        np.testing.assert_array_equal(lent, row)
        lent[:] = np.nan
