"""Lines of text as samples: headers, tokens, checksums and the name of the stream, for UDP, TCP and WebSocket."""

from __future__ import annotations

import zlib
from collections import Counter
from dataclasses import dataclass, field, replace

from quatcast.live.frames import Frame, FrameError
from quatcast.live.messages import header_names, parse_sample, split_cells
from quatcast.live.transports.endpoint import Endpoint

LINE_OPTIONS = ("dimensions", "stream", "checksum")
"""Options of URLs whose messages are lines of text."""


def token_line(token: str) -> bytes:
    r"""Return the line with which a client of TCP begins, and with which every datagram begins.

    Examples
    --------
    >>> token_line("correct-horse-battery")
    b'token correct-horse-battery\n'
    """
    return f"token {token}\n".encode()


def add_checksum(line: bytes) -> bytes:
    """Return a line followed by an asterisk and its checksum, CRC-32 in eight hexadecimal digits.

    Examples
    --------
    >>> add_checksum(b"1,2,3")
    b'1,2,3*11894deb'
    """
    return b"%b*%08x" % (line, zlib.crc32(line))


def remove_checksum(line: bytes) -> bytes | None:
    """Return a line without its checksum, or None if that is missing or wrong.

    Examples
    --------
    >>> remove_checksum(b"1,2,3*11894deb"), remove_checksum(b"1,2,4*6e94c28c")
    (b'1,2,3', None)
    """
    content, _, _ = line.rpartition(b"*")
    return content if content and line == add_checksum(content) else None


def read_token(line: bytes) -> str:
    """Return the token of a line, or an empty text if it is not a line with a token."""
    word, _, token = line.strip().partition(b" ")
    return token.decode(errors="replace") if word == b"token" else ""


@dataclass
class StreamName:
    """The one stream that a source takes: the one of its URL, or else the first that is named in a message.

    Attributes
    ----------
    default
        Name for messages that name none.
    taken
        Name of the stream that is taken; empty until a message names one.
    """

    default: str
    taken: str = ""

    def admit(self, name: str) -> bool:
        """Tell whether messages of a stream are taken."""
        if name and not self.taken:
            self.taken = name
        return not name or name == self.taken


@dataclass
class LineReader:
    """Turns the lines of one connection into frames; counts lines that are refused, and goes on.

    Attributes
    ----------
    stream
        The stream that the source takes.
    refused
        Number of refused messages by kind.
    dimensions
        Coordinates per channel of lines of numbers.
    checksum
        Whether every line must end with a checksum.
    names
        Names of the channels from the header of lines of numbers.

    Examples
    --------
    >>> reader = LineReader(StreamName("chest"), Counter(), dimensions=3)
    >>> reader.read(b"time,marker.x,marker.y,marker.z", received=0.0)
    >>> reader.read(b"0.1,1,2,3", received=0.0).names
    ('marker',)
    >>> reader.read(b"0.1,1,2,three", received=0.0), reader.refused
    (None, Counter({'malformed': 1}))
    """

    stream: StreamName
    refused: Counter[str]
    dimensions: int
    checksum: bool = False
    names: tuple[str, ...] = ()
    _begun: bool = field(default=False, repr=False)

    def read(self, line: bytes, received: float) -> Frame | None:
        """Return the frame of a line; None for a blank line, a header or a line that is refused."""
        line = line.strip()
        if not line:
            return None
        if self.checksum:
            content = remove_checksum(line)
            if content is None:
                self.refused["checksum"] += 1
                return None
            line = content
        first, self._begun = not self._begun, True
        try:
            frame = parse_sample(line, "", received, self.dimensions)
        except FrameError:
            if not (first and self._read_header(line)):
                self.refused["malformed"] += 1
            return None
        if not self.stream.admit(frame.stream):
            self.refused["stream"] += 1
            return None
        names = frame.names or (self.names if len(self.names) == len(frame.values) else ())
        return replace(frame, stream=frame.stream or self.stream.default, names=names)

    def _read_header(self, line: bytes) -> bool:
        """Take the names of the channels from a header; return whether the line is one."""
        text = line.decode(errors="replace")
        cells = split_cells(text)
        if (
            text.lstrip().startswith("{")
            or not all(cell[:1].isalpha() for cell in cells)
            or not text.strip().isprintable()
        ):
            return False
        self.names = header_names(cells, self.dimensions)
        return True


def line_reader(endpoint: Endpoint, stream: StreamName, refused: Counter[str]) -> LineReader:
    """Return the reader of a new connection."""
    dimensions = int(endpoint.number("dimensions", 3, 1, 16))
    return LineReader(stream, refused, dimensions, "checksum" in endpoint.options)


def stream_name(endpoint: Endpoint, default: str) -> StreamName:
    """Return the stream that a source takes."""
    return StreamName(default, endpoint.options.get("stream", ""))
