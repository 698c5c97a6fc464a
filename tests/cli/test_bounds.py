"""Settings and files that ask too much: one line that says so, quickly and in little memory, never a traceback."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import quatcast
from quatcast.basics.limits import memory_bytes
from quatcast.cli import run
from quatcast.data import simulated, write_csv

SOURCE = str(Path(quatcast.__file__).parent.parent)

TOML = [
    ("horizons = [1e308]", "horizons: expected at most 1e+09 seconds, got 1e+308"),
    ("horizons = [1e8]", "horizons: expected at most 300 samples for the horizon and 10 lags together, got 1e+08 s"),
    ("seconds = 1e308", "seconds: expected at most 1e+09 seconds, got 1e+308"),
    ("seconds = 2024-01-01", "seconds: expected a positive number of seconds, got datetime.date(2024, 1, 1)"),
    ("predictors = [[]]", "predictors: expected numbers or texts, got a list"),
    ("predictors = [{a = 1}]", "predictors: expected numbers or texts, got a table"),
    ("predictors = [1]", "predictors: expected one of recommended"),
    ("labels = [[[]]]", "labels: expected numbers or texts, got a list"),
    ("horizons = 2024-01-01", "horizons: expected numbers or texts, got 2024-01-01"),
    ("horizons = [2024-01-01T00:00:00Z]", "horizons: expected numbers or texts, got 2024-01-01 00:00:00+00:00"),
    ("data = [12:00:00]", "data: expected numbers or texts, got 12:00:00"),
    ("out = 2024-01-01", "out: expected a text, got datetime.date(2024, 1, 1)"),
    ("test_seeds = 1_000_000_000", "test_seeds: needs about "),
    ("test_seeds = 10_000_000_000_000_000", "test_seeds: expected a positive whole number up to 1,000,000,000,000"),
    ("validation_seeds = 20_000_000", "validation_seeds: "),
    ("workers = 1e308", "workers: expected a positive whole number, got 1e+308"),
    ("[grids.LMS]\nlags = [10_000_000_000]", "horizons: expected at most 300 samples for the horizon and"),
    ("[grids.LMS]\nlearning_rate = [1e305]", "grids.LMS.learning_rate: expected a positive number, got 1e+305"),
    ("[grids.LMS]\nlearning_rate = [[]]", "grids.LMS.learning_rate: expected numbers or texts, got a list"),
    ("[grids]\nLMS = 3", "grids: expected a table for each predictor"),
    ("x = " + "[" * 3000 + "]" * 3000, "nested too deeply"),
    ("[" + ".".join("a" * 100) + "]", "a: unknown setting"),
    ("x = 1" + "0" * 5000, "expected a TOML file"),
]


@pytest.mark.parametrize(("text", "words"), TOML, ids=lambda value: value[:40])
def test_settings_are_refused_in_one_line(tmp_path, monkeypatch, capsys, text, words):
    monkeypatch.chdir(tmp_path)
    base = 'predictors = ["LMS", "QRNN-MCC"]\n' if "predictors" not in text else ""
    Path("s.toml").write_text(text if text.startswith("[grids") and not base else base + text)
    began = time.monotonic()
    assert run(["compare", "--settings", "s.toml", "--out", "out"]) == 2
    assert time.monotonic() - began < 5
    (line,) = capsys.readouterr().err.splitlines()
    assert words in line
    assert len(line) < 400
    assert not Path("out").exists()


def test_networks_larger_than_the_memory_are_refused_with_the_estimate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("quatcast.basics.limits.memory_bytes", lambda: 16e9)
    Path("s.toml").write_text('predictors = ["QRNN-MCC"]\n[grids.QRNN-MCC]\nhidden = [3000]\n')
    assert run(["compare", "--settings", "s.toml", "--out", "out"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    # 128 past steps of 3000² quaternions of 32 bytes are 37 GB, and a worker needs three times as much.
    assert line.startswith("quatcast: grids.QRNN-MCC.hidden: needs about 111 GB of memory, but only 8 GB can be used")
    assert "3,000 hidden units" in line


def test_a_computation_of_more_than_a_year_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    command = ["compare", "--predictors", "QRNN-MCC", "--validation-seeds", "1000000000", "--out", "out"]
    monkeypatch.setattr("quatcast.basics.limits.memory_bytes", lambda: 1e20)
    assert run(command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "--validation-seeds: " in line
    assert "years with" in line


def test_the_published_experiment_is_not_refused():
    """Its 300 seeds and large networks are what the limits must allow."""
    from quatcast.data import simulated
    from quatcast.evaluation.run.estimate import check_needs
    from quatcast.evaluation.run.settings import Settings

    check_needs(simulated(), Settings.of({"profile": "published"}))


def test_the_memory_is_that_of_the_machine():
    psutil = pytest.importorskip("psutil")
    if sys.platform == "linux" and not Path("/proc/meminfo").exists():
        pytest.skip("/proc is not mounted")
    assert 0.1e9 < memory_bytes() <= 1.01 * psutil.virtual_memory().total


@pytest.mark.parametrize("command", [["-m", "quatcast"], ["quatcast"]], ids=["module", "script"])
def test_an_interrupt_while_it_starts_leaves_no_traceback(tmp_path, command):
    """A module that is imported early waits, so that the interrupt comes in time."""
    (tmp_path / "threadpoolctl.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(20)\n")
    if command == ["quatcast"]:
        command = [str(tmp_path / "quatcast")]
        Path(command[0]).write_text("from quatcast.cli import main\nmain()\n")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE}"}
    process = subprocess.Popen(
        [sys.executable, *command, "data", "list"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"importing\n"
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=15)
    assert process.returncode == -signal.SIGINT
    assert complaints == b""


def test_an_interrupt_while_a_command_imports_is_one_line(tmp_path):
    (tmp_path / "pooch.py").write_text("import time\nprint('importing', flush=True)\ntime.sleep(20)\n")
    environment = os.environ | {"PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE}"}
    process = subprocess.Popen(
        [sys.executable, "-m", "quatcast", "data", "fetch"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"importing\n"
    process.send_signal(signal.SIGINT)
    _, complaints = process.communicate(timeout=15)
    assert process.returncode == 130
    assert complaints == b"quatcast: interrupted\n"


@pytest.mark.parametrize("errors", [subprocess.PIPE, subprocess.STDOUT])
def test_a_reader_that_goes_away_costs_no_file(errors, tmp_path):
    """The rest of the output is not shown, as of `quatcast forecast … | head -1`, also with `2>&1`."""
    write_csv(simulated(seconds=12)[1], tmp_path / "chest.csv")
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        [sys.executable, "-m", "quatcast", "forecast", "chest.csv", "--horizon", "0.25"],
        env=os.environ | {"PYTHONPATH": str(SOURCE)},
        cwd=tmp_path,
        stdout=writer,
        stderr=errors,
        timeout=60,
        check=False,
    )
    os.close(writer)
    assert done.returncode == 0, done.stderr
    assert b"Traceback" not in (done.stderr or b"")
    assert {path.suffix for path in tmp_path.iterdir()} == {".csv", ".html"}
    assert len(list(tmp_path.iterdir())) == 4
