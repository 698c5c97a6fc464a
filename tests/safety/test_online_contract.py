"""The online contract, for every kind of forecaster: whole steps, equal runs, copies, and files between any samples."""

import os

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from online_members import HORIZON, LEARNERS, MEMBERS, Kalman, Unreliable, content, forecaster, of_all_kinds, same, walk

from quatcast import QELM, QRNN, Adam, Forecaster, Mixture, Replay, Ridge
from quatcast.data import corrupt, simulated
from quatcast.forecasting.contract import mark_of, rewind_to
from quatcast.safety.gate import Gate
from quatcast.safety.guard import Guarded
from quatcast.safety.status import Status

EVERYTHING = np.array([True, True])
UNSAVEABLE = ("average", "mixture")


# A step happens completely or not at all.


@pytest.mark.parametrize("name", MEMBERS)
def test_one_step_can_be_undone_at_any_moment(name):
    """Also when in that step the scaling is fitted, several waiting samples are learnt from, or a buffer is full."""
    one, other, x, rng = MEMBERS[name](), MEMBERS[name](), walk(60), np.random.default_rng(1)
    one.begin((2, 3))
    other.begin((2, 3))
    for row in x:
        before = content(one)
        for learnt in (False, True):
            mark = mark_of(one)
            one.forecast(rng.normal(size=(2, 3)), rng.random(2) < 0.7)
            if learnt:
                one.learn()
            rewind_to(one, mark)
            # A mark serves several attempts.
            one.forecast(rng.normal(size=(2, 3)), EVERYTHING)
            rewind_to(one, mark)
            assert content(one) == before
        same(one.forecast(row.copy(), EVERYTHING), other.forecast(row, EVERYTHING))
        one.learn()
        other.learn()
    assert content(one) == content(other)


@settings(max_examples=8, deadline=None)
@given(
    failures=st.dictionaries(st.integers(0, 39), st.sampled_from(["forecast", "learn"]), min_size=1, max_size=12),
    place=st.integers(0, 7),
    learn_first=st.booleans(),
    seed=st.integers(0, 99),
)
def test_a_member_that_fails_leaves_no_member_half_advanced(failures, place, learn_first, seed):
    x = walk(40, seed)
    x[20:23, 1] = np.nan
    mixture = of_all_kinds([Unreliable(HORIZON, failures)], place, learn_first)
    guarded = Guarded(mixture, rate=10.0, gate=Remembering())
    guarded.begin((2, 3))
    for t, row in enumerate(x):
        before = remembered(mixture) if t in failures else ()
        forecast = guarded.update(row)
        if t in failures:
            assert remembered(mixture) == before
            assert forecast.status == Status.HOLD
            assert f"no {failures[t]} today; it is as it was before this sample" in forecast.reason
    # The mixture is where it would be without the samples at which a member failed, and continues.
    others = of_all_kinds([Unreliable(HORIZON, {})], place, learn_first)
    others.begin((2, 3))
    for t, gated in enumerate(guarded.gate.said):
        if t not in failures:
            others.update(gated.position - gated.offset, ~gated.replaced)
    assert remembered(others) == remembered(mixture)


class Remembering(Gate):
    """A gate that remembers what it has said."""

    def begin(self, shape):
        super().begin(shape)
        self.said = []

    def judge(self, x, aim=None):
        self.said.append(super().judge(x, aim))
        return self.said[-1]


def remembered(mixture):
    """What a mixture and its members remember, except that an unreliable one counts calls that failed."""
    members = [content(member) for member in mixture.members if not isinstance(member, Unreliable)]
    return members, content(mixture.state)


@pytest.mark.parametrize("when", ["forecast", "learn"])
def test_saved_bytes_are_the_same_after_a_step_that_failed(tmp_path, when):
    kinds = ("ridge", "qelm", "rls", "qrnn, sgd", "qrnn, adam and replay")
    failures = dict.fromkeys((5, 11, 12, 30), when)
    mixture = Mixture([*(forecaster(name) for name in kinds), Kalman(HORIZON), Unreliable(HORIZON, failures)])
    guarded = Guarded(mixture, rate=10.0)
    guarded.begin((2, 3))
    for t, row in enumerate(walk(40)):
        mixture.save(tmp_path / "before")
        guarded.update(row)
        mixture.save(tmp_path / "after")
        unchanged = (tmp_path / "before").read_bytes() == (tmp_path / "after").read_bytes()
        assert unchanged == (t in failures)


# Run means the same for every forecaster.


@pytest.mark.parametrize("name", [name for name in MEMBERS if name != "average"])
def test_run_begins_anew_and_updates_row_by_row(name):
    x, one, live = walk(50), MEMBERS[name](), MEMBERS[name]()
    one.run(walk(40, seed=5))
    first, again = one.run(x), one.run(x)
    np.testing.assert_array_equal(again.positions, first.positions)
    for t, row in enumerate(x[:-HORIZON]):
        np.testing.assert_array_equal(np.asarray(live.update(row)), first.positions[..., t + HORIZON, :, :])
    assert np.isnan(first.positions[..., :HORIZON, :, :]).all()
    assert np.isfinite(first.positions[..., 30:, :, :]).all()
    # After a run, live use continues where the recording ended.
    for row in x[-HORIZON:]:
        live.update(row)
    same(one.update(x[0]), live.update(x[0]))


@pytest.mark.parametrize("name", ["guarded", "mixture", "kalman", "qrnn, adam and replay, catching up"])
def test_update_is_forecast_and_learn(name):
    one, other = MEMBERS[name](), MEMBERS[name]()
    other.begin((2, 3))
    for row in walk(50):
        made = other.forecast(row, EVERYTHING)
        other.learn()
        same(one.update(row), made)
    assert content(one) == content(other)


# A service may leave out learning, and lend and reuse arrays.


@settings(max_examples=8, deadline=None)
@given(skipped=st.sets(st.integers(0, 59), max_size=40), seed=st.integers(0, 99), learn_first=st.booleans())
def test_learning_may_be_left_out(skipped, seed, learn_first):
    guarded, made = Guarded(of_all_kinds(learn_first=learn_first), rate=10.0), []
    for t, row in enumerate(walk(60, seed)):
        made.append(guarded.forecast(row))
        if t not in skipped:
            guarded.learn()
    # There is a forecast at every sample, because some members need no training samples.
    assert all(np.isfinite(forecast.position).all() for forecast in made)
    assert not any("failed" in forecast.reason for forecast in made)


@pytest.mark.parametrize("name", LEARNERS)
def test_forecasts_stay_finite_while_learning_is_left_out(name):
    one, x = forecaster(name), walk(100)
    for row in x[:30]:
        one.update(row)
    for row in x[30:60]:
        assert np.isfinite(one.forecast(row, EVERYTHING)).all()
    # Each sample is learnt from at once or not at all, so that nothing has to be caught up.
    for row in x[60:]:
        assert np.isfinite(one.update(row)).all()


def spoil(made):
    """Change in place whatever was handed out."""
    for name in ("position", "radius"):
        if hasattr(made, name):
            getattr(made, name)[...] *= -7.0
    if hasattr(made, "replaced"):
        made.replaced[...] = ~made.replaced
    if isinstance(made, np.ndarray):
        made *= -7.0


@pytest.mark.parametrize("name", [name for name in MEMBERS if name not in ("kalman", "average")] + ["guarded mixture"])
def test_arrays_handed_in_and_out_are_not_the_ones_kept(name):
    def make():
        return Guarded(of_all_kinds(), rate=10.0) if name == "guarded mixture" else MEMBERS[name]()

    one, other, lent, mask = make(), make(), np.zeros((2, 3)), np.ones(2, dtype=bool)
    for t, row in enumerate(walk(70)):
        lent[...], mask[...] = row, [True, t % 7 != 0]
        made = one.update(lent, mask)
        same(made, other.update(row, np.array([True, t % 7 != 0])))
        lent[...], mask[...] = 1e6, False
        spoil(made)
    assert content(one) == content(other)


# Files.


@pytest.mark.parametrize("name", [name for name in MEMBERS if name not in UNSAVEABLE] + ["guarded mixture"])
def test_a_file_written_between_any_two_samples_continues_bit_for_bit(name, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # thousands of files; they need not survive a power failure
    if name == "guarded mixture":
        members = [forecaster(kind, 5) for kind in ("qelm", "qrnn, sgd", "qrnn, adam and replay")]
        one = Guarded(Mixture([*members, Kalman(HORIZON)], memory=20), rate=10.0)
    else:
        one = MEMBERS[name]()
    kind, x = type(one), walk(40)
    x[30:33, 1] += 0.5
    before = content(one)
    for t, row in enumerate(x):
        one.save(tmp_path / "file")
        loaded = kind.load(tmp_path / "file")
        assert content(loaded) == before
        observed = np.array([True, t % 5 != 0])
        same(loaded.update(row, observed), one.update(row, observed))
        # What is the same after a step, and so after every step, is the same for ever.
        before = content(one)
        assert content(loaded) == before


# A forecaster that a user wrote.


@pytest.fixture(scope="module")
def breathing():
    return corrupt(simulated(seconds=60)[1], dropouts=0.02, glitches=0.01)


def guarded_kalman():
    usual = {"horizon": 5, "target": "displacement", "scale_by": "channel", "train": 100}
    network = QRNN((5,), init_std=0.1, optimizer=Adam(0.002), replay=Replay(batch=8, window=6, memory=300))
    members = [
        Kalman(5),
        Forecaster(Ridge(30.0), lags=12, **usual),
        Forecaster(QELM(20, seeds=[1, 2]), lags=6, **usual),
        Forecaster(network, lags=6, **usual),
    ]
    return Guarded(Mixture(members, memory=200, shrinkage=0.5), rate=10.0)


def test_a_kalman_filter_is_a_member_of_a_guarded_mixture(breathing, tmp_path):
    x, one = breathing.positions, guarded_kalman()
    made = [one.update(row) for row in x[:400]]
    assert made[-1].status in (Status.OK, Status.DEGRADED)
    # The filter alone answers from the first sample on, and has lost most of its weight when the others have learnt.
    assert np.isfinite(made[0].position).all()
    assert one.forecaster.weights[:, 0].max() < 0.2
    one.save(tmp_path / "file")
    other = Guarded.load(tmp_path / "file")
    assert isinstance(other.forecaster.members[0], Kalman)
    for row in x[400:450]:
        same(other.update(row), one.update(row))


def test_a_kalman_filter_has_the_weight_that_it_deserves():
    t = np.arange(400.0)[:, None, None]
    line = np.array([[1.0, 2.0, 3.0], [-2.0, 0.5, 1.0]]) * t + np.random.default_rng(0).normal(size=(400, 2, 3))
    mixture = Mixture([Kalman(HORIZON, drift=1e-4), forecaster("persistence")])
    forecasts = mixture.run(line)
    assert mixture.weights[:, 0].min() > 0.95
    assert np.sqrt(np.mean((forecasts.positions - line)[100:] ** 2)) < 1.3


def test_a_kalman_filter_under_the_guard(breathing):
    forecasts = Guarded(Kalman(2, drift=1.0), rate=10.0).run(breathing.positions)
    clean = simulated(seconds=60)[1].positions
    error = np.linalg.norm(forecasts.positions - clean, axis=-1)[100:]
    still = np.linalg.norm(clean[2:] - clean[:-2], axis=-1)[98:]
    assert np.mean(error) < 0.7 * np.mean(still)
    assert 0.9 < np.mean(error <= forecasts.radius[100:]) < 0.99
    assert np.mean(forecasts.status == Status.HOLD) < 0.1
