"""Files that are written whole or not at all."""

import subprocess
import sys
from pathlib import Path

import pytest

from quatcast.basics.files import new_file

resource = pytest.importorskip("resource", reason="limits on the size of files")
SIZE = 4096


@pytest.mark.parametrize("command", [["data", "simulate"], ["forecast", "short.csv"]])
def test_no_command_leaves_half_a_file_where_a_disk_is_full(tmp_path, command):
    """The limit on the size of a file stands for a full disk."""
    rows = [f"{0.1 * t:.1f},{t % 7},{t % 5},{t % 3}\n" for t in range(200)]
    (tmp_path / "short.csv").write_text("time,a.x,a.y,a.z\n" + "".join(rows))
    before = set(tmp_path.rglob("*"))

    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (SIZE, SIZE))

    done = subprocess.run(
        [sys.executable, "-B", "-m", "quatcast", *command],
        cwd=tmp_path,
        preexec_fn=limit,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0
    assert "file too large" in done.stderr.lower()
    assert not [path for path in set(tmp_path.rglob("*")) - before if path.is_file() and path.stat().st_size >= SIZE]


def test_an_interruption_removes_the_file(tmp_path):
    def interrupted():
        with new_file(tmp_path / "table.csv") as file:
            file.write("time")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not list(tmp_path.iterdir())


def test_a_file_that_cannot_be_opened_is_left_alone(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    with pytest.raises(IsADirectoryError), new_file(folder):
        pass
    assert folder.is_dir()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_device_is_not_removed():
    with pytest.raises(OSError, match="No space left"), new_file("/dev/full") as file:
        file.write("time")
    assert Path("/dev/full").exists()
