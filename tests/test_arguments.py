"""Arguments of a wrong kind: every constructor names the argument, and none accepts what it cannot use."""

import math
from typing import Any

import numpy as np
import pytest

import quatcast
from quatcast.evaluation import Settings, compare, score

NOT_A_NUMBER: list[Any] = ["x", [1.0, 2.0], True, math.nan]
NOT_WHOLE: list[Any] = ["x", 1.5, True, -1]
NUMBERS = {
    "Adam": ["clip"],
    "AdaptiveLinear": ["memory", "regularization"],
    "DampedVelocity": ["memory"],
    "Gate": ["rate", "patience"],
    "Guarded": ["level", "gate"],
    "Kalman": ["memory"],
    "KernelRidge": ["width"],
    "LMS": ["loss", "optimizer"],
    "LocalAverage": ["bandwidth"],
    "Mixture": ["memory", "farthest", "shrinkage"],
    "QELM": ["gain"],
    "QRNN": ["init_std", "tol", "loss"],
    "Ridge": ["regularization"],
    "SGD": ["clip"],
}
COUNTS = {
    "AdaptiveLinear": ["lags", "horizons"],
    "ConstantVelocity": ["span"],
    "Forecaster": ["train", "catch_up", "horizons"],
    "KernelRidge": ["memory", "refit", "descents"],
    "Mixture": ["gap", "reweigh"],
    "QELM": ["units", "features"],
    "QRNN": ["max_depth"],
    "Replay": ["updates", "seed"],
}


def needed(kind: str) -> dict[str, Any]:
    """Arguments without a default."""
    forecaster = quatcast.Forecaster(quatcast.RLS(), horizon=3)
    return {
        "Forecaster": {"learner": quatcast.RLS(), "horizon": 3},
        "Guarded": {"forecaster": forecaster, "rate": 10.0},
        "Mixture": {"members": [forecaster, quatcast.Kalman(3)]},
    }.get(kind, {"horizon": 3} if kind in ("AdaptiveLinear", "ConstantVelocity", "DampedVelocity", "Kalman") else {})


@pytest.mark.parametrize(
    ("kind", "name", "values"),
    [(kind, name, NOT_A_NUMBER) for kind in NUMBERS for name in NUMBERS[kind]]
    + [(kind, name, NOT_WHOLE) for kind in COUNTS for name in COUNTS[kind]],
)
def test_an_argument_of_a_wrong_kind_is_named(kind: str, name: str, values: list[Any]) -> None:
    for value in values:
        with pytest.raises(ValueError, match=rf"^{name}: "):
            getattr(quatcast, kind)(**{**needed(kind), name: value})


@pytest.mark.parametrize("valid", [(5.0, 1.0), (math.nan, 1.0), -1, "ab", (1.0,), (0.0, [1.0, -1.0])])
def test_a_valid_range_has_a_smallest_and_a_largest_coordinate(valid: Any) -> None:
    with pytest.raises(ValueError, match="valid: expected the smallest and the largest coordinate"):
        quatcast.Gate(valid=valid)


@pytest.mark.parametrize("wrong", [0, []])
def test_a_loss_or_an_optimizer_that_is_empty_is_not_the_default(wrong: Any) -> None:
    for name in ("loss", "optimizer"):
        with pytest.raises(ValueError, match=f"{name}: expected"):
            quatcast.LMS(**{name: wrong})


@pytest.mark.parametrize("sigma", [0.0, -1.0, math.nan, "x"])
def test_a_kernel_has_a_positive_width(sigma: Any) -> None:
    with pytest.raises(ValueError, match="sigma: expected positive numbers"):
        quatcast.kernel(np.zeros(4), sigma)


def test_a_correntropy_compares_as_many_outputs_as_desired_values() -> None:
    with pytest.raises(ValueError, match=r"output: expected shape \(3, 4\)"):
        quatcast.correntropy(np.zeros((3, 4)), np.zeros(4), 1.0)


@pytest.mark.parametrize(("name", "value"), [("start", 1.5), ("start", "x"), ("start", True), ("space", "plane")])
def test_a_wrong_argument_of_score_is_named(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=f"{name}: expected"):
        score(np.zeros((9, 1, 3)), np.zeros((9, 1, 3)), **{"start": 0, name: value})


def test_recordings_are_needed() -> None:
    nothing: Any = None
    with pytest.raises(ValueError, match="recordings: expected at least one, got none"):
        compare([], Settings.of({}), nothing, nothing)
