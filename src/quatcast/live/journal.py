"""The journal: every frame, forecast and event of a session as one line of JSON, in files that only ever grow.

A line is handed to the operating system before the sample that it holds is answered, so that killing the program loses
nothing. Once per second the files are flushed to the disk, which limits what a power failure can lose. Every line ends
with a checksum of the text before it. A line that was cut off or damaged is skipped and counted, never guessed.
"""

from __future__ import annotations

import json
import os
import re
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from quatcast.live.checksums import add_checksum, remove_checksum

ROTATE = 64 * 2**20
"""Size in bytes from which on a new file is begun."""
WAITING = 20_000
"""Number of lines that are kept in memory while the disk cannot be written; later ones are lost and counted."""
CLOSING = 8
"""Number of files that may wait to be flushed and closed."""
_NAME = re.compile(r"journal-(\d{12})(?:-(\d+))?\.jsonl")


def encode_line(record: dict[str, Any]) -> bytes:
    r"""Return a record as a line with a checksum.

    Examples
    --------
    >>> encode_line({"type": "event", "text": "hello"})
    b'{"type":"event","text":"hello","crc":"dfcba483"}\n'
    """
    return end_line(json.dumps(record, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode())


def end_line(text: bytes) -> bytes:
    """Return the line of a JSON object that is text already."""
    return add_checksum(text) + b"\n"


def decode_line(line: bytes) -> dict[str, Any]:
    """Return the record of a line.

    Raises
    ------
    ValueError
        If the line is not complete or its checksum does not match.

    Examples
    --------
    >>> decode_line(encode_line({"type": "event", "text": "hello"}))
    {'type': 'event', 'text': 'hello'}
    """
    text = remove_checksum(line.removesuffix(b"\n"))
    if text is None:
        raise ValueError("the line is cut off or damaged")
    record = json.loads(text)
    if not isinstance(record, dict):
        raise ValueError("the line is not a record")
    return record


def journal_files(folder: Path) -> list[tuple[int, Path]]:
    """Return the number of the first frame and the path of every file of a journal, in order."""
    found = []
    for path in folder.iterdir() if folder.is_dir() else ():
        if match := _NAME.fullmatch(path.name):
            found.append((int(match[1]), int(match[2] or 1), path))
    return [(number, path) for number, _, path in sorted(found)]


@dataclass
class Reading:
    """What reading a journal found beside its records.

    Attributes
    ----------
    torn
        Number of files whose last line was cut off, as a kill or a power failure leaves it.
    damaged
        File and number of each other line that could not be read.
    """

    torn: int = 0
    damaged: list[str] = field(default_factory=list)

    def shown(self) -> str:
        """Return the first damaged lines as text."""
        return ", ".join(self.damaged[:3]) + (", …" if len(self.damaged) > 3 else "")


def read_journal(folder: Path, after: int = 0, found: Reading | None = None) -> Iterator[dict[str, Any]]:
    """Yield the records of a journal in order, leaving out files that hold only frames up to the number `after`.

    Lines that cannot be read are counted in `found` and skipped.
    """
    found = Reading() if found is None else found
    files = journal_files(folder)
    needed = [path for at, (_, path) in enumerate(files) if at + 1 == len(files) or files[at + 1][0] > after + 1]
    for path in needed:
        yield from read_file(path, found)


def read_file(path: Path, found: Reading) -> Iterator[dict[str, Any]]:
    """Yield the records of one file of a journal; lines that cannot be read are counted in `found` and skipped."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                yield decode_line(line)
            except ValueError:
                if line.endswith(b"\n") and line.strip():
                    found.damaged.append(f"{path.name}, line {number}")
                elif line.strip():
                    found.torn += 1


class Journal:
    """Writes records to the files of a session folder; trouble is reported and never raised.

    Parameters
    ----------
    folder
        The session folder, which exists.
    trouble
        Called with a text when the journal cannot be written, and when it can again.
    rotate
        Size in bytes from which on a new file is begun.

    Attributes
    ----------
    failing
        Whether the last attempt to write failed.
    lost
        Number of lines that were lost because the disk could not be written for too long.
    interrupted
        Whether lines were lost since the last checkpoint, so that one is needed before recovery is possible again.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     journal = Journal(Path(folder), print)
    ...     journal.open(1)
    ...     _ = journal.append(encode_line({"type": "event", "text": "hello"}))
    ...     journal.close()
    ...     list(read_journal(Path(folder)))
    [{'type': 'event', 'text': 'hello'}]
    """

    def __init__(self, folder: Path, trouble: Callable[[str], None], rotate: int = ROTATE) -> None:
        self.folder, self.trouble, self.rotate = folder, trouble, rotate
        self.failing, self.lost, self.interrupted = False, 0, False
        self.path: Path | None = None
        self._waiting: deque[bytes] = deque()
        self._descriptor: int | None = None
        self._closing: deque[int] = deque()
        self._size, self._named = 0, False
        self._next = 1

    def open(self, number: int) -> None:
        """Begin a new file, whose first frame will have a number.

        Earlier files are never written again: what was cut off in them stays at their end.
        """
        self._next = number
        self._attempt(self._open)

    def _open(self) -> int:
        self._close_file()
        self.folder.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, 10_000):
            suffix = "" if attempt == 1 else f"-{attempt}"
            path = self.folder / f"journal-{self._next:012d}{suffix}.jsonl"
            try:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
                descriptor = os.open(path, flags, 0o644)
            except FileExistsError:
                continue
            self._descriptor, self.path, self._size, self._named = descriptor, path, 0, False
            return descriptor
        raise OSError(f"{self.folder}: holds too many files of the journal that begin with frame {self._next}")

    def append(self, line: bytes, number: int | None = None, named: Callable[[], bytes] | None = None) -> None:
        """Write a line.

        Parameters
        ----------
        line
            The line.
        number
            Number of the frame, if the line holds one.
        named
            Returns the line of the frame with the names of the channels. It is written if it is, or may become, the
            first frame of a file, so that every file can be read on its own.
        """
        if number is not None:
            self._next = number
            if self._size >= self.rotate and not self._waiting:
                self._attempt(self._open)
        if named is not None and not self._named:
            line = named()
        if self._waiting or not self._attempt(lambda: self._write(line)):
            self._keep(line if named is None else named())
        elif number is not None:
            self._named = True
        self._next = number + 1 if number is not None else self._next

    def _write(self, line: bytes) -> None:
        written = os.write(self._opened(), line)
        if written < len(line):
            # The line is cut off. It is written again as a whole when there is room, to a new file, so that only the
            # last line of a file can ever be cut off.
            self._close_file()
            raise OSError(28, "no space left on device", str(self.path))
        self._size += written

    def _keep(self, line: bytes) -> None:
        if len(self._waiting) < WAITING:
            self._waiting.append(line)
        else:
            self.lost += 1
            self.interrupted = True

    def _attempt(self, action: Callable[[], object]) -> bool:
        try:
            action()
        except OSError as error:
            if not self.failing:
                self.trouble(
                    f"the journal cannot be written ({_words(error)}): the stream goes on, and up to {WAITING} lines "
                    "wait in memory until there is room"
                )
            self.failing = True
            return False
        return True

    def retry(self) -> None:
        """Check that the file is still there, and write what has been waiting; called about once per second."""
        if self._descriptor is not None and self.path is not None and not is_in_place(self._descriptor, self.path):
            self.trouble(f"the file {self.path} is gone: a new one is begun, and a checkpoint is needed")
            self.interrupted = True
            self._close_file()
            self._attempt(self._open)
        while self._waiting and self._attempt(lambda: self._write(self._waiting[0])):
            self._waiting.popleft()
        if self.failing and not self._waiting and self._attempt(self._opened):
            self.failing = False
            self.trouble(
                f"the journal can be written again; {self.lost} lines were lost"
                if self.lost
                else "the journal can be written again; no line was lost"
            )

    def _opened(self) -> int:
        """Return the descriptor of the file, which is opened if it is not."""
        return self._open() if self._descriptor is None else self._descriptor

    def sync(self) -> None:
        """Flush to the disk, earlier files first; may run in a thread."""
        while self._closing:
            self._flush_oldest()
        descriptor = self._descriptor
        if descriptor is None:
            return
        try:
            copy = os.dup(descriptor)
        except OSError:
            return
        _flush_and_close(copy)

    def _flush_oldest(self) -> None:
        # Two threads may come here at the same time.
        with suppress(IndexError):
            _flush_and_close(self._closing.popleft())

    def _close_file(self) -> None:
        """Write no more to the file; the next `sync` flushes and closes it, so that the stream need not wait for it."""
        if self._descriptor is not None:
            self._closing.append(self._descriptor)
            self._descriptor, self._named = None, False
        if len(self._closing) > CLOSING:
            self._flush_oldest()

    def close(self) -> None:
        """Write what has been waiting, flush, and close."""
        if self._waiting:
            self.retry()
        self._close_file()
        self.sync()


def is_in_place(descriptor: int, path: Path) -> bool:
    """Return whether an open file is the one that its folder shows."""
    try:
        shown, opened = os.stat(path), os.fstat(descriptor)
    except OSError:
        return False
    return (shown.st_dev, shown.st_ino) == (opened.st_dev, opened.st_ino)


def _flush_and_close(descriptor: int) -> None:
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # the next write reports it
    finally:
        os.close(descriptor)


def _words(error: OSError) -> str:
    return (error.strerror or str(error)).lower()
