"""A Dask cluster of real processes: workers with other code, without quatcast, killed, and a scheduler that is gone."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import quatcast
from quatcast.evaluation.run import cluster
from quatcast.evaluation.run.cluster import dask
from quatcast.evaluation.run.execution import Workers

distributed = pytest.importorskip("distributed")

SOURCE = Path(quatcast.__file__).parent
QUICK = 10.0
"""Seconds within which a failure must be reported."""


def start(*words: str, source: Path = SOURCE.parent) -> "subprocess.Popen[bytes]":
    environment = os.environ | {"PYTHONPATH": str(source), "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "3s"}
    command = [sys.executable, "-m", *words]
    return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def end(*processes: "subprocess.Popen[bytes]") -> None:
    for process in processes:
        process.kill()
        process.wait()


@pytest.fixture(scope="module")
def scheduler(tmp_path_factory):
    """Address of a scheduler."""
    file = tmp_path_factory.mktemp("dask") / "scheduler.json"
    process = begin_scheduler(file)
    with distributed.Client(scheduler_file=str(file), timeout=20) as client:
        yield client.scheduler.address
    end(process)


def begin_scheduler(file: Path) -> "subprocess.Popen[bytes]":
    words = ("--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", str(file))
    process = start("distributed.cli.dask_scheduler", *words)
    while not file.is_file():
        time.sleep(0.05)
    return process


def begin_worker(address: str, source: Path = SOURCE.parent) -> "subprocess.Popen[bytes]":
    options = ("--nthreads", "1", "--no-dashboard", "--no-nanny", "--host", "127.0.0.1")
    process = start("distributed.cli.dask_worker", address, *options, source=source)
    with distributed.Client(address, timeout=20) as client:
        client.wait_for_workers(1, timeout=30)
    return process


def test_a_scheduler_without_workers_is_refused(scheduler):
    with pytest.raises(ValueError, match=r"cluster: the scheduler at '.*' has no workers"), dask(scheduler):
        pass


def test_a_worker_with_other_code_gets_no_work(scheduler, tmp_path):
    shutil.copytree(SOURCE, tmp_path / "quatcast", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "quatcast" / "evaluation" / "metrics.py").open("a") as file:
        file.write("\nDOUBLED = 2.0\n")
    worker = begin_worker(scheduler, tmp_path)
    try:
        expected = r"cluster: worker \S+ has quatcast 0\.\S+ \(code \w{8}\), expected quatcast .*; install the same"
        with pytest.raises(ValueError, match=expected), dask(scheduler):
            pass
    finally:
        end(worker)


def test_a_worker_without_quatcast_is_named(scheduler, tmp_path):
    (tmp_path / "quatcast.py").write_text("raise ImportError('there is none')\n")
    worker = begin_worker(scheduler, tmp_path)
    try:
        with pytest.raises(ValueError, match=r"cluster: 'quatcast' is not installed at .* \(there is none\)"):
            dask(scheduler).__enter__()
    finally:
        end(worker)


@pytest.mark.parametrize("gone", ["all workers have", "the scheduler has"])
def test_what_has_gone_is_said_within_ten_seconds(tmp_path, monkeypatch, gone):
    """Ten seconds with the usual patience, of which the test leaves out all but one second."""
    limit = QUICK - cluster.PATIENCE + 1.0
    monkeypatch.setattr(cluster, "PATIENCE", 1.0)
    process = begin_scheduler(tmp_path / "scheduler.json")
    with distributed.Client(scheduler_file=str(tmp_path / "scheduler.json"), timeout=20) as client:
        address = client.scheduler.address
    worker = begin_worker(address)
    try:
        with Workers(dask(address)) as workers:
            outcomes = workers.map(time.sleep, [0.0, 60.0, 60.0])
            next(outcomes)
            end(worker if gone == "all workers have" else process)
            began = time.monotonic()
            with pytest.raises(ConnectionError, match=rf"cluster: {gone} gone from '.*'; results so far are stored"):
                next(outcomes)
            assert time.monotonic() - began < limit
        assert time.monotonic() - began < limit + 3
    finally:
        end(process, worker)


def test_one_interrupt_is_enough(scheduler, tmp_path):
    worker = begin_worker(scheduler)
    code = (
        "import sys, time; from quatcast.evaluation import Workers, dask\n"
        "with Workers(dask(sys.argv[1])) as workers:\n"
        "    outcomes = workers.map(time.sleep, [0.0, 60.0, 60.0])\n"
        "    next(outcomes); print('working', flush=True); next(outcomes)\n"
    )
    environment = os.environ | {"PYTHONPATH": str(SOURCE.parent)}
    process = subprocess.Popen(
        [sys.executable, "-c", code, scheduler], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"working\n"
        process.send_signal(signal.SIGINT)
        process.wait(timeout=QUICK)
        assert b"KeyboardInterrupt" in process.communicate()[1]
    finally:
        end(process, worker)
