"""Predictors of users: what is wrong with one is said in a line that names it."""

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pytest

from quatcast import Forecasts
from quatcast.basics.typing import Floats
from quatcast.data import simulated
from quatcast.evaluation import CATALOGUE, Predictor, Settings
from quatcast.evaluation.catalogue import Batch
from quatcast.evaluation.run.plan import check

BATCH = Batch([{}], seeds=[0], horizon=2, sampling_rate=10.0, labels="causal")
X = np.zeros((9, 1, 3))


@dataclass
class Returns:
    """A forecaster that returns what it was given."""

    what: Any

    def run(self, positions: Floats) -> Any:
        return self.what


def right() -> Forecasts:
    positions = X.copy()
    positions[:2] = np.nan
    return Forecasts(positions, np.ones(9), 2, "causal", 0)


@pytest.mark.parametrize(
    ("forecaster", "words"),
    [
        (None, "build: expected an object with a method run, got None"),
        (Returns(X), "run: expected Forecasts, got an object of type ndarray"),
        (Returns(replace(right(), positions=X[1:])), "positions: expected (9, 1, 3), got (8, 1, 3)"),
        (
            Returns(replace(right(), positions=X[None, None])),
            "positions: expected (1, 9, 1, 3), got (1, 1, 9, 1, 3)",
        ),
        (Returns(replace(right(), weights=None)), "weights: expected (9,), got ()"),
        (Returns(replace(right(), horizon=3)), "horizon: expected 2, got 3"),
        (
            Returns(replace(right(), labels="lookahead")),
            "labels: expected 'causal', got 'lookahead'; pass batch.labels on",
        ),
        (Returns(replace(right(), positions=X)), "positions: expected NaN for the first 2 samples"),
    ],
)
def test_forecasts_that_were_not_asked_for_are_named(forecaster: Any, words: str) -> None:
    predictor = Predictor("mine", "Mine", lambda batch: forecaster)
    with pytest.raises(ValueError, match=f"predictor 'mine': {re.escape(words)}"):
        predictor.run(BATCH, X)


def test_right_forecasts_pass_with_or_without_a_run_axis() -> None:
    alone, runs = right(), replace(right(), positions=right().positions[None], weights=np.ones((1, 9)))
    for forecasts in (alone, runs):
        assert Predictor("mine", "Mine", lambda batch, made=forecasts: Returns(made)).run(BATCH, X) is forecasts


@pytest.mark.parametrize(
    ("name", "value"), [("labels", ("casual",)), ("labels", "causal"), ("labels", ()), ("along_runs", "span")]
)
def test_words_that_would_be_ignored_are_refused(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected .* for predictor 'mine', got"):
        Predictor("mine", "Mine", Returns, **{name: value})


def test_arrays_that_the_forecasts_do_not_have_are_named() -> None:
    predictor = Predictor("mine", "Mine", lambda batch: Returns(right()), arrays=("radius",))
    with pytest.raises(
        ValueError, match="predictor 'mine': arrays: expected attributes of the forecasts, got 'radius'"
    ):
        predictor.run(BATCH, X)


@pytest.mark.parametrize("values", [[], [(1, 2)], [None], [Returns(0)]])
def test_values_of_a_grid_that_cannot_be_stored_are_refused(values: list[Any]) -> None:
    with pytest.raises(
        ValueError, match="grid: expected one or more numbers or texts as values of 'span' for predictor"
    ):
        Predictor("mine", "Mine", Returns, grid={"span": values})


def test_numbers_of_numpy_in_a_grid_become_those_of_python() -> None:
    predictor = Predictor(
        "mine", "Mine", Returns, grid={"span": np.arange(3)}, profiles={"quick": {"span": np.arange(1)}}
    )
    values = [predictor.usual["span"], *predictor.grid_of("standard")["span"], *predictor.grid_of("quick")["span"]]
    assert [type(value) for value in values] == [int] * 5


def test_a_function_that_workers_cannot_import_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(CATALOGUE, "mine", Predictor("mine", "Mine", lambda batch: Returns(right())))
    settings = Settings.of({"predictors": ["mine"]})
    with pytest.raises(ValueError, match=r"predictors: expected a function at the top level .* of 'mine'"):
        check(simulated(seconds=65)[:1], settings)


def test_a_setting_that_differs_among_runs_is_not_taken_from_the_first() -> None:
    configurations = [{"hidden": 4, "learning_rate": 0.02}, {"hidden": 4, "learning_rate": 0.05}]
    batch = replace(BATCH, configurations=configurations, seeds=[0, 0])
    assert batch.common("hidden") == 4
    with pytest.raises(ValueError, match=r"one value of .learning_rate. for all runs, got 0\.02 and 0\.05"):
        batch.common("learning_rate")


def test_a_setting_that_is_not_in_the_grid_is_named() -> None:
    predictor = Predictor("mine", "Mine", lambda batch: batch.common("lags"))
    with pytest.raises(ValueError, match="predictor 'mine': batch: expected a setting of the grid, got 'lags'"):
        predictor.run(BATCH, X)
    with pytest.raises(ValueError, match="expected one of the settings hidden, got 'lags'"):
        predictor.run(replace(BATCH, configurations=[{"hidden": 4}]), X)
