"""The protocol in seconds: what it is at every sampling rate, and what it refuses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from small_experiment import SMALL, still

from quatcast.data import Recording, simulated
from quatcast.evaluation import score
from quatcast.evaluation.catalogue import CATALOGUE, Batch
from quatcast.evaluation.protocol import (
    applicable,
    rounded_horizons,
    samples_ahead,
    scaling_samples,
    validation_samples,
)
from quatcast.evaluation.run.execution import Workers
from quatcast.evaluation.run.experiment import compare, run_job
from quatcast.evaluation.run.plan import check, plan
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import Store


def test_at_10_hz_the_samples_are_those_of_the_paper() -> None:
    assert (scaling_samples(10.0), validation_samples(10.0)) == (300, 600)


@pytest.mark.parametrize(
    ("rate", "scaling", "validation"), [(1.28, 38, 77), (5.0, 150, 300), (50.0, 1500, 3000), (400 / 7, 1714, 3429)]
)
def test_thirty_and_sixty_seconds_at_other_rates(rate: float, scaling: int, validation: int) -> None:
    assert (scaling_samples(rate), validation_samples(rate)) == (scaling, validation)


@pytest.mark.parametrize(
    ("horizon", "rate", "expected"),
    [(2.0, 10.0, 20), (2.0, 9.97, 20), (0.1, 30.0, 3), (0.5, 5.0, 3), (0.5, 1.28, 1), (2.0, 400 / 7, 114)],
)
def test_horizons_in_samples(horizon: float, rate: float, expected: int) -> None:
    assert samples_ahead(horizon, still(9, rate)) == expected


@given(st.floats(0.05, 10.0), st.floats(0.5, 1000.0))
def test_the_nearest_sample_is_at_most_half_a_sample_away(horizon: float, rate: float) -> None:
    recording = still(9, rate)
    if horizon * rate < 0.5:
        with pytest.raises(ValueError, match="its shortest horizon is"):
            samples_ahead(horizon, recording)
    else:
        assert abs(samples_ahead(horizon, recording) - horizon * rate) <= 0.5 + 1e-5


def test_a_horizon_of_less_than_half_a_sample_names_what_is_accepted() -> None:
    with pytest.raises(
        ValueError, match=r"0\.03 s, which are 0\.15 samples .* at 5 Hz; its shortest horizon is 0\.2 s"
    ):
        samples_ahead(0.03, still(9, 5.0))


def test_rounded_horizons_are_said_once_per_rate() -> None:
    recordings = [still(9, 5.0), still(9, 5.0), still(9, 10.0), still(9, 50.0)]
    (sentence,) = rounded_horizons([0.5], recordings)
    assert sentence == "At 5 Hz a horizon of 0.5 s is taken as 3 samples, which are 0.6 s."
    assert rounded_horizons([2.0], recordings) == []


def test_the_test_of_a_slow_recording_begins_after_sixty_seconds(here: Workers, store: Store) -> None:
    """A recording of 5 Hz with 400 samples, too few for a protocol of 600."""
    whole = simulated(seconds=160)[0]
    slow = Recording("slow", whole.positions[::2, :1], whole.times[::2], rate=5.0)
    settings = Settings.of({**SMALL, "predictors": ["LMS", "persistence"], "labels": ["causal"], "horizons": [0.6]})
    with here:
        compare([slow], settings, store, here)
    (still_,) = store.results("test", predictor="persistence")
    error = np.linalg.norm(slow.positions[300:] - slow.positions[297:-3], axis=-1)
    assert still_.rmse == pytest.approx(np.sqrt(np.mean(error**2)))
    (chosen,) = store.results("test", predictor="LMS")
    batch = Batch([chosen.configuration], [0], 3, 5.0, "causal")
    made = np.asarray(CATALOGUE["LMS"].build(batch).run(slow.positions))[0]
    assert chosen.rmse == pytest.approx(score(slow.positions, made, start=300).rmse)


def test_the_scaling_of_a_slow_recording_is_fitted_to_thirty_seconds() -> None:
    """What comes after 30 s does not change the scaling, and with it the first forecasts."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 1, 3)).cumsum(axis=0)
    other = x.copy()
    other[150:] += 50.0
    batch = Batch([{"lags": 3, "learning_rate": 0.05}], [0], 2, 5.0, "causal")
    one, two = (np.asarray(CATALOGUE["LMS"].build(batch).run(rows))[0] for rows in (x, other))
    np.testing.assert_array_equal(one[:152], two[:152])
    assert not np.array_equal(one[152:], two[152:])


def test_configurations_that_do_not_fit_are_left_out() -> None:
    slow = still(200, 1.28)
    settings = Settings.of({"profile": "published", "predictors": ["LMS"], "labels": ["causal"]})
    jobs = plan("validation", [slow], settings, lambda case: settings.configurations(case[2]))
    assert {run.configuration["lags"] for job in jobs for run in job.runs} == {10, 30}
    assert len(applicable(settings.configurations("LMS"), 2.0, still(700))) == 35
    check([slow], settings)


def test_the_recommended_forecaster_is_tested_at_50_hz() -> None:
    settings = Settings.of({"predictors": ["recommended"], "labels": ["causal"], "horizons": [0.2]})
    check([still(4000, 50.0)], settings)
    check([still(4000, 50.0)], replace(settings, horizons=[25.5]))


def test_recordings_that_cannot_be_tested_are_named() -> None:
    settings = Settings.of(SMALL)
    check([still(602)], settings)
    with pytest.raises(ValueError, match=r"recording 'walk': expected at least 602 samples.* got 601"):
        check([still(601)], settings)
    with pytest.raises(ValueError, match=r"expected at least 302 samples \(60\.4 s at 5 Hz\).* got 301 samples$"):
        check([still(301, 5.0)], settings)
    with pytest.raises(ValueError, match=r"got 301 samples; recordings are cut to 60\.2 seconds \(--seconds\)"):
        check([still(301, 5.0)], replace(settings, seconds=60.2))
    with pytest.raises(
        ValueError,
        match=r"horizons: expected at most 300 samples .* 2 lags together, got 29\.9 s, which are 299 samples",
    ):
        check([still(700)], replace(settings, horizons=[29.9]))
    lost = np.zeros((700, 2, 3))
    lost[:310, 1] = np.nan
    with pytest.raises(
        ValueError, match="expected every channel in the first 30 s, got no sample of channel2; --channels"
    ):
        check([Recording("lost", lost, np.arange(700) / 10, rate=10.0)], settings)


def test_every_horizon_has_a_trace() -> None:
    recording = replace(simulated(seconds=65)[0])
    settings = Settings.of(
        {"predictors": ["persistence"], "labels": ["causal"], "horizons": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]}
    )
    jobs = plan("test", [recording], settings, lambda case: [{}])
    assert [len(run_job(job).traces) for job in jobs] == [1] * 6
