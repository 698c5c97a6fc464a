"""The options --sentinel and --valid of `quatcast forecast`."""

from pathlib import Path

import numpy as np
import pytest

from quatcast.cli import run
from quatcast.cli.known_faults import suspected_codes, without_known_faults
from quatcast.data import Recording, read_csv, simulated, write_csv


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One recording with values that mean lost, and the same with these samples missing."""
    monkeypatch.chdir(tmp_path)
    recording = simulated(seconds=45)[0]
    positions, times, rate = recording.positions[:, :2] + 50.0, recording.times, recording.rate
    for name, values in {"spoilt": (-9999.0, 0.0, 777.0), "missing": (np.nan, np.nan, np.nan)}.items():
        shown = positions.copy()
        shown[310:320, 1], shown[330:333, 0], shown[350:355, 1, 2] = values
        shown[350:355, 1] = shown[350:355, 1] * (1.0 if name == "spoilt" else np.nan)
        write_csv(Recording(name, shown, times, rate, channels=("hip", "chest")), f"{name}.csv")


@pytest.mark.parametrize(
    "options",
    [
        ["--sentinel", "-9999", "--sentinel", "0,0,0", "--valid", "chest=-500:500"],
        ["--sentinel", "0", "--valid", "-500:500"],
    ],
)
def test_named_values_are_missing_samples(files: None, options: list[str]) -> None:
    usual = ["--predictor", "LMS", "--horizon", "0.3", "--figure", "none"]
    assert run(["forecast", "spoilt.csv", *usual, *options]) == 0
    assert run(["forecast", "missing.csv", *usual]) == 0
    made, expected = (read_csv(f"{name}-LMS-causal-0.3s.csv").positions for name in ("spoilt", "missing"))
    np.testing.assert_array_equal(made, expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--sentinel", "lost"], "--sentinel: expected a number, or several separated by commas, got 'lost'"),
        (["--sentinel", "1,2"], "--sentinel: expected 1 or 3 numbers for the space 'position', got [1.0, 2.0]"),
        (["--valid", "5"], "--valid: expected LOW:HIGH or CHANNEL=LOW:HIGH, got '5'"),
        (["--valid", "5:1"], "--valid: expected the smaller number first, got ('', 5.0, 1.0)"),
        (["--valid", "knee=1:5"], "--valid: expected a channel of hip, chest, got 'knee'"),
    ],
)
def test_what_cannot_be_understood_is_told_in_one_line(
    files: None, options: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["forecast", "spoilt.csv", "--predictor", "LMS", *options]) == 2
    assert capfd.readouterr().err == f"quatcast: {message}\n"


def spoilt(code: tuple[float, ...] | None, space: str = "position", step: float = 1e-4) -> Recording:
    """Breathing around (100, -50, 900), in steps, with a code in 12 samples."""
    recording = simulated(seconds=65)[0]
    positions = np.round((recording.positions[:, :1] + [100.0, -50.0, 900.0]) / step) * step
    if code:
        positions[20:260:20] = code
    if space == "pose":
        positions = np.concatenate([positions, np.tile([1.0, 0.0, 0.0, 0.0], (*positions.shape[:2], 1))], axis=-1)
    return Recording("a", positions, recording.times, recording.rate, channels=("chest",), space=space)


@pytest.mark.parametrize(
    ("code", "space", "words"),
    [
        ((9999.0,) * 3, "position", ("9999, 9999, 9999", "9999")),
        ((0.0, 0.0, 0.0), "position", ("0, 0, 0", "0")),
        ((-1e30, 0.0, 0.0), "vector", ("-1e+30, 0, 0", "-1e+30,0,0")),
        ((9999.0,) * 3, "pose", ("9999, 9999, 9999", "9999")),
    ],
)
def test_codes_for_lost_samples_are_pointed_out(code: tuple[float, ...], space: str, words: tuple[str, str]) -> None:
    shown, option = words
    expected = f"12 samples of chest are {shown}, far from all others"
    recording = spoilt(code, space)
    assert suspected_codes(recording) == [(expected, option)]
    assert suspected_codes(without_known_faults(recording, [option], [])) == []


def test_ordinary_recordings_have_no_codes() -> None:
    quiet = [spoilt(None), spoilt(None, step=0.5), spoilt(None, step=5.0), spoilt((104.0, -50.0, 900.0), step=1.0)]
    quiet += simulated(seconds=30, glitches=0.02)
    still, steps = np.zeros((300, 1, 3)), np.zeros((300, 1, 3))
    steps[100:110] = 0.1
    moved = np.repeat([0.0, 0.0, 500.0], 100)[:, None, None] + np.random.default_rng(0).normal(size=(300, 1, 3))
    quiet += [Recording("b", x, np.arange(300) / 10, rate=10.0) for x in (still, steps, moved)]
    turned = np.tile([1.0, 0.0, 0.0, 0.0], (300, 1, 1))
    quiet.append(Recording("c", turned, np.arange(300) / 10, rate=10.0, space="orientation"))
    assert [suspected_codes(recording) for recording in quiet] == [[]] * len(quiet)


@pytest.mark.usefixtures("_threads")
def test_commands_point_codes_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_csv(spoilt((9999.0,) * 3), "a.csv")
    said = "12 samples of chest are 9999, 9999, 9999, far from all others; if this means lost, "
    command = ["forecast", "a.csv", "--predictor", "persistence", "--figure", "none"]
    assert run(command) == 0
    assert f"note: {said}add --sentinel 9999\n" in capfd.readouterr().err
    assert run([*command, "--sentinel", "9999"]) == 0
    err = capfd.readouterr().err
    assert "note: --sentinel 9999: 12 samples of chest are missing\n" in err
    assert "far from all others" not in err
    assert run(["data", "show", "a.csv"]) == 0
    assert f"note: a: {said}forecast with --sentinel 9999\n" in capfd.readouterr().err
    words = ["--predictors", "persistence", "--horizon", "0.5", "--profile", "quick", "--no-report"]
    assert run(["compare", "a.csv", *words]) == 0
    assert f"a: {said}clear these cells\n" in capfd.readouterr().err


def test_each_option_says_what_it_did() -> None:
    positions = np.arange(60.0).reshape(10, 2, 3)
    positions[3:6, 0] = 9999
    recording = Recording("a", positions, np.arange(10) / 10, rate=10.0, channels=("hip", "chest"), notes=("old",))
    made = without_known_faults(recording, ["9999", "-1"], ["0:50", "chest=4:100", "hip=-1:10000"])
    assert made.notes == (
        "old",
        "--sentinel 9999: 3 samples of hip are missing",
        "--sentinel -1: no sample has it",
        "--valid 0:50: no sample is outside of it",
        "--valid chest=4:100: 1 sample of chest is missing",
        "--valid hip=-1:10000: no sample is outside of it",
    )
    assert np.isnan(made.positions).all(axis=-1).sum(axis=0).tolist() == [3, 1]


def test_options_that_leave_no_sample_are_named() -> None:
    recording = Recording("a", np.full((10, 1, 3), 5.0), np.arange(10) / 10, rate=10.0)
    with pytest.raises(
        ValueError, match=r"^--valid 0:1: expected samples of recording 'a' that remain, got none; its co"
    ):
        without_known_faults(recording, ["7"], ["0:1"])
