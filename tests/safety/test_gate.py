"""The gate: which samples it accepts, which it replaces, and with what."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quatcast.data import corrupt, extmarker, simulated
from quatcast.data.recording import Recording
from quatcast.safety.gate import Gate
from quatcast.testing import fingerprint


def through(positions, gate=None):
    gate = gate or Gate(rate=10.0)
    gated = [gate.update(row) for row in positions]
    return np.array([g.position for g in gated]), np.array([g.replaced for g in gated]), [g.reasons for g in gated]


@pytest.fixture(scope="module")
def calm() -> Recording:
    return simulated(seconds=80)[1]


@pytest.fixture(scope="module")
def sound(calm):
    """What comes through a gate of a recording without faults."""
    return through(calm.positions)


@pytest.fixture(scope="module")
def everyone() -> list[Recording]:
    return simulated(seconds=70)


def distance(a, b):
    return np.linalg.norm(a - b, axis=-1)


def test_what_is_sound_passes_bit_for_bit(calm, sound):
    positions, replaced, reasons = sound
    believed = ~replaced
    assert replaced.mean() < 0.002
    np.testing.assert_array_equal(positions[believed], calm.positions[believed])
    assert {reason for row in reasons for reason in row} <= {"", "implausible"}


def test_hardly_ever_fires_on_people_who_cough_and_laugh(everyone):
    false_alarms = np.concatenate([through(recording.positions)[1] for recording in everyone])
    assert false_alarms.mean() < 0.002


def test_a_cough_moves_all_markers_and_a_glitch_one(calm):
    """A sudden motion of all channels passes that would be a fault in one of them alone."""
    gate, x = Gate(rate=10.0), calm.positions
    through(x[:600], gate)
    undo, spread, one = gate.mark(), x[:600].std(axis=0), np.eye(3)[1][:, None]

    def judged(move):
        gate.rewind(undo)
        return gate.update(x[600] + move).reasons

    size = next(size for size in np.arange(0.1, 5.0, 0.1) if judged(size * spread * one)[1])
    assert judged(size * spread * one) == ("", "implausible", "")
    assert judged(size * spread) == ("", "", "")
    assert judged(4.0 * size * spread) == ("implausible",) * 3


def test_sudden_motion_of_simulated_people_passes():
    """The bound for single channels alone would replace 52 of these samples."""
    people = simulated(1)
    assert sum(int(through(people[i].positions)[1].sum()) for i in (0, 3, 4)) <= 25


def test_hardly_ever_fires_on_real_recordings(extmarker_folder):
    false_alarms = np.concatenate([through(r.positions[:600])[1] for r in extmarker(extmarker_folder)])
    assert false_alarms.mean() < 0.002


def test_catches_glitches_and_fills_them_in(everyone):
    caught, errors = [], []
    for recording in everyone:
        spoilt = corrupt(recording, glitches=0.03, seed=5)
        positions, replaced, _ = through(spoilt.positions)
        lie = distance(spoilt.positions, recording.positions) > 1.0
        lie[:5] = False
        caught.append(replaced[lie])
        errors.append(distance(positions, recording.positions)[lie & replaced])
    assert np.concatenate(caught).mean() >= 0.99
    assert np.sqrt(np.mean(np.concatenate(errors) ** 2)) < 0.6


def test_missing_samples_cost_little(everyone):
    errors, steps = [], []
    for recording in everyone:
        spoilt = corrupt(recording, dropouts=0.1, seed=5).positions
        missing = np.isnan(spoilt).any(axis=-1)
        positions, replaced, _ = through(spoilt)
        assert replaced[missing].all()
        missing[:100] = False
        errors.append(distance(positions, recording.positions)[missing])
        steps.append(distance(recording.positions[1:], recording.positions[:-1])[missing[1:]])
    rms, held = (np.sqrt(np.mean(np.concatenate(e) ** 2)) for e in (errors, steps))
    assert rms < 0.6 * held


def test_a_lost_channel_follows_the_others_and_does_not_drift(calm):
    truth = calm.positions[:550]
    spoilt = truth.copy()
    spoilt[500:550, 0] = np.nan
    positions, replaced, reasons = through(spoilt)
    assert replaced[500:550, 0].all()
    assert reasons[520] == ("missing", "", "")
    error = distance(positions, truth)[500:550, 0]
    held = distance(truth[499], truth)[500:550, 0]
    assert np.sqrt(np.mean(error**2)) < 0.25 * np.sqrt(np.mean(held**2))


def test_a_lost_channel_leaves_the_others_bitwise_untouched(calm, sound):
    spoilt = calm.positions.copy()
    spoilt[300:400, 1] = np.nan
    spoilt[450:460, 1] += 25.0
    for a, b in zip(through(spoilt)[:2], sound[:2], strict=True):
        np.testing.assert_array_equal(a[:, [0, 2]], b[:, [0, 2]])


@pytest.mark.parametrize("offset", [3.0, 10.0, 50.0, 1000.0])
def test_a_real_shift_is_accepted_within_a_second(calm, offset):
    shifted = calm.positions[:430].copy()
    shifted[400:, 2] += offset
    positions, replaced, reasons = through(shifted)
    assert not replaced[410:430].any()
    np.testing.assert_array_equal(positions[410:430], shifted[410:430])
    if replaced[400:410, 2].any():
        assert "shift" in {row[2] for row in reasons[400:411]}


def test_after_a_shift_glitches_are_caught_and_gaps_filled_as_before(calm):
    moved = calm.positions[:550].copy()
    moved[400:, 2] += 1000.0
    spoilt = moved.copy()
    spoilt[450, 2] += 10.0
    spoilt[500:550, 2] = np.nan
    positions, replaced, _ = through(spoilt)
    assert replaced[450, 2]
    assert distance(positions, moved)[500:550, 2].max() < 3.0


def test_what_begins_to_move_after_a_long_rest_is_accepted_within_a_second():
    still = np.zeros((400, 1, 3))
    rng = np.random.default_rng(2)
    moving = np.linspace(0, 40, 100)[:, None, None] + 0.05 * rng.standard_normal((100, 1, 3))
    for rest in (still, still + 1e-2 * np.random.default_rng(3).standard_normal(still.shape)):
        _, replaced, _ = through(np.concatenate([rest, moving]))
        assert not replaced[410:].any()


@pytest.mark.parametrize("size", [30.0, 1e3, 1e5])
def test_noise_far_beyond_the_usual_motion_is_never_accepted(calm, size):
    noisy = calm.positions.copy()
    noisy[400:700] += size * np.random.default_rng(4).standard_normal(noisy[400:700].shape)
    _, replaced, _ = through(noisy)
    assert replaced[400:700].mean() > 0.97
    assert not replaced[710:].any()


@pytest.mark.parametrize("at", range(5))
def test_a_fault_among_the_first_samples_is_soon_over(calm, at):
    spoilt = calm.positions[:60].copy()
    spoilt[at] += 30.0
    spoilt[15] += 30.0
    _, replaced, _ = through(spoilt)
    assert replaced[15].all()
    assert not replaced[16:60].any()


def test_a_shift_is_accepted_while_samples_go_missing(calm):
    shifted = calm.positions[:430].copy()
    shifted[400:, 2] += 40.0
    shifted[401:600:2, 2] = np.nan
    _, replaced, _ = through(shifted)
    assert not replaced[410:430:2, 2].any()


def test_after_a_long_loss_the_channel_is_believed_again_within_a_second(calm):
    spoilt = calm.positions[:640].copy()
    spoilt[300:600, 0] = np.nan
    _, replaced, _ = through(spoilt)
    assert not replaced[610:640, 0].any()


def test_channels_that_are_lost_far_outside_their_range_stay_where_they_were(calm):
    """After 15 s outside, the new range becomes the usual one, also while nothing is seen of it."""
    x = calm.positions.copy()
    x[450:] += 2.0 * np.minimum(np.arange(len(x) - 450), 40)[:, None, None]
    x[490:] = np.nan
    gate = Gate(rate=10.0)
    position, replaced, _ = through(x, gate)
    assert gate.state.shifts.offset.any()
    assert replaced[490:].all()
    assert distance(position[490:], position[489:-1]).max() < 5.0


def test_all_channels_lost_moves_on_a_little_and_stops(calm):
    spoilt = calm.positions.copy()
    spoilt[400:] = np.nan
    positions, replaced, _ = through(spoilt)
    assert replaced[400:].all()
    assert distance(positions[-1], positions[-2]).max() < 1e-6
    assert distance(positions[-1], positions[399]).max() < np.ptp(calm.positions[:400], axis=0).max()


def test_missing_from_the_start_is_zero_until_first_seen(calm):
    spoilt = calm.positions[:51] + 7.0
    spoilt[:50, 1] = np.inf
    positions, replaced, reasons = through(spoilt)
    assert replaced[:50, 1].all()
    assert not positions[:50, 1].any()
    assert reasons[0] == ("", "missing", "")
    assert not replaced[50, 1]


def test_turning_space_changes_nothing(calm):
    spoilt = corrupt(calm, glitches=0.03, dropouts=0.1).positions
    turn = np.linalg.qr(np.random.default_rng(1).standard_normal((3, 3)))[0]
    positions, replaced, _ = through(spoilt)
    turned, replaced_too, _ = through(spoilt @ turn)
    np.testing.assert_array_equal(replaced, replaced_too)
    np.testing.assert_allclose(positions @ turn, turned, atol=1e-8)


values = st.one_of(
    st.floats(allow_nan=True, allow_infinity=True),
    st.floats(-30, 30),
    st.sampled_from([0.0, np.nan, np.inf, -np.inf, 1e9, -1e9, 1e308, 5e-324]),
)


@given(arrays(float, st.tuples(st.integers(1, 40), st.just(2), st.just(3)), elements=values))
@settings(max_examples=100, deadline=None)
def test_whatever_comes_in_finite_comes_out(samples):
    positions, replaced, _ = through(samples)
    assert np.isfinite(positions).all()
    assert replaced[~np.isfinite(samples).all(axis=-1)].all()
    np.testing.assert_array_equal(positions[~replaced], samples[~replaced])


@given(st.integers(0, 2**32 - 1))
@settings(max_examples=10, deadline=None)
def test_wild_signals_never_run_away(seed):
    rng = np.random.default_rng(seed)
    samples = rng.standard_normal((300, 2, 4)) * 10.0 ** rng.integers(-8, 9, size=(300, 1, 1))
    samples[rng.random((300, 2)) < 0.3] = np.nan
    positions, _, _ = through(samples)
    assert np.isfinite(positions).all()


def test_goes_on_bit_for_bit_after_a_save(calm, tmp_path):
    spoilt = corrupt(calm, glitches=0.03, dropouts=0.1).positions
    gate = Gate(rate=10.0)
    through(spoilt[:300], gate)
    gate.save(tmp_path / "gate.npz")
    again = Gate.load(tmp_path / "gate.npz")
    for a, b in zip(through(spoilt[300:], gate), through(spoilt[300:], again), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_gate_that_has_seen_nothing_can_be_saved(calm, tmp_path):
    Gate(rate=10.0).save(tmp_path / "gate.npz")
    fresh = Gate.load(tmp_path / "gate.npz")
    np.testing.assert_array_equal(through(calm.positions[:50], fresh)[0], through(calm.positions[:50])[0])


def test_begin_forgets_everything(calm):
    gate = Gate(rate=10.0)
    through(calm.positions[200:300] + 40.0, gate)
    gate.begin((3, 3))
    for a, b in zip(through(calm.positions[:100], gate), through(calm.positions[:100]), strict=True):
        np.testing.assert_array_equal(a, b)


def test_what_is_handed_in_and_out_is_not_what_is_kept(calm):
    spoilt = corrupt(calm, glitches=0.03, dropouts=0.1).positions[:150]
    gate, expected = Gate(rate=10.0), through(spoilt)
    for t, row in enumerate(spoilt):
        lent = row.copy()
        gated = gate.update(lent)
        np.testing.assert_array_equal(gated.position, expected[0][t])
        np.testing.assert_array_equal(gated.replaced, expected[1][t])
        lent[:] = 1e3
        gated.position[:] = 1e3
        gated.replaced[:] = True
        gated.lost[:] = 99


@pytest.mark.parametrize("at", [0, 3, 20, 101])
def test_a_step_can_be_undone(calm, at):
    spoilt = corrupt(calm, glitches=0.05, dropouts=0.2, seed=3).positions[:130]
    gate, expected = Gate(rate=10.0), through(spoilt)
    for t, row in enumerate(spoilt):
        if t >= at:
            mark = gate.mark()
            gate.update(np.full((3, 3), 50.0 * t) if t % 3 else np.full((3, 3), np.nan))
            gate.rewind(mark)
            assert gate.begun == (t > 0)
        gated = gate.update(row)
        np.testing.assert_array_equal(gated.position, expected[0][t])
        assert gated.reasons == expected[2][t]


def test_it_learns_after_its_answer_or_before_the_next_one(calm, tmp_path):
    spoilt = corrupt(calm, glitches=0.05, dropouts=0.2, seed=3).positions[:130]
    gate, expected = Gate(rate=10.0), through(spoilt)
    gate.begin((3, 3))
    for t, row in enumerate(spoilt):
        gated = gate.judge(row)
        np.testing.assert_array_equal(gated.position, expected[0][t])
        assert gated.reasons == expected[2][t]
        if t == 70:
            # What is not learnt yet is part of the state.
            gate.save(tmp_path / "gate")
            gate = Gate.load(tmp_path / "gate")
        if t % 3:
            gate.learn()
            kept = pickle.dumps(gate)
            gate.learn()
            assert pickle.dumps(gate) == kept


def test_memory_does_not_grow(calm):
    gate = Gate(rate=10.0)
    through(calm.positions[:100], gate)
    size = len(pickle.dumps(gate))
    through(calm.positions[100:], gate)
    assert len(pickle.dumps(gate)) == pytest.approx(size, abs=9)  # counters grow by a byte or two


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (np.zeros((2, 3)), r"expected shape \(3, 3\) as before, got \(2, 3\)"),
        (np.zeros(3), r"expected shape \(channels, dimensions\), got \(3,\)"),
        (np.zeros((0, 3)), r"expected shape \(channels, dimensions\), got \(0, 3\)"),
        (np.zeros((3, 3), dtype=complex), "complex"),
        ([["a", "b", "c"]] * 3, "real numbers"),
        ([[1.0, 2.0, 3.0], [1.0]], "different lengths"),
    ],
)
def test_refuses_what_is_no_sample_and_stays_as_it_was(calm, sound, bad, message):
    gate = Gate(rate=10.0)
    through(calm.positions[:60], gate)
    before = fingerprint(gate)
    with pytest.raises(ValueError, match=message):
        gate.update(bad)
    assert fingerprint(gate) == before
    np.testing.assert_array_equal(through(calm.positions[60:100], gate)[0], sound[0][60:100])


@pytest.mark.parametrize("name", ["rate", "tolerance", "reach", "patience"])
@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_refuses_settings_without_a_meaning(name, value):
    with pytest.raises(ValueError, match=name):
        Gate(**{name: value})


def test_neither_keeps_nor_gives_away_its_arrays(calm):
    gate, samples = Gate(rate=10.0), calm.positions[:50].copy()
    expected = through(samples)[0]
    for t, row in enumerate(samples):
        own = row.copy()
        gated = gate.update(own)
        np.testing.assert_array_equal(gated.position, expected[t])
        own[:], gated.position[:], gated.lost[:] = 1e6, -1e6, 99
