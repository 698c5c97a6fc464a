"""An experiment that is killed again and again ends in what it would have been."""

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from small_experiment import untimed

from quatcast.cli import run
from quatcast.data import Recording, write_csv
from quatcast.evaluation.run.execution import Workers
from quatcast.evaluation.run.experiment import compare
from quatcast.evaluation.run.recordings import load
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import Store

psutil = pytest.importorskip("psutil")

SETTINGS = """
predictors = ["QRNN-MCC", "LMS", "persistence"]
labels = ["causal"]
horizons = [0.5]
validation_seeds = 1
test_seeds = 2
max_runs = 1
[grids.QRNN-MCC]
hidden = [2]
lags = [2]
learning_rate = [0.05, 0.1]
sigma = ["adaptive"]
[grids.LMS]
lags = [2]
"""
COMMAND = ["compare", "--settings", "settings.toml", "--workers", "1", "--no-report"]


@pytest.fixture
def experiment(tmp_path: Path, recordings: list[Recording]) -> Path:
    """A folder with a TOML file of settings and what they need."""
    for recording in recordings:
        write_csv(recording, tmp_path / f"{recording.name}.csv")
    files = ", ".join(f'"{r.name}.csv"' for r in recordings)
    (tmp_path / "settings.toml").write_text(f"data = [{files}]\n{SETTINGS}")
    return tmp_path


def begin(folder: Path, out: str) -> "subprocess.Popen[bytes]":
    with open(folder / f"{out}.log", "wb") as log:
        command = [sys.executable, "-m", "quatcast", *COMMAND, "--out", out]
        return subprocess.Popen(command, cwd=folder, stdout=log, stderr=log)


def rows(path: Path) -> int:
    if not path.is_file():
        return 0
    with closing(sqlite3.connect(path, timeout=30)) as db:
        try:
            return int(db.execute("SELECT count(*) FROM results").fetchone()[0])
        except sqlite3.OperationalError:
            return 0


def stored(path: Path) -> tuple[object, ...]:
    with Store(path) as store:
        traces = [(t.predictor, t.recording, t.labels, t.seed, t.forecast.tobytes()) for t in store.traces()]
        return untimed(store.results()), traces, store.meta()["settings"]


def undisturbed(folder: Path, workers: Workers) -> Path:
    """Store of the same experiment, done in this process."""
    settings = Settings.read("settings.toml")
    path = folder / "calm.sqlite"
    with Store(path, create=True) as store, workers:
        compare(load(settings.data), settings, store, workers)
    return path


def ended(processes: list[psutil.Process], timeout: float) -> bool:
    """Whether processes end in time. One that nobody has reaped yet has ended."""
    deadline = time.monotonic() + timeout
    while time.monotonic() < deadline:
        if not any(is_alive(process) for process in processes):
            return True
        time.sleep(0.02)
    return False


def is_alive(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


@pytest.mark.slow
def test_killing_it_again_and_again_changes_nothing(
    experiment: Path, here: Workers, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(experiment)
    calm = undisturbed(experiment, here)
    rng = random.Random(3)
    killed, path = experiment / "killed.log", experiment / "killed" / "results.sqlite"
    total = rows(calm)
    midway, first = 0, 0.0
    for attempt in range(3):
        before, began = rows(path), time.monotonic()
        process = begin(experiment, "killed")
        if attempt % 2:
            time.sleep(rng.uniform(0.0, 1.5 * first))
        else:
            while rows(path) == before and process.poll() is None:
                time.sleep(0.02)
            first = time.monotonic() - began
            time.sleep(rng.uniform(0.0, 0.3))
        workers = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        process.kill()
        process.wait()
        assert ended(workers, timeout=20), "workers outlived the process that started them"
        midway += 0 < rows(path) < total
    assert midway >= 2
    assert begin(experiment, "killed").wait(timeout=120) == 0, killed.read_text()
    assert stored(path) == stored(calm)

    assert run([*COMMAND, "--out", "killed"]) == 0
    assert "nothing was computed" in capsys.readouterr().out


def test_an_interrupt_says_how_to_go_on(experiment: Path) -> None:
    process = begin(experiment, "stopped")
    while rows(experiment / "stopped" / "results.sqlite") == 0 and process.poll() is None:
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(timeout=30) == 130
    (line,) = (experiment / "stopped.log").read_text().splitlines()
    assert line == "quatcast: interrupted; results are stored in stopped; the same command resumes"
