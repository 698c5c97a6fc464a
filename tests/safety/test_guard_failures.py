"""Guarded forecasts: forecasters that fail, samples that are none, and settings without a meaning."""

import pickle
import threading
from unittest.mock import Mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from repeating import PlainRepeat, Repeat, Scripted, labels

from quatcast.data import simulated
from quatcast.forecasting.contract import LARGEST
from quatcast.forecasting.forecaster import Forecaster
from quatcast.forecasting.mixture import Mixture
from quatcast.forecasting.velocity import LastPosition
from quatcast.learners import RLS
from quatcast.safety.guard import Guarded
from quatcast.safety.status import Status

AS_BEFORE = "it is as it was before this sample"
WORKS = "ends 0.5 s after it works again"
KINDS = pytest.mark.parametrize("kind", [Repeat, PlainRepeat])


@pytest.fixture(scope="module")
def calm():
    return simulated(seconds=60)[1]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (np.nan, "no finite forecast of channel 1, channel 2 and channel 3"),
        (np.inf, "no finite forecast"),
        (1e200, "no finite forecast"),
        (1e6, "far from anywhere it has been"),
        (ValueError("singular"), "the forecaster failed: singular"),
        (FloatingPointError("overflow"), "the forecaster failed: overflow"),
        (np.linalg.LinAlgError("did not converge"), "the forecaster failed: did not converge"),
        (AssertionError("a bug"), "the forecaster failed: a bug"),
        (AssertionError(), "the forecaster failed: AssertionError; it is"),
        (OSError("the device is gone"), "the forecaster failed: the device is gone"),
    ],
)
def test_a_forecaster_that_fails_is_a_hold_and_can_recover(calm, answer, reason):
    forecasts = Guarded(Scripted({150: answer}), rate=10.0).run(calm.positions[:300])
    assert labels(forecasts, [149, 150, 155, 299]) == ["ok", "hold", "hold", "ok"]
    assert reason in forecasts.reasons[150]
    assert np.isfinite(forecasts.radius[200:]).all()


@pytest.mark.parametrize("when", ["forecast", "learn"])
def test_a_step_that_fails_is_undone_in_the_forecaster_and_counted_by_the_guard(calm, when):
    x = calm.positions[:300]
    inner = Scripted({150: ValueError("singular")}, when=when)
    guarded = Guarded(inner, rate=10.0)
    for t, row in enumerate(x):
        forecast = guarded.update(row)
        assert len(inner.told) == (t + 1 if t < 150 else t)
        if t == 150:
            assert forecast.status == Status.HOLD
            assert forecast.reason == f"the forecaster failed: singular; {AS_BEFORE}, for 0.1 s, {WORKS}"
            # An answer that was given before learning failed stands.
            assert np.isfinite(forecast.position).all() == (when == "learn")
        if 150 < t <= 155:
            assert forecast.status == Status.HOLD
            over = f"until {(t - 150) / 10} s ago, ends in {(156 - t) / 10} s"
            assert forecast.reason == f"the forecaster failed: singular; {AS_BEFORE}, for 0.1 s, {over}"
    assert forecast.status == Status.OK


@pytest.mark.parametrize("bad", [np.inf, np.nan, 1e200])
def test_one_channel_of_two_without_a_usable_forecast_is_a_hold(calm, bad):
    class Half(Repeat):
        def forecast(self, sample, observed):
            made = super().forecast(sample, observed)
            return np.stack([made[0], np.full(3, bad)]) if len(self.told) == 150 else made

    forecasts = Guarded(Half(), rate=10.0).run(calm.positions[:200, :2])
    assert labels(forecasts, [148, 149, 199]) == ["ok", "hold", "ok"]
    assert "no finite forecast of channel 2" in forecasts.reasons[149]


@pytest.mark.parametrize("when", ["forecast", "learn"])
@pytest.mark.parametrize("kind", [Repeat, lambda: Forecaster(RLS(), horizon=5, lags=8)])
def test_a_forecaster_that_fails_at_the_first_sample_can_recover(calm, monkeypatch, when, kind):
    guarded = Guarded(Mixture([kind()]), rate=10.0)
    with monkeypatch.context() as patched:
        patched.setattr(Mixture, when, Mock(side_effect=RuntimeError("no connection yet")))
        assert guarded.update(calm.positions[0]).reason.startswith("the forecaster failed: no connection yet")
    statuses = [guarded.update(row).status for row in calm.positions[1:]]
    assert Status.HOLD not in statuses
    assert statuses[-1] == Status.OK


def test_a_forecaster_that_cannot_be_copied_is_told_what_to_do(calm):
    inner = PlainRepeat()
    inner.lock = threading.Lock()
    expected = "PlainRepeat: cannot be copied to undo a step .*lock.*; derive it from OnlineForecaster, or define mark"
    for one in (Guarded(inner, rate=10.0), Guarded(Mixture([inner]), rate=10.0)):
        with pytest.raises(TypeError, match=expected):
            one.update(calm.positions[0])


def test_an_error_in_the_first_seconds_is_forgotten_when_they_are_over(calm):
    x = calm.positions[:120]
    failed, never = (Guarded(Scripted(script), rate=10.0).run(x) for script in ({8: ValueError("singular")}, {}))
    assert labels(failed, [8, 9, 20]) == ["hold", "warming up", "warming up"]
    assert set(failed.status[9:]) == set(never.status[9:]) == {Status.WARMING_UP, Status.OK}


def test_a_forecast_that_fails_after_learning_apart_has_not_happened(calm):
    """Also after a step that was taken back, and for a guard that began anew."""
    x = calm.positions[:60]

    def ahead(guarded, rows):
        for row in rows:
            guarded.forecast(row)
            guarded.learn()

    for way in ("on", "taken back", "anew"):
        inner = Scripted({})
        guarded = Guarded(inner, rate=10.0)
        ahead(guarded, x[:49])
        if way == "taken back":
            mark = guarded.mark()
            ahead(guarded, x[49:50])
            guarded.rewind(mark)
        elif way == "anew":
            ahead(guarded, x[49:50])
            guarded.begin((3, 3))
        else:
            ahead(guarded, x[49:50])
        inner.script = {inner.calls["forecast"] + 1: KeyboardInterrupt()}
        before = pickle.dumps([guarded.state, guarded.gate, inner.state])
        with pytest.raises(KeyboardInterrupt):
            guarded.forecast(x[50])
        assert pickle.dumps([guarded.state, guarded.gate, inner.state]) == before


@pytest.mark.parametrize("when", ["forecast", "learn"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), SystemExit(1)], ids=repr)
def test_other_errors_are_raised_and_nothing_has_happened(calm, error, when):
    x = calm.positions[:200]
    guarded = Guarded(Scripted({150: error}, when=when), rate=10.0)
    expected = Guarded(Scripted({}), rate=10.0).run(x)
    for t, row in enumerate(x):
        if t == 150:
            before = pickle.dumps([guarded.state, guarded.gate, guarded.forecaster.state])
            with pytest.raises(type(error)):
                guarded.update(row)
            assert pickle.dumps([guarded.state, guarded.gate, guarded.forecaster.state]) == before
        forecast = guarded.update(row)
        assert (forecast.status, forecast.reason) == (expected.status[t], expected.reasons[t])
        if t + 5 < len(x):
            np.testing.assert_array_equal(forecast.radius, expected.radius[t + 5])


def test_the_answer_comes_before_learning(calm):
    inner = Scripted({}, when="learn")
    guarded = Guarded(inner, rate=10.0)
    whole = Guarded(Scripted({}), rate=10.0).run(calm.positions[:60])
    for t, row in enumerate(calm.positions[:60]):
        forecast = guarded.forecast(row)
        assert inner.calls == {"forecast": t, "learn": t - 1}
        guarded.learn()
        assert inner.calls == {"forecast": t, "learn": t}
        assert (forecast.status, forecast.reason) == (whole.status[t], whole.reasons[t])


def test_nothing_is_learnt_from_a_forecast_that_failed(calm):
    inner = Scripted({40: ValueError("singular")})
    guarded = Guarded(inner, rate=10.0)
    for row in calm.positions[:50]:
        guarded.update(row)
    assert inner.calls == {"forecast": 49, "learn": 48}


# Positions near the largest number and their offsets add up to more than it, which is no forecast.
values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True).filter(lambda x: not 0.1 * LARGEST < abs(x) <= LARGEST),
    st.floats(-30, 30),
    st.sampled_from([np.nan, np.inf, 0.1 * LARGEST, 1e308]),
)


@given(arrays(float, st.tuples(st.integers(1, 50), st.just(2), st.just(3)), elements=values))
@settings(max_examples=60, deadline=None)
def test_no_numbers_make_it_fail(samples):
    forecaster = LastPosition(2)  # answers from its first sample on, also where a fault makes it begin anew
    horizon, forecasts = forecaster.horizon, Guarded(forecaster, rate=10.0).run(samples)
    made, accepted = np.isfinite(forecasts.positions).all(axis=-1), ~forecasts.replaced
    # A channel is forecast once it has been seen.
    seen = np.logical_or.accumulate(accepted, axis=0)[:-horizon]
    assert (made[horizon:] == seen).all()
    assert all(
        (status == Status.OK) == (reason == "")
        for status, reason in zip(forecasts.status, forecasts.reasons, strict=True)
    )


@pytest.mark.parametrize(
    "bad", [np.zeros((2, 3)), np.zeros((3, 4)), np.zeros(3), np.zeros((3, 3), dtype=complex), [["a"] * 3] * 3, None]
)
def test_refuses_what_is_no_sample_and_stays_as_it_was(calm, bad):
    guarded = Guarded(Repeat(), rate=10.0)
    guarded.run(calm.positions[:100])
    before = pickle.dumps(guarded)
    with pytest.raises(ValueError, match="sample"):
        guarded.update(bad)
    assert pickle.dumps(guarded) == before


def test_a_recording_that_cannot_be_begun_changes_nothing(calm):
    class Picky(PlainRepeat):
        def begin(self, shape):
            if shape != (3, 3):
                raise ValueError("sample: expected three channels")
            super().begin(shape)

    guarded = Guarded(Picky(), rate=10.0)
    with pytest.raises(ValueError, match="three channels"):
        guarded.update(calm.positions[0, :2])
    assert not guarded.begun
    assert not guarded.gate.begun
    guarded.run(calm.positions[:100])
    expected = [guarded.update(row).radius for row in calm.positions[100:120]]
    guarded.run(calm.positions[:100])
    with pytest.raises(ValueError, match="three channels"):
        guarded.run(calm.positions[:, :2])
    np.testing.assert_array_equal([guarded.update(row).radius for row in calm.positions[100:120]], expected)


@KINDS
def test_a_forecast_of_another_shape_is_a_hold(calm, kind):
    class Flat(kind):
        def forecast(self, sample, observed):
            super().forecast(sample, observed)
            return np.zeros(3) if len(self.told) == 50 else sample

    guarded = Guarded(Flat(), rate=10.0)
    for t, row in enumerate(calm.positions[:60]):
        forecast = guarded.update(row)
        if t >= 49:
            assert forecast.status == Status.HOLD
            assert "Flat: expected a forecast of shape (3, 3), got (3,)" in forecast.reason
            assert len(guarded.forecaster.told) == 49


def test_refuses_settings_without_a_meaning(calm):
    with pytest.raises(ValueError, match=r"level: expected .* got 95"):
        Guarded(Repeat(), rate=10.0, level=95)
    with pytest.raises(ValueError, match=r"rate: expected .* got 0\.0"):
        Guarded(Repeat(), rate=0.0)
    with pytest.raises(ValueError, match=r"forecaster: expected horizon, begin, forecast and learn, got RLS"):
        Guarded(RLS(), rate=10.0)
    with pytest.raises(ValueError, match=r'forecaster: expected labels="causal"'):
        Guarded(Forecaster(RLS(), horizon=2, labels="lookahead"), rate=10.0)
    with pytest.raises(ValueError, match=r"expected 2 channels \(a, b\), got 3"):
        Guarded(Repeat(), rate=10.0, names=("a", "b")).update(calm.positions[0])
    with pytest.raises(ValueError, match="positions: expected shape"):
        Guarded(Repeat(), rate=10.0).run(calm.positions[0])


def test_a_forecaster_that_no_file_can_hold_is_refused_by_name(tmp_path):
    guarded = Guarded(PlainRepeat(), rate=10.0)
    guarded.update(np.zeros((2, 3)))
    with pytest.raises(TypeError, match=r"a checkpoint cannot hold .*PlainRepeat"):
        guarded.save(tmp_path / "file")
    assert not list(tmp_path.iterdir())
