"""Where work is done must make no difference to what it gives."""

import multiprocessing
import os
import signal
import time
from collections.abc import Iterator
from concurrent.futures import BrokenExecutor
from pathlib import Path

import pytest
from small_experiment import SMALL, untimed

from quatcast.data import Recording
from quatcast.evaluation.records import Result
from quatcast.evaluation.run.cluster import dask
from quatcast.evaluation.run.execution import Workers, local
from quatcast.evaluation.run.experiment import compare
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import Store


def results(path: Path, workers: Workers, recordings: list[Recording], settings: Settings) -> list[Result]:
    with Store(path, create=True) as store, workers:
        compare(recordings, settings, store, workers)
        return untimed(store.results())


def test_threads_processes_and_a_dask_cluster_agree_to_the_last_bit(
    recordings: list[Recording], tmp_path: Path, here: Workers
) -> None:
    distributed = pytest.importorskip("distributed")
    settings = Settings.of({**SMALL, "labels": ["lookahead"]})
    recordings = recordings[:1]
    expected = results(tmp_path / "here.sqlite", here, recordings, settings)
    assert results(tmp_path / "local.sqlite", Workers(local(2)), recordings, settings) == expected
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as cluster:
        workers = Workers(dask(cluster.scheduler_address))
        assert results(tmp_path / "dask.sqlite", workers, recordings, settings) == expected


def environment(name: str) -> str | None:
    return os.environ.get(name)


def test_worker_processes_have_one_thread_and_leave_our_environment_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    monkeypatch.delenv("OPENBLAS_NUM_THREADS", raising=False)
    with Workers(local(1)) as workers:
        assert list(workers.map(environment, ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"])) == ["1", "1"]
    assert (environment("OMP_NUM_THREADS"), environment("OPENBLAS_NUM_THREADS")) == ("7", None)


def fail(_: int) -> None:
    raise ArithmeticError("this task cannot be done")


def die(_: int) -> None:
    os._exit(1)


def test_errors_of_tasks_come_through_and_end_the_workers() -> None:
    with pytest.raises(ArithmeticError, match="this task cannot be done"), Workers(local(1)) as workers:
        list(workers.map(fail, [1, 2]))
    with pytest.raises(BrokenExecutor), Workers(local(1)) as workers:
        list(workers.map(die, [1]))
    assert multiprocessing.active_children() == []


def test_an_interrupt_does_not_wait_for_running_tasks() -> None:
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt), Workers(local(2)) as workers:
        stop_after_the_first(workers.map(nap, [0.0, 60.0, 60.0]))
    assert time.monotonic() - began < 30


def blocked(_: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, [])


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot be blocked here")
def test_interrupts_are_kept_from_workers_from_the_start_and_from_us_not_at_all() -> None:
    with Workers(local(1)) as workers:
        assert list(workers.map(blocked, [0])) == [True]
        assert not blocked(0)


def stop_after_the_first(outcomes: Iterator[float]) -> None:
    assert next(outcomes) == 0.0
    raise KeyboardInterrupt


def nap(seconds: float) -> float:
    time.sleep(seconds)
    return seconds


def test_nothing_is_started_for_nothing() -> None:
    with Workers(dask("tcp://nowhere.invalid:1")) as workers:
        assert list(workers.map(nap, [])) == []


def test_tasks_are_handed_out_few_at_a_time(here: Workers) -> None:
    handed = []

    def tasks() -> Iterator[int]:
        for i in range(50):
            handed.append(i)
            yield i

    with here:
        outcomes = here.map(abs, tasks())
        next(outcomes)
        assert len(handed) <= 4
        assert sorted(outcomes) == list(range(1, 50))


def test_a_scheduler_that_is_not_there_is_named() -> None:
    pytest.importorskip("distributed")
    with pytest.raises(ValueError, match="cluster: no Dask scheduler answers at 'no-such-scheme://x'"):
        dask("no-such-scheme://x").__enter__()
