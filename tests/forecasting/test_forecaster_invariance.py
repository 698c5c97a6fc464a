"""What turning, moving and stretching space, and other types of numbers, do to forecasts."""

import numpy as np
import pytest
import quaternion as nq

from quatcast import QELM, QRNN, RLS, Adam, Forecaster, Replay, Ridge
from quatcast.data import chaotic, simulated

LEARNERS = {
    "ridge": lambda: Ridge(1.0, refit=3),
    "qelm": lambda: QELM(4, regularization=1.0, refit=3, seeds=[0, 1]),
    "qrnn": lambda: QRNN((3,), init_std=0.2, optimizer=Adam(0.02), replay=Replay(batch=3, window=3, memory=20)),
}
TURN = nq.as_rotation_matrix(np.quaternion(0.3, -0.5, 0.7, 0.2).normalized())


@pytest.fixture(scope="module")
def breathing():
    return simulated(seconds=30)[1].positions


@pytest.mark.parametrize("target", ["position", "displacement"])
@pytest.mark.parametrize("learner", [Ridge(1.0, refit=5), RLS()], ids=repr)
def test_forecasts_turn_and_stretch_with_space_when_a_channel_has_one_scale(breathing, learner, target):
    settings = {"horizon": 4, "lags": [0, 1, 2, 6], "target": target, "train": 60}
    plain, turned = (
        Forecaster(learner.clone(), **settings, scale_by="channel").run(x).positions
        for x in (breathing, 3.0 * breathing @ TURN.T)
    )
    np.testing.assert_allclose(turned, 3.0 * plain @ TURN.T, atol=1e-8)
    by_coordinate = Forecaster(learner.clone(), **settings, scale_by="coordinate").run(breathing @ TURN.T)
    assert np.nanmax(np.abs(by_coordinate.positions - plain @ TURN.T)) > 1e-3


@pytest.mark.parametrize("scale_by", ["channel", "coordinate"])
@pytest.mark.parametrize("target", ["position", "displacement"])
@pytest.mark.parametrize("learner", ["ridge", "qelm", "qrnn"])
def test_forecasts_move_with_the_origin(breathing, learner, target, scale_by):
    settings = {"horizon": 4, "lags": 3, "target": target, "scale_by": scale_by, "train": 60}
    offset, x = np.array([[100.0, -20.0, 3.0], [1.0, 2.0, 3.0], [0.0, 0.0, -50.0]]), breathing[:150]
    plain, moved = (Forecaster(LEARNERS[learner](), **settings).run(y).positions for y in (x, x + offset))
    np.testing.assert_allclose(moved, plain + offset, atol=1e-6)


def test_full_quaternions_are_forecast():
    x, replay = chaotic("rossler4", samples=700).positions, Replay(updates=2, batch=16, window=3, memory=400)
    learner = QRNN((8,), optimizer=Adam(0.003), init_std=0.1, seeds=range(4), replay=replay)
    forecasts = Forecaster(learner, horizon=4, lags=3, target="displacement", scale_by="coordinate").run(x).positions
    # In every run, because a learning rate at which runs are chaotic would make a test of one run a matter of rounding.
    error, still = (x - forecasts)[:, 500:], (x[4:] - x[:-4])[496:]
    assert np.all(np.sqrt(np.mean(error**2, axis=1)) < 0.75 * np.sqrt(np.mean(still**2, axis=0)))


@pytest.mark.parametrize("kind", [np.float16, np.float32, np.int16, ">f8"])
def test_forecasts_do_not_depend_on_the_type_of_the_numbers(breathing, kind):
    """Single and half precision printed the warning that something overflows."""
    x = np.round(breathing)  # exact in all types
    settings = {"horizon": 4, "lags": 3, "train": 60}
    expected = Forecaster(RLS(), **settings).run(x).positions
    forecaster = Forecaster(RLS(), **settings)
    np.testing.assert_array_equal(forecaster.run(x.astype(kind)).positions, expected)
    u, d = x[0, 0].astype(kind), x[1, 0].astype(kind)
    assert RLS().update(u, d).prediction.dtype == np.float64
    with pytest.raises(ValueError, match=r"sample: expected finite values, but sample\[0, 1\] is nan"):
        forecaster.update(np.array([[0.0, np.nan, 0.0]] * 3, dtype=np.float32))
