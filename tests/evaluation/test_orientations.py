"""Orientations and poses in experiments: angles in degrees, whatever the signs of quaternions."""

import numpy as np
import pytest
from small_experiment import SMALL

from quatcast.algebra import quaternion
from quatcast.data import Recording
from quatcast.evaluation import Store, score
from quatcast.evaluation.in_space import Coordinates
from quatcast.evaluation.metrics import error_unit
from quatcast.evaluation.run.execution import Workers
from quatcast.evaluation.run.experiment import compare
from quatcast.evaluation.run.faults import Faults
from quatcast.evaluation.run.recordings import parts
from quatcast.evaluation.run.settings import Settings

RATE = 10.0


def turning(samples: int = 650, speed: float = 0.2) -> Recording:
    """A body that turns about a fixed axis at a constant speed in rad/s, with arbitrary signs."""
    times = np.arange(samples) / RATE
    vectors = times[:, None, None] * speed * np.array([0.6, 0.0, 0.8])
    signs = np.where(np.random.default_rng(0).random(samples) < 0.5, -1.0, 1.0)[:, None, None]
    return Recording("head", signs * quaternion.from_rotation_vector(vectors), times, rate=RATE, space="orientation")


def test_the_error_of_persistence_is_the_angle_of_the_turn(here: Workers, store: Store) -> None:
    """0.2 rad/s for 0.5 s is 0.1 rad. A filter that learns follows the turn."""
    settings = Settings.of({**SMALL, "predictors": ["LMS", "persistence"], "labels": ["causal"]})
    with here:
        compare([turning()], settings, store, here)
    results = {result.predictor: result for result in store.results("test")}
    assert results["persistence"].rmse == pytest.approx(np.degrees(0.1))
    assert results["persistence"].jitter == pytest.approx(np.degrees(0.02))
    assert results["LMS"].rmse < 0.5 * results["persistence"].rmse
    (trace,) = store.traces(predictor="persistence")
    assert (trace.unit, trace.space, trace.forecast.shape) == ("deg", "orientation", (650, 1, 4))
    assert error_unit(store.recordings()[0]) == "deg"


def test_scores_of_orientations_do_not_depend_on_signs_and_norms() -> None:
    rng = np.random.default_rng(1)
    actual = turning(60).positions
    forecast = np.stack([actual + 0.02 * rng.normal(size=actual.shape) for _ in range(3)])
    other = forecast * np.where(rng.random((3, 60, 1, 1)) < 0.5, -1.0, 1.0)
    one, two = (score(actual, rows, start=10, space="orientation") for rows in (forecast, other))
    for name in ("rmse", "nrmse", "mae", "max", "jitter"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name))
    assert 0 < one.nrmse.max() < 1


def test_a_constant_forecast_of_the_mean_orientation_has_an_nrmse_of_one() -> None:
    vectors = np.sin(np.arange(400) / 7)[:, None, None] * np.array([0.1, 0.0, 0.0])
    actual = quaternion.from_rotation_vector(vectors)
    forecast = np.broadcast_to(np.array([1.0, 0.0, 0.0, 0.0]), actual.shape)
    assert score(actual, forecast, start=0, space="orientation").nrmse == pytest.approx(1.0, abs=0.01)


def test_coordinates_and_back() -> None:
    recording = turning(80)
    coordinates = Coordinates(recording, filled=True)
    perfect = coordinates.back(np.stack([coordinates.positions] * 2), horizon=5)
    assert perfect.shape == (2, 80, 1, 4)
    assert np.isnan(perfect[:, :5]).all()
    assert score(recording.positions, perfect, start=5, space="orientation").max == pytest.approx(0.0, abs=1e-5)


def test_poses_are_positions_and_orientations() -> None:
    head = turning(50)
    where = np.random.default_rng(0).normal(size=(50, 1, 3))
    columns = ("qx", "qy", "qz", "qw", "x", "y", "z")
    pose = Recording(
        "tool",
        np.concatenate([where, head.positions], axis=-1),
        head.times,
        rate=RATE,
        units=("m",),
        space="pose",
        columns=("x", "y", "z", "qw", "qx", "qy", "qz"),
        order=(4, 5, 6, 3, 0, 1, 2),
    )
    assert tuple(column.label for column in pose.layout()) == columns
    position, orientation = parts(pose)
    assert (position.name, position.units, position.space) == ("tool (position)", ("m",), "position")
    assert (orientation.name, orientation.units, orientation.space) == ("tool (orientation)", ("",), "orientation")
    np.testing.assert_array_equal(position.positions, where)
    np.testing.assert_array_equal(orientation.positions, head.positions)
    assert [column.label for column in orientation.layout()] == ["qx", "qy", "qz", "qw"]


def test_orientations_cannot_be_displaced() -> None:
    with pytest.raises(ValueError, match=r"glitches: expected positions or vectors, .* got recording 'head'"):
        Faults(glitches=0.1).check(turning(20))
    Faults(missing=0.1).check(turning(20))
