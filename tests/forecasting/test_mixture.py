"""Mixtures of members whose errors are given."""

import pickle
from dataclasses import dataclass

import numpy as np
import pytest

from quatcast import QELM, RLS, ConstantVelocity, Forecaster, Kalman, Mixture, Persistence, Ridge
from quatcast.data import simulated
from quatcast.forecasting.contract import ForecasterState, OnlineForecaster
from quatcast.forecasting.mixture import blend
from quatcast.forecasting.velocity import LastPosition


class Expert:
    """A member whose error at every sample is given, because it knows the truth; not derived from anything."""

    def __init__(self, truth, errors, horizon):
        self.truth, self.errors, self.horizon = truth, errors, horizon

    def begin(self, shape):
        self.now, self.learnt = -1, 0

    def forecast(self, sample, observed):
        self.now += 1
        ahead = min(self.now + self.horizon, len(self.truth) - 1)
        return self.truth[ahead] + self.errors[ahead]

    def learn(self):
        self.learnt += 1


@dataclass
class DerivedExpertState(ForecasterState):
    now: int = -1


class DerivedExpert(OnlineForecaster):
    """The same, derived from the base class."""

    def __init__(self, truth, errors, horizon):
        self.truth, self.errors, self.horizon = truth, errors, horizon

    def begin(self, shape):
        self.state = DerivedExpertState(shape)

    def forecast(self, sample, observed):
        self.state.now += 1
        ahead = min(self.state.now + self.horizon, len(self.truth) - 1)
        return self.truth[ahead] + self.errors[ahead]

    def learn(self):
        pass


def experts(truth, errors, horizon):
    """Members of both kinds in turn."""
    return [(Expert, DerivedExpert)[k % 2](truth, e, horizon) for k, e in enumerate(errors)]


T, HORIZON, RATE = 1200, 5, 10


@pytest.fixture(scope="module")
def truth():
    return simulated(seconds=T / RATE)[1].positions


def noise(truth, seed, size=1.0):
    return size * np.random.default_rng(seed).normal(size=truth.shape)


def rmse(errors):
    return np.sqrt(np.nanmean(np.square(errors)))


def run(truth, errors, **settings):
    mixture = Mixture(experts(truth, errors, HORIZON), **settings)
    weights, made = [], np.full(truth.shape, np.nan)
    for t, sample in enumerate(truth):
        forecast = mixture.update(sample)
        if t + HORIZON < len(truth):
            made[t + HORIZON] = forecast
        weights.append(mixture.weights)
    return made - truth, np.array(weights)


def test_independent_experts_are_better_together(truth):
    errors = [noise(truth, seed) for seed in range(4)]
    mixed, weights = run(truth, errors)
    assert rmse(mixed[300:]) == pytest.approx(rmse(np.mean(errors, axis=0)[300:]), rel=0.02)
    np.testing.assert_allclose(weights.sum(axis=-1), 1.0)
    # Equal until the first errors are known.
    np.testing.assert_array_equal(weights[:HORIZON], np.full((HORIZON, 3, 4), 0.25))
    assert not np.allclose(weights[HORIZON], 0.25)


@pytest.mark.parametrize("learn_first", [False, True])
def test_a_forecast_uses_the_weights_of_errors_known_before_or_after_the_sample(truth, learn_first):
    errors, memory, shrinkage = [noise(truth, seed, 1.0 + seed) for seed in range(3)], 40, 0.2
    mixed, _ = run(truth[:120], errors, memory=memory, shrinkage=shrinkage, learn_first=learn_first)
    covariance, weights, power = np.zeros((3, 3, 3)), np.full((3, 3), 1 / 3), np.zeros(3)
    for t in range(120 - HORIZON):
        before = weights
        if t >= HORIZON:
            e = np.stack([error[t] for error in errors], axis=1)
            # Errors are measured in units of those of the median member over an eighth of the memory.
            power += (np.median(np.sum(e**2, axis=-1), axis=-1) - power) / min(t - HORIZON + 1, memory / 8)
            e = e / np.sqrt(power)[:, None, None]
            covariance = (1 - 1 / memory) * covariance + e @ e.swapaxes(-1, -2)
            # As long as fewer errors are known than are remembered, their correlations count less.
            weights = blend(covariance, max(shrinkage, min(2.0, shrinkage * memory / (t - HORIZON + 1))))
        used = weights if learn_first else before
        expected = sum(used[:, k, None] * errors[k][min(t + HORIZON, 119)] for k in range(3))
        np.testing.assert_allclose(mixed[t + HORIZON], expected, atol=1e-9)


def test_members_begin_and_learn_with_the_mixture(truth):
    mixture = Mixture(experts(truth, [noise(truth, seed) for seed in range(3)], HORIZON))
    first = mixture.run(truth[:50])
    assert mixture.members[0].learnt == 50
    np.testing.assert_array_equal(mixture.run(truth[:50]).positions, first.positions)
    assert mixture.members[0].learnt == 50
    mixture.forecast(truth[50], np.ones(3, dtype=bool))
    assert mixture.members[0].learnt == 50
    mixture.learn()
    assert mixture.members[0].learnt == 51


class Scribbler(LastPosition):
    """A member that writes into the sample that it gets."""

    def forecast(self, sample, observed):
        made = super().forecast(sample.copy(), observed.copy())
        sample -= 100.0
        observed[:] = False
        return made


def test_a_member_that_writes_into_its_sample_does_not_change_that_of_the_others(truth):
    """The others forecast 100 mm beside the signal, and errors were compared with the same wrong sample."""
    mixtures = [Mixture([first(5), ConstantVelocity(5)]) for first in (Scribbler, LastPosition)]
    np.testing.assert_array_equal(*(mixture.run(truth).positions for mixture in mixtures))


def test_weights_handed_out_are_a_copy(truth):
    mixture = Mixture(experts(truth, [noise(truth, seed) for seed in range(2)], HORIZON))
    with pytest.raises(ValueError, match="Mixture has not begun"):
        _ = mixture.weights
    mixture.run(truth[:50])
    kept = mixture.weights
    mixture.weights[:] = 7.0
    np.testing.assert_array_equal(mixture.weights, kept)


@pytest.mark.parametrize("failure", [20.0, 1e6])
@pytest.mark.parametrize("memory", [200, 300])
def test_an_expert_that_fails_loses_its_weight_within_five_seconds(truth, memory, failure):
    good, failing = noise(truth, 1, 1.5), noise(truth, 0)
    failing[600:] += failure
    mixed, weights = run(truth, [failing, good], memory=memory)
    assert weights[599, :, 0].min() > 0.6
    assert weights[600 + 5 * RATE, :, 0].max() < 0.06
    assert rmse(mixed[600 + 5 * RATE :]) <= 1.1 * rmse(good[600 + 5 * RATE :])


@pytest.mark.parametrize("failure", [1e200, np.inf, np.nan])
def test_an_expert_that_breaks_is_left_out_at_once_and_heard_again_when_it_is_back(truth, failure):
    good, breaking = noise(truth, 1, 1.5), noise(truth, 0)
    breaking[600:800] = failure
    mixed, weights = run(truth, [breaking, good])
    np.testing.assert_allclose(mixed[600:800], good[600:800], atol=1e-12)
    assert rmse(mixed[800:]) < 0.95 * rmse(good[800:])
    assert np.isfinite(weights).all()
    assert weights[-1, :, 0].min() > 0.6


def test_the_others_are_still_judged_when_one_has_broken(truth):
    broken, good, failing = noise(truth, 0), noise(truth, 1), noise(truth, 2)
    broken[400:] = np.nan
    failing[600:] *= 20
    mixed, _ = run(truth, [broken, good, failing])
    assert rmse(mixed[650:]) <= 1.1 * rmse(good[650:])


@pytest.mark.parametrize("sizes", [(1.0, 5.0, 5.0, 5.0), (3.0, 1.0, 1.2), (1.0, 1.0), (0.0, 1.0, 2.0)])
def test_never_much_worse_than_the_best_member(truth, sizes):
    errors = [noise(truth, seed, size) for seed, size in enumerate(sizes)]
    mixed, _ = run(truth, errors, shrinkage=0.5)
    assert rmse(mixed[300:]) <= 1.1 * min(rmse(e[300:]) for e in errors) + 1e-6


def test_a_burst_of_large_errors_is_not_remembered_longer_than_it_lasted(truth):
    """For ten seconds everything is ten times as large, and another member is better."""
    one, other = noise(truth, 0), noise(truth, 1, 2.0)
    clean, _ = run(truth, [one, other])
    burst = slice(300, 300 + 10 * RATE)
    one[burst], other[burst] = 20 * one[burst], 5 * other[burst]
    mixed, _ = run(truth, [one, other])
    assert rmse(mixed[600:800]) < 1.15 * rmse(clean[600:800])


def test_experts_that_take_turns_are_better_together(truth):
    one, other = noise(truth, 0), noise(truth, 1)
    for begin in range(0, T, 400):
        one[begin : begin + 200] *= 6
        other[begin + 200 : begin + 400] *= 6
    mixed, _ = run(truth, [one, other], memory=50)
    assert rmse(mixed[200:]) < 0.7 * min(rmse(one[200:]), rmse(other[200:]))


def test_a_member_that_warms_up_is_left_out(truth):
    late = noise(truth, 0)
    late[:100] = np.nan
    errors = [late, noise(truth, 1), noise(truth, 2)]
    mixed, weights = run(truth, errors)
    alone, without = run(truth, errors[1:])
    np.testing.assert_allclose(mixed[:100], alone[:100], atol=1e-12)
    np.testing.assert_allclose(weights[HORIZON + 1 : 100, :, 1:], without[HORIZON + 1 : 100], atol=1e-12)
    assert not weights[HORIZON + 1 : 100, :, 0].any()
    assert np.isfinite(mixed[100:]).all()


def test_a_member_that_joins_counts_like_the_best_one_and_then_by_its_own_errors(truth):
    errors = [noise(truth, seed, size) for seed, size in enumerate((0.5, 1.0, 4.0))]
    errors[0][:300] = np.nan
    _, weights = run(truth, errors, shrinkage=0.1)
    joined = weights[301].mean(axis=0)
    assert 0.25 < joined[0] < 0.65
    assert joined[1] > joined[2]
    assert weights[500, :, 0].min() > 0.6


def test_without_any_forecast_there_is_none(truth):
    mixed, _ = run(truth[:20], [np.full(truth[:20].shape, np.nan)] * 2)
    assert np.isnan(mixed).all()


def test_errors_of_channels_that_were_not_seen_do_not_count(truth):
    mixtures = [Mixture(experts(truth, [noise(truth, s) for s in range(2)], HORIZON)) for _ in range(2)]
    for t, sample in enumerate(truth[:100]):
        seen = np.array([True, t < 50, True])
        for mixture, filled in zip(mixtures, (0.0, 40.0), strict=True):
            mixture.update(sample + filled * ~seen[:, None], observed=seen)
        if t == 49:
            kept = mixtures[0].weights
    np.testing.assert_array_equal(mixtures[0].weights, mixtures[1].weights)
    np.testing.assert_array_equal(mixtures[0].weights[1], kept[1])
    assert not np.array_equal(mixtures[0].weights[0], kept[0])


@pytest.mark.parametrize(("away", "gap", "soon"), [(30, 30, True), (29, 30, False), (30, None, False)])
def test_after_a_gap_the_errors_before_it_count_for_little(truth, away, gap, soon):
    """The first member was good until a channel was lost, the second one is good afterwards."""
    lost, back = 600, 600 + away
    sizes = np.where(np.arange(T) < back, 1.0, 10.0)[:, None, None]
    errors = [noise(truth, 1) * sizes, noise(truth, 2) * 10.0 / sizes]
    mixture = Mixture(experts(truth, errors, HORIZON), memory=400, gap=gap)
    for t, sample in enumerate(truth[: back + 20]):
        mixture.update(sample, observed=np.array([True, not lost <= t < back, True]))
    good = mixture.weights[:, 1]
    assert (good[1] > 0.5) == soon
    assert (good[[0, 2]] < 0.5).all()


@pytest.mark.parametrize("reweigh", [1, 7])
def test_weights_are_computed_at_intervals_from_all_errors(truth, reweigh):
    errors = [noise(truth, seed) for seed in range(2)]
    seldom, always = (Mixture(experts(truth, errors, HORIZON), reweigh=n) for n in (reweigh, 1))
    for t, sample in enumerate(truth[: 60 * reweigh], start=1):
        before = seldom.weights if t > 1 else None
        seldom.update(sample)
        always.update(sample)
        np.testing.assert_array_equal(seldom.state.covariance, always.state.covariance)
        if t < 50 * reweigh or t % reweigh == 0:
            np.testing.assert_array_equal(seldom.weights, always.weights)
        else:
            np.testing.assert_array_equal(seldom.weights, before)


def test_a_member_that_joins_is_weighed_at_once(truth):
    late = noise(truth, 1)
    late[:460] = np.nan
    mixture = Mixture(experts(truth, [noise(truth, 0), late], HORIZON), reweigh=7)
    for sample in truth[:462]:
        mixture.update(sample)
    assert (mixture.weights[:, 1] > 0).all()


@pytest.mark.parametrize("reweigh", [0, -1, 1.5, "often"])
def test_an_interval_of_weights_must_be_a_whole_number(truth, reweigh):
    with pytest.raises(ValueError, match="reweigh: expected a positive whole number"):
        Mixture(experts(truth, [noise(truth, 0)], HORIZON), reweigh=reweigh)


def test_runs_count_as_their_mean(truth):
    errors, other = np.stack([noise(truth, seed) for seed in range(3)], axis=1), noise(truth, 9)
    runs, mean = (
        Mixture([member, Expert(truth, other, HORIZON)])
        for member in (
            Expert(truth[:, None], errors, HORIZON),
            Expert(truth, errors.mean(axis=1), HORIZON),
        )
    )
    for sample in truth[:60]:
        np.testing.assert_allclose(runs.update(sample), mean.update(sample), atol=1e-12)
    assert runs.weights[:, 0].min() > 0.5


def members():
    settings = {"horizon": 4, "train": 60, "target": "displacement", "scale_by": "channel"}
    return [
        Forecaster(Ridge(1.0), lags=6, **settings),
        Forecaster(QELM(5, seeds=[1, 2]), lags=3, **settings),
        Forecaster(Persistence(), lags=1, horizon=4, train=60),
    ]


def test_real_forecasters_live_and_in_a_run(truth):
    x = truth[:300]
    forecasts, live = Mixture(members()).run(x), Mixture(members())
    for t, row in enumerate(x[:-4]):
        if t == 150:
            live = pickle.loads(pickle.dumps(live))
        np.testing.assert_array_equal(live.update(row), forecasts.positions[t + 4])
    # The sample that completes the training samples is learnt from after its answer.
    assert np.isnan(forecasts.positions[:64]).all()
    assert np.isfinite(forecasts.positions[64:]).all()
    alone = [np.asarray(member.run(x)) for member in members()]
    alone = [a.mean(axis=0) if a.ndim == 4 else a for a in alone]
    assert rmse((forecasts.positions - x)[120:]) <= 1.1 * min(rmse((a - x)[120:]) for a in alone)


def test_memory_is_flat(truth):
    mixture, sizes = Mixture(members()), []
    for t, row in enumerate(truth[:400]):
        mixture.update(row)
        if t in (200, 399):
            sizes.append(len(pickle.dumps(mixture)))
    assert abs(sizes[1] - sizes[0]) <= 64


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"members": []}, "members: expected at least one"),
        ({"members": LastPosition(5)}, r"members: expected a list of forecasters, got LastPosition\(horizon=5\)"),
        (
            {"members": [Forecaster(RLS(), horizon=h) for h in (2, 3)]},
            "members: expected the same horizons for all, got 2, 3",
        ),
        ({"members": [Forecaster(RLS(), horizon=2, labels="lookahead")]}, 'members: .*labels="causal"'),
        ({"members": [Forecaster(RLS(), horizon=2), RLS()]}, r"members\[1\]: expected horizon, begin, .* got RLS"),
        ({"memory": 0}, "memory"),
        ({"shrinkage": -0.1}, "shrinkage"),
        ({"shrinkage": float("nan")}, "shrinkage"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_bad_settings_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        Mixture(**({"members": [Forecaster(RLS(), horizon=2)]} | arguments))


def test_a_bad_sample_changes_nothing(truth):
    mixture = Mixture(members())
    for row in truth[:100]:
        mixture.update(row)
    before = pickle.dumps(mixture)
    with pytest.raises(ValueError, match=r"sample: .*sample\[0, 0\] is nan"):
        mixture.update(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="observed: expected 3 values"):
        mixture.update(truth[100], observed=[True])
    assert pickle.dumps(mixture) == before


def test_as_long_as_few_errors_are_known_displacements_are_within_the_range_of_the_signal():
    """At the start nothing tells that a parabola through the last samples leads nowhere."""
    time = np.arange(400) / 10
    wave = np.stack([12 * np.sin(1.6 * time), 3 * np.cos(1.6 * time), 0 * time], axis=-1)[:, None]
    wave += 0.05 * np.random.default_rng(0).normal(size=wave.shape)

    def worst(**more):
        made = Mixture([Kalman(50, "acceleration"), LastPosition(50)], memory=100, **more).run(wave).positions
        return np.linalg.norm(made - wave, axis=-1)[51:120].max()

    assert worst() > 100.0
    assert worst(farthest=1.0) < 2.0 * 24.7


def test_the_limit_of_displacements_ends_when_errors_are_known():
    line = np.cumsum(np.ones((300, 1, 3)), axis=0)
    free, limited = (Mixture([ConstantVelocity(20)], memory=50, farthest=f).run(line).positions for f in (None, 0.01))
    assert (limited[40] != free[40]).any()
    np.testing.assert_array_equal(limited[100:], free[100:])


def test_a_limit_that_allows_nothing_is_refused():
    with pytest.raises(ValueError, match="farthest"):
        Mixture([ConstantVelocity(2)], farthest=0.0)
