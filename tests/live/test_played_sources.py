"""Standard input and recordings as sources: how they end, and where they continue."""

import asyncio
import gc
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from network import made_forecast
from streams import EPOCH, frame

from quatcast.cli import run
from quatcast.live.frames import Frame
from quatcast.live.journal import read_journal
from quatcast.live.messages import MAX_MESSAGE
from quatcast.live.records import frame_line, read_frames
from quatcast.live.settings import LiveSettings
from quatcast.live.transports import Source, open_source
from quatcast.live.transports.standard import StdinSource, StdoutSink


def play(source: Source) -> list[Frame]:
    async def main() -> list[Frame]:
        async with source, asyncio.timeout(5):
            return [frame async for frame in source.frames()]

    return asyncio.run(main())


@pytest.mark.parametrize("lines", [1, 3000])
def test_standard_input_that_goes_on_after_the_service_leaves_nothing_behind(lines: int) -> None:
    """The thread ends without a warning, whether a line comes after the end or many are waiting for room."""
    ended = threading.Event()

    class Late(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            if lines == 1:
                ended.wait(5)
            return super().readline(size)

    async def enter_and_leave() -> threading.Thread:
        async with StdinSource("chest", file=Late(b"1,2,3\n" * lines)):
            await asyncio.sleep(0.1)
            return next(thread for thread in threading.enumerate() if thread.name == "stdin" and thread.is_alive())

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        reader = asyncio.run(enter_and_leave())
        ended.set()
        reader.join(5)
        gc.collect()
    assert not reader.is_alive()
    assert [str(one.message) for one in caught] == []


@pytest.mark.parametrize("dimensions", ["0", "17", "20"])
def test_standard_input_refuses_impossible_dimensions(dimensions: str) -> None:
    with pytest.raises(
        ValueError, match=rf"stdin, dimensions: expected a whole number from 1 to 16, got '{dimensions}'"
    ):
        open_source(f"stdin:?dimensions={dimensions}", "chest")


TABLE = "Zeit;Größe;hip.x;hip.y;hip.z\n" + "".join(f"{100 * i};5;1;2;{i % 5}\n" for i in range(30))


def test_a_file_takes_the_reading_options_of_the_command_forecast(tmp_path: Path) -> None:
    path = tmp_path / "semi latin.csv"
    path.write_bytes(TABLE.encode("latin-1"))
    with pytest.raises(ValueError, match=r"\(\?encoding=latin-1\)"):
        open_source(f"file:{path}", "hip")
    url = f"file:{path}?speed=0&encoding=latin-1&time=Zeit&time-unit=ms&ignore=Größe&columns=a=hip.x,hip.y,hip.z"
    frames = play(open_source(url, "hip"))
    assert len(frames) == 30
    assert frames[-1].device_time == pytest.approx(2.9)
    assert (frames[0].names, frames[0].values.shape) == (("a",), (1, 3))
    with pytest.raises(ValueError, match=r"file: expected the options speed, .*encoding.*, got 'colour'"):
        open_source(f"file:{path}?colour=red", "hip")
    with pytest.raises(ValueError, match="expected only the option speed for a session, got encoding"):
        open_source(f"file:{tmp_path}?encoding=latin-1", "hip")


class Piped:
    """Standard input with given content."""

    def __init__(self, content: bytes) -> None:
        self._end, writing = os.pipe()
        os.write(writing, content)
        os.close(writing)

    def fileno(self) -> int:
        return self._end

    def __del__(self) -> None:
        os.close(self._end)


LINES = b"".join(b"%.1f,1,2,%d\n" % (i / 10, i % 7) for i in range(60))


@pytest.mark.parametrize(
    ("content", "more"), [(LINES, []), (LINES.replace(b",1,2", b",2"), ["--rate", "10"])], ids=["timed", "by rate"]
)
def test_nothing_is_late_on_standard_input_that_is_not_real_time(
    content: bytes, more: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Piped(content))
    assert run(["live", "stdin:?speed=0", *more]) == 0
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.startswith("60 samples, ")
    assert " forecasts sent, 0 of them hold; no forecast was ever ok" in last


@pytest.mark.parametrize(
    ("content", "rate"),
    [(LINES, 10), (LINES.replace(b",1,2", b",2"), 10), (LINES, 20)],
    ids=["timed", "by rate", "resampled"],
)
def test_standard_input_continues_after_the_last_sample(
    content: bytes, rate: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A session that was killed and is given the same lines again has what an undisturbed one has."""
    monkeypatch.setattr(logging.getLogger("quatcast"), "handlers", [])  # the command sets them
    monkeypatch.setattr(logging.getLogger("quatcast"), "propagate", False)

    def live(content: bytes, folder: str) -> int:
        monkeypatch.setattr("sys.stdin", Piped(content))
        return run(["live", "stdin:?speed=0", "--rate", str(rate), "--record", str(tmp_path / folder)])

    beginning = b"".join(content.splitlines(keepends=True)[:33])
    assert live(content, "whole") == 0
    assert live(beginning, "parts") == 0
    (path,) = (tmp_path / "parts").glob("checkpoint-*")
    path.unlink()  # as a kill would have left it
    assert live(content, "parts") == 0
    assert live(content, "parts") == 0  # nothing is left
    whole, parts = (list(read_journal(tmp_path / folder)) for folder in ("whole", "parts"))
    for kind, fields in (("sample", ("n", "t", "received", "p")), ("forecast", ("n", "seq", "t", "p", "radius"))):
        told = [[[one.get(name) for name in fields] for one in of if one["type"] == kind] for of in (whole, parts)]
        assert len(told[0]) >= 60
        assert told[0] == told[1]
    capsys.readouterr()
    assert live(b"".join(content.splitlines(keepends=True)[:20]), "parts") == 2
    assert "the recording does not hold the last sample of the session" in capsys.readouterr().err


def test_a_signal_ends_a_service_that_waits_for_standard_input() -> None:
    command = [sys.executable, "-m", "quatcast", "live", "stdin:"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert process.stderr.readline().startswith("Waiting for samples")
            process.send_signal(signal.SIGINT)
            assert process.wait(30) == 0  # its input is still open
        finally:
            process.kill()


def test_lines_without_times_need_a_rate_if_they_are_not_real_time() -> None:
    with pytest.raises(ValueError, match="expected a time in every line, or --rate, because of speed=0"):
        play(StdinSource("chest", speed=0, file=io.BytesIO(b"1,2,3\n")))
    with pytest.raises(ValueError, match="stdin, speed: expected 0 or 1, got 2"):
        open_source("stdin:?speed=2", "chest")


@pytest.mark.parametrize("speed", [0, 1])
def test_standard_input_of_which_every_line_is_refused_ends_with_an_error(
    speed: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = b'{"v": 1, "type": "sample", "t": 1763226000120, "p": [[1, 2, 3]]}\n'
    monkeypatch.setattr("sys.stdin", Piped(b"1,2,three\n" + line * 9))
    assert run(["live", f"stdin:?speed={speed}"]) == 2
    last = capsys.readouterr().err.splitlines()[-1]
    assert "stdin: expected samples, but 10 lines were refused; the first: column 3: expected" in last
    monkeypatch.setattr("sys.stdin", Piped(b"time,x,y,z\n\n"))
    assert run(["live", f"stdin:?speed={speed}"]) == 0  # nothing is refused


def test_summary_says_that_samples_come_faster_than_their_times(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", Piped(LINES))
    monkeypatch.setattr("quatcast.live.service.Service._is_behind", lambda self, one: True)
    assert run(["live", "stdin:"]) == 0
    assert "because samples come faster than their times say" in capsys.readouterr().err


@pytest.mark.parametrize(("space", "numbers"), [("pose", 7), ("orientation", 4), ("position", 3), ("vector", 3)])
def test_lines_of_numbers_have_as_many_coordinates_as_the_space(space: str, numbers: int) -> None:
    source = StdinSource("chest", file=io.BytesIO(b"0.1" + b",1" * numbers + b"\n"))
    source.fit(LiveSettings(space=space))
    assert [(one.device_time, one.values.shape) for one in play(source)] == [(0.1, (1, numbers))]


@pytest.mark.parametrize(
    "url", ["stdin:?dimensions=4", "udp://127.0.0.1:0?dimensions=4", "tcp://127.0.0.1:1?dimensions=4"]
)
def test_number_of_coordinates_that_contradicts_the_space_is_refused_at_the_start(
    url: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["live", url, "--space", "pose"]) == 2
    assert "?dimensions=4: expected 7 coordinates per channel for --space pose, got 4" in capsys.readouterr().err
    open_source(url, "chest").fit(LiveSettings(space="orientation"))


def test_standard_input_that_cannot_be_read_ends_the_stream_with_its_error() -> None:
    class Broken(io.BytesIO):
        def readline(self, size: int | None = -1) -> bytes:
            if self.tell() > 10:
                raise OSError(5, "input/output error")
            return super().readline(size)

    assert len(play(StdinSource("chest", file=io.BytesIO(b"1,2,3\n" * 4)))) == 4
    with pytest.raises(OSError, match="input/output error"):
        play(StdinSource("chest", file=Broken(b"1,2,3\n" * 4)))


@pytest.mark.parametrize("beginning", [b"1,2,3", b"x", b" "])
def test_rest_of_a_line_that_is_too_long_is_no_sample(beginning: bytes) -> None:
    long = beginning + b" " * 3 * MAX_MESSAGE + b",4,5,6\n"
    source = StdinSource("chest", file=io.BytesIO(b"1,2,3\n" + long + b"7,8,9\n"))
    assert [one.values[0, 0] for one in play(source)] == [1, 7]
    assert source.refused == {"size": 1}


def test_standard_input_counts_samples_without_a_checksum() -> None:
    source = StdinSource("chest", file=io.BytesIO(b"1,2,3\n4,5,6\n"))
    play(source)
    assert source.unchecked == 2


def record(path: Path, *, timed: bool, numbered: bool) -> Path:
    """Write a journal of 20 frames at 200 Hz, as of a tracker that sends no times or no numbers."""
    lines = []
    for i in range(20):
        one = frame(i, rate=200.0)
        sent = (i if numbered else None, one.device_time if timed else None)
        lines.append(frame_line(Frame(one.stream, *sent, one.received, one.values, one.names), i + 1, names=True))
    path.write_bytes(b"".join(lines))
    return path


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("timed", [True, False])
@pytest.mark.parametrize("speed", [0, 1])
def test_recording_continues_after_the_last_sample(tmp_path: Path, speed: int, timed: bool, numbered: bool) -> None:
    """In real time as well, where the times of the recording are replaced by those of the clock."""
    url = f"file:{record(tmp_path / 'walk.jsonl', timed=timed, numbered=numbered)}?speed={speed}"
    whole = play(open_source(url, "chest"))
    source = open_source(url, "chest")
    source.resume(whole[7])
    rest = play(source)
    assert [one.sequence for one in rest] == [one.sequence for one in whole[8:]]
    assert np.array_equal([one.values for one in rest], [one.values for one in whole[8:]])
    source = open_source(url, "chest")
    source.resume(whole[-1])
    assert play(source) == []


@pytest.mark.parametrize("whole", [True, False])
def test_lines_that_cannot_be_read_are_counted(tmp_path: Path, whole: bool) -> None:
    path = record(tmp_path / "journal-000000000001.jsonl", timed=True, numbered=True)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join([*lines[:4], lines[4].replace(b"chest", b"cheat"), *lines[5:-1], lines[-1][:50]]))
    source = open_source(f"file:{tmp_path if whole else path}?speed=0", "chest")
    assert len(play(source)) == 18
    assert source.refused == {"damaged": 2}


def test_session_with_characters_of_urls_in_its_name_is_played(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(logging.getLogger("quatcast"), "handlers", [])  # the command sets them
    monkeypatch.setattr(logging.getLogger("quatcast"), "propagate", False)
    folder = tmp_path / "day #1? %41"
    assert run(["live", "simulated:?speed=0&seconds=2", "--rate", "10", "--record", str(folder)]) == 0
    capsys.readouterr()
    assert run(["live", "replay", str(folder), "--to", "udp://127.0.0.1:9", "--speed", "0"]) == 0
    assert "20 samples, 20 forecasts sent" in capsys.readouterr().err


def test_endless_simulation_is_not_searched_for_ever() -> None:
    whole = play(open_source("simulated:?speed=0&seconds=5&loss=0.5", "chest"))
    numbers = {one.sequence for one in whole}
    lost = next(i for i in range(40) if i not in numbers)
    for last in (frame(lost), replace(frame(0), sequence=None)):
        source = open_source("simulated:?speed=0&loss=0.5", "chest")
        source.resume(last)
        with pytest.raises(ValueError, match="does not hold the last sample of the session"):
            play(source)


def test_session_is_not_continued_with_another_recording(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("quatcast"), "handlers", [])  # the command sets them
    monkeypatch.setattr(logging.getLogger("quatcast"), "propagate", False)
    recording = record(tmp_path / "walk.jsonl", timed=True, numbered=False)
    words = ["--rate", "200", "--record", str(tmp_path / "session")]
    assert run(["live", f"file:{recording}?speed=0", *words]) == 0
    assert run(["live", f"file:{recording}?speed=0", *words]) == 0  # nothing is left
    recording.write_bytes(recording.read_bytes().splitlines(keepends=True)[0])
    capsys.readouterr()
    assert run(["live", f"file:{recording}?speed=0", *words]) == 2
    *_, last = capsys.readouterr().err.splitlines()
    assert f"does not hold the last sample of the session (at {EPOCH + 19 / 200 + 0.004:.6f} s)" in last
    assert len(list(read_frames(read_journal(tmp_path / "session")))) == 20


def nothing_new(caplog: pytest.LogCaptureFixture) -> bool:
    return caplog.messages == ["the session already holds all of this recording"]


@pytest.mark.parametrize("numbered", [True, False])
@pytest.mark.parametrize("speed", [0, 1])
def test_session_is_not_continued_with_other_values_at_the_same_place(
    tmp_path: Path, speed: int, numbered: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Two recordings of the same rate have the same numbers and often the same times."""
    url = f"file:{record(tmp_path / 'walk.jsonl', timed=True, numbered=numbered)}?speed={speed}"
    last = play(open_source(url, "chest"))[-1]
    for other in (last.values + 1e-9, np.full_like(last.values, np.nan), last.values[:1], last.values[:, :2]):
        source = open_source(url, "chest")
        source.resume(replace(last, values=other))
        with pytest.raises(ValueError, match=r"does not hold the last sample .*; its sample there has other values"):
            play(source)
    assert not nothing_new(caplog)
    source = open_source(url, "chest")
    source.resume(last)
    assert play(source) == []
    assert nothing_new(caplog)


def test_missing_values_continue_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "walk.csv"
    path.write_text("time,x,y,z\n" + "".join(f"{i / 10},{i},,{i % 3}\n" for i in range(20)))
    frames = play(open_source(f"file:{path}?speed=0", "chest"))
    source = open_source(f"file:{path}?speed=0", "chest")
    source.resume(frames[11])
    assert len(play(source)) == 8


def test_standard_input_is_not_continued_with_other_values(caplog: pytest.LogCaptureFixture) -> None:
    def source(content: bytes) -> StdinSource:
        return StdinSource("chest", speed=0, file=io.BytesIO(content))

    last = play(source(LINES))[-1]
    other = source(LINES.replace(b",1,", b",1.5,"))
    other.resume(last)
    with pytest.raises(
        ValueError, match=r"\(at 5\.900000 s\).*; its sample there has other values; give the recording"
    ):
        play(other)
    same = source(LINES)
    same.resume(last)
    assert play(same) == []
    assert nothing_new(caplog)


def test_empty_input_of_a_new_session_is_no_recording_that_it_holds(caplog: pytest.LogCaptureFixture) -> None:
    assert play(StdinSource("chest", speed=0, file=io.BytesIO())) == []
    assert caplog.messages == []


def test_forecasts_for_which_nobody_reads_are_counted_one_by_one() -> None:
    """They wait together while a write blocks, and are written at once."""

    async def send() -> int:
        reader, writer = os.pipe()
        os.close(reader)
        sink = StdoutSink(writer)
        for _ in range(3):
            sink.send(made_forecast())
        async with sink:
            pass
        os.close(writer)
        return sink.dropped

    assert asyncio.run(send()) == 3
