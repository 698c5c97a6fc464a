"""Text files of unknown origin, read line by line in bounded memory."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from pathlib import Path

from quatcast.basics.escaping import csv_cell, one_line

MAX_LINE = 1 << 20
"""Longest line in characters. A longer one is refused before it is read."""
MAX_COLUMNS = 4096
"""Most columns of a table."""
MAX_NUMBERS = 50_000_000
"""Most numbers of a table that are kept in memory."""
MAX_NAME = 200
"""Most characters of a name."""
HEAD = 1 << 16
"""Number of bytes at the beginning of a file by which its format is recognised."""

Line = tuple[int, str]
"""Number of a line, counted from 1, and its text without the end of the line."""


def head_of(path: Path) -> bytes:
    """Return the first bytes of a file."""
    try:
        with path.open("rb") as file:
            return file.read(HEAD)
    except FileNotFoundError:
        raise FileNotFoundError(f"{path}: there is no such file") from None


def lines_of(path: Path, encoding: str | None = None) -> Iterator[Line]:
    """Yield the lines of a text file.

    Parameters
    ----------
    path
        Path of the file.
    encoding
        Encoding of the file; by default UTF-8, or UTF-16 if the file begins with its byte order mark.

    Raises
    ------
    ValueError
        If the file is not text, has another encoding, or has a line that is too long.
    """
    encoding = encoding or _encoding(head_of(path))
    try:
        codecs.lookup(encoding)
    except LookupError:
        raise ValueError(f"encoding: expected a known encoding such as utf-8 or latin-1, got {encoding!r}") from None
    with path.open(encoding=encoding, errors="surrogateescape") as file:
        number = 0
        while True:
            number += 1
            try:
                line = file.readline(MAX_LINE + 1)
            except UnicodeError:
                raise ValueError(f"{path}, line {number}: expected {encoding} text") from None
            if not line:
                return
            _check(path, number, line, encoding)
            yield number, line.rstrip("\n")


def _encoding(head: bytes) -> str:
    return "utf-16" if head.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)) else "utf-8-sig"


def _check(path: Path, number: int, line: str, encoding: str) -> None:
    if "\0" in line:
        wide = next((name for name, at in (("utf-16-le", 1), ("utf-16-be", 0)) if {*line[at:-1:2]} == {"\0"}), "")
        reason = "the file is damaged, or binary and of an unknown format"
        if wide:
            reason = f"it may be UTF-16 without a byte order mark: give encoding={wide!r} (--encoding {wide})"
        raise ValueError(f"{path}, line {number}: expected text, got a NUL byte; {reason}")
    if len(line) > MAX_LINE:
        raise ValueError(
            f"{path}, line {number}: expected a table with lines of at most {MAX_LINE:,} characters, got a longer line"
        )
    if not line.isascii():
        try:
            line.encode("utf-8")
        except UnicodeEncodeError as error:
            byte = ord(line[error.start]) - 0xDC00
            name = encoding.removesuffix("-sig").upper()
            raise ValueError(
                f"{path}, line {number}: expected {name} text, got the byte 0x{byte:02x}; save the file as UTF-8, or "
                "give its encoding, for example encoding='latin-1' (--encoding latin-1)"
            ) from None


def clean(name: str) -> str:
    r"""Return a name from a file in one line, without control characters, and not too long.

    Examples
    --------
    >>> clean(" hip\x1b[2J.x ")
    'hip�[2J.x'
    """
    name = one_line(name).strip()
    # The axis and the unit are at the end.
    return name if len(name) <= MAX_NAME else f"{name[: MAX_NAME // 2]}…{name[1 - MAX_NAME // 2 :]}"


def as_number(text: str) -> float | None:
    """Return the number that a text is, or None if it is none. Python would read 1_5 as 15.

    Examples
    --------
    >>> as_number(" 1e3"), as_number("1,5"), as_number("1_5")
    (1000.0, None, None)
    """
    try:
        return None if "_" in text else float(text)
    except ValueError:
        return None


def unescape_cell(text: str) -> str:
    """Undo `quatcast.basics.escaping.csv_cell`.

    Examples
    --------
    >>> unescape_cell("'=1+1"), unescape_cell("'hip'")
    ('=1+1', "'hip'")
    """
    return text[1:] if text.startswith("'") and csv_cell(text[1:]) != text[1:] else text
