"""Faults in what predictors see, and the program that measures when correntropy pays."""

import argparse
import math
import sys
from collections.abc import Iterator
from types import ModuleType

import numpy as np
import pytest
from programs import load_program
from small_experiment import SMALL

from quatcast.data import Recording
from quatcast.evaluation import CATALOGUE, Result
from quatcast.evaluation.protocol import forward_fill
from quatcast.evaluation.run.experiment import run_job
from quatcast.evaluation.run.faults import Faults, spread
from quatcast.evaluation.run.plan import plan
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.summary import Summary


@pytest.fixture
def program() -> Iterator[ModuleType]:
    before = dict(CATALOGUE)
    yield load_program("robustness")
    CATALOGUE.clear()
    CATALOGUE.update(before)
    del sys.modules["robustness"]


def test_faults_have_the_share_and_the_size_that_was_asked_for(recordings: list[Recording]) -> None:
    long = np.random.default_rng(0).normal(size=(20_000, 2, 3)) * [1.0, 5.0, 0.1]
    walk = Recording("walk", long, np.arange(20_000) / 10, rate=10.0)
    seen = Faults(glitches=0.05, missing=0.1, size=4.0).apply(walk)
    lost = np.isnan(seen.positions).all(axis=-1)
    assert lost.mean() == pytest.approx(0.1, abs=0.01)
    moved = np.linalg.norm(seen.positions - walk.positions, axis=-1)
    wrong = ~lost & (moved > 0)
    assert wrong.mean() == pytest.approx(0.05 * 0.9, abs=0.005)
    expected = 4.0 * np.sqrt((np.square(long[:300] - long[:300].mean(axis=0)).sum(axis=-1)).mean(axis=0))
    for channel in range(2):
        np.testing.assert_allclose(moved[:, channel][wrong[:, channel]], expected[channel])
    np.testing.assert_allclose(spread(walk), expected / 4.0)
    other = Faults(glitches=0.05, size=4.0).apply(Recording("other", long, walk.times, rate=10.0))
    assert not np.array_equal(other.positions, Faults(glitches=0.05, size=4.0).apply(walk).positions)


def test_the_validation_sees_the_beginning_of_the_faults_of_the_test(recordings: list[Recording]) -> None:
    faults = Faults(glitches=0.1)
    whole = faults.apply(recordings[0]).positions
    first = Recording("x", recordings[0].positions[:600], recordings[0].times[:600], rate=10.0)
    named = Recording(recordings[0].name, first.positions, first.times, rate=10.0)
    np.testing.assert_array_equal(faults.apply(named).positions, whole[:600])


def test_a_job_scores_against_the_recording_as_it_is(recordings: list[Recording]) -> None:
    settings = Settings.of(
        {**SMALL, "predictors": ["persistence"], "labels": ["causal"], "glitches": 0.05, "missing": 0.1}
    )
    (job,) = plan("test", recordings[:1], settings, lambda case: [{}])
    (result,) = run_job(job).results
    truth = recordings[0].positions
    seen = forward_fill(Faults(0.05, 0.1, 5.0).apply(recordings[0]).positions)
    error = np.linalg.norm(seen[595:-5] - truth[600:], axis=-1)
    assert result.rmse == pytest.approx(np.sqrt(np.mean(error**2)))


def test_ratios_are_geometric_means_with_an_interval_over_recordings(program: ModuleType) -> None:
    def run(predictor: str, recording: str, rmse: float) -> Result:
        key = ("test", "causal", 2.0, predictor, {}, recording, 0)
        return Result(*key, "", rmse, 0.5, 0.8, 0.1, 3.0, False, 0.001)

    ratios = {"a": 0.5, "b": 0.8, "c": 1.25}
    rows = [run("MSE", name, 2.0) for name in ratios] + [run("MCC", name, 2.0 * r) for name, r in ratios.items()]
    mean, low, high = program.ratio(Summary(rows), "causal", "MCC", "MSE")
    assert mean == pytest.approx((0.5 * 0.8 * 1.25) ** (1 / 3))
    logs = [math.log(r) for r in ratios.values()]
    margin = 4.303 * np.std(logs, ddof=1) / math.sqrt(3)  # Student's t, two degrees of freedom
    assert math.log(high / mean) == pytest.approx(margin)
    assert math.log(mean / low) == pytest.approx(margin)


def test_the_conditions_of_the_program(program: ModuleType) -> None:
    given = argparse.Namespace(
        quick=True,
        data="simulated",
        labels=["causal"],
        horizon=2.0,
        seeds=3,
        without=[],
        shares=[0.0, 0.1],
        sizes=[3.0, 10.0],
    )
    assert list(program.conditions(given)) == [(0.0, 3.0), (0.1, 3.0), (0.1, 10.0)]
    chosen = program.settings(given, 0.1, 10.0)
    assert (chosen.glitches, chosen.glitch_size, chosen.seconds) == (0.1, 10.0, 120.0)
    assert chosen.grids["QRNN-MCC-fixed"]["sigma"] == [1.0, 2.0, 4.0, 8.0]
    assert chosen.grids["RNN-MCC-adaptive"]["sigma"] == ["adaptive"]
    assert "sigma" not in chosen.grids["QRNN-MSE"]
