"""`quatcast live file:` forecasts in the space that the reader has recognised in the file."""

import json
from pathlib import Path

import numpy as np
import pytest

from quatcast import quaternion
from quatcast.cli import run

RATE, SPEED = 10.0, 0.7


def turned(times: np.ndarray) -> np.ndarray:
    """Orientations of a body that turns about y with constant speed."""
    return quaternion.from_rotation_vector(np.outer(times, [0.0, SPEED, 0.0]))


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    times = np.arange(60) / RATE
    signs = np.random.default_rng(3).choice([-1.0, 1.0], (60, 1))
    flips = np.column_stack([times, signs * turned(times)])
    poses = np.column_stack([times, 10 * times, 0 * times, 0 * times, signs * turned(times)])
    for name, header, rows in [("flip", "time,qw,qx,qy,qz", flips), ("pose", "time,x,y,z,qw,qx,qy,qz", poses)]:
        np.savetxt(f"{name}.csv", rows, delimiter=",", header=header, comments="", fmt="%.9f")
    return tmp_path


@pytest.mark.parametrize(("name", "space"), [("flip", "orientation"), ("pose", "pose")])
def test_space_of_the_file_is_used_and_said(
    files: Path, capfd: pytest.CaptureFixture[str], name: str, space: str
) -> None:
    words = ["live", f"file:{name}.csv?speed=0", "--to", "stdout:", "--rate", "10", "--record", "session"]
    assert run(words) == 0
    captured = capfd.readouterr()
    assert captured.err.splitlines()[0] == f"Space: {space}, as the source says"
    made = [json.loads(line) for line in captured.out.splitlines()][-20:]
    forecasts = np.array([one["p"][0][-4:] for one in made])
    truth = turned(np.array([one["t_target"] for one in made]))
    assert np.allclose(np.linalg.norm(forecasts, axis=1), 1.0)
    angles = 2 * np.arccos(np.minimum(np.abs((forecasts * truth).sum(axis=1)), 1.0))
    assert angles.max() < 0.05
    assert run(["live", "file:session?speed=0", "--rate", "10"]) == 0
    assert capfd.readouterr().err.splitlines()[0] == f"Space: {space}, as the source says"
    assert run(["live", "replay", "session"]) == 0


@pytest.mark.parametrize(
    ("name", "space", "told"),
    [
        ("flip", "position", "--space: expected orientation or vector, which file:flip.csv contains, got position"),
        ("flip", "pose", "--space: expected orientation or vector, which file:flip.csv contains, got pose"),
        ("pose", "orientation", "--space: expected pose, which file:pose.csv contains, got orientation"),
    ],
)
def test_contradicting_space_is_refused(
    files: Path, capfd: pytest.CaptureFixture[str], name: str, space: str, told: str
) -> None:
    assert run(["live", f"file:{name}.csv?speed=0", "--space", space, "--record", "session"]) == 2
    assert capfd.readouterr().err == f"quatcast: {told}; or leave it out\n"
    assert not Path("session").exists()


def test_space_that_fits_is_kept(files: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(["live", "file:flip.csv?speed=0", "--space", "vector", "--rate", "10"]) == 0
    assert "Space:" not in capfd.readouterr().err
