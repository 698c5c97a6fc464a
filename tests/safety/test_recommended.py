"""The recommended forecaster: any rate and size, better than no forecast, saved to a file or pickled."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from quatcast import recommended
from quatcast.data import simulated
from quatcast.forecasting import contract, recipe, samples
from quatcast.forecasting.forecaster import Forecaster
from quatcast.forecasting.mixture import Mixture
from quatcast.forecasting.velocity import LastPosition
from quatcast.learners import Learner
from quatcast.learners import base as learners
from quatcast.safety import gate, guard
from quatcast.safety.guard import Guarded
from quatcast.safety.status import Status


def breathing(rate, seconds, channels, dimensions):
    """Waves of a breath in every coordinate, with a little noise."""
    rng = np.random.default_rng(channels * dimensions)
    t = np.arange(round(seconds * rate))[:, None, None] / rate
    phase, size = rng.uniform(0, 0.5, (2, channels, dimensions))
    return (2 + size) * np.sin(2 * np.pi * t / 4 + phase) + 0.02 * rng.normal(size=(len(t), channels, dimensions))


@pytest.mark.parametrize(
    ("rate", "horizon", "channels", "dimensions"),
    [(10.0, 0.5, 1, 3), (25.0, 0.2, 3, 3), (4.0, 1.0, 5, 3), (10.0, 0.1, 2, 4), (3.3, 6 / 3.3, 1, 4)],
)
def test_any_rate_and_any_number_of_channels(rate, horizon, channels, dimensions, monkeypatch):
    monkeypatch.setattr(recipe, "TRAIN", 5.0)
    monkeypatch.setattr(recipe, "SLOWLY", 5.0)
    monkeypatch.setattr(recipe, "MEMORY", 14.0)
    x = breathing(rate, 14 + horizon + 10 / rate, channels, dimensions)
    forecaster = recommended(horizon, rate)
    assert forecaster.horizon == round(horizon * rate)
    forecasts = [forecaster.update(row) for row in x]
    last = forecasts[-1]
    assert last.position.shape == (channels, dimensions)
    assert last.radius.shape == (channels,)
    assert all(np.isfinite(forecast.position).all() for forecast in forecasts)
    made = np.array([forecast.position for forecast in forecasts])[: -forecaster.horizon]
    late = slice(-round(2 * rate), None)
    error, still = (np.std((x[forecaster.horizon :] - y)[late]) for y in (made, x[: -forecaster.horizon]))
    assert error < 0.7 * still or error < 0.1


@pytest.mark.parametrize(("horizon", "rate"), [(0.5, 5000.0), (0.2, 2000.0), (1e-6, 0.5), (0.5, 1e-4)])
def test_rates_far_from_those_it_is_made_for_are_accepted(horizon, rate):
    forecaster = recommended(horizon, rate)
    for row in ([[1.0, 2.0, 3.0]], [[1.0, 2.0, 3.5]]):
        forecast = forecaster.update(row)
    assert np.isfinite(forecast.position).all()
    assert forecaster.horizon == max(1, round(horizon * rate))


@pytest.mark.parametrize("rate", [4.0, 10.0, 25.0])
def test_settings_follow_from_horizon_and_rate(rate):
    members = recipe.experts(7, rate).members
    assert {member.horizon for member in members} == {7}
    trained = [member for member in members if isinstance(member, Forecaster)]
    for member in trained:
        assert (member.labels, member.target, member.scale_by) == ("causal", "displacement", "channel")
        assert member.train == 30 * rate
        assert member.delays[-1] == 0
        # A tick is a tenth of the horizon: 0.7 samples here, so one sample.
        assert -np.diff(member.delays).max() == 1
    assert [member.delays[0] for member in trained] == [11, 11, 5, 46]


@pytest.mark.parametrize(
    ("horizon", "rate", "tick"),
    [(1, 1.0, 1), (5, 10.0, 1), (20, 10.0, 1), (5, 50.0, 1), (50, 100.0, 5), (125, 250.0, 12), (500, 250.0, 25)],
)
def test_a_tick_is_a_tenth_of_the_horizon_and_at_most_a_tenth_of_a_second(horizon, rate, tick):
    trained = [member for member in recipe.experts(horizon, rate).members if isinstance(member, Forecaster)]
    assert {member.delays[-2] for member in trained} == {tick}


CONTINUE = """
import sys
import numpy as np
from quatcast.safety.guard import Guarded

forecaster = Guarded.load(sys.argv[1])
made = [forecaster.update(row) for row in np.load(sys.argv[2])]
np.savez(
    sys.argv[3],
    position=[forecast.position for forecast in made],
    radius=[forecast.radius for forecast in made],
    said=[(forecast.status.label, forecast.reason) for forecast in made],
)
"""
BREAKS = {"before the first sample": 0, "warming up": 150, "catching up": 320, "running": 430}
AFTER = 60


@pytest.fixture(scope="module")
def halves(tmp_path_factory):
    """A recording of 50 s, what was forecast, and files of the forecaster as it was at each break."""
    x, folder = simulated(seconds=50, dropouts=0.02)[1].positions, tmp_path_factory.mktemp("saved")
    forecaster, made = recommended(horizon=0.5, rate=10.0, names=("belly", "waist", "chest")), []
    for t, row in enumerate(x):
        for name, at in BREAKS.items():
            if t == at:
                forecaster.save(folder / name)
        if t == BREAKS["running"]:
            pickled = pickle.dumps(forecaster)
        made.append(forecaster.update(row))
    return x, made, folder, pickle.loads(pickled)


def test_better_than_doing_nothing(halves):
    x, made, _, _ = halves
    forecasts = np.array([forecast.position for forecast in made])
    error, still = x[405:] - forecasts[400:-5], x[405:] - x[400:-5]
    assert np.sqrt(np.nanmean(error**2)) < 0.75 * np.sqrt(np.nanmean(still**2))
    assert np.isfinite(forecasts).all()
    # 300 samples are collected, and seven are learnt from after each sample from the 300th on.
    assert round(10 * recipe.WARMUP) == 350
    assert {forecast.status for forecast in made[:349]} == {Status.WARMING_UP}
    assert made[-1].status in (Status.OK, Status.DEGRADED)


def same(one, other):
    np.testing.assert_array_equal(one.position, other.position)
    np.testing.assert_array_equal(one.radius, other.radius)
    assert (one.status, one.reason) == (other.status, other.reason)


def test_pickling_half_way_goes_on_alike(halves):
    x, made, _, pickled = halves
    for t in range(BREAKS["running"], BREAKS["running"] + 20):
        same(pickled.update(x[t]), made[t])


@pytest.mark.parametrize("name", BREAKS)
def test_a_saved_one_goes_on_bit_for_bit_in_a_new_process(halves, name, tmp_path):
    x, made, folder, _ = halves
    rows = slice(BREAKS[name], BREAKS[name] + AFTER)
    np.save(tmp_path / "x.npy", x[rows])
    paths = [folder / name, tmp_path / "x.npy", tmp_path / "rest.npz"]
    subprocess.run([sys.executable, "-c", CONTINUE, *map(str, paths)], check=True)
    rest = np.load(paths[2])
    np.testing.assert_array_equal(rest["position"], [forecast.position for forecast in made[rows]])
    np.testing.assert_array_equal(rest["radius"], [forecast.radius for forecast in made[rows]])
    assert [tuple(words) for words in rest["said"]] == [(f.status.label, f.reason) for f in made[rows]]


def test_saving_changes_nothing_and_a_file_of_something_else_is_told(halves, tmp_path):
    _, _, folder, _ = halves
    loaded = Guarded.load(folder / "running")
    loaded.save(tmp_path / "again")
    loaded.save(tmp_path / "twice")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "twice").read_bytes()
    with pytest.raises(ValueError, match=r"running: expected a Mixture, got a Guarded"):
        Mixture.load(folder / "running")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rate": 0.0}, "rate: .*0.0"),
        ({"rate": -10.0}, "rate: .*-10.0"),
        ({"rate": float("nan")}, "rate: .*nan"),
        ({"horizon": 0.0}, "horizon: expected seconds above 0 and at most 1000 s, got 0.0"),
        ({"horizon": True}, "horizon: expected seconds, a number or a list of numbers, got True"),
        ({"horizon": "0.5"}, "horizon: expected seconds, a number or a list of numbers, got '0.5'"),
        ({"horizon": [0.5, None]}, "horizon: expected seconds"),
        ({"rate": "10"}, "rate: expected a positive sampling rate in Hz, got '10'"),
        ({"names": "abc"}, "names: expected a list of different texts, got 'abc'"),
        ({"names": ["a", "a"]}, "names: expected a list of different texts"),
        ({"names": [1, 2, 3]}, r"names: expected a list of different texts, got \[1, 2, 3\]"),
        ({"horizon": []}, r"horizon: .*\[\]"),
        ({"horizon": [0.5, -1.0]}, r"horizon: .*\[0.5, -1.0\]"),
        ({"space": "circle"}, "space: .*circle"),
        ({"horizon": -0.5}, "horizon: .*-0.5"),
        ({"horizon": float("inf")}, "horizon: .*inf"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        recommended(**({"horizon": 0.5, "rate": 10.0} | arguments))


@pytest.mark.parametrize(
    "make", [partial(recommended, 0.5), partial(Guarded, LastPosition(5))], ids=["recommended", "guard"]
)
def test_forecasters_that_are_given_one_gate_do_not_disturb_each_other(make):
    x, known = simulated(seconds=20)[1].positions, gate.Gate(10.0, sentinels=[9999])
    here, there = (make(rate=10.0, gate=known) for _ in range(2))
    for row in x[:-1]:
        here.update(row)
        there.update(row + 300.0)
    assert here.update(x[-1] + 60.0).replaced.all()


def test_the_wrong_number_of_names_is_told():
    with pytest.raises(ValueError, match=r"sample: expected 2 channels \(belly, chest\), got 3"):
        recommended(0.5, 10.0, names=("belly", "chest")).update(np.zeros((3, 3)))


def test_a_sample_is_checked_when_it_enters_and_not_again(halves, monkeypatch):
    """One check on the way of a sample, and none within the members of the mixture."""
    x, _, folder, _ = halves
    forecaster, checks = Guarded.load(folder / "running"), []

    def count(owner, name):
        original = getattr(owner, name)

        def counted(*arguments, **keywords):
            checks.append(name)
            return original(*arguments, **keywords)

        monkeypatch.setattr(owner, name, counted)

    for owner in (contract, samples, guard, gate, learners):
        for name in ("as_sample", "as_recording", "as_observed", "check_finite", "_checked"):
            if hasattr(owner, name):
                count(owner, name)
    for name in ("_stack", "_mask", "update", "predict"):
        count(Learner, name)
    count(contract.OnlineForecaster, "update")
    rows = x[BREAKS["running"] : BREAKS["running"] + 3]
    for row in rows:
        forecaster.update(row)
    assert checks.count("as_sample") == len(rows)
    assert set(checks) == {"as_sample", "_checked"}
    assert len(checks) <= 2 * len(rows)


def test_learning_first_gives_other_forecasts_than_answering_first(monkeypatch):
    monkeypatch.setattr(recipe, "TRAIN", 5.0)
    x = simulated(seconds=15)[1].positions
    first, after = (recommended(0.5, 10.0, learn_first=order).run(x).positions for order in (True, False))
    assert not np.allclose(first[104:], after[104:])
    np.testing.assert_allclose(first[104:], after[104:], atol=1.0)
