"""Settings of a small experiment, and what its results are compared by."""

from dataclasses import replace
from typing import Any

import numpy as np

from quatcast.data import Recording
from quatcast.evaluation.records import Result

SMALL: dict[str, Any] = {
    "predictors": ["QRNN-MCC", "LMS", "RLS", "persistence"],
    "horizons": [0.5],
    "validation_seeds": 2,
    "test_seeds": 3,
    "grids": {
        "QRNN-MCC": {"hidden": [2], "lags": [2], "learning_rate": [0.05, 0.1], "sigma": [2.0, "adaptive"]},
        "LMS": {"lags": [2, 3], "learning_rate": [0.01, 0.1]},
        "RLS": {"lags": [2], "forgetting": [0.99, 1.0]},
    },
}


def untimed(results: list[Result]) -> list[Result]:
    """Results to the last bit, but for how long they took."""
    return [replace(result, seconds_per_step=0.0) for result in results]


def still(samples: int, rate: float = 10.0, name: str = "walk") -> Recording:
    """A recording of one marker that does not move."""
    return Recording(name, np.zeros((samples, 1, 3)), np.arange(samples) / rate, rate=rate)
