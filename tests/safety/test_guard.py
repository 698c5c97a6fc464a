"""Guarded forecasts: radius, status and reasons, and what the forecaster is told."""

import pickle

import numpy as np
import pytest
from repeating import PlainRepeat, Repeat, Scripted, labels

from quatcast.data import corrupt, simulated
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import RLS
from quatcast.safety.gate import Gate
from quatcast.safety.guard import Guarded

KINDS = pytest.mark.parametrize("kind", [Repeat, PlainRepeat])


@pytest.fixture(scope="module")
def calm():
    return simulated(seconds=60)[1]


@KINDS
def test_row_t_belongs_to_sample_t(calm, kind):
    x = calm.positions[:200]
    forecasts = Guarded(kind(), rate=10.0).run(x)
    np.testing.assert_array_equal(np.asarray(forecasts), forecasts.positions)
    np.testing.assert_array_equal(forecasts.positions[7:], x[2:-5])
    assert np.isnan(forecasts.positions[:7]).all()
    live, again = Guarded(kind(), rate=10.0), []
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


@KINDS
def test_the_forecaster_is_told_what_was_filled_in(calm, kind):
    spoilt = corrupt(calm, glitches=0.03, dropouts=0.05).positions[:300]
    inner = kind()
    forecasts = Guarded(inner, rate=10.0).run(spoilt)
    np.testing.assert_array_equal(forecasts.replaced, ~np.array([observed for _, observed in inner.told]))
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
    assert forecasts.reasons[0] == "no forecast yet for 0.1 s since the start, ends 2.4 s after the first forecast"
    assert forecasts.reasons[3] == "no radius yet, 0 of 20 errors known after 0.4 s, ends in 2.3 s"
    assert forecasts.reasons[10] == "no radius yet, 4 of 20 errors known after 1.1 s, ends in 1.6 s"
    assert forecasts.reasons[60] == ""


def test_a_lost_channel_is_degraded_then_hold_then_well_again(calm):
    spoilt = calm.positions[:400].copy()
    spoilt[200:245, 1] = np.nan
    forecasts = Guarded(Repeat(1), rate=10.0, names=("left", "middle", "right")).run(spoilt)
    # One sample is absorbed, which is a quarter of the horizon.
    assert labels(forecasts, [199, 200, 201, 229, 230, 244]) == ["ok", "ok", "degraded", "degraded", "hold", "hold"]
    assert forecasts.reasons[212] == "middle lost for 1.3 s, ends 1.3 s after it is seen again"
    assert forecasts.reasons[235] == "middle lost for 3.6 s, ends 0.5 s after it is seen again"
    assert labels(forecasts, [245, 249]) == ["hold", "hold"]
    assert forecasts.reasons[247] == "middle lost for 4.5 s, until 0.3 s ago, ends in 0.3 s"
    assert labels(forecasts, [250, 263]) == ["degraded", "degraded"]
    assert "middle filled in 0.6 s ago, ends in 1.4 s" in forecasts.reasons[250]
    assert labels(forecasts, [300]) == ["ok"]


def test_most_channels_lost_is_hold_after_half_a_second(calm):
    spoilt = calm.positions[:300].copy()
    spoilt[200:220, :2] = np.nan
    forecasts = Guarded(Repeat(1), rate=10.0).run(spoilt)
    assert labels(forecasts, [203, 204, 219]) == ["degraded", "hold", "hold"]
    assert forecasts.reasons[205] == "channel 1 and channel 2 lost for 0.6 s, ends 0.5 s after they are seen again"


def test_implausible_samples_and_a_shift_are_told(calm):
    spoilt = calm.positions[:400].copy()
    spoilt[200:203, 0] += [[30.0], [-40.0], [50.0]]
    spoilt[250, 0] += 30.0
    spoilt[300:, 2] += 30.0
    forecasts = Guarded(Repeat(1), rate=10.0).run(spoilt)
    assert labels(forecasts, [200, 201, 202, 203, 220]) == ["ok", "degraded", "degraded", "degraded", "ok"]
    assert forecasts.reasons[202] == "channel 1 implausible for 0.3 s, ends 0.3 s after it is plausible again"
    assert forecasts.reasons[204] == "channel 1 filled in 0.2 s ago, ends in 0.1 s"
    # A single fault is replaced and absorbed.
    assert forecasts.replaced[250, 0]
    assert labels(forecasts, [250, 251]) == ["ok", "ok"]
    assert forecasts.reasons[304].startswith("channel 3 moved to a new place 0.")
    assert labels(forecasts, [304]) == ["degraded"]


def test_a_moment_without_a_channel_does_not_end_what_degrades_it(calm):
    spoilt = calm.positions[:400].copy()
    spoilt[200:, 1] += 30.0
    spoilt[206, 1] = np.nan
    spoilt[300:308, 0] = np.nan
    spoilt[310, 0] = np.nan
    forecasts = Guarded(Repeat(1), rate=10.0).run(spoilt)
    assert labels(forecasts, [205, 206, 207]) == ["degraded"] * 3
    assert forecasts.reasons[206].startswith("channel 2 moved to a new place 0.4 s ago")
    assert labels(forecasts, [309, 310, 311]) == ["degraded"] * 3
    assert forecasts.reasons[310].startswith("channel 1 filled in 0.3 s ago")


def test_large_errors_degrade_and_pass(calm):
    wrong = dict.fromkeys(range(200, 230), 8.0)
    forecasts = Guarded(Scripted(wrong, horizon=1), rate=10.0).run(calm.positions)
    told = [t for t, reason in enumerate(forecasts.reasons) if "times the radius" in reason]
    assert told
    assert 200 < told[0] < 230
    assert set(labels(forecasts, told)) == {"degraded"}
    assert told == list(range(told[0], told[-1] + 1))
    assert labels(forecasts, [-1]) == ["ok"]


def test_channels_can_be_called_missing(calm):
    spoilt, inner = calm.positions[:200].copy(), Repeat(1)
    named = Guarded(inner, rate=10.0)
    for t, row in enumerate(spoilt):
        forecast = named.update(row + (99.0 if 100 <= t < 105 else 0.0) * np.eye(3)[1][:, None],
                                observed=np.array([True, not 100 <= t < 105, True]))  # fmt: skip
        np.testing.assert_array_equal(forecast.replaced, [False, 100 <= t < 105, False])
        if t == 104:
            assert forecast.reason == "channel 2 lost for 0.5 s, ends 0.5 s after it is seen again"
    spoilt[100:105, 1] = np.nan
    expected = Repeat(1)
    Guarded(expected, rate=10.0).run(spoilt)
    np.testing.assert_array_equal([x for x, _ in inner.told], [x for x, _ in expected.told])
    with pytest.raises(ValueError, match="observed: expected 3 values True or False"):
        named.update(spoilt[0], observed=[1, 1, 0])


def test_run_begins_anew(calm):
    guarded = Guarded(Repeat(), rate=10.0)
    first = guarded.run(calm.positions[:120])
    again = guarded.run(calm.positions[:120])
    for name in ("positions", "radius", "status", "replaced"):
        np.testing.assert_array_equal(getattr(again, name), getattr(first, name))
    assert again.reasons == first.reasons


def test_a_channel_lost_while_warming_up_is_named_and_the_end_comes_true(calm):
    x = calm.positions[:120].copy()
    x[4:60, 1] = np.nan
    forecasts = Guarded(Repeat(), rate=10.0).run(x)
    assert forecasts.reasons[50] == "channel 2 lost for 4.7 s, ends 2.0 s after it is seen again"
    assert labels(forecasts, [50, 70, 60 + 20]) == ["warming up", "warming up", "ok"]


def test_the_radius_holds_before_the_shortest_horizon_too(calm):
    x, guarded = calm.positions, Guarded(Repeat(horizon=10), rate=10.0)
    made = [guarded.update(row) for row in x]
    for steps in (1, 3, 6):
        within = [
            np.linalg.norm(one.at(steps / 10).position - x[t + steps], axis=-1) <= one.at(steps / 10).radius
            for t, one in enumerate(made[:-steps])
            if t > 200
        ]
        assert np.mean(within) > 0.95


def test_a_channel_never_seen_keeps_it_warming_up(calm):
    spoilt = calm.positions[:120].copy()
    spoilt[:60, 1] = np.nan
    forecasts = Guarded(Repeat(1), rate=10.0).run(spoilt)
    assert labels(forecasts, [59, 70, 119]) == ["warming up", "warming up", "ok"]
    assert (
        forecasts.reasons[59]
        == "channel 2 not seen for 6.0 s since the start, ends 2.0 s after it is seen, at the earliest"
    )


@pytest.mark.parametrize("begun", [0, 1, 200])
def test_goes_on_bit_for_bit_from_a_copy_and_from_a_file(calm, tmp_path, begun):
    guarded = Guarded(Repeat(), rate=10.0)
    for row in calm.positions[:begun]:
        guarded.update(row)
    guarded.save(tmp_path / "guarded")
    others = [pickle.loads(pickle.dumps(guarded)), Guarded.load(tmp_path / "guarded")]
    for row in calm.positions[begun : begun + 100]:
        expected = guarded.update(row)
        for other in others:
            found = other.update(row)
            np.testing.assert_array_equal(found.position, expected.position)
            np.testing.assert_array_equal(found.radius, expected.radius)
            assert (found.status, found.reason) == (expected.status, expected.reason)


def test_a_channel_that_was_never_seen_has_no_forecast(calm):
    spoilt = calm.positions[:80].copy()
    spoilt[:50, 1] = np.nan
    guarded = Guarded(Repeat(2), rate=10.0)
    made = [guarded.update(row) for row in spoilt]
    assert np.isnan(made[49].position[1]).all()
    assert np.isfinite(made[49].position[[0, 2]]).all()
    assert "channel 2 not seen" in made[49].reason
    assert np.isfinite(made[50].position).all()


def test_a_loss_longer_than_a_quarter_of_the_horizon_is_told(calm):
    """At a horizon of 2 s, a quarter of a second is absorbed; at one of 0.5 s, one sample."""
    spoilt = calm.positions[:400].copy()
    spoilt[300:304, 0] = np.nan
    for horizon, first in ((20, 302), (5, 301), (1, 301)):
        forecasts = Guarded(Repeat(horizon), rate=10.0).run(spoilt)
        told = [t for t in range(300, 304) if "lost" in forecasts.reasons[t]]
        assert told == list(range(first, 304))


def test_a_gate_for_another_rate_is_refused():
    with pytest.raises(ValueError, match=r"gate: expected one .*Gate\(rate=57\.0, \.\.\.\), got Gate\(rate=10\.0"):
        Guarded(Repeat(), rate=57.0, gate=Gate(10.0, sentinels=[9999]))
    adapted = Guarded(Repeat(), rate=57.0, gate=Gate(sentinels=[9999])).gate
    assert (adapted.rate, adapted.sentinels) == (57.0, (9999,))
    assert Guarded(Repeat(), rate=57.0, gate=Gate(57.14)).gate.rate == 57.14
