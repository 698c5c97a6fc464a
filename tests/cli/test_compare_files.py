"""`quatcast compare` with files of people: several rates and units, folders, patterns, groups and faults."""

import json
import os
import sys
from pathlib import Path

import numpy as np
import pytest

from quatcast.cli import run
from quatcast.cli.choices import assignments, group_patterns
from quatcast.evaluation import Store

pytestmark = pytest.mark.usefixtures("_threads")

COMMON = ["--predictors", "persistence", "--labels", "causal", "--workers", "1", "--no-report", "--out", "out"]


def write(path: Path, rate: float, seconds: float = 65.0, scale: float = 1.0, columns: str = "p_x,p_y,p_z") -> None:
    """Write a sine in three coordinates."""
    path.parent.mkdir(parents=True, exist_ok=True)
    times = np.arange(round(seconds * rate)) / rate
    rows = [
        f"{t:.6f}," + ",".join(f"{scale * np.sin(1.5 * t + i):.6f}" for i in range(columns.count(",") + 1))
        for t in times
    ]
    path.write_text("\n".join([f"time,{columns}", *rows]) + "\n")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write(Path("mine/liver_1.csv"), 5.0, columns="p_x [mm],p_y [mm],p_z [mm]")
    write(Path("mine/lung_1.csv"), 10.0, columns="p_x [mm],p_y [mm],p_z [mm]")
    write(Path("mine/buoy.csv"), 1.28, scale=90.0, columns="d_x [cm],d_y [cm],d_z [cm]")
    Path("mine/README.md").write_text("Not a recording.\n")
    return tmp_path


def test_one_command_compares_a_folder_of_several_rates_and_units(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", "mine", "--horizon", "0.5", *COMMON]) == 0
    out = capfd.readouterr().out
    assert "Test RMSE in mm, mean over 2 recordings" in out
    assert "Test RMSE in cm, buoy" in out
    assert "At 5 Hz a horizon of 0.5 s is taken as 3 samples, which are 0.6 s." in out
    with Store("out/results.sqlite") as store:
        assert [(r.name, r.rate, r.unit) for r in store.recordings()] == [
            ("buoy", pytest.approx(1.28), "cm"),
            ("liver_1", pytest.approx(5.0), "mm"),
            ("lung_1", pytest.approx(10.0), "mm"),
        ]
        assert "mine" not in store.meta()["data"]


def test_recordings_of_unknown_units_are_not_averaged_over_groups(
    folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Millimetres of one group and centimetres of the other have no mean, even if the files do not name them."""
    for name, scale in (("tumour_1", 10.0), ("tumour_2", 10.0), ("buoy_1", 90.0), ("buoy_2", 90.0)):
        write(Path(f"own/{name}.csv"), 5.0, scale=scale)
    groups = ["--groups", "tumours=tumour*,waves=buoy*"]
    assert run(["compare", "own", *groups, "--horizon", "1", *[one for one in COMMON if one != "--no-report"]]) == 0
    out = capfd.readouterr().out
    assert "Test RMSE in the unit of the file, mean over 2 recordings of tumours" in out
    assert "Test RMSE in the unit of the file, mean over 2 recordings of waves" in out
    assert "mean over 4 recordings" not in out
    assert "The unit of 4 recordings is not known; their means assume that it is the same." in out
    page = Path("out/report.html").read_text()
    assert "Errors of the 2 recordings of tumours, unknown unit" in page
    assert "Errors of the 4 recordings" not in page


def test_patterns_files_and_groups(folder: Path) -> None:
    command = ["compare", "mine/l*.csv", "mine/buoy.csv", "--groups", "tumour=l*,sea=buoy", "--horizon", "1"]
    assert run([*command, *COMMON]) == 0
    with Store("out/results.sqlite") as store:
        assert {r.recording: r.group for r in store.results("test")} == {
            "liver_1": "tumour",
            "lung_1": "tumour",
            "buoy": "sea",
        }


def test_folders_are_groups_and_equal_names_are_numbered(folder: Path) -> None:
    write(Path("a/day.csv"), 10.0)
    write(Path("b/day.csv"), 10.0)
    assert run(["compare", "a", "b", "--groups", "folder", "--horizon", "1", *COMMON]) == 0
    with Store("out/results.sqlite") as store:
        assert [(r.name, r.group) for r in store.recordings()] == [("day (1)", "a"), ("day (2)", "b")]


def test_what_was_cut_is_said(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(Path("long.csv"), 5.0, seconds=150.0)
    assert run(["compare", "long.csv", "--horizon", "1", *COMMON]) == 0
    out = capfd.readouterr().out
    assert "The only recording was cut to the first 120 s (profile quick); --seconds 0 keeps recordings whole." in out
    assert run(["compare", "long.csv", "--horizon", "1", "--seconds", "0", *COMMON[:-1], "whole"]) == 0
    assert "cut to" not in capfd.readouterr().out


def test_rates_and_units_of_files_that_do_not_tell_them(folder: Path) -> None:
    for name, rate in (("slow", 5.0), ("fast", 20.0)):
        write(Path(f"{name}.csv"), rate)
        lines = [line.partition(",")[2] for line in Path(f"{name}.csv").read_text().splitlines()]
        Path(f"{name}.csv").write_text("\n".join(lines))
    command = ["compare", "slow.csv", "fast.csv", "--rate", "20,slow=5", "--unit", "m", "--horizon", "1"]
    assert run([*command, *COMMON]) == 0
    with Store("out/results.sqlite") as store:
        assert [(r.rate, r.unit) for r in store.recordings()] == [(5.0, "m"), (20.0, "m")]


def test_channels_of_different_units_are_scored_apart(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    header = "tumour_x,tumour_y,tumour_z,turn_x,turn_y,turn_z"
    write(Path("mixed.csv"), 10.0, columns=header)
    units = ["--unit", "tumour=mm,turn=deg"]
    assert run(["compare", "mixed.csv", *units, "--horizon", "1", *COMMON]) == 0
    out = capfd.readouterr().out
    assert "Test RMSE in mm, mixed [mm]" in out
    assert "Test RMSE in deg, mixed [deg]" in out
    with Store("out/results.sqlite") as store:
        results = {r.recording: r.rmse for r in store.results("test")}
        recordings = store.recordings()
    for recording in recordings:
        error = np.linalg.norm(recording.positions[610:] - recording.positions[600:-10], axis=-1)
        first = np.linalg.norm(recording.positions[600:610] - recording.positions[590:600], axis=-1)
        assert results[recording.name] == pytest.approx(np.sqrt(np.mean(np.concatenate([first, error]) ** 2)))
    assert run(["compare", "mixed.csv", *units, "--channels", "turn", "--horizon", "1", *COMMON[:-1], "one"]) == 0
    assert "Test RMSE in deg, mixed" in capfd.readouterr().out


def test_small_numbers_have_digits(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    write(Path("metres.csv"), 10.0, scale=0.004, columns="p_x [m],p_y [m],p_z [m]")
    assert run(["compare", "metres.csv", "--horizon", "0.5", *COMMON]) == 0
    out = capfd.readouterr().out
    assert "Test RMSE in m, metres" in out
    with Store("out/results.sqlite") as store:
        (result,) = store.results("test")
    assert f"{result.rmse:.5f}" in out
    assert result.rmse < 0.01


def test_faults_are_seen_by_predictors_and_not_scored(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    faults = ["--glitches", "0.03", "--missing", "0.1", "--glitch-size", "8"]
    assert run(["compare", "mine/lung_1.csv", "--horizon", "0.5", *faults, *COMMON]) == 0
    out = capfd.readouterr().out
    assert "faulty samples: 3 % displaced by 8 times the spread of the channel and 10 % missing" in out
    assert run(["compare", "mine/lung_1.csv", "--horizon", "0.5", *COMMON[:-1], "clean"]) == 0
    with Store("out/results.sqlite") as faulty, Store("clean/results.sqlite") as clean:
        one, other = faulty.results("test")[0], clean.results("test")[0]
        assert one.rmse > 1.2 * other.rmse
        np.testing.assert_array_equal(faulty.recordings()[0].positions, clean.recordings()[0].positions)
        assert "glitches = 0.03" in faulty.meta()["settings"]
    assert run(["compare", "mine/lung_1.csv", "--horizon", "0.5", "--glitches", "0.05", *COMMON]) == 2
    assert "other settings; glitches: expected 0.03 as before, got 0.05" in capfd.readouterr().err


ERRORS = [
    (["compare", "mine", "--data", "simulated"], "--data: expected either files or --data, got both"),
    (["compare", "nothing*.csv"], "nothing*.csv: no file matches this pattern"),
    (["compare", "empty"], "empty: expected a folder with recordings"),
    (["compare", "none.csv"], "there is no file 'none.csv'"),
    (["compare", "mine", "--groups", "liver"], "--groups: expected NAME=PATTERN or folder, got 'liver'"),
    (["compare", "mine", "--rate", "fast"], "--rate: expected a number, got 'fast'"),
    (["compare", "mine", "--unit", "p="], "--unit: expected a value or PATTERN=VALUE, got 'p='"),
    (["compare", "mine", "--channels", "hip"], "channels: expected some of d in buoy.csv, got 'hip'"),
    (["compare", "mine", "--unit", "p=m"], "--unit: expected 'mm', the unit of channel 'p' in the file of recording"),
    (["compare", "mine", "--glitches", "2"], "glitches: expected a probability from 0 to less than 1, such as 0.03"),
    (["compare", "mine", "--horizon", "0.05"], "its shortest horizon is 0.7812 s"),
    (
        ["compare", "mine/lung_1.csv", "--seconds", "50"],
        "got 500 samples; recordings are cut to 50 seconds (--seconds)",
    ),
    (["compare", "mine", "--tolerance", "big"], "--tolerance: expected a positive number, with or without a unit"),
    (["compare", "mine", "--tolerance", "3 inch"], "--tolerance: expected one of the units cm, mm, got '3 inch'"),
]


@pytest.mark.parametrize(("arguments", "words"), ERRORS, ids=[" ".join(arguments) for arguments, _ in ERRORS])
def test_errors_are_one_line_and_exit_code_2(
    arguments: list[str], words: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    Path("empty").mkdir()
    assert run([*arguments, "--predictors", "persistence", "--workers", "1"]) == 2
    err = capfd.readouterr().err
    assert words in err
    (line,) = err.splitlines()
    assert line.startswith("quatcast: ")
    assert not Path("runs").exists()


def test_the_wishes_of_a_report(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    command = ["compare", "mine/lung_1.csv", "--horizon", "0.5", "--predictors", "persistence", "--labels", "causal"]
    wishes = ["--title", "Lung, day 1", "--tolerance", "1.5mm", "--workers", "1", "--out", "out"]
    assert run([*command, *wishes]) == 0
    text = Path("out/report.html").read_text(encoding="utf-8")
    assert "<h1>Lung, day 1</h1>" in text
    assert "Within 1.5 mm [%]" in text
    assert "paper" not in Path("out/tables/errors-causal-0.5s.tex").read_text(encoding="utf-8")
    with Store("out/results.sqlite") as store:
        measured = json.loads(store.meta()["sample_times"])
    assert measured["recording"] == "lung_1"
    assert set(measured["milliseconds"]) == {"persistence"}
    assert run([*command, *wishes, "--anonymise"]) == 0
    assert "lung_1" not in Path("out/report.html").read_text(encoding="utf-8")
    capfd.readouterr()
    assert run(["report", "out", "--title", "Again"]) == 0
    assert "<h1>Again</h1>" in Path("out/report.html").read_text(encoding="utf-8")


def test_assignments_and_groups() -> None:
    assert assignments("--unit", None) is None
    assert list(assignments("--unit", ["mm,a=cm"]) or {}) == ["a", "*"]
    assert group_patterns(None, []) is None
    with pytest.raises(ValueError, match="--groups: expected NAME=PATTERN"):
        group_patterns(["=x"], [])


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are Unicode elsewhere")
def test_a_name_that_is_no_text_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9.csv"))
    file.write_text("time,x,y,z\n0,1,2,3\n0.1,1,2,3\n")
    assert run(["compare", str(file)]) == 2
    assert "data: expected names of files in UTF-8, which the store can keep, got " in capfd.readouterr().err


def test_a_mean_over_channels_of_unknown_unit_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write(Path("arm.csv"), 5.0, columns="a_x,a_y,a_z,b_x,b_y,b_z")
    assert run(["compare", "arm.csv", "--horizon", "1", *COMMON]) == 0
    said = "The unit of the 2 channels of arm is not known; their mean assumes that it is the same."
    assert said in capfd.readouterr().out
    assert run(["compare", "arm.csv", "--horizon", "1", "--unit", "mm", *COMMON[:-1], "known"]) == 0
    assert "is not known" not in capfd.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--unit", "livre*=mm"], "--unit: expected patterns that match a file or a channel, got 'livre*'"),
        (
            ["--groups", "liver=livre*"],
            "--groups: expected patterns that match a file, got 'livre*', which matches none",
        ),
        (["--rate", "livre*=5"], "--rate: expected patterns that match a file, got 'livre*', which matches none"),
        (["--channels", "p,q"], "--channels: expected channels of the recordings, got 'q', which none of them has"),
    ],
    ids=lambda one: one[0] if isinstance(one, list) else "",
)
def test_names_that_match_nothing_are_refused(
    arguments: list[str], words: str, folder: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["compare", "mine/liver_1.csv", *arguments, *COMMON]) == 2
    assert words in capfd.readouterr().err


def test_show_takes_folders_and_patterns(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["data", "show", "mine", "mine/liver*.csv"]) == 0
    assert capfd.readouterr().out.count("liver_1") == 2
