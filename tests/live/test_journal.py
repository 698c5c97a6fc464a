"""The journal: what was written comes back bit for bit, and what cannot be read is counted, never guessed."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from streams import frame

from quatcast.live.frames import Frame
from quatcast.live.journal import CLOSING, Journal, Reading, decode_line, encode_line, journal_files, read_journal
from quatcast.live.records import frame_line, read_frames

NUMBERS = st.floats(allow_nan=True, allow_infinity=False, width=64)


def written(folder: Path, count: int, rotate: int = 10**9) -> list[str]:
    told: list[str] = []
    journal = Journal(folder, told.append, rotate)
    journal.open(1)
    for number in range(1, count + 1):
        journal.append(frame_line(frame(number), number, names=True), number)
    journal.close()
    return told


@settings(max_examples=80, deadline=None)
@given(
    values=st.tuples(st.integers(1, 4), st.integers(1, 7)).flatmap(
        lambda shape: arrays(float, shape, elements=NUMBERS)
    ),
    time=st.none() | st.floats(-1e11, 1e11),
    received=st.floats(0, 1e11),
    sequence=st.none() | st.integers(0, 2**63 - 1),
)
def test_frames_come_back_bit_for_bit(
    values: np.ndarray, time: float | None, received: float, sequence: int | None
) -> None:
    given_frame = Frame("chest", sequence, time, received, values)
    record = decode_line(frame_line(given_frame, 5, names=True))
    [(number, read)] = read_frames([record])
    assert number == 5
    assert (read.sequence, read.device_time, read.received) == (sequence, time, received)
    # NaN is not seen, whatever its bits are; signed zeros stay.
    assert np.array_equal(np.isnan(read.values), np.isnan(values))
    seen = ~np.isnan(values)
    assert read.values[seen].tobytes() == values[seen].tobytes()


def test_a_line_cut_off_anywhere_is_never_taken_for_a_whole_one(tmp_path: Path) -> None:
    written(tmp_path, 3)
    [(_, path)] = journal_files(tmp_path)
    text = path.read_bytes()
    start = text.rindex(b"\n", 0, len(text) - 1) + 1
    for end in range(start, len(text) - 1):
        path.write_bytes(text[:end])
        found = Reading()
        assert [number for number, _ in read_frames(read_journal(tmp_path, found=found))] == [1, 2]
        assert found.torn == (end > start)
        assert not found.damaged


def test_a_changed_byte_anywhere_is_noticed() -> None:
    line = frame_line(frame(3), 4, names=True)
    for at in range(len(line) - 1):
        changed = bytearray(line)
        changed[at] ^= 1
        with pytest.raises(ValueError, match="damaged"):
            decode_line(bytes(changed))


def test_damaged_line_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    written(tmp_path, 4)
    [(_, path)] = journal_files(tmp_path)
    path.write_bytes(path.read_bytes().replace(b'"seq":2,', b'"seq":7,'))
    found = Reading()
    assert [number for number, _ in read_frames(read_journal(tmp_path, found=found))] == [1, 3, 4]
    assert found.damaged == [f"{path.name}, line 2"]


def test_files_rotate_and_only_those_needed_are_read(tmp_path: Path) -> None:
    written(tmp_path, 50, rotate=1000)
    files = journal_files(tmp_path)
    assert len(files) > 8
    assert all(path.stat().st_size < 1500 for _, path in files)
    assert [number for number, _ in read_frames(read_journal(tmp_path))] == list(range(1, 51))
    for path in (path for first, path in files if first < 30):
        path.write_bytes(b"unreadable\n")
    late = [number for number, _ in read_frames(read_journal(tmp_path, after=40))]
    assert late[-10:] == list(range(41, 51))


def test_a_file_is_flushed_after_it_was_rotated_and_before_later_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise a power failure could take lines out of the middle of a journal. The stream does not wait for it."""
    flushed: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: flushed.append(os.fstat(descriptor).st_ino))
    journal = Journal(tmp_path, print, rotate=1000)
    journal.open(1)
    for number in range(1, 13):
        journal.append(frame_line(frame(number), number, names=True), number)
    files = [path.stat().st_ino for _, path in journal_files(tmp_path)]
    assert len(files) == 3
    assert flushed == []
    journal.sync()
    assert flushed == files
    journal.sync()
    assert flushed == [*files, files[-1]]
    journal.close()


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="counts descriptors as Linux shows them")
def test_rotated_files_do_not_use_up_descriptors(tmp_path: Path) -> None:
    before = len(os.listdir("/proc/self/fd"))
    journal = Journal(tmp_path, print, rotate=1)
    journal.open(1)
    for number in range(1, 60):
        journal.append(frame_line(frame(number), number, names=True), number)
    assert len(os.listdir("/proc/self/fd")) <= before + CLOSING + 2
    journal.close()
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_new_journal_never_touches_earlier_files(tmp_path: Path) -> None:
    written(tmp_path, 5)
    [(_, first)] = journal_files(tmp_path)
    before = first.read_bytes()
    written(tmp_path, 2)  # numbers that exist already
    assert first.read_bytes() == before
    assert len(journal_files(tmp_path)) == 2


def test_folder_that_disappears_is_made_again_and_a_checkpoint_asked_for(tmp_path: Path) -> None:
    told: list[str] = []
    folder = tmp_path / "session"
    folder.mkdir()
    journal = Journal(folder, told.append)
    journal.open(1)
    journal.append(frame_line(frame(1), 1, names=True), 1)
    shutil.rmtree(folder)
    journal.append(frame_line(frame(2), 2, names=True), 2)  # goes to a file that nobody can see
    journal.retry()
    assert journal.interrupted
    journal.append(frame_line(frame(3), 3, names=True), 3)
    journal.close()
    assert [number for number, _ in read_frames(read_journal(folder))] == [3]
    assert "is gone" in told[0]


def test_file_that_disappears_while_nothing_can_be_written_does_not_hide_the_end_of_the_trouble(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    journal = Journal(tmp_path, told.append)
    journal.open(1)

    def full(*_: object) -> int:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", full)
        journal.append(encode_line({"type": "event"}))
    assert journal.path is not None
    journal.path.unlink()
    journal.retry()
    journal.close()
    assert not journal.failing
    assert "can be written again; no line was lost" in told[-1]


def test_lines_wait_in_memory_while_the_folder_cannot_be_written(tmp_path: Path) -> None:
    """A file stands where the folder should be: nothing can be created, until it is removed."""
    told: list[str] = []
    folder = tmp_path / "session"
    folder.write_text("in the way")
    journal = Journal(folder, told.append)
    journal.open(1)
    for number in (1, 2, 3):
        journal.append(frame_line(frame(number), number, names=True), number)
        journal.retry()
    assert journal.failing
    folder.unlink()
    journal.retry()
    journal.close()
    assert [number for number, _ in read_frames(read_journal(folder))] == [1, 2, 3]
    assert ["cannot be written" in told[0], "no line was lost" in told[1]] == [True, True]
    assert len(told) == 2


def test_memory_is_bounded_while_nothing_can_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quatcast.live.journal.WAITING", 10)
    blocked = tmp_path / "file"
    blocked.write_text("in the way")
    told: list[str] = []
    journal = Journal(blocked, told.append)
    journal.open(1)
    for number in range(1, 31):
        journal.append(frame_line(frame(number), number, names=True), number)
    assert (journal.lost, journal.interrupted) == (20, True)
    blocked.unlink()
    journal.retry()
    journal.close()
    assert "20 lines were lost" in told[-1]


FULL = """
import resource, sys
from pathlib import Path
from quatcast.live.journal import Journal, encode_line
journal = Journal(Path(sys.argv[1]), lambda text: print(text, flush=True))
journal.open(1)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
for number in range(1, 101):
    journal.append(encode_line({"type": "sample", "n": number, "text": "x" * 200}), number)
    journal.retry() if number % 10 == 0 else None
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
journal.retry()
journal.close()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of resources")
def test_a_real_limit_on_the_file_size_tears_one_line_and_loses_none(tmp_path: Path) -> None:
    """The system writes part of a line and then refuses, as it does on a full disk."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], capture_output=True, text=True, check=True, timeout=60
    )
    found = Reading()
    numbers = [record["n"] for record in read_journal(tmp_path, found=found)]
    assert numbers == list(range(1, 101))
    assert found.torn >= 1
    assert not found.damaged
    assert "cannot be written" in done.stdout


def test_lines_are_with_the_system_at_once(tmp_path: Path) -> None:
    """Another process sees a line as soon as `append` has returned: nothing is buffered here."""
    journal = Journal(tmp_path, print)
    journal.open(1)
    journal.append(encode_line({"type": "event", "text": "now"}))
    assert journal.path is not None
    assert os.path.getsize(journal.path) > 0
    journal.close()
