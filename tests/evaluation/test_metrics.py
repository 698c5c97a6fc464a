import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quatcast.data import extmarker, simulated
from quatcast.evaluation import Estimate, estimate, pool, score
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import Persistence


def by_loops(actual: np.ndarray, forecast: np.ndarray, start: int) -> dict[str, float]:
    """The formulas of DESIGN section 5, one number after the other."""
    errors, moves, spreads = [], [], []
    for c in range(actual.shape[1]):
        known = [p for p in actual[start:, c] if not any(math.isnan(x) for x in p)]
        mean = [sum(p[k] for p in known) / len(known) for k in range(actual.shape[2])]
        for t in range(start, len(actual)):
            if t + 1 < len(actual):
                moves.append(math.dist(forecast[t, c], forecast[t + 1, c]))
            if not any(math.isnan(x) for x in actual[t, c]):
                errors.append(math.dist(actual[t, c], forecast[t, c]))
                spreads.append(math.dist(actual[t, c], mean))
    total = sum(e * e for e in errors)
    return {
        "rmse": math.sqrt(total / len(errors)),
        "nrmse": math.sqrt(total / sum(s * s for s in spreads)),
        "mae": sum(errors) / len(errors),
        "jitter": sum(moves) / len(moves),
        "max": max(errors),
    }


@given(
    seed=st.integers(0, 2**32 - 1),
    samples=st.integers(6, 12),
    channels=st.integers(1, 3),
    dimensions=st.sampled_from([3, 4]),
    start=st.integers(0, 2),
    missing=st.booleans(),
)
def test_scores_are_those_of_plain_loops(
    seed: int, samples: int, channels: int, dimensions: int, start: int, missing: bool
) -> None:
    rng = np.random.default_rng(seed)
    actual, forecast = rng.normal(size=(2, samples, channels, dimensions))
    forecast[:start] = np.nan
    if missing:
        actual[rng.integers(start, samples), rng.integers(channels), rng.integers(dimensions)] = np.nan
    scores = score(actual, forecast, start)
    expected = by_loops(actual, forecast, start)
    assert {name: getattr(scores, name) for name in expected} == pytest.approx(expected, rel=1e-12)
    assert scores.diverged is False


def test_runs_are_scored_one_by_one() -> None:
    rng = np.random.default_rng(0)
    actual, forecasts = rng.normal(size=(9, 2, 3)), rng.normal(size=(4, 9, 2, 3))
    forecasts[1, 5, 0, 2] = np.nan
    forecasts[2, 8, 1, 0] = np.inf
    forecasts[3] *= 1e200
    scores = score(actual, forecasts, start=3)
    assert scores.diverged.tolist() == [False, True, True, True]
    for name, value in by_loops(actual, forecasts[0], 3).items():
        column = getattr(scores, name)
        assert column[0] == pytest.approx(value)
        assert np.isnan(column[1:]).all()


def test_what_comes_before_the_start_does_not_count() -> None:
    actual = np.random.default_rng(1).normal(size=(9, 1, 3))
    forecast = np.full_like(actual, np.nan)
    forecast[4:] = 0.0
    assert score(actual, forecast, start=4).diverged is False
    assert score(actual, forecast, start=3).diverged is True


@pytest.mark.parametrize(
    ("actual", "forecast", "start", "words"),
    [
        (np.zeros((9, 1, 3)), np.zeros((9, 2, 3)), 0, r"forecast: expected shape \(9, 1, 3\)"),
        (
            np.zeros((9, 1, 3)),
            np.zeros((9, 1, 3)),
            8,
            "start: expected an index that leaves at least 2 of 9 samples, got 8",
        ),
        (np.zeros((9, 3)), np.zeros((9, 3)), 0, r"actual: expected shape \(T, channels, dimensions\), got \(9, 3\)"),
        (
            np.zeros((9, 1, 3)) + 1j,
            np.zeros((9, 1, 3)),
            0,
            "actual: expected real numbers, got an array of type complex",
        ),
        (np.full((9, 1, 3), np.nan), np.zeros((9, 1, 3)), 0, "got only missing ones from index 0 on"),
    ],
)
def test_bad_input_is_named(actual: np.ndarray, forecast: np.ndarray, start: int, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        score(actual, forecast, start)


def test_what_has_no_single_error_is_refused() -> None:
    """The coordinates of poses were averaged, millimetres and quaternions."""
    poses = np.zeros((9, 1, 7))
    with pytest.raises(
        ValueError, match=r"space: .* got 'pose'; score positions and orientations apart, as \[\.\.\., :3\]"
    ):
        score(poses, poses, 0, space="pose")
    with pytest.raises(ValueError, match="actual: expected real numbers, got a Recording; give its positions"):
        score(simulated(seconds=2)[0], np.zeros((20, 3, 3)), 0)


def test_masked_samples_are_not_scored() -> None:
    actual, forecast = np.zeros((9, 1, 3)), np.ones((9, 1, 3))
    actual[4] = 9999.0
    masked = np.ma.masked_array(actual, mask=actual > 999)
    assert score(masked, forecast, 0) == score(np.where(actual > 999, np.nan, actual), forecast, 0)


def test_persistence_on_the_real_recordings_has_the_published_scores(extmarker_folder: Path) -> None:
    recordings = extmarker(extmarker_folder)
    table = []
    for horizon in range(1, 21):
        for recording in recordings:
            still = np.full_like(recording.positions, np.nan)
            still[horizon:] = recording.positions[:-horizon]
            scores = score(recording.positions, still)
            table.append((scores.mae, scores.rmse, scores.jitter))
    assert np.mean(table, axis=0) == pytest.approx([3.267, 4.243, 0.4395], abs=0.001)


def test_the_forecaster_gives_the_same_persistence() -> None:
    wave = np.sin(np.arange(700.0))[:, None, None] * np.ones((1, 2, 3))
    still = np.full_like(wave, np.nan)
    still[7:] = wave[:-7]
    run = np.asarray(Forecaster(Persistence(), horizon=7, lags=1).run(wave))
    assert score(wave, run).rmse == pytest.approx(score(wave, still).rmse)


def test_intervals() -> None:
    values = [1.0, 2.0, 4.0, math.nan]
    spread = math.sqrt(sum((v - 7 / 3) ** 2 for v in values[:3]) / 3)
    e = estimate(values)
    assert (e.mean, e.margin) == pytest.approx((7 / 3, 1.96 * spread / math.sqrt(3)))
    assert (e.runs, e.diverged) == (3, 1)
    assert math.isnan(estimate([math.nan]).mean)
    assert estimate([math.nan]).diverged == 1


def test_the_interval_of_a_mean_over_recordings_holds_the_truth_as_often_as_it_says() -> None:
    rng = np.random.default_rng(2)
    means, spreads = np.array([1.0, 5.0, 2.0]), np.array([0.1, 2.0, 0.5])
    hits = 0
    for _ in range(1000):
        pooled = pool(estimate(rng.normal(m, s, 50)) for m, s in zip(means, spreads, strict=True))
        hits += abs(pooled.mean - means.mean()) <= pooled.margin
    assert 0.92 < hits / 1000 < 0.97


def test_nothing_can_not_be_pooled() -> None:
    with pytest.raises(ValueError, match="at least one"):
        pool([])
    assert pool([Estimate(1.0, 0.5, 2)]) == Estimate(1.0, 0.5, 2)
