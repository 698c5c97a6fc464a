"""Lines of text as samples: headers, tokens, checksums and the name of the stream, for UDP, TCP and WebSocket."""

from __future__ import annotations

import logging
from collections import Counter
from dataclasses import dataclass, field, replace

import numpy as np

from quatcast.basics.escaping import one_line
from quatcast.live.checksums import remove_checksum
from quatcast.live.frames import ChecksumError, Frame, FrameError
from quatcast.live.header import Header, read_header
from quatcast.live.messages import parse_sample
from quatcast.live.settings import LiveSettings
from quatcast.live.shapes import allowed, expected
from quatcast.live.transports.base import Source
from quatcast.live.transports.endpoint import Endpoint

log = logging.getLogger("quatcast.live")

LINE_OPTIONS = ("dimensions", "stream", "check")
"""Options of URLs whose messages are lines of text."""
USUAL = 3
"""Coordinates per channel, unless the space or the URL says otherwise."""
LOOKED = 20
"""Number of lines without a time in which one is looked for."""
EVEN = 0.02
"""Range of the steps of a time, as a share of their mean."""
REQUIRED = "required"
"""Value of the option `check` if every line must have a checksum."""


def token_line(token: str) -> bytes:
    r"""Return the line with which a client of TCP begins, and with which every datagram begins.

    Examples
    --------
    >>> token_line("correct-horse-battery")
    b'token correct-horse-battery\n'
    """
    return f"token {token}\n".encode()


def read_token(line: bytes) -> str:
    """Return the token of a line, or an empty text if it is not a line with a token."""
    word, _, token = line.strip().partition(b" ")
    return token.decode(errors="replace") if word == b"token" else ""


@dataclass
class LineRules:
    """Which lines a source takes, and what it has counted; the same for all of its connections.

    Attributes
    ----------
    default
        Name of the stream for messages that name none.
    refused
        Number of refused messages by kind.
    dimensions
        Coordinates per channel of lines of numbers; 0 for those of the space.
    check
        Whether every line must have a checksum.
    stream
        The one stream that is taken: the one of the URL, or else the first that is named in a message.
    unchecked
        Number of samples that were taken without a checksum.
    reason
        Why the first line that was refused was.
    coordinates
        Coordinates per channel that are read.

    Examples
    --------
    >>> rules = LineRules("tool")
    >>> rules.fit("pose")
    >>> rules.coordinates
    7
    """

    default: str
    refused: Counter[str] = field(default_factory=Counter)
    dimensions: int = 0
    check: bool = False
    stream: str = ""
    unchecked: int = 0
    reason: str = field(default="", init=False)
    coordinates: int = field(default=USUAL, init=False)
    _firsts: list[float] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        self.coordinates = self.dimensions or USUAL

    def fit(self, space: str) -> None:
        """Read as many coordinates per channel as a space has; raise an error if the URL asks for others."""
        numbers = allowed(space)
        if not self.dimensions:
            self.coordinates = numbers[0] if len(numbers) == 1 else USUAL
        elif self.dimensions not in numbers:
            raise ValueError(f"?dimensions={self.dimensions}: {expected(space, self.dimensions)}")

    def look_for_time(self, first: float) -> None:
        """Warn once if the first numbers of the first lines without a time grow evenly."""
        if len(self._firsts) >= LOOKED:
            return
        self._firsts.append(first)
        if len(self._firsts) == LOOKED:
            steps = np.diff(self._firsts)
            if np.all(steps > 0) and np.ptp(steps) <= EVEN * np.mean(steps):
                log.warning(
                    "the first number of each line grows evenly, as a time does, and is read as a coordinate; if it is "
                    "a time, give the number of coordinates per channel (?dimensions=2), or send JSON: "
                    "docs/live-messages.md says how times and coordinates are told apart"
                )

    def admit(self, name: str) -> bool:
        """Tell whether messages of a stream are taken."""
        if name and not self.stream:
            self.stream = name
        return not name or name == self.stream


class TextSource(Source):
    """A source whose messages are lines of text, not all of which have a checksum."""

    _rules: LineRules

    @property
    def unchecked(self) -> int:  # type: ignore[override]
        """Number of samples that were taken without a checksum."""
        return self._rules.unchecked

    def fit(self, settings: LiveSettings) -> None:
        """Read as many coordinates per channel as the space has, unless the URL gives their number."""
        self._rules.fit(settings.space)


@dataclass
class LineReader:
    """Turns the lines of one connection into frames; counts lines that are refused, and goes on.

    Attributes
    ----------
    rules
        Which lines are taken.
    header
        What the header of the lines of numbers says; it is the last one before their first line.

    Examples
    --------
    >>> reader = LineReader(LineRules("chest"))
    >>> reader.read(b"time,marker.x,marker.y,marker.z", received=0.0)
    >>> reader.read(b"0.1,1,2,3", received=0.0).names
    ('marker',)
    >>> reader.read(b"0.1,1,2,three", received=0.0), reader.rules.refused, reader.rules.unchecked
    (None, Counter({'malformed': 1}), 1)
    """

    rules: LineRules
    header: Header = field(default_factory=Header)
    _begun: bool = field(default=False, repr=False)
    _headed: bool = field(default=False, repr=False)

    def read(self, line: bytes, received: float) -> Frame | None:
        """Return the frame of a line; None for a blank line, a header or a line that is refused."""
        line = line.strip()
        if not line:
            return None
        content = remove_checksum(line)
        text = line if content is None else content
        if content is None and self.rules.check:
            self.refuse("checksum", "expected a line with a checksum, because of check=required")
            return None
        try:
            frame = parse_sample(text, "", received, self.rules.coordinates, self.header.time_unit)
        except ChecksumError as error:
            self.refuse("checksum", str(error))
            return None
        except FrameError as error:
            if not self._read_header(text):
                self.refuse("malformed", str(error))
            return None
        self._begun = True
        if self.header.fault and not line.startswith(b"{"):
            self.refuse("coordinates", self.header.fault)
            return None
        if not self.rules.admit(frame.stream):
            self.refuse("stream", f"stream: expected {self.rules.stream!r}, got {frame.stream!r}")
            return None
        self.rules.unchecked += content is None
        if frame.device_time is None and not line.startswith(b"{"):
            self.rules.look_for_time(float(frame.values[0, 0]))
        names = frame.names or (self.header.names if len(self.header.names) == len(frame.values) else ())
        unit = frame.unit or self.header.unit
        return replace(frame, stream=frame.stream or self.rules.default, names=names, unit=unit)

    def refuse(self, kind: str, why: str) -> None:
        """Count a line that is refused, and say why for the first one of its kind."""
        self.rules.refused[kind] += 1
        self.rules.reason = self.rules.reason or one_line(why)
        if self.rules.refused[kind] == 1:
            log.warning("refused: %s; such messages are skipped and counted", one_line(why))

    def _read_header(self, line: bytes) -> bool:
        """Take over what a header says; return whether the line is one, and comes before the lines that it describes.

        After a header that is at fault, the sender may send another one.
        """
        if self._begun and not self.header.fault:
            return False
        header = read_header(line.decode(errors="replace"), self.rules.coordinates)
        if header is None or (self._headed and not header.names_columns):
            return False
        self.header, self._headed = header, True
        return True


def line_rules(endpoint: Endpoint, stream: str, refused: Counter[str]) -> LineRules:
    """Return the rules of a source, from the options of its URL."""
    check = endpoint.options.get("check")
    if check not in (None, REQUIRED):
        raise ValueError(f"{endpoint}, check: expected {REQUIRED!r}, got {check!r}")
    return LineRules(
        default=stream,
        refused=refused,
        dimensions=int(endpoint.number("dimensions", USUAL, 1, 16)) if "dimensions" in endpoint.options else 0,
        check=check is not None,
        stream=endpoint.options.get("stream", ""),
    )
