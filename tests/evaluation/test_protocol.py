import tomllib
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from small_experiment import SMALL, still, untimed

from quatcast.data import Recording, corrupt
from quatcast.evaluation import score
from quatcast.evaluation.catalogue import CATALOGUE, Batch
from quatcast.evaluation.protocol import choose, forward_fill
from quatcast.evaluation.records import Result
from quatcast.evaluation.run import experiment
from quatcast.evaluation.run.execution import Workers
from quatcast.evaluation.run.experiment import compare, run_job
from quatcast.evaluation.run.plan import Job, RunSpec, plan
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import Store
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import QRNN
from quatcast.learners.losses import MCC, MSE
from quatcast.learners.optimizers import SGD


def test_jobs_hold_every_run_once_and_share_shapes(recordings: list[Recording]) -> None:
    names = ["QRNN-MCC", "QRNN-MSE", "RNN-MSE", "LMS"]
    settings = Settings.of({"profile": "standard", "predictors": names, "max_runs": 7})
    jobs = _validation(recordings, settings)
    keys = Counter(job.key(one) for job in jobs for one in job.runs)
    # Sizes, lags, rates, widths and seeds of the networks; lags and rates of LMS; two recordings, two label rules.
    assert len(keys) == 2 * 2 * (2 * 3 * 4 * (3 + 1 + 1) * 5 + 2 * 7)
    assert set(keys.values()) == {1}
    for job in jobs:
        assert len(job.runs) <= 7
        assert len(job.recording) == 600
        assert len({one.predictor.name.split("-")[0] for one in job.runs}) == 1
        for setting in ("hidden", "lags"):
            assert len({one.configuration.get(setting) for one in job.runs}) == 1
    # 80 runs of one shape are cut into twelve batches of six or seven.
    sizes = Counter(len(job.runs) for job in jobs if job.runs[0].predictor.name.startswith("QRNN"))
    assert sizes == {6: 2 * 2 * 6 * 4, 7: 2 * 2 * 6 * 8}


def test_on_a_gpu_the_published_grids_are_few_jobs() -> None:
    names = [name for name, predictor in CATALOGUE.items() if predictor.grid and predictor.default]
    settings = Settings.of({"profile": "published", "predictors": names, "labels": ["causal"], "device": "cuda"})
    jobs = _validation([still(700)], settings)
    # The networks' below, and one for each input length of LMS, QLMS and RLS.
    assert len(jobs) == 70 + 5 + 5 + 2
    sizes = {
        kind: Counter(len(job.runs) for job in jobs if job.runs[0].predictor.name.startswith(kind))
        for kind in ("QRNN", "RNN")
    }
    # Five lags; three sizes of network in one job of 4 rates, 5 widths and the square error, 50 seeds; two in halves.
    assert sizes == {"QRNN": {1200: 5 * 3, 600: 5 * 2 * 2}, "RNN": {1200: 5 * 3, 600: 5 * 2 * 2}}
    for job in jobs:
        first = job.runs[0]
        # A worker takes three times its past weights; eight of them have 139 GiB.
        assert 8 * 3 * len(job.runs) * first.predictor.history_bytes(first.configuration) < 125 * 2**30


def test_memory_bounds_a_batch() -> None:
    settings = Settings.of({"profile": "published", "predictors": ["QRNN-MSE"], "labels": ["causal"], "device": "cuda"})
    many = replace(settings, test_seeds=5000)
    sizes = [
        len(job.runs) for job in plan("test", [still(700)], many, lambda case: settings.configurations(case[2])[-1:])
    ]
    assert sum(sizes) == 5000
    # 128 steps of 4·45² doubles a run.
    assert len(sizes) == -(-5000 // (5 * 2**30 // (128 * 4 * 45 * 45 * 8)))
    real = CATALOGUE["RNN-MCC"].history_bytes({"hidden": 90})
    assert real == CATALOGUE["QRNN-MCC"].history_bytes({"hidden": 45}) == 128 * 8 * 90 * 90
    assert CATALOGUE["LMS"].history_bytes({"lags": 10}) == 0


def test_predictors_that_are_built_alike_share_a_job(recordings: list[Recording]) -> None:
    """Side by side, every run is what it is alone, and every predictor has its own results and its own trace."""
    chosen = {
        "QRNN-MCC": {"hidden": 2, "lags": 2, "learning_rate": 0.02, "sigma": "adaptive"},
        "QRNN-MSE": {"hidden": 2, "lags": 2, "learning_rate": 0.05},
    }
    options = {"labels": ["causal"], "horizons": [0.5], "test_seeds": 2}
    settings = Settings.of({"predictors": list(chosen), **options})
    (job,) = plan("test", recordings[1:], settings, lambda case: [chosen[case[2]]])
    done = run_job(job)
    assert [(r.predictor, r.seed) for r in done.results] == [(name, seed) for name in chosen for seed in (0, 1)]
    assert [(t.predictor, t.seed) for t in done.traces] == [("QRNN-MCC", 0), ("QRNN-MSE", 0)]
    for i, (name, loss) in enumerate([("QRNN-MCC", MCC(sigma="adaptive")), ("QRNN-MSE", MSE())]):
        learner = QRNN((2,), loss=loss, optimizer=SGD(chosen[name]["learning_rate"], clip=2.0), seeds=0)
        positions = recordings[1].positions
        alone = Forecaster(learner, horizon=5, lags=2, learn_first=True).run(positions, training=positions[:300])
        expected = score(recordings[1].positions, alone, start=600)
        assert done.results[2 * i].rmse == pytest.approx(expected.rmse, rel=1e-9)
        assert done.results[2 * i].configuration == chosen[name]
        np.testing.assert_allclose(done.traces[i].arrays["forecast"], np.asarray(alone), rtol=1e-9)
        np.testing.assert_allclose(done.traces[i].arrays["weight"], alone.weights, rtol=1e-9)


def test_a_job_that_is_stored_in_part_goes_on(recordings: list[Recording], store: Store, here: Workers) -> None:
    shape = {"hidden": [2], "lags": [2]}
    grids = {
        "QRNN-MCC": {**shape, "learning_rate": [0.02], "sigma": [2.0]},
        "QRNN-MSE": {**shape, "learning_rate": [0.02]},
    }
    both = {"predictors": ["QRNN-MCC", "QRNN-MSE"], "labels": ["causal"], "horizons": [0.5], "grids": grids}
    one = {**both, "predictors": ["QRNN-MSE"]}
    seen: list[tuple[float, float]] = []
    with here:
        assert compare(recordings[:1], Settings.of({**one, "test_seeds": 2}), store, here) == 2
        before = store.results()
        grown = Settings.of({**both, "test_seeds": 3})
        assert compare(recordings[:1], grown, store, here, lambda _, *done: seen.append(done)) == 3 + 1
    assert [result for result in store.results() if result in before] == before
    assert [(trace.predictor, trace.seed) for trace in store.traces()] == [("QRNN-MCC", 0), ("QRNN-MSE", 0)]
    (*_, (begun, total), (done, _)) = seen
    assert 0 < begun < done == pytest.approx(total)


def test_a_result_is_that_of_the_run_done_by_hand(recordings: list[Recording], settings: Settings) -> None:
    # Slow learning of regular breathing: under fast learning these networks are chaotic, and rounding grows.
    recording, best = recordings[1], {"hidden": 2, "lags": 2, "learning_rate": 0.02, "sigma": 2.0}
    (job,) = (
        job
        for job in plan("test", [recording], settings, lambda case: [best] if case[2] == "QRNN-MCC" else [])
        if job.labels == "causal"
    )
    done = run_job(job)
    assert [result.seed for result in done.results] == [0, 1, 2]
    learner = QRNN((2,), loss=MCC(sigma=2.0), optimizer=SGD(0.02, clip=2.0), seeds=1)
    forecaster = Forecaster(learner, horizon=5, lags=2, learn_first=True)
    alone = forecaster.run(recording.positions, training=recording.positions[:300])
    expected = score(recording.positions, alone, start=600)
    result = done.results[1]
    for name in ("rmse", "nrmse", "mae", "jitter", "max"):
        assert getattr(result, name) == pytest.approx(getattr(expected, name), rel=1e-9)
    (trace,) = done.traces
    assert trace.seed == 0
    assert trace.arrays["forecast"].shape == recording.positions.shape


def test_other_arrays_give_the_same_scores(recordings: list[Recording]) -> None:
    pytest.importorskip("array_api_strict")
    runs = tuple(
        RunSpec(CATALOGUE["QRNN-MCC"], {"hidden": 2, "lags": 2, "learning_rate": 0.02, "sigma": sigma}, 0)
        for sigma in ("adaptive", 2.0)
    )
    job = Job("test", "lookahead", 0.5, recordings[1], runs, False, "cpu")
    pairs = zip(run_job(job).results, run_job(replace(job, device="array_api_strict")).results, strict=True)
    for usual, other in pairs:
        assert other.rmse == pytest.approx(usual.rmse, rel=1e-9)


def test_validation_sees_sixty_seconds_and_scores_the_second_thirty(
    recordings: list[Recording], settings: Settings
) -> None:
    changed = recordings[0].positions.copy()
    changed[600:] += 100.0
    other = replace(recordings[0], positions=changed)
    for job, same in zip(*(_validation([r], settings) for r in (recordings[0], other)), strict=True):
        assert untimed(run_job(job).results) == untimed(run_job(same).results)
    job = next(job for job in _validation(recordings[:1], settings) if job.runs[0].predictor.name == "LMS")
    assert run_job(job).traces == []
    forecasts = CATALOGUE["LMS"].build(Batch([job.runs[0].configuration], [0], 5, 10.0, job.labels))
    made = np.asarray(forecasts.run(recordings[0].positions[:600]))[0]
    assert run_job(job).results[0].rmse == pytest.approx(score(recordings[0].positions[:600], made, start=300).rmse)


def _validation(recordings: list[Recording], settings: Settings) -> list[Job]:
    return plan("validation", recordings, settings, lambda case: settings.configurations(case[2]))


ROW = Result(
    "validation", "causal", 2.0, "LMS", {"learning_rate": 0.1}, "a", 0, "", 2.0, 0.0, 0.0, 0.0, 0.0, False, 0.0
)


@pytest.mark.parametrize(
    ("slow", "fast", "best"),
    [
        ((2.0, 4.0), (1.0, 4.5), 0.2),
        ((2.0, 4.0), (1.0, np.nan), 0.1),
        ((np.nan, np.nan), (9.0, np.nan), 0.2),
        ((np.nan, np.nan), (np.nan, np.nan), 0.1),
    ],
)
def test_the_smallest_mean_rmse_is_chosen_among_the_fewest_divergences(
    store: Store, slow: tuple[float, ...], fast: tuple[float, ...], best: float
) -> None:
    for rate, errors in ((0.2, fast), (0.1, slow)):
        store.add(
            replace(ROW, configuration={"learning_rate": rate}, seed=seed, rmse=error, diverged=bool(np.isnan(error)))
            for seed, error in enumerate(errors)
        )
    assert choose(store.tried()) == {("causal", 2.0, "LMS", "a"): {"learning_rate": best}}


@pytest.mark.parametrize("later", [1.0, 1.0 + 2e-16, 1.0 - 2e-16])
def test_the_last_digits_of_a_mean_do_not_choose(store: Store, later: float) -> None:
    for rate, error in ((0.2, later), (0.1, 1.0)):
        store.add([replace(ROW, configuration={"learning_rate": rate}, rmse=error)])
    assert choose(store.tried()) == {("causal", 2.0, "LMS", "a"): {"learning_rate": 0.1}}


def test_compare_does_the_whole_protocol_once(
    recordings: list[Recording], settings: Settings, store: Store, here: Workers
) -> None:
    seen: list[tuple[str, float, float]] = []
    with here:
        count = compare(recordings, settings, store, here, lambda *progress: seen.append(progress))
    # Two recordings, two label rules: 8 + 4 + 2 runs of validation, 3 + 1 + 1 + 1 of test.
    assert count == 2 * 2 * (8 + 4 + 2) + 2 * 2 * 6
    assert Counter(r.stage for r in store.results()) == {"validation": 56, "test": 24}
    assert {r.predictor for r in store.results("validation")} == {"QRNN-MCC", "LMS", "RLS"}
    for stage in ("validation", "test"):
        done = [(d, t) for s, d, t in seen if s == stage]
        assert done == sorted(done)
        assert done[-1][0] == pytest.approx(done[-1][1])
    chosen = choose(store.tried())
    for result in store.results("test", predictor="QRNN-MCC"):
        case = (result.labels, result.horizon, result.predictor, result.recording)
        assert result.configuration == chosen[case]
    assert len(store.traces()) == 2 * 2 * 4
    assert Settings.of(tomllib.loads(store.meta()["settings"])) == settings
    assert store.meta()["finished"]

    before = store.results()

    def never(job: object) -> None:
        raise AssertionError("work was done twice")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(experiment, "run_job", never)
        with here:
            assert compare(recordings, settings, store, here) == 0
    assert store.results() == before


def test_an_experiment_grows_without_doing_anything_twice(
    recordings: list[Recording], store: Store, here: Workers
) -> None:
    small = {
        **SMALL,
        "labels": ["lookahead"],
        "predictors": ["QRNN-MCC"],
        "grids": {"QRNN-MCC": SMALL["grids"]["QRNN-MCC"]},
    }
    larger = {**small, "predictors": ["QRNN-MCC", "persistence"], "test_seeds": 5}
    with here:
        compare(recordings[:1], Settings.of(small), store, here)
        before = store.results()
        assert compare(recordings[:1], Settings.of(larger), store, here) == 2 + 1
        assert [r for r in store.results() if r in before] == before
        assert [t.seed for t in store.traces(predictor="QRNN-MCC")] == [0]
        with pytest.raises(ValueError, match="other settings; predictors: expected 'persistence' to be included"):
            compare(recordings[:1], Settings.of(small), store, here)


def test_a_diverged_run_is_counted_and_left_out(recordings: list[Recording]) -> None:
    batch_of = CATALOGUE["LMS"].build

    def broken(batch: Batch) -> object:
        class Broken:
            def run(self, positions: np.ndarray) -> object:
                forecasts = batch_of(batch).run(positions)
                forecasts.positions[0, 640] = np.inf
                return forecasts

        return Broken()

    predictor = replace(CATALOGUE["LMS"], build=broken)
    runs = tuple(RunSpec(predictor, {"lags": 2, "learning_rate": rate}, 0) for rate in (0.01, 0.02))
    done = run_job(Job("test", "causal", 0.5, recordings[0], runs, True, "cpu"))
    assert [result.diverged for result in done.results] == [True, False]
    assert np.isnan(done.results[0].rmse)
    assert done.traces[0].configuration["learning_rate"] == 0.02


def test_missing_samples_are_filled_for_predictors_that_do_not_accept_them(recordings: list[Recording]) -> None:
    gappy = corrupt(recordings[0], dropouts=0.1)
    assert np.isnan(gappy.positions).any()
    runs = (RunSpec(CATALOGUE["persistence"], {}, 0),)
    done = run_job(Job("test", "causal", 0.5, gappy, runs, False, "cpu"))
    last, errors = None, []
    series = [last := (x if np.isfinite(x).all() else last) for x in gappy.positions[:, 0]]
    for t in range(600, len(gappy)):
        if np.isfinite(gappy.positions[t, 0]).all():
            errors.append(np.linalg.norm(gappy.positions[t, 0] - series[t - 5]))
    assert done.results[0].mae == pytest.approx(np.mean(errors))


def test_filling_starts_with_the_first_observed_value() -> None:
    x = np.array([[np.nan, 1.0], [np.nan, np.nan], [5.0, 2.0], [np.nan, np.nan]])
    np.testing.assert_array_equal(forward_fill(x), [[5.0, 1.0], [5.0, 1.0], [5.0, 2.0], [5.0, 2.0]])
