"""The recording that most tests of the command line are given."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from quatcast.data import Recording, simulated, write_csv


@cache
def walk() -> str:
    """The text of a file with a recording of one marker."""
    recording = simulated(seconds=65)[0]
    positions = recording.positions[:, :1]
    with TemporaryDirectory() as folder:
        path = Path(folder) / "walk.csv"
        write_csv(Recording("walk", positions, recording.times, recording.rate, channels=("hip",)), path)
        return path.read_text(encoding="utf-8")
