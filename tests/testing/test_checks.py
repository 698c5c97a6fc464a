"""The shipped checks: they pass what is right, and each of them sees what it is there for."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from bad_forecasters import BAD_FORECASTERS, MORE_BAD_FORECASTERS, Drift, OnlyTheContract, TwoRuns
from bad_learners import BAD_LEARNERS, MORE_BAD_LEARNERS

from quatcast import QELM, QRNN, RLS, Adam, Apart, Forecaster, Guarded, Mixture, Persistence, Replay, Ridge, testing
from quatcast.data import Recording, Source, simulated
from quatcast.testing import (
    check_forecaster,
    check_learner,
    check_runs,
    check_source,
    fingerprint,
    forecaster_checks,
    learner_checks,
    learner_samples,
    smooth_positions,
    source_checks,
)


def by_name(checks):
    return {check.__name__: check for check in checks}


LEARNER_CHECKS, FORECASTER_CHECKS = by_name(learner_checks()), by_name(forecaster_checks())
POSITIONS = smooth_positions(110)
"""Long enough for forecasters that train on 50 samples and remember 40 errors or pairs."""


def test_there_is_a_bad_example_for_every_check():
    assert set(BAD_LEARNERS) == set(LEARNER_CHECKS)
    assert set(BAD_FORECASTERS) == set(FORECASTER_CHECKS)
    assert set(BAD_SOURCES) == set(by_name(source_checks()))


@pytest.mark.parametrize(("name", "make"), [*BAD_LEARNERS.items(), *MORE_BAD_LEARNERS])
def test_every_check_of_learners_bites(name, make):
    with pytest.raises(AssertionError, match=r"must .*, but "):
        LEARNER_CHECKS[name](make, learner_samples(make))


def test_runs_that_differ_from_single_ones_are_seen():
    with pytest.raises(
        AssertionError, match="every run must equal a learner with its settings alone, but gradient_norm"
    ):
        check_runs(lambda: RLS([0.9, 0.99]), [lambda: RLS(0.9), lambda: RLS(0.98)])
    with pytest.raises(AssertionError, match="expected 1 runs, but the learner has 2"):
        check_runs(lambda: RLS([0.9, 0.99]), [lambda: RLS(0.9)])


@pytest.mark.parametrize(("name", "make"), [*BAD_FORECASTERS.items(), *MORE_BAD_FORECASTERS])
def test_every_check_of_forecasters_bites(name, make):
    with pytest.raises(AssertionError, match=r"must .*, but |cannot .*, but "):
        FORECASTER_CHECKS[name](make, POSITIONS)


def test_an_object_in_place_of_a_function_that_makes_one_is_named():
    with pytest.raises(ValueError, match=r"make: expected a class or a function .* a new learner, got RLS\("):
        check_learner(RLS())
    with pytest.raises(ValueError, match=r"make: expected a class or a function .* a new forecaster, got Forecaster\("):
        check_forecaster(ridge())


def ridge():
    return Forecaster(Ridge(0.5, 4), horizon=3, lags=4, train=50, catch_up=12)


def neurons():
    learner = QELM(3, refit=4, seeds=[2, 5, 7])
    return Forecaster(learner, horizon=3, lags=4, train=50, target="displacement", scale_by="channel")


def networks():
    replay = Replay(updates=2, batch=3, window=4, memory=40)
    learner = QRNN((3,), init_std=0.2, max_depth=20, optimizer=Adam(learning_rate=0.01), seeds=range(2), replay=replay)
    return Forecaster(learner, horizon=3, lags=4, train=50, catch_up=12, target="displacement")


def mixture():
    persistence = Forecaster(Persistence(), horizon=3, train=50)
    return Mixture([ridge(), neurons(), persistence, Drift(3)], memory=40)


GOOD_FORECASTERS = {
    "drift": Drift,
    "contract": OnlyTheContract,
    "runs": TwoRuns,
    "ridge": ridge,
    "neurons": neurons,
    "networks": networks,
    "horizons": lambda: Forecaster(RLS(), horizon=3, horizons=[1, 3], lags=4, train=50),
    "learn-first": lambda: Forecaster(RLS(), horizon=1, lags=[0, 3, 5], train=40, learn_first=True),
    "mixture": mixture,
    "guarded": lambda: Guarded(ridge(), rate=10.0),
}


@pytest.mark.parametrize("check", FORECASTER_CHECKS)
@pytest.mark.parametrize("name", GOOD_FORECASTERS)
def test_forecasters_keep_their_promises(name, check):
    FORECASTER_CHECKS[check](GOOD_FORECASTERS[name], POSITIONS)


@pytest.mark.parametrize("shape", [(1, 3), (), (3, 1, 2, 3)])
def test_a_forecast_of_another_shape_is_not_broadcast(shape):
    class Other(Drift):
        def forecast(self, sample, observed):
            super().forecast(sample, observed)
            return np.zeros(shape)

    for forecaster in (Other(), Mixture([Other(), Drift()]), Apart([Other(), Drift()])):
        with pytest.raises(ValueError, match=r"Other: expected a forecast of shape \(\d, 3\), got"):
            forecaster.run(np.tile(POSITIONS, (1, 1 + isinstance(forecaster, Apart), 1)))


def test_begin_must_create_a_state():
    class Stateless(Drift):
        def begin(self, shape):
            pass

    with pytest.raises(ValueError, match="Stateless: expected begin to create"):
        Stateless().update(POSITIONS[0])


def test_members_share_nothing():
    learner, forecaster = RLS(), Drift()
    shared = [Forecaster(learner, horizon=2, lags=n) for n in (3, 4)]
    for members in ([forecaster, forecaster], shared):
        with pytest.raises(ValueError, match=r"members: .* got one object twice"):
            Mixture(members)


def test_an_output_of_another_shape_is_named():
    class Flat(RLS):
        def _predict(self, inputs):
            return super()._predict(inputs)[0, 0]

    with pytest.raises(ValueError, match=r"Flat: expected a stacked output of shape \(1, 1, 2\), got \(2,\)"):
        Flat().begin(3, 2).predict(np.ones(3))


def test_what_is_not_a_learner_is_named():
    with pytest.raises(AssertionError, match=r"make must return a quatcast.Learner, but it returned Drift\(\)"):
        check_learner(Drift)


def test_positions_of_other_shapes_do():
    check_forecaster(Drift, smooth_positions(60, channels=1, dimensions=4))


# Sources.

GOOD = Recording("still", np.zeros((100, 2, 3)), np.arange(100) / 10, rate=10.0)


def at_random(**_):
    return [replace(GOOD, positions=np.random.default_rng().normal(size=(100, 2, 3)))]


def in_threes():
    """Return a recording of 10 Hz whose samples come in threes, 0.06 s apart."""
    return [replace(GOOD, times=np.arange(100) / 10 - np.arange(100) % 3 * 0.04)]


BAD_SOURCES = {
    "has_recordings_with_different_names": [
        list,
        lambda: GOOD,
        lambda: iter([GOOD]),
        lambda: [GOOD.positions],
        lambda: [GOOD, GOOD],
        lambda: [replace(GOOD, name="")],
    ],
    "every_channel_is_seen": [lambda: [replace(GOOD, positions=np.full((100, 2, 3), np.nan))]],
    "times_fit_the_sampling_rate": [in_threes],
    "loading_twice_gives_equal_recordings": [at_random],
}


@pytest.mark.parametrize(("name", "number"), [(name, i) for name in BAD_SOURCES for i in range(len(BAD_SOURCES[name]))])
def test_every_check_of_sources_bites(name, number):
    with pytest.raises(AssertionError, match=r"must .*, but "):
        by_name(source_checks())[name](BAD_SOURCES[name][number])


def test_good_sources_pass():
    check_source(lambda: [GOOD, replace(GOOD, name="other")])
    check_source(Source("two", "two recordings", lambda **_: simulated(seconds=20)[:2]))


# Tools.


def test_fingerprints_see_the_last_bit_and_hidden_differences():
    pairs = [
        (0.0, -0.0),
        (1, 1.0),
        (np.zeros(2), np.zeros((1, 2))),
        (np.zeros(2), np.zeros(2, np.float32)),
        ([1, 2], (1, 2)),
        ({"a": 1, "b": 2}, {"a": 2, "b": 1}),
        (np.random.default_rng(0), np.random.default_rng(1)),
        (RLS(0.9), RLS(0.8)),
        (RLS(), RLS().begin(1, 1)),
        (Source("a", "x", at_random), Source("a", "y", at_random)),
        (len, abs),
    ]
    for one, other in pairs:
        assert fingerprint(one) != fingerprint(other), (one, other)
        assert fingerprint([one, 3]) == fingerprint([one, 3])
    assert fingerprint(np.float64(1.5)) == fingerprint(1.5)
    circle = []
    circle.append(circle)
    assert fingerprint(circle) == fingerprint(circle)


def test_the_checks_need_no_test_runner():
    code = "import sys, quatcast.testing; assert not {'pytest', 'hypothesis', 'plotly'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
    assert all(hasattr(testing, name) for name in testing.__all__)
