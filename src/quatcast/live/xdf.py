"""Files in the Extensible Data Format (XDF), which the tools of the Lab Streaming Layer read.

A file is a magic word and a row of chunks. A chunk is its length, a tag and its content. Lengths are written as the
number of their bytes and a little-endian number.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import BinaryIO
from xml.sax.saxutils import escape

from quatcast.basics.files import new_file
from quatcast.data.units import split_unit

FILE_HEADER, STREAM_HEADER, SAMPLES, CLOCK_OFFSET, STREAM_FOOTER = 1, 2, 3, 4, 6
"""Tags of chunks."""
BATCH = 1000
"""Samples per chunk."""


@dataclass(frozen=True)
class XdfStream:
    """A stream of numbers in an XDF file.

    Attributes
    ----------
    name, kind
        Name and type of the stream.
    channels
        Names of the channels, with the unit in brackets if it is known.
    samples
        Time in seconds and values of every sample.
    """

    name: str
    kind: str
    channels: Sequence[str]
    samples: Iterable[tuple[float, Sequence[float]]]


def write_xdf(path: Path, streams: Sequence[XdfStream]) -> None:
    """Write streams of double-precision numbers to an XDF file.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_xdf(Path(folder) / "walk.xdf", [XdfStream("walk", "MoCap", ["x"], [(0.0, [1.0]), (0.1, [2.0])])])
    ...     (Path(folder) / "walk.xdf").read_bytes()[:4]
    b'XDF:'
    """
    with new_file(path, "wb") as file:
        file.write(b"XDF:")
        _write_chunk(file, FILE_HEADER, b'<?xml version="1.0"?><info><version>1.0</version></info>')
        for number, stream in enumerate(streams, start=1):
            _write_stream(file, number, stream)


def _write_stream(file: BinaryIO, number: int, stream: XdfStream) -> None:
    identity = struct.pack("<I", number)
    _write_chunk(file, STREAM_HEADER, identity + _header(stream).encode())
    form = struct.Struct(f"<Bd{len(stream.channels)}d")
    samples = iter(stream.samples)
    first = last = None
    count = 0
    while batch := list(islice(samples, BATCH)):
        content = [identity, _length(len(batch))]
        content += [form.pack(8, time, *values) for time, values in batch]
        _write_chunk(file, SAMPLES, b"".join(content))
        # All times are on one clock: the offset is zero.
        _write_chunk(file, CLOCK_OFFSET, identity + struct.pack("<dd", batch[0][0], 0.0))
        first, last, count = batch[0][0] if first is None else first, batch[-1][0], count + len(batch)
    footer = (
        f'<?xml version="1.0"?><info><first_timestamp>{first or 0!r}</first_timestamp>'
        f"<last_timestamp>{last or 0!r}</last_timestamp><sample_count>{count}</sample_count></info>"
    )
    _write_chunk(file, STREAM_FOOTER, identity + footer.encode())


def _header(stream: XdfStream) -> str:
    labels = "".join(f"<channel>{_channel(*split_unit(name))}</channel>" for name in stream.channels)
    return (
        f'<?xml version="1.0"?><info><name>{escape(stream.name)}</name><type>{escape(stream.kind)}</type>'
        f"<channel_count>{len(stream.channels)}</channel_count><nominal_srate>0</nominal_srate>"
        f"<channel_format>double64</channel_format><source_id>quatcast</source_id>"
        f"<desc><channels>{labels}</channels></desc></info>"
    )


def _channel(label: str, unit: str) -> str:
    return f"<label>{escape(label)}</label>" + (f"<unit>{escape(unit)}</unit>" if unit else "")


def _length(number: int) -> bytes:
    """Return a length with the number of its bytes before it."""
    return struct.pack("<BI", 4, number) if number < 2**32 else struct.pack("<BQ", 8, number)


def _write_chunk(file: BinaryIO, tag: int, content: bytes) -> None:
    file.write(_length(len(content) + 2) + struct.pack("<H", tag) + content)
