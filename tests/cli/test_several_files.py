"""Commands that are given several files, some of which cannot be read."""

from pathlib import Path

import pytest

from quatcast.cli import run

BAD = {"a.csv": "time,x,y,z\n0,1,2,3\n0.1,1,lost,3\n", "c.csv": "x,y,z\n1,2,3\n4,5,6\n"}
SAID = (
    "line 3, column 3 (y): expected a finite number or an empty cell, got 'lost'",
    "expected a column of times with two or more rows",
)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with two files that cannot be read and one that can."""
    monkeypatch.chdir(tmp_path)
    Path("day").mkdir()
    for name, text in BAD.items():
        Path("day", name).write_text(text)
    Path("day/b.csv").write_text("time,x,y,z\n" + "".join(f"{k / 10},{k},{k},{k}\n" for k in range(50)))
    return tmp_path


def test_show_shows_the_files_that_can_be_read(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "show", "day"]) == 2
    out, err = capfd.readouterr()
    assert "50" in next(line for line in out.splitlines() if " b " in line)
    first, second = err.splitlines()
    assert first.startswith(f"quatcast: {Path('day/a.csv')}, {SAID[0]}")
    assert second.startswith(f"quatcast: {Path('day/c.csv')}: {SAID[1]}")


def test_show_reports_files_that_do_not_exist(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "show", "none.csv", "day/b.csv"]) == 2
    out, err = capfd.readouterr()
    assert "there is no file 'none.csv'" in err
    assert " b " in out


def test_show_prints_an_option_that_no_file_has_once(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "show", "day", "--time-unit", "weeks"]) == 2
    out, err = capfd.readouterr()
    assert out == ""
    (line,) = err.splitlines()
    assert line.startswith("quatcast: --time-unit: expected one of s, ms")


def test_recordings_in_subfolders_are_pointed_out(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", ".", "--groups", "folder", "--predictors", "persistence"]) == 2
    pattern = str(Path("**/*.csv"))
    assert f"got none; its subfolders have some: give {pattern!r}\n" in capfd.readouterr().err
    assert run(["data", "show", pattern]) == 2
    assert " b " in capfd.readouterr().out


def test_compare_refuses_all_files_that_cannot_be_read(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["compare", "day", "--predictors", "persistence"]) == 2
    (line,) = capfd.readouterr().err.splitlines()
    assert "2 of 3 files cannot be read: " in line
    assert all(words in line for words in SAID)
