"""The working folder of the tests of the command line."""

from pathlib import Path

import pytest

from quatcast.data import Recording, simulated, write_csv


@pytest.fixture(scope="session")
def walk(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The text of a file with a recording of one marker."""
    path = tmp_path_factory.mktemp("walk") / "walk.csv"
    recording = simulated(seconds=65)[0]
    positions = recording.positions[:, :1]
    write_csv(Recording("walk", positions, recording.times, recording.rate, channels=("hip",)), path)
    return path.read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, walk: str) -> Path:
    """An empty working folder with a recording of one marker in it."""
    monkeypatch.chdir(tmp_path)
    Path("walk.csv").write_text(walk, encoding="utf-8")
    return tmp_path
