"""Standard streams that are closed, or whose disk is full, neither end a command nor mix messages with its output."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from quatcast.cli import run
from quatcast.data import simulated, write_csv

pytestmark = pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full and a shell")

SOURCE = Path(__file__).parents[2] / "src"
SHORT = "'simulated:?seconds=4&speed=0'"


def by_shell(words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    # Without a buffer nothing would be left for the interpreter to write when it exits.
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    environment.pop("PYTHONUNBUFFERED", None)
    command = f"'{sys.executable}' -m quatcast {words}"
    return subprocess.run(
        ["sh", "-c", command], cwd=folder, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (f"live {SHORT} --to stdout: >&-", "--to stdout: standard output is closed; redirect it to a pipe or a file"),
        ("live stdin: <&-", "stdin: standard input is closed; redirect it from a pipe or a file"),
    ],
)
def test_closed_streams_that_are_needed_are_refused_in_one_line(words: str, message: str, tmp_path: Path) -> None:
    done = by_shell(words, tmp_path)
    assert (done.returncode, done.stderr) == (2, f"quatcast: {message}\n")


@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
def test_a_stream_goes_on_without_standard_error(errors: str, tmp_path: Path) -> None:
    done = by_shell(f"live {SHORT} --to stdout: {errors}", tmp_path)
    assert done.returncode == 0
    assert [json.loads(line)["seq"] for line in done.stdout.splitlines()] == list(range(20, 40))


@pytest.mark.parametrize("errors", ["2>&-", "2>/dev/full"])
def test_files_are_written_without_standard_error(errors: str, tmp_path: Path) -> None:
    write_csv(simulated(seconds=12)[1], tmp_path / "chest.csv")
    done = by_shell(f"forecast chest.csv --horizon 0.25 --figure none --out o {errors}", tmp_path)
    assert done.returncode == 0
    assert len(list((tmp_path / "o").iterdir())) == 2
    assert by_shell(f"forecast absent.csv {errors}", tmp_path).returncode == 2


def test_an_error_is_not_written_to_standard_output(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stderr", None)
    assert run(["live", "nothing:"]) == 2
    assert capfd.readouterr().out == ""
