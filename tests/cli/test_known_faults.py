"""The options --sentinel and --valid of `quatcast forecast`."""

from pathlib import Path

import numpy as np
import pytest

from quatcast.cli import run
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
        (["--sentinel", "lost"], "--sentinel: expected a number, or 3 separated by commas, got 'lost'"),
        (["--sentinel", "1,2"], "--sentinel: expected a number, or 3 separated by commas, got '1,2'"),
        (["--valid", "5"], "--valid: expected LOW:HIGH or CHANNEL=LOW:HIGH, got '5'"),
        (["--valid", "5:1"], "--valid: expected LOW below HIGH, got '5:1'"),
        (["--valid", "knee=1:5"], "--valid: expected a channel of hip, chest, got 'knee'"),
    ],
)
def test_what_cannot_be_understood_is_told_in_one_line(
    files: None, options: list[str], message: str, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(["forecast", "spoilt.csv", "--predictor", "LMS", *options]) == 2
    assert capfd.readouterr().err == f"quatcast: {message}\n"
