"""Sessions: a run that was interrupted anywhere equals one that was not, bit for bit."""

import asyncio
import errno
import json
import os
import shutil
import stat
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from streams import build_cheap, frame

from quatcast.cli import run
from quatcast.live.frames import Frame
from quatcast.live.journal import Reading, journal_files, read_file
from quatcast.live.pipeline import Pipeline
from quatcast.live.records import read_frames
from quatcast.live.session import Session, checkpoints, is_session, read_settings
from quatcast.live.settings import LiveSettings

SETTINGS = LiveSettings(stream="chest", horizon=(0.3,))


def stream() -> Iterator[Frame]:
    """A stream with losses, repetitions, jitter and a clock step."""
    rng = np.random.default_rng(5)
    for i in range(240):
        if rng.random() < 0.04:
            continue
        one = frame(i, delay=float(rng.exponential(0.01)))
        if i >= 170:
            one = Frame(one.stream, i, i / 10 - 50.0, one.received, one.values, one.names, one.unit)
        yield one
        if rng.random() < 0.03:
            yield one


FRAMES = list(stream())


def forecasts(pipeline: Pipeline, frames: list[Frame], session: Session | None = None) -> list[bytes]:
    """The bits of every forecast."""
    made = []
    finite: list[bool] = []
    for one in frames:
        if session is not None:
            session.record_frame(one, pipeline.frames + 1)
        for sample in pipeline.take(one).samples:
            forecast = pipeline.forecast(sample)
            pipeline.learn()
            if session is not None:
                session.record_forecast(pipeline.to_frame(forecast, sample, 0.0), pipeline.frames)
            finite.append(bool(np.isfinite(forecast.radius).all()))
            status = f"{sample.number} {forecast.status} {forecast.reason}".encode()
            made.append(forecast.position.tobytes() + forecast.radius.tobytes() + status)
    if frames is FRAMES:
        assert sum(finite) > len(FRAMES) / 3  # what is compared below are numbers
    return made


@pytest.fixture(scope="module")
def undisturbed() -> list[bytes]:
    return forecasts(Pipeline(SETTINGS, build_cheap), FRAMES)


def begin(folder: Path) -> tuple[Session, Pipeline, list[str]]:
    told: list[str] = []
    session, pipeline = Session(folder, SETTINGS, told.append), Pipeline(SETTINGS, build_cheap)
    told += session.recover(pipeline).words()
    return session, pipeline, told


def cut(session: Session) -> None:
    """Release the folder as a killed process does: nothing is finished."""
    session.close()


@pytest.mark.parametrize("seed", range(2))
def test_interrupted_anywhere_equals_undisturbed(tmp_path: Path, undisturbed: list[bytes], seed: int) -> None:
    """Interruptions at random frames, some with a checkpoint shortly before, during the detection of the rate too."""
    rng = np.random.default_rng(seed)
    cuts = [0, 3, *sorted(rng.integers(5, len(FRAMES), 4).tolist()), len(FRAMES)]
    made: list[bytes] = []
    for start, end in pairwise(cuts):
        session, pipeline, _ = begin(tmp_path)
        assert pipeline.frames == start
        middle = int(rng.integers(start, end + 1))
        made += forecasts(pipeline, FRAMES[start:middle], session)
        if rng.random() < 0.7:
            session.checkpoint(pipeline)
        made += forecasts(pipeline, FRAMES[middle:end], session)
        cut(session)
    assert made == undisturbed


def test_torn_last_line_is_tolerated_and_told(tmp_path: Path, undisturbed: list[bytes]) -> None:
    """The frame of the torn line was not acknowledged; sent again, it leads to the same forecasts."""
    session, pipeline, _ = begin(tmp_path)
    made = forecasts(pipeline, FRAMES[:100], session)
    cut(session)
    path = max(tmp_path.glob("journal-*"))
    lines = path.read_bytes().splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if b'"type":"sample"' in line)
    path.write_bytes(b"".join(lines[:last]) + lines[last][:50])
    session, pipeline, told = begin(tmp_path)
    assert pipeline.frames == 99
    assert any("cut off" in text for text in told)
    again = forecasts(pipeline, FRAMES[99:], session)
    assert (made + again)[-len(again) :] == undisturbed[-len(again) :]
    cut(session)


def test_a_damaged_checkpoint_does_not_count_as_one_of_the_two_that_are_kept(tmp_path: Path) -> None:
    session, pipeline, _ = begin(tmp_path)
    for first in (0, 10):
        forecasts(pipeline, FRAMES[first : first + 10], session)
        session.checkpoint(pipeline)
    cut(session)
    (_, newest), _ = checkpoints(tmp_path)
    newest.write_bytes(b"rubbish")
    session, pipeline, _ = begin(tmp_path)
    forecasts(pipeline, FRAMES[20:30], session)
    session.checkpoint(pipeline)
    assert [frames for frames, _ in checkpoints(tmp_path)] == [30, 20, 10]
    forecasts(pipeline, FRAMES[30:40], session)
    session.checkpoint(pipeline)
    assert [frames for frames, _ in checkpoints(tmp_path)] == [40, 30, 20]
    cut(session)


def test_damaged_checkpoints_are_told_and_passed_over(tmp_path: Path, undisturbed: list[bytes]) -> None:
    session, pipeline, _ = begin(tmp_path)
    made = forecasts(pipeline, FRAMES[:90], session)
    session.checkpoint(pipeline)
    made += forecasts(pipeline, FRAMES[90:120], session)
    session.checkpoint(pipeline)
    cut(session)
    (_, newest), (_, older) = checkpoints(tmp_path)
    newest.write_bytes(newest.read_bytes()[:-20])
    session, pipeline, told = begin(tmp_path)
    assert sum("cannot be used" in text for text in told) == 1
    assert pipeline.frames == 120
    made += forecasts(pipeline, FRAMES[120:150], session)
    cut(session)
    older.write_bytes(b"rubbish")
    session, pipeline, told = begin(tmp_path)
    assert sum("cannot be used" in text for text in told) == 2
    assert pipeline.frames == 150  # from the journal alone
    made += forecasts(pipeline, FRAMES[150:], session)
    cut(session)
    assert made == undisturbed
    assert newest.exists()
    assert older.exists()


def test_missing_frames_of_the_journal_are_told(tmp_path: Path) -> None:
    session, pipeline, _ = begin(tmp_path)
    forecasts(pipeline, FRAMES[:60], session)
    cut(session)
    path = max(tmp_path.glob("journal-*"))
    path.write_bytes(path.read_bytes().replace(b',"n":40,"received"', b',"n":41,"received"', 1))
    session, pipeline, told = begin(tmp_path)
    assert pipeline.frames == 60
    assert any("damaged" in text for text in told)
    assert any("1 frames are missing" in text for text in told)
    cut(session)


def test_forecasts_that_were_not_written_are_added_once(tmp_path: Path) -> None:
    session, pipeline, _ = begin(tmp_path)
    forecasts(pipeline, FRAMES[:80], session)
    session.record_frame(FRAMES[80], 81)  # killed before its forecast
    cut(session)
    for _ in range(3):
        session, pipeline, _ = begin(tmp_path)
        cut(session)
    assert len(journal_files(tmp_path)) == 4  # one per start
    records = [json.loads(line) for path in tmp_path.glob("journal-*") for line in path.read_bytes().splitlines()]
    numbers = [record["seq"] for record in records if record["type"] == "forecast"]
    assert sorted(numbers) == sorted(set(numbers))
    assert sum(record.get("recovered", False) for record in records) >= 1


def test_last_frame_is_known_after_starts_without_a_frame(tmp_path: Path) -> None:
    """A recording is played on from there: each start begins a new file of the journal, which may stay empty."""
    session, pipeline, _ = begin(tmp_path)
    forecasts(pipeline, FRAMES[:30], session)
    session.checkpoint(pipeline)
    session.close()
    for _ in range(3):
        session, pipeline = Session(tmp_path, SETTINGS, print), Pipeline(SETTINGS, build_cheap)
        recovery = session.recover(pipeline)
        session.record_event("started", "nothing came", pipeline.frames)
        session.close()
        assert recovery.last is not None
        assert recovery.last.sequence == FRAMES[29].sequence


@pytest.mark.parametrize("trouble", ["rotation", "cut off", "gone", "restart"])
def test_every_file_of_the_journal_can_be_read_on_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: str
) -> None:
    session = Session(tmp_path, SETTINGS, print, rotate=1000 if trouble == "rotation" else 10**6)
    session.recover(Pipeline(SETTINGS, build_cheap))
    for number in range(1, 6):
        session.record_frame(frame(number), number)
    if trouble == "cut off":
        with monkeypatch.context() as patch:
            write = os.write
            patch.setattr(os, "write", lambda descriptor, line: write(descriptor, line[:20]))
            session.record_frame(frame(6), 6)
            session.record_frame(frame(7), 7)
        session.journal.retry()
    elif trouble == "gone":
        max(tmp_path.glob("journal-*")).rename(tmp_path / "journal-000000000000.jsonl")
        session.journal.retry()
    elif trouble == "restart":
        session.close()
        session, *_ = begin(tmp_path)
    for number in range(8, 12):
        session.record_frame(frame(number), number)
    session.close()
    files = [list(read_frames(read_file(path, Reading()))) for _, path in journal_files(tmp_path)]
    assert len(files) > 1
    assert all(one.names == frame(0).names and one.unit == "mm" for frames in files for _, one in frames)


def test_one_process_at_a_time(tmp_path: Path) -> None:
    session, _, _ = begin(tmp_path)
    with pytest.raises(BlockingIOError, match="another process writes this session"):
        begin(tmp_path)
    words = ["live", "simulated:?speed=0&seconds=1", "--record", str(tmp_path)]
    assert (run(words), run(["--worker", *words])) == (2, 1)  # the supervisor starts a worker again
    cut(session)
    cut(begin(tmp_path)[0])


def test_one_process_at_a_time_after_the_folder_was_removed(tmp_path: Path) -> None:
    """The folder that is made again is held again; if another process was faster, that is told once."""
    folder = tmp_path / "session"
    session, _, told = begin(folder)
    shutil.rmtree(folder)
    asyncio.run(session.tend())
    with pytest.raises(BlockingIOError, match="another process writes this session"):
        begin(folder)
    shutil.rmtree(folder)
    other, _, _ = begin(folder)
    asyncio.run(session.tend())
    asyncio.run(session.tend())
    assert [text for text in told if "another process writes this session" in text] == [told[-1]]
    cut(other)
    asyncio.run(session.tend())
    with pytest.raises(BlockingIOError, match="another process writes this session"):
        begin(folder)
    cut(session)
    cut(begin(folder)[0])


def test_other_settings_are_refused(tmp_path: Path) -> None:
    session, pipeline, _ = begin(tmp_path)
    forecasts(pipeline, FRAMES[:2], session)
    cut(session)
    with pytest.raises(ValueError, match=r"other settings \(horizon 1.0 instead of 0.3\); give another folder$"):
        Session(tmp_path, LiveSettings(stream="chest", horizon=(1.0,)), print)
    cut(begin(tmp_path)[0])  # the lock was released


def test_session_without_a_record_takes_other_settings(tmp_path: Path) -> None:
    """A service that could not start, because a port was in use for example, leaves such a folder."""
    cut(Session(tmp_path, SETTINGS, print))
    other = LiveSettings(stream="chest", horizon=(1.0,))
    cut(Session(tmp_path, other, print))
    assert read_settings(tmp_path) == other


def test_description_is_checked(tmp_path: Path) -> None:
    assert not is_session(tmp_path)
    with pytest.raises(ValueError, match=r"there is no session.json in it"):
        read_settings(tmp_path)
    (tmp_path / "session.json").write_text('{"version": 7}')
    with pytest.raises(ValueError, match="version 1"):
        read_settings(tmp_path)
    (tmp_path / "session.json").write_text("half a fi")
    with pytest.raises(ValueError, match="expected the description"):
        Session(tmp_path, SETTINGS, print)


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EIO])
def test_checkpoint_where_folders_cannot_be_flushed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Some network file systems cannot; the checkpoint is in its place all the same. A broken disk is told."""
    flush = os.fsync

    def refuse(descriptor: int) -> None:
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            raise OSError(number, os.strerror(number))
        flush(descriptor)

    monkeypatch.setattr(os, "fsync", refuse)
    session, pipeline, told = begin(tmp_path)
    session.checkpoint(pipeline)
    session.close()
    assert len(checkpoints(tmp_path)) == 1
    assert bool(told) == (number == errno.EIO)


def test_old_checkpoints_are_removed_only_after_a_new_one(tmp_path: Path) -> None:
    session, pipeline, told = begin(tmp_path)
    for at in range(0, 100, 20):
        forecasts(pipeline, FRAMES[at : at + 20], session)
        session.checkpoint(pipeline)
    assert [frames for frames, _ in checkpoints(tmp_path)] == [100, 80]
    blocked = tmp_path / "checkpoint-000000000120.quatcast"
    blocked.mkdir()  # cannot be replaced by a file
    forecasts(pipeline, FRAMES[100:120], session)
    session.checkpoint(pipeline)
    assert any("no checkpoint can be written" in text for text in told)
    assert {path.name[11:23] for _, path in checkpoints(tmp_path)} >= {"000000000100", "000000000080"}
    blocked.rmdir()
    session.checkpoint(pipeline)
    assert told[-1] == "checkpoints can be written again"
    cut(session)
