"""Standard input and standard output: samples and forecasts as lines, for pipes and for looking at.

``stdin:`` reads the same lines as TCP, ``stdout:`` writes one forecast per line. ``stdin:?speed=0`` is for lines that
were measured earlier: they arrive at the times that they say, however fast they are read, and a session that is
continued skips those that it has taken.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import BinaryIO, Self
from urllib.parse import SplitResult

from quatcast.data.wording import counted
from quatcast.live.clock import now
from quatcast.live.frames import ForecastFrame, Frame
from quatcast.live.messages import MAX_MESSAGE, forecast_message
from quatcast.live.settings import LiveSettings
from quatcast.live.transports.base import Sink, register_transport
from quatcast.live.transports.continuation import Continuation
from quatcast.live.transports.lines import LineReader, LineRules, TextSource
from quatcast.live.transports.options import parse_options

WAITING = 1024
"""Number of samples or forecasts that wait at most."""


class StdinSource(TextSource):
    """Samples on standard input, read by a thread so that pipes, files and terminals all work.

    Parameters
    ----------
    stream
        Name of the stream.
    dimensions
        Coordinates per channel of lines of numbers; 0 for those of the space.
    speed
        1 for lines that arrive when they are measured; 0 for lines that are read as fast as samples are taken.
    file
        Where to read from; standard input if nothing is given.

    Raises
    ------
    ValueError
        If the speed is neither 0 nor 1, or standard input is to be read and is closed.
    """

    def __init__(self, stream: str, dimensions: int = 0, speed: float = 1.0, file: BinaryIO | None = None) -> None:
        if speed not in (0, 1):
            raise ValueError(f"stdin, speed: expected 0 or 1, got {speed:g}")
        if file is None and sys.stdin is None:
            raise ValueError("stdin: standard input is closed; redirect it from a pipe or a file")
        self.realtime, self._rate = speed == 1, 0.0
        self.refused: Counter[str] = Counter()
        self._given = file
        self._rules = LineRules(stream, self.refused, dimensions)
        self._reader, self._number = LineReader(self._rules), -1
        self._last: Frame | None = None

    async def __aenter__(self) -> Self:
        """Begin to read."""
        self._queue: asyncio.Queue[Frame | Exception | None] = asyncio.Queue()
        self._room, self._left = threading.Semaphore(WAITING), False
        self._loop = asyncio.get_running_loop()
        # The thread holds the lock of the file that it reads. Python aborts at its end if it cannot lock `sys.stdin`.
        self._file = self._given or os.fdopen(sys.stdin.fileno(), "rb", closefd=False)
        # A thread that ends with the program: nothing can interrupt its reading.
        threading.Thread(target=self._read, daemon=True, name="stdin").start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Stop waiting for samples, and let the thread end if it waits for room."""
        self._left = True
        self._room.release()

    def _read(self) -> None:
        """Read lines until the end; whatever ends it is passed on, so that nobody waits for a thread that has gone."""
        end: Exception | None = None
        try:
            while line := self._file.readline(MAX_MESSAGE + 1):
                if len(line) > MAX_MESSAGE and not line.endswith(b"\n"):
                    self._skip(line)
                    continue
                frame = self._reader.read(line, now())
                if frame is not None and not self._put(frame):
                    return
        except Exception as error:
            end = None if self._file.closed else error
        self._put(end)

    def _skip(self, line: bytes) -> None:
        """Refuse a line that is too long, and read on to its end: the rest of it is not a sample."""
        self._reader.refuse("size", f"expected a line of at most {MAX_MESSAGE} bytes")
        while line and not line.endswith(b"\n"):
            line = self._file.readline(MAX_MESSAGE + 1)

    def _put(self, one: Frame | Exception | None) -> bool:
        """Queue a frame or the end, and return whether anybody takes it; a full queue makes the sender wait."""
        self._room.acquire()
        if self._left:
            return False
        try:
            self._loop.call_soon_threadsafe(self._queue.put_nowait, one)
        except RuntimeError:  # the loop is closed
            return False
        return True

    async def frames(self) -> AsyncIterator[Frame]:
        """Yield the samples until the end of the input, without those that the session holds.

        Raises
        ------
        ValueError
            If there are lines, but none of them is a sample, or the session was begun with others.
        """
        rest, number = Continuation(self._last), 0
        while (one := await self._queue.get()) is not None:
            self._room.release()
            if isinstance(one, Exception):
                raise one
            frame, number = one if self.realtime else self._dated(one), number + 1
            if rest.is_new(frame, self._last is not None and _moment(frame) == _moment(self._last)):
                yield frame
        if self.refused and not number:
            lines = counted(self.refused.total(), "line", "was", "were")
            raise ValueError(f"stdin: expected samples, but {lines} refused; the first: {self._rules.reason}")
        rest.finish()

    def resume(self, last: Frame) -> None:
        """Continue after a sample if the lines were measured earlier: they are those with which the session began."""
        self._last = None if self.realtime else last

    def fit(self, settings: LiveSettings) -> None:
        """Use the rate of the settings for lines without times."""
        super().fit(settings)
        self._rate = settings.rate or 0.0

    def _dated(self, frame: Frame) -> Frame:
        """Return a frame that arrives when it was measured, by its time or else by its number and the rate."""
        self._number = self._number + 1 if frame.sequence is None else frame.sequence
        if frame.device_time is None and not self._rate:
            raise ValueError("stdin: expected a time in every line, or --rate, because of speed=0")
        received = self._number / self._rate if frame.device_time is None else frame.device_time
        return replace(frame, received=received)


def _moment(frame: Frame) -> tuple[int | None, float | None, float]:
    return frame.sequence, frame.device_time, frame.received


class StdoutSink(Sink):
    """Forecasts on standard output, one line each, written by a thread so that a full pipe holds nothing up.

    Parameters
    ----------
    descriptor
        Where to write; standard output if nothing is given.

    Raises
    ------
    ValueError
        If standard output is to be written and is closed.
    """

    def __init__(self, descriptor: int | None = None) -> None:
        if descriptor is None and sys.stdout is None:
            raise ValueError("--to stdout: standard output is closed; redirect it to a pipe or a file")
        self.dropped = 0
        self._descriptor = sys.stdout.fileno() if descriptor is None else descriptor
        self._lines: deque[bytes] = deque()
        self._wake, self._closing = threading.Condition(), False
        self._thread = threading.Thread(target=self._write, daemon=True, name="stdout")

    async def __aenter__(self) -> Self:
        """Begin to write."""
        self._thread.start()
        return self

    async def __aexit__(self, *exception: object) -> None:
        """Write what waits, unless nobody reads for a second."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        await asyncio.to_thread(self._thread.join, 1.0)

    def send(self, forecast: ForecastFrame) -> None:
        """Queue a forecast; drop the oldest if nobody reads."""
        line = forecast_message(forecast) + b"\n"
        with self._wake:
            if len(self._lines) >= WAITING:
                self._lines.popleft()
                self.dropped += 1
            self._lines.append(line)
            self._wake.notify()

    def _write(self) -> None:
        while True:
            with self._wake:
                self._wake.wait_for(lambda: self._lines or self._closing)
                if not self._lines:
                    return
                text = b"".join(self._lines)
                self._lines.clear()
            try:
                while text:
                    text = text[os.write(self._descriptor, text) :]
            except OSError:
                self.dropped += text.count(b"\n")  # the reader has gone; the stream goes on for the others


def _source(parts: SplitResult, stream: str) -> StdinSource:
    options = parse_options(parts, dimensions=0, speed=1.0)
    return StdinSource(stream, int(options["dimensions"]), options["speed"])


def _sink(parts: SplitResult, stream: str) -> StdoutSink:
    parse_options(parts)
    return StdoutSink()


register_transport("stdin", _source)
register_transport("stdout", sink=_sink)
