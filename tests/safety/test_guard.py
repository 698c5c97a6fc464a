"""Guarded forecasts: radius, status, reasons, and that nothing gets through that should not."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quatcast.data import corrupt, simulated
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import RLS
from quatcast.safety.guard import Guarded, Status


class Repeat:
    """Forecasts the newest sample, from the third one on, and notes what it was told."""

    def __init__(self, horizon=5):
        self.horizon = horizon
        self.told = []

    def update(self, sample, present=None):
        assert np.isfinite(sample).all()
        self.told.append((sample.copy(), present.copy()))
        return sample.copy() if len(self.told) > 2 else np.full(sample.shape, np.nan)


class Scripted(Repeat):
    """Repeat, but at some samples it answers with something else."""

    def __init__(self, script, horizon=5):
        super().__init__(horizon)
        self.script = script

    def update(self, sample, present=None):
        made = super().update(sample, present)
        answer = self.script.get(len(self.told) - 1)
        if isinstance(answer, Exception):
            raise answer
        return made if answer is None else np.full(sample.shape, answer)


@pytest.fixture(scope="module")
def calm():
    return simulated(seconds=60)[1]


def labels(forecasts, times):
    return [Status(forecasts.status[t]).label for t in times]


def test_row_t_belongs_to_sample_t(calm):
    x = calm.positions[:200]
    forecasts = Guarded(Repeat(), rate=10.0).run(x)
    np.testing.assert_array_equal(np.asarray(forecasts), forecasts.positions)
    np.testing.assert_array_equal(forecasts.positions[7:], x[2:-5])
    assert np.isnan(forecasts.positions[:7]).all()
    live, again = Guarded(Repeat(), rate=10.0), []
    for row in x:
        again.append(live.update(row))
    np.testing.assert_array_equal(forecasts.radius[5:], np.array([f.radius for f in again])[:-5])
    np.testing.assert_array_equal(forecasts.status, [f.status for f in again])
    assert forecasts.reasons == [f.reason for f in again]
    assert forecasts.horizon == 5


def test_radii_hold_the_truth_of_a_learning_forecaster(calm):
    covered = []
    for recording in simulated(seconds=90)[1:9:3]:
        forecaster = Forecaster(
            RLS(forgetting=0.999, regularization=30.0), horizon=5, lags=12, target="displacement", scale_by="channel"
        )
        forecasts = Guarded(forecaster, rate=10.0).run(recording.positions)
        error = np.linalg.norm(recording.positions - forecasts.positions, axis=-1)
        covered.append((error <= forecasts.radius)[500:])
    assert 0.92 < np.concatenate(covered).mean() < 0.98


def test_the_forecaster_is_told_what_was_filled_in(calm):
    spoilt = corrupt(calm, glitches=0.03, dropouts=0.05).positions[:300]
    inner = Repeat()
    forecasts = Guarded(inner, rate=10.0).run(spoilt)
    np.testing.assert_array_equal(forecasts.replaced, ~np.array([present for _, present in inner.told]))
    assert forecasts.replaced[np.isnan(spoilt).any(axis=-1)].all()
    seen = ~forecasts.replaced
    np.testing.assert_array_equal(np.array([sample for sample, _ in inner.told])[seen], spoilt[seen])


def test_a_filled_in_sample_is_no_truth_to_judge_by(calm):
    """While a channel is lost its radius stays as it was, however the fill-in compares with the forecasts."""
    spoilt = calm.positions[:400].copy()
    spoilt[300:320, 1] = np.nan
    forecasts = Guarded(Repeat(), rate=10.0).run(spoilt)
    assert len(set(forecasts.radius[305:325, 1])) == 1
    assert len(set(forecasts.radius[305:325, 0])) > 1


def test_warms_up_says_why_and_becomes_ok(calm):
    forecasts = Guarded(Repeat(), rate=10.0).run(calm.positions[:100])
    # A forecast from sample 2 on, matured from 7 on, the 20th error at 26.
    assert labels(forecasts, [0, 25, 26, 60]) == ["warming up", "warming up", "ok", "ok"]
    assert forecasts.reasons[0] == "no forecast yet"
    assert forecasts.reasons[10] == "4 of 20 errors known that a radius needs"
    assert forecasts.reasons[60] == ""


def test_a_lost_channel_is_degraded_then_hold_then_well_again(calm):
    spoilt = calm.positions[:400].copy()
    spoilt[200:245, 1] = np.nan
    forecasts = Guarded(Repeat(1), rate=10.0, names=("left", "middle", "right")).run(spoilt)
    assert labels(forecasts, [199, 200, 229, 230, 244]) == ["ok", "degraded", "degraded", "hold", "hold"]
    assert forecasts.reasons[212] == "middle lost for 1.3 s"
    assert forecasts.reasons[235] == "middle lost for 3.6 s"
    assert labels(forecasts, [245, 249]) == ["hold", "hold"]
    assert forecasts.reasons[247] == "for 0.5 s after: middle lost for 4.5 s"
    assert labels(forecasts, [250, 263]) == ["degraded", "degraded"]
    assert "middle filled in 0.6 s ago" in forecasts.reasons[250]
    assert labels(forecasts, [300]) == ["ok"]


def test_most_channels_lost_is_hold_after_half_a_second(calm):
    spoilt = calm.positions[:300].copy()
    spoilt[200:220, :2] = np.nan
    forecasts = Guarded(Repeat(1), rate=10.0).run(spoilt)
    assert labels(forecasts, [203, 204, 219]) == ["degraded", "hold", "hold"]
    assert forecasts.reasons[205] == "channel 1 and channel 2 lost for 0.6 s"


def test_an_implausible_sample_and_a_shift_are_told(calm):
    spoilt = calm.positions[:400].copy()
    spoilt[200, 0] += 30.0
    spoilt[300:, 2] += 30.0
    forecasts = Guarded(Repeat(1), rate=10.0).run(spoilt)
    assert forecasts.reasons[200] == "channel 1 implausible for 0.1 s"
    assert forecasts.reasons[205] == "channel 1 filled in 0.5 s ago"
    assert forecasts.reasons[304].startswith("channel 3 moved to a new place 0.2 s ago")
    assert labels(forecasts, [200, 205, 225, 304]) == ["degraded", "degraded", "ok", "degraded"]


def test_large_errors_degrade_and_pass(calm):
    wrong = dict.fromkeys(range(200, 230), 8.0)
    forecasts = Guarded(Scripted(wrong, horizon=1), rate=10.0).run(calm.positions)
    told = [t for t, reason in enumerate(forecasts.reasons) if "times as large as usual" in reason]
    assert told
    assert 200 < told[0] < 230
    assert set(labels(forecasts, told)) == {"degraded"}
    assert told == list(range(told[0], told[-1] + 1))
    assert labels(forecasts, [-1]) == ["ok"]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (np.nan, "no finite forecast of channel 1 and channel 2 and channel 3"),
        (np.inf, "no finite forecast"),
        (1e200, "no finite forecast"),
        (1e6, "far from anywhere it has been"),
        (ValueError("singular"), "the forecaster failed: singular"),
        (FloatingPointError("overflow"), "the forecaster failed: overflow"),
        (np.linalg.LinAlgError("did not converge"), "the forecaster failed: did not converge"),
    ],
)
def test_a_forecaster_that_fails_is_a_hold_and_can_recover(calm, answer, reason):
    forecasts = Guarded(Scripted({150: answer}), rate=10.0).run(calm.positions[:300])
    assert labels(forecasts, [149, 150, 155, 299]) == ["ok", "hold", "hold", "ok"]
    assert reason in forecasts.reasons[150]
    assert np.isfinite(forecasts.radius[200:]).all()


def test_a_channel_never_seen_keeps_it_warming_up(calm):
    spoilt = calm.positions[:120].copy()
    spoilt[:60, 1] = np.nan
    forecasts = Guarded(Repeat(1), rate=10.0).run(spoilt)
    assert labels(forecasts, [59, 70, 119]) == ["warming up", "warming up", "ok"]
    assert forecasts.reasons[59] == "channel 2 not seen yet"


values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-30, 30),
    st.sampled_from([np.nan, np.inf, 1e9, 1e308]),
)


@given(arrays(float, st.tuples(st.integers(1, 50), st.just(2), st.just(3)), elements=values))
@settings(max_examples=60, deadline=None)
def test_no_numbers_make_it_fail(samples):
    forecasts = Guarded(Repeat(2), rate=10.0).run(samples)
    made = np.isfinite(forecasts.positions).all(axis=(-2, -1))
    assert made[4:].all()
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


def test_goes_on_bit_for_bit_from_a_copy(calm):
    guarded = Guarded(Repeat(), rate=10.0)
    guarded.run(calm.positions[:200])
    again = pickle.loads(pickle.dumps(guarded))
    a, b = guarded.run(calm.positions[200:]), again.run(calm.positions[200:])
    np.testing.assert_array_equal(a.radius, b.radius)
    np.testing.assert_array_equal(a.status, b.status)


def test_refuses_a_forecaster_that_gives_another_shape(calm):
    class Flat(Repeat):
        def update(self, sample, present=None):
            return np.zeros(3)

    with pytest.raises(TypeError, match=r"shape \(3,\)"):
        Guarded(Flat(), rate=10.0).update(calm.positions[0])


def test_refuses_settings_without_a_meaning(calm):
    with pytest.raises(ValueError, match="level"):
        Guarded(Repeat(), rate=10.0, level=95)
    with pytest.raises(ValueError, match="rate"):
        Guarded(Repeat(), rate=0.0)
    with pytest.raises(ValueError, match=r"2 channels expected \(a, b\), not 3"):
        Guarded(Repeat(), rate=10.0, names=("a", "b")).update(calm.positions[0])
    with pytest.raises(ValueError, match="positions"):
        Guarded(Repeat(), rate=10.0).run(calm.positions[0])


def test_a_forecaster_that_no_file_can_keep_is_refused_by_name(tmp_path):
    guarded = Guarded(Repeat(), rate=10.0)
    guarded.update(np.zeros((2, 3)))
    with pytest.raises(TypeError, match=r"a checkpoint cannot keep .*Repeat"):
        guarded.save(tmp_path / "file")
    assert not list(tmp_path.iterdir())
