"""Checkpoints: a file is written whole or not at all, whatever fails meanwhile."""

import errno
import os
import threading
from pathlib import Path

import numpy as np
import pytest
from checkpoint_tools import Holder

from quatcast import checkpoint


def test_file_and_folder_are_flushed_to_the_disk_before_and_after_the_file_is_replaced(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, Path.replace

    def spy(descriptor):
        events.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def move(self, target):
        events.append(f"replace {Path(target).name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", spy)
    monkeypatch.setattr(Path, "replace", move)
    checkpoint.write(tmp_path / "file", 1)
    temporary, moved, folder = events
    assert temporary.startswith(".file.")
    assert (moved, folder) == ("replace file", tmp_path.name)


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace", "zlib.crc32"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing, error):
    path = tmp_path / "file"
    checkpoint.write(path, {"old": np.arange(1000.0)})
    before = path.read_bytes()

    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(failing, fail)
        with pytest.raises(type(error)):
            checkpoint.write(path, {"new": np.zeros(1000)})
        with pytest.raises(type(error)):
            checkpoint.write(tmp_path / "first", {"new": np.zeros(1000)})
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    checkpoint.write(path, "old")
    opened = Path.open

    def open_full(self, mode):
        self.touch()
        return opened(Path("/dev/full"), "wb")

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.write(path, np.random.default_rng(0).normal(size=100_000))
    monkeypatch.undo()
    assert checkpoint.read(path) == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_concurrent_writers_never_destroy_a_good_file(tmp_path):
    path, failures = tmp_path / "file", []
    checkpoint.write(path, [0, np.zeros(3000)])
    stop = threading.Event()

    def save(number):
        for _ in range(40):
            checkpoint.write(path, [number, np.full(3000, float(number))])

    def load():
        while not stop.is_set():
            number, array = checkpoint.read(path)
            if not (array == number).all():
                failures.append((number, array))

    reader = threading.Thread(target=load)
    writers = [threading.Thread(target=save, args=(number,)) for number in range(1, 5)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert not failures
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_a_folder_that_does_not_exist_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"none: there is no such folder"):
        Holder(3).save(tmp_path / "none" / "file")
    (tmp_path / "taken").write_text("")
    with pytest.raises(FileNotFoundError, match=r"taken: there is no such folder"):
        Holder(3).save(tmp_path / "taken" / "file")


def test_a_folder_in_place_of_a_file_is_named(tmp_path):
    with pytest.raises(IsADirectoryError, match=r"^[^']*: is a folder, not a file$"):
        Holder(3).save(tmp_path)
