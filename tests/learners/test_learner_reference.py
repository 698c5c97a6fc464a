"""Learners still give the numbers that they gave before the library was rebuilt."""

import json
from pathlib import Path

import numpy as np
import pytest
from zoo import ZOO

from quatcast.testing import learner_samples

REFERENCE = json.loads((Path(__file__).parents[1] / "reference_numbers.json").read_text())["learners"]


@pytest.mark.parametrize("name", REFERENCE)
def test_300_samples_give_the_same_prediction_and_parameters(name):
    learner = ZOO[name].make()
    for u, d in learner_samples(ZOO[name].make, 300, seed=11):
        step = learner.update(u, d)
    # Replays, then in double precision, are computed in single precision now, and the difference grows.
    rtol, atol = (1e-2, 1e-3) if "replay" in name else (1e-9, 0.0)
    np.testing.assert_allclose(np.ravel(step.prediction), REFERENCE[name]["prediction"], rtol=rtol, atol=atol)
    parameters = [array.ravel() for array in learner.parameters().values()] or [np.zeros(1)]
    np.testing.assert_allclose(np.linalg.norm(np.concatenate(parameters)), REFERENCE[name]["norm"][0], rtol=rtol)
