"""What trackers really send: sentinels, frozen feeds, still markers, lost packets, and recovery from all of it."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import Forecaster, Guarded, Ridge
from quatcast.data import extmarker, simulated
from quatcast.safety.channels import finite
from quatcast.safety.gate import Gate
from quatcast.safety.repeats import Repeats
from quatcast.safety.status import Status
from quatcast.testing.bursts import BURSTS, SCOPES, with_burst
from quatcast.testing.random_bursts import FAULTS, random_burst

RATE, HORIZON = 10, 5
BEFORE, BURST, SETTLED, AFTER = 450, 100, 200, 500


def make(**settings):
    """A quick forecaster behind a guard."""
    inner = Forecaster(Ridge(), horizon=HORIZON, lags=12, target="displacement", scale_by="channel", catch_up=7)
    return Guarded(inner, rate=float(RATE), **settings)


@pytest.fixture(scope="module")
def truth():
    return simulated(seconds=120)[1].positions


@pytest.fixture(scope="module")
def warm(truth):
    guarded = make()
    for row in truth[:BEFORE]:
        guarded.update(row)
    return pickle.dumps(guarded)


@pytest.fixture(scope="module")
def clean(warm, truth):
    return follow(warm, truth, truth)


@pytest.fixture(scope="module")
def plain(truth):
    """Forecasts of the recording as it is, from the first sample on."""
    return make().run(truth)


def follow(warm, shown, truth, after=AFTER):
    """Errors (samples, channels), radii and status of the forecasts made from the end of the warm-up on."""
    guarded = pickle.loads(warm)
    made = [guarded.update(row) for row in shown[BEFORE : BEFORE + BURST + after]]
    target = truth[BEFORE + HORIZON : BEFORE + BURST + after + HORIZON]
    errors = np.linalg.norm(np.array([m.position for m in made])[: len(target)] - target, axis=-1)
    return errors, np.array([m.radius for m in made]), np.array([m.status for m in made]), [m.reason for m in made]


def rmse(errors):
    return np.sqrt(np.mean(errors[BURST + SETTLED :] ** 2))


# What looks like motion is believed for a while: such errors widen the radius, which takes 45 s to forget them.
LIKE_MOTION = ["axes mirrored", "unit times 1000", "spikes of 1 mm", "spikes of 3 mm", "spikes of 10 mm"]
LIKE_MOTION += ["ramp of 5 mm/s", "ramp of 50 mm/s", "noise of 10 mm"]
LIKE_MOTION += ["unit times 25.4", "motion times 3", "motion times 10"]
LOST_VALUES = ["9999", "9999 for 0.5 s", "-9999 for 2 s", "1e8 for 0.5 s", "0 0 0, data 1.5 m away", "9999 with noise"]
EVERYWHERE = [name for name in LOST_VALUES if name not in ("1e8 for 0.5 s", "9999 with noise")]
PAIRS = [
    # Each burst in one scope, in turn, most lost values in all; benchmarks/bursts.py tries every burst in every scope.
    (name, scope)
    for i, name in enumerate(BURSTS)
    for scope in (SCOPES if name in EVERYWHERE else (SCOPES[i % 3],))
]


@pytest.mark.parametrize(("name", "scope"), PAIRS)
def test_recovers_from_any_burst(warm, truth, clean, name, scope):
    """And a value that means lost is never believed meanwhile."""
    after = AFTER if name in LIKE_MOTION else 300
    errors, radii, status, _ = follow(warm, with_burst(truth, name, scope, BEFORE, BURST), truth, after)
    usual, usual_radii = (array[: len(radii)] for array in clean[:2])
    assert rmse(errors) <= 1.15 * rmse(usual)
    assert np.mean(radii[-20:]) <= 1.5 * np.mean(usual_radii[-20:])
    if name in LOST_VALUES:
        wrong = (errors > 10.0).any(axis=-1)
        believed = np.isin(status[: len(wrong)], [Status.OK, Status.DEGRADED])
        assert not (wrong & believed).any()


def test_the_end_of_a_fault_that_was_accepted_is_recognised(warm, truth, clean):
    """A value for "lost" with noise agrees with itself for 20 s and is believed then; the way back ends it at once."""
    errors, _, status, _ = follow(warm, with_burst(truth, "9999 with noise", SCOPES[0], BEFORE, 200), truth, 300)
    assert Status.OK in status[160:200]
    late, usual = (np.sqrt(np.mean(e[210:400] ** 2)) for e in (errors, clean[0]))
    assert late <= 1.5 * usual


def test_a_return_that_is_plausible_all_along_ends_a_shift(truth):
    """Motion that is 25 times as large passes through its usual range; nothing jumps when it becomes usual again."""
    gate = Gate(float(RATE))
    for row in with_burst(truth, "unit times 25.4", SCOPES[0], BEFORE, BURST)[: BEFORE + BURST + 40]:
        gated = gate.update(row)
    np.testing.assert_array_equal(gated.offset, 0.0)
    assert not gated.replaced.any()


numbers = st.one_of(
    st.floats(-30, 30), st.floats(-1e4, 1e4), st.floats(allow_nan=True, allow_infinity=True), st.just(9999.0)
)


@given(data=st.data())
@settings(max_examples=10, deadline=None, derandomize=True)
def test_recovers_from_random_values(warm, truth, clean, data):
    length = data.draw(st.integers(1, BURST))
    kinds = data.draw(st.lists(st.tuples(numbers, st.sampled_from(["set", "add", "keep"])), min_size=1, max_size=6))
    shown = truth.copy()
    for t in range(length):
        value, how = kinds[t % len(kinds)]
        if how != "keep":
            shown[BEFORE + t] = value if how == "set" else shown[BEFORE + t] + value
    errors, _, _, _ = follow(warm, shown, truth, after=300)
    assert rmse(errors) <= 1.15 * rmse(clean[0][: len(errors)])


@given(seed=st.integers(0, 2**32 - 1), scope=st.sampled_from(SCOPES))
@settings(max_examples=15, deadline=None, derandomize=True)
def test_recovers_from_random_bursts(warm, truth, clean, seed, scope):
    """A ridge regression alone forgets plausible faults more slowly than `recommended`, whose limit is 1.15."""
    _, burst = random_burst(seed)
    errors, radii, _, _ = follow(warm, with_burst(truth, burst, scope, BEFORE, BURST), truth)
    assert rmse(errors) <= 1.2 * rmse(clean[0])
    assert np.mean(radii[-20:]) <= 1.5 * np.mean(clean[1][-20:])


@pytest.mark.parametrize("name", FAULTS)
def test_faults_change_positions_and_keep_their_shape(truth, name):
    x = truth[:50].copy()
    faulty = FAULTS[name](x, 3.0, np.random.default_rng(5))
    assert faulty.shape == x.shape
    assert not np.array_equal(faulty, x)
    np.testing.assert_array_equal(x, truth[:50])


def test_white_noise_is_held(warm, truth):
    _, _, status, _ = follow(warm, with_burst(truth, "noise of 1000 mm", "all channels", BEFORE, BURST), truth, after=0)
    assert not (status[:BURST] == Status.OK)[3:].any()
    assert (status[:BURST] == Status.HOLD).mean() > 0.9


@pytest.mark.parametrize("scope", SCOPES[:2])
def test_a_frozen_feed_is_told_within_a_second(warm, truth, scope):
    _, _, status, reasons = follow(warm, with_burst(truth, "frozen", scope, BEFORE, BURST), truth, after=150)
    assert (status[10:BURST] >= Status.DEGRADED).all()
    assert (status[35:BURST] == Status.HOLD).all()
    assert "frozen for" in reasons[12]
    assert (status[BURST + 30 :] != Status.HOLD).all()


def test_no_marker_of_a_clean_recording_is_frozen(extmarker_folder):
    """The gate asks `Repeats`, and nothing else of it decides."""
    for recording in [*simulated(), *extmarker(extmarker_folder)]:
        repeats = Repeats.begin(recording.positions.shape[1:])
        present = finite(recording.positions)
        for row, seen in zip(recording.positions, present, strict=True):
            assert not repeats.update(row, seen, recording.rate).any()


@pytest.mark.parametrize("place", [0.0, 1500.0])
def test_a_marker_that_never_moves_is_not_a_fault(truth, place):
    shown = truth[:800].copy()
    shown[:, 2] = place
    forecasts = make().run(shown)
    assert (forecasts.status[500:] == Status.OK).mean() > 0.9
    assert not (forecasts.status == Status.HOLD).any()
    np.testing.assert_array_equal(forecasts.positions[500:, 2], shown[500:, 2])


def test_lost_packets_do_not_degrade(truth, plain):
    lost = np.random.default_rng(3).random(len(truth)) < 0.02
    forecasts = make().run(np.where(lost[:, None, None], np.nan, truth))
    degraded = [(f.status[450:] == Status.DEGRADED).mean() for f in (forecasts, plain)]
    assert degraded[0] <= degraded[1] + 0.03
    assert not (forecasts.status[450:] == Status.HOLD).any()


@pytest.mark.parametrize("size", [5.0, 20.0, 100.0, 1000.0])
@pytest.mark.parametrize("channels", [[2], [0, 1, 2]])
def test_a_real_shift_is_accepted_within_a_second_and_costs_nothing(warm, truth, clean, size, channels):
    shown = truth.copy()
    shown[BEFORE:, channels] += size
    errors, _, status, _ = follow(warm, shown, shown, after=250)
    assert not (status[10:] == Status.HOLD).any()
    # A shift within the usual range is taken for motion, which inputs contain for some seconds.
    settled = 150 if size < 20.0 else 40
    assert (status[settled : settled + 20] == Status.OK).all()
    late = slice(80 if size < 20.0 else 15, 300)
    assert np.sqrt(np.mean(errors[late] ** 2)) <= 1.3 * np.sqrt(np.mean(clean[0][late] ** 2))
    assert rmse(errors) <= 1.05 * rmse(clean[0][: len(errors)])


def test_a_slow_drift_is_never_a_fault(warm, truth):
    drift = np.zeros(len(truth))
    drift[BEFORE:] = 0.1 * np.arange(len(truth) - BEFORE)
    shown = truth + drift[:, None, None]
    errors, _, status, _ = follow(warm, shown, shown)
    assert (status != Status.HOLD).all()
    assert np.sqrt(np.mean(errors[200:] ** 2)) < 2.0


@pytest.mark.parametrize("start", [0, 1, 8, 30, 200])
@pytest.mark.parametrize("length", [1, 10])
def test_a_lost_value_while_warming_up_leaves_no_trace(truth, plain, start, length):
    """Where it is one of the first samples, everything begins anew after 5 s, and the warm-up is over at 40 s."""
    shown = truth[:600].copy()
    shown[start : start + length, 1] = 99999.0
    spoilt = make().run(shown)
    errors = [np.linalg.norm((f.positions[:600] - truth[:600])[420:], axis=-1) for f in (spoilt, plain)]
    assert np.sqrt(np.mean(errors[0] ** 2)) <= 1.15 * np.sqrt(np.mean(errors[1] ** 2))


def test_users_can_name_sentinels_and_a_valid_range(truth):
    gate = Gate(rate=10.0, sentinels=[-1.0, (0.0, 0.0, 5.0)], valid=(-40.0, [30.0, 30.0, 35.0]))
    for row in truth[:100]:
        gate.update(row)
    row = truth[100].copy()
    for value in (-1.0, (0.0, 0.0, 5.0), (31.0, 0.0, 0.0), (0.0, 0.0, -41.0)):
        row[1] = value
        assert gate.update(row).reasons[1] == "missing"
    row[1] = (-1.0, 0.0, 0.0)
    assert gate.update(row).reasons[1] != "missing"


@pytest.mark.parametrize("sentinels", [9999, "9999", ["lost"], [[[0.0]]]])
def test_sentinels_are_checked_at_once(sentinels):
    with pytest.raises(ValueError, match="sentinels: expected a list of numbers or of positions"):
        Gate(10.0, sentinels=sentinels)


def test_masked_entries_none_and_nullable_numbers_are_missing(truth):
    guarded = make()
    for row in truth[:60]:
        guarded.update(row)
    masked = np.ma.MaskedArray(truth[60], mask=np.zeros((3, 3), dtype=bool))
    masked.mask[1, 2] = True
    assert guarded.update(masked).replaced.tolist() == [False, True, False]
    listed = truth[61].tolist()
    listed[0][1] = None
    assert guarded.update(listed).replaced.tolist() == [True, False, False]
    listed[0] = None
    assert guarded.update(listed).replaced.tolist() == [True, False, False]
    assert guarded.update([None, *truth[62, 1:]]).replaced.tolist() == [True, False, False]
    assert guarded.update([None, None, None]).replaced.all()
    with pytest.raises(ValueError, match=r"sample: expected the coordinates of a channel, .* got .None, None, None."):
        make().update([None, None, None])
    listed = [[None, None, None], *truth[:5].tolist(), [None, *truth[5, 1:].tolist()]]
    assert make().run(listed).replaced.sum(axis=1).tolist() == [3, 0, 0, 0, 0, 0, 1]
    with pytest.raises(ValueError, match="sample: expected real numbers, got an array of type bool"):
        guarded.update(np.ma.masked_array(np.ones((3, 3), dtype=bool)))


def test_whole_numbers_that_no_float_can_hold_are_missing(truth):
    """They raised an OverflowError."""
    guarded = make()
    for row in truth[:60]:
        guarded.update(row)
    listed = truth[60].tolist()
    listed[1][2] = -(10**400)
    assert guarded.update(listed).replaced.tolist() == [False, True, False]
    with pytest.raises(ValueError, match="time: expected a number of seconds"):
        guarded.update(truth[61], time=10**400)


class Table:
    """Stands in for a pandas data frame with nullable numbers."""

    def __init__(self, rows):
        self.rows = rows

    def to_numpy(self, dtype=None, na_value=None):
        return np.array([[na_value if value is None else value for value in row] for row in self.rows], dtype=dtype)


def test_tables_with_nullable_numbers_are_understood(truth):
    rows = truth[0].tolist()
    rows[2][0] = None
    assert make().update(Table(rows)).replaced.tolist() == [False, False, True]


def test_tables_of_other_libraries_and_of_texts_are_told_apart(truth):
    """Their `to_numpy` takes no arguments; tables of texts were called rows of different lengths."""

    class Plain:
        def __init__(self, rows):
            self.rows = rows

        def to_numpy(self):
            return np.asarray(self.rows)

        def __array__(self, dtype=None, copy=None):
            return np.array(self.rows, dtype=dtype)

    assert not make().update(Plain(truth[0])).replaced.any()
    with pytest.raises(ValueError, match="sample: expected real numbers, got an array of type"):
        make().update(Plain([["left", "right", "up"]]))


@pytest.mark.parametrize("value", [1e60, 1e155, 1e308])
def test_bare_learners_and_forecasters_refuse_numbers_that_would_overflow(truth, value):
    forecaster = Forecaster(Ridge(), horizon=2, lags=2, train=20)
    with pytest.raises(ValueError, match=r"sample: expected finite values below 1e\+50"):
        forecaster.update(np.full((1, 3), value))
    with pytest.raises(ValueError, match=r"u: expected finite values below 1e\+50"):
        Ridge().update([value], [1.0])


def test_learns_again_soon_after_a_ramp_although_the_radius_is_still_wide(truth):
    """A radius remembers the errors of a ramp for longer than they last."""
    guarded, start = make(), 600
    shown = with_burst(truth, "ramp of 50 mm/s", "all channels", start, BURST)
    wide, paused = [], []
    for row in shown[: start + BURST + 200]:
        guarded.update(row)
        wide.append((guarded.state.tracks[0].judgement.wide > 0).any())
        paused.append(guarded.state.pause > 0)
    end = start + BURST
    assert np.mean(paused[start:end]) > 0.8
    assert all(wide[end + 80 : end + 120])
    assert not any(paused[end + 80 :])


def test_learns_from_the_other_channels_although_one_has_gone_astray_and_is_lost(truth):
    """A marker that slips away and is never seen again has no errors any more that could become smaller."""
    guarded, start = make(), 600
    shown = with_burst(truth, "ramp of 50 mm/s", "one channel", start, BURST)
    shown[start + 40 :, -1] = np.nan
    paused = []
    for row in shown[: start + 280]:
        guarded.update(row)
        paused.append(guarded.state.pause > 0)
    assert all(paused[start + 40 : start + 100])
    # Where it was filled in becomes its usual place after 15 s.
    assert not any(paused[start + 230 :])
