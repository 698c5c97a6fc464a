"""Which inputs are learnt with which targets, and when: recorded by a learner that writes everything down."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast import MCC, QELM, QRNN, RLS, RNN, Adam, Forecaster, H, Learner, Persistence, Replay, Ridge
from quatcast.data import simulated
from quatcast.learners.base import LearnerState, StackedStep

TRAIN = 12


class Spy(Learner):
    """Predict the newest sample of the last input, and keep a diary."""

    recurrent = True

    def __init__(self):
        self.diary = []

    def _begin(self, n_inputs, n_outputs):
        self.diary = []
        return LearnerState(n_inputs, n_outputs)

    def _predict(self, inputs):
        self.diary.append(("predict", [self.seen(u) for u in inputs]))
        return inputs[-1][None, :, -self.n_outputs :]

    def _update(self, u, d, observed):
        self.diary.append(("update", self.seen(u), self.seen(d), observed))
        prediction = u[None, :, -self.n_outputs :]
        weight = np.full((1, 1, 1), 1.0 / len(self.diary))
        return StackedStep(prediction, d - prediction, np.zeros(1), weight, np.zeros(1), 1, len(self.diary) % 2 == 0)

    def seen(self, stacked):
        return stacked[0].copy()


class QuaternionSpy(Spy):
    algebra = H

    def seen(self, stacked):
        return stacked.T.copy()


def walk(samples=60, channels=2, dimensions=3, seed=0):
    return np.cumsum(np.random.default_rng(seed).normal(size=(samples, channels, dimensions)), axis=0)


def scaled(x):
    """Scaling as published: mean and population deviation of each coordinate of the first samples."""
    return (x - x[:TRAIN].mean(axis=0)) / x[:TRAIN].std(axis=0)


def same_diary(found, expected):
    assert [entry[0] for entry in found] == [entry[0] for entry in expected]
    for mine, theirs in zip(found, expected, strict=True):
        for a, b in zip(mine[1:3], theirs[1:], strict=False):
            np.testing.assert_allclose(np.array(a), np.array(b), rtol=1e-12, atol=1e-12)


def published_pairs(z, lags, horizon):
    """DESIGN section 5, counting from 1: u_j = samples j…j+l−1, target = sample j+l+h−1, j = 1…T−l−h+1."""
    T = len(z)

    def sample(n):
        return z[n - 1].ravel()

    return [
        (np.concatenate([sample(n) for n in range(j, j + lags)]), sample(j + lags + horizon - 1))
        for j in range(1, T - lags - horizon + 2)
    ]


@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize("lags", [1, 5])
def test_look_ahead_pairs_are_those_of_the_published_protocol(lags, horizon):
    x, spy = walk(30), Spy()
    Forecaster(spy, horizon=horizon, lags=lags, labels="lookahead", train=TRAIN).run(x)
    same_diary(spy.diary, [("update", u, d) for u, d in published_pairs(scaled(x), lags, horizon)])


@pytest.mark.parametrize("learn_first", [False, True])
@pytest.mark.parametrize("horizon", [1, 4])
@pytest.mark.parametrize("lags", [1, 5])
def test_causal_pairs_are_those_of_the_published_protocol_and_come_when_the_target_has(lags, horizon, learn_first):
    x = walk(30)
    pairs = published_pairs(scaled(x), lags, horizon)
    inputs = [u for u, _ in published_pairs(scaled(x), lags, 0)]
    spy, expected, rolled = Spy(), [], []
    Forecaster(spy, horizon=horizon, lags=lags, train=TRAIN, learn_first=learn_first).run(x, training=x[:TRAIN])
    for t in range(lags - 1, len(x)):
        rolled.append(inputs[t - lags + 1])
        answer = ("predict", list(rolled))
        if t - horizon >= lags - 1:
            # x(t), which has just arrived, is the target of u(t − h), which is not rolled over any more afterwards.
            u, d = pairs[t - horizon - lags + 1]
            np.testing.assert_array_equal(u, rolled[0])
            lesson = ("update", rolled.pop(0), d)
            expected += [lesson, ("predict", list(rolled))] if learn_first else [answer, lesson]
        else:
            expected.append(answer)
    same_diary(spy.diary, expected)
    longest = max(len(entry[1]) for entry in expected if entry[0] == "predict")
    assert longest == (horizon if learn_first else horizon + 1)


def test_forecast_answers_and_learn_learns():
    x, spy = walk(40), Spy()
    forecaster = Forecaster(spy, horizon=3, lags=2, train=TRAIN)
    forecaster.begin((2, 3))
    everything = np.array([True, True])
    for t, row in enumerate(x):
        before = len(spy.diary)
        forecaster.forecast(row, everything)
        assert [entry[0] for entry in spy.diary[before:]] == ["predict"] * (t >= TRAIN)
        before = len(spy.diary)
        forecaster.learn()
        if t >= TRAIN:
            assert [entry[0] for entry in spy.diary[before:]] == ["update"]


def test_an_answer_does_not_wait_for_the_fit_of_the_scaling(monkeypatch):
    x, fitted = simulated(seconds=4)[1].positions, []
    monkeypatch.setattr(Forecaster, "_track", lambda self, *_: fitted.append(len(self.state.samples)))
    forecaster = Forecaster(RLS(), horizon=2, lags=3, train=TRAIN)
    forecaster.begin(x.shape[1:])
    for row in x[:TRAIN]:
        forecaster.forecast(row, np.ones(3, dtype=bool))
    assert fitted == []
    forecaster.learn()
    assert fitted == [TRAIN]


def test_the_scaling_is_fitted_to_the_same_samples_if_learning_comes_late():
    x, observed = simulated(seconds=4)[1].positions, np.ones(3, dtype=bool)
    scales = []
    for late in (0, 1, 5):
        forecaster = Forecaster(RLS(), horizon=2, lags=3, train=TRAIN)
        forecaster.begin(x.shape[1:])
        for row in x[: TRAIN + late]:
            forecaster.forecast(row, observed)
        forecaster.learn()
        scales.append(forecaster.state.embedding.input_scale)
    np.testing.assert_array_equal(scales, [scales[0]] * 3)


@pytest.mark.parametrize("labels", ["causal", "lookahead"])
def test_a_list_of_delays_picks_those_samples(labels):
    x, horizon, delays = walk(40), 3, [0, 9, 4]
    spy = Spy()
    Forecaster(spy, horizon=horizon, lags=delays, labels=labels, train=TRAIN).run(x, training=x[:TRAIN])
    z = scaled(x)
    updates = [entry for entry in spy.diary if entry[0] == "update"]
    expected = [
        ("update", np.concatenate([z[t - 9].ravel(), z[t - 4].ravel(), z[t].ravel()]), z[t + horizon].ravel())
        for t in range(9, len(x) - horizon)
    ]
    same_diary(updates, expected)


@pytest.mark.parametrize("dimensions", [3, 4])
def test_points_become_quaternions(dimensions):
    x, horizon = walk(20, dimensions=dimensions), 2
    spy = QuaternionSpy()
    Forecaster(spy, horizon=horizon, lags=2, labels="lookahead", train=TRAIN).run(x)
    z = scaled(x)
    real = [] if dimensions == 4 else [0.0]
    for t, (_, u, d, observed) in enumerate(spy.diary, start=1):
        np.testing.assert_allclose(u, [[*real, *z[s, c]] for s in (t - 1, t) for c in (0, 1)])
        np.testing.assert_allclose(d, [[*real, *z[t + horizon, c]] for c in (0, 1)])
        assert observed is None


def test_displacement_targets_start_from_the_newest_sample():
    x, horizon = walk(30), 4
    spy = Spy()
    forecaster = Forecaster(spy, horizon=horizon, lags=3, target="displacement", scale_by="channel", train=TRAIN)
    forecaster.run(x, training=x[:TRAIN])
    moved = x[horizon:TRAIN] - x[: TRAIN - horizon]
    scale = np.sqrt(np.mean(moved**2, axis=(0, 2)))[:, None]
    updates = [entry for entry in spy.diary if entry[0] == "update"]
    for t, (_, _, d, _) in enumerate(updates, start=2):
        np.testing.assert_allclose(d.reshape(2, 3), (x[t + horizon] - x[t]) / scale)


@pytest.mark.parametrize("labels", ["causal", "lookahead"])
@pytest.mark.parametrize("kind", [Spy, Persistence])
def test_row_t_is_the_forecast_of_sample_t(kind, labels):
    x, horizon, lags = walk(40), 4, 3
    forecasts = Forecaster(kind(), horizon=horizon, lags=lags, labels=labels, train=TRAIN).run(x, training=x[:TRAIN])
    first = lags - 1 + horizon
    np.testing.assert_allclose(forecasts.positions[first:], x[lags - 1 : -horizon], atol=1e-12)
    assert np.isnan(forecasts.positions[:first]).all()
    assert np.asarray(forecasts).shape == x.shape
    np.testing.assert_array_equal(np.asarray(forecasts, dtype=np.float32), forecasts.positions.astype(np.float32))
    assert (forecasts.horizon, forecasts.labels) == (horizon, labels)


def test_kernel_weights_and_cut_gradients_are_told_by_the_sample_learnt_from():
    x, horizon, lags = walk(30), 4, 3
    for labels in ("causal", "lookahead"):
        spy = Spy()
        forecaster = Forecaster(spy, horizon=horizon, lags=lags, labels=labels, train=TRAIN)
        forecasts = forecaster.run(x, training=x[:TRAIN])
        at = [n for n, entry in enumerate(spy.diary, start=1) if entry[0] == "update"]
        np.testing.assert_array_equal(forecasts.weights[lags - 1 + horizon :], [1.0 / n for n in at])
        assert np.isnan(forecasts.weights[: lags - 1 + horizon]).all()
        assert forecasts.truncated == sum(n % 2 == 0 for n in at)


def test_runs_lead():
    x, seeds = walk(30), [3, 8]
    settings = {"horizon": 2, "lags": 2, "train": TRAIN}
    learner = {"hidden": (3,), "init_std": 0.3, "loss": MCC(1.0, scope="channel")}
    together = Forecaster(QRNN(**learner, seeds=seeds), **settings).run(x)
    assert np.asarray(together).shape == (2, *x.shape)
    assert together.weights.shape == (2, 30)
    assert not np.allclose(together.positions[0, 5:], together.positions[1, 5:])
    for r, seed in enumerate(seeds):
        alone = Forecaster(QRNN(**learner, seeds=seed), **settings).run(x)
        np.testing.assert_allclose(together.positions[r], alone.positions, atol=1e-10)
        np.testing.assert_allclose(together.weights[r], alone.weights, atol=1e-10)
    live = Forecaster(QRNN(**learner, seeds=seeds), **settings)
    assert live.update(x[0]).shape == (2, 2, 3)


LEARNERS = {
    "rls": lambda: RLS(forgetting=0.95),
    "ridge": lambda: Ridge(1.0, refit=3),
    "qelm": lambda: QELM(4, regularization=1.0, refit=3, seeds=[0, 1]),
    "qrnn": lambda: QRNN((3,), init_std=0.2, optimizer=Adam(0.02), replay=Replay(batch=3, window=3, memory=20)),
    "rnn-runs": lambda: RNN((3,), init_std=0.2, loss=MCC("adaptive"), seeds=range(2)),
}


@pytest.mark.parametrize("target", ["position", "displacement"])
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("learn_first", [False, True])
def test_live_equals_run(learner, target, learn_first):
    x, horizon = walk(), 3
    settings = {"horizon": horizon, "lags": [0, 1, 4], "target": target, "train": TRAIN, "learn_first": learn_first}
    forecasts = Forecaster(LEARNERS[learner](), **settings).run(x)
    protocol = Forecaster(LEARNERS[learner](), **settings).run(x, training=x[:TRAIN])
    live = Forecaster(LEARNERS[learner](), **settings)
    # The sample that completes the training samples is answered only if it is learnt from first.
    first = TRAIN - 1 if learn_first else TRAIN
    for t, row in enumerate(x[:-horizon]):
        made = live.update(row)
        np.testing.assert_array_equal(made, forecasts.positions[..., t + horizon, :, :])
        if t < first:
            assert np.isnan(made).all()
        else:
            assert np.isfinite(made).all()
            # From then on it does not matter that the scaling was not known from the beginning.
            np.testing.assert_array_equal(made, protocol.positions[..., t + horizon, :, :])
    assert np.isnan(forecasts.weights[..., : TRAIN - 1]).all()
    np.testing.assert_array_equal(forecasts.weights[..., TRAIN:], protocol.weights[..., TRAIN:])


@pytest.mark.parametrize("learn_first", [False, True])
@pytest.mark.parametrize("catch_up", [2, 3, 5, 100])
def test_catching_up_learns_a_few_at_a_time_and_arrives_where_all_at_once_would(catch_up, learn_first):
    x, horizon = walk(60), 3
    at_once, live = Spy(), Spy()
    settings = {"horizon": horizon, "lags": 2, "train": TRAIN, "learn_first": learn_first}
    expected = np.asarray(Forecaster(at_once, **settings).run(x, training=x[:TRAIN]))
    forecaster = Forecaster(live, **settings, catch_up=catch_up)
    made, learnt = [], []
    for row in x:
        made.append(forecaster.update(row))
        learnt.append(sum(entry[0] == "update" for entry in live.diary))
    # After sample t, t + 1 have come and catch_up·(t − train + 2) could have been taken in.
    caught_up = next(t for t in range(TRAIN - 1, 60) if catch_up * (t - TRAIN + 2) >= t + 1)
    first = caught_up if learn_first else caught_up + 1
    assert np.isnan(made[:first]).all()
    np.testing.assert_array_equal(made[first:-horizon], expected[first + horizon :])
    assert max(np.diff(learnt[TRAIN - 2 :])) <= catch_up
    # Samples that wait are learnt from, but there is no forecast from them.
    assert sum(entry[0] == "predict" for entry in live.diary) == 60 - first
    updates = [[entry for entry in spy.diary if entry[0] == "update"] for spy in (live, at_once)]
    same_diary(*updates)
    # A weight is reported in the row of its sample, so for samples that did not have to wait.
    weights = Forecaster(Spy(), **settings, catch_up=catch_up).run(x).weights
    assert np.isnan(weights[:caught_up]).all()
    assert np.isfinite(weights[caught_up:]).all()


def test_live_continues_after_a_run_and_run_begins_anew():
    x = walk()
    one, other = (Forecaster(LEARNERS["qrnn"](), horizon=3, lags=2, train=TRAIN) for _ in range(2))
    one.run(x[:50])
    whole = other.run(x)
    for t in range(50, 57):
        np.testing.assert_array_equal(one.update(x[t]), whole.positions[t + 3])
    np.testing.assert_array_equal(one.run(x).positions, whole.positions)


@settings(max_examples=25, deadline=None)
@given(
    learner=st.sampled_from(sorted(LEARNERS)),
    target=st.sampled_from(["position", "displacement"]),
    horizon=st.integers(1, 6),
    lags=st.integers(1, 4),
    now=st.integers(TRAIN - 1, 33),
    seed=st.integers(0, 1000),
    learn_first=st.booleans(),
)
def test_causal_forecasts_know_nothing_of_what_is_to_come(learner, target, horizon, lags, now, seed, learn_first):
    past = walk(35, seed=seed)
    other = past.copy()
    other[now + 1 :] = 100.0 * walk(35, seed=seed + 1)[now + 1 :]
    made = [
        Forecaster(LEARNERS[learner](), horizon=horizon, lags=lags, target=target, train=TRAIN, learn_first=learn_first)
        .run(x, training=past[:TRAIN])
        .positions
        for x in (past, other)
    ]
    np.testing.assert_array_equal(made[0][..., : now + horizon + 1, :, :], made[1][..., : now + horizon + 1, :, :])


@pytest.mark.parametrize("learner", LEARNERS)
def test_look_ahead_forecasts_do(learner):
    now, horizon = 25, 4
    past = walk(35)
    other = past.copy()
    other[now + 1 :] += 10.0
    made = [
        Forecaster(LEARNERS[learner](), horizon=horizon, lags=2, labels="lookahead", train=TRAIN).run(x).positions
        for x in (past, other)
    ]
    assert not np.array_equal(made[0][..., : now + horizon + 1, :, :], made[1][..., : now + horizon + 1, :, :], True)
    # What was forecast before x(now + 1) could have been learnt from is the same even so.
    np.testing.assert_array_equal(made[0][..., : now + 1, :, :], made[1][..., : now + 1, :, :])


def test_live_refuses_look_ahead_and_says_why():
    forecaster = Forecaster(RLS(), horizon=2, labels="lookahead")
    with pytest.raises(
        ValueError, match=r'labels: "lookahead" learns from samples that have not arrived yet.*"causal"'
    ):
        forecaster.update(np.zeros((1, 3)))


# Channels that were not really seen.


def test_what_was_not_seen_is_an_input_but_no_target():
    x, spy = walk(TRAIN + 8), Spy()
    forecaster = Forecaster(spy, horizon=2, lags=1, train=TRAIN)
    for t, row in enumerate(x):
        forecaster.update(row, observed=np.array([t != 15, t not in (3, 15, 16)]))
    z = scaled(x)
    updates = [entry for entry in spy.diary if entry[0] == "update"]
    assert len(updates) == len(x) - 2
    for t, (_, u, _, observed) in enumerate(updates, start=2):
        np.testing.assert_allclose(u, z[t - 2].ravel())
        seen = [t != 15] * 3 + [t not in (3, 15, 16)] * 3
        assert (observed is None) if all(seen) else (observed.tolist() == seen)


@pytest.mark.parametrize("target", ["position", "displacement"])
@pytest.mark.parametrize("learner", LEARNERS)
def test_parameters_do_not_depend_on_what_was_filled_in(learner, target):
    x, kept = walk(), []
    for value, seen in ((0.0, False), (50.0, False), (50.0, True)):
        forecaster = Forecaster(LEARNERS[learner](), horizon=3, lags=2, target=target, train=TRAIN)
        for row in x[:40]:
            forecaster.update(row)
        filled = x[40].copy()
        filled[1] += value
        for t in range(40, 43):
            # Three samples: a refit comes, and what was filled in is not part of a learnt input yet.
            forecaster.update(filled if t == 40 else x[t], observed=np.array([True, seen or t > 40]))
        kept.append(np.concatenate([array.ravel() for array in forecaster.learner.parameters().values()]))
    np.testing.assert_array_equal(kept[0], kept[1])
    assert not np.array_equal(kept[1], kept[2])


def test_a_limit_delays_catching_up_and_changes_nothing_else():
    """With a limit on the samples per call more calls are needed; once caught up, every bit is the same."""
    x = simulated(seconds=12)[1].positions
    usual, limited = (Forecaster(RLS(), horizon=3, lags=4, train=40, catch_up=9) for _ in range(2))
    observed, caught_up, waiting = np.ones(3, dtype=bool), [], []
    for forecaster in (usual, limited):
        forecaster.begin((3, 3))
    for t, row in enumerate(x):
        expected, made = usual.forecast(row, observed), limited.forecast(row, observed)
        usual.learn()
        limited.learn_some(2)
        if np.isfinite(made).all():
            caught_up.append(t)
            np.testing.assert_array_equal(made, expected)
        elif np.isfinite(expected).all():
            waiting.append(t)
    assert len(waiting) > 20, "the limit has delayed catching up"
    assert len(caught_up) > 20
