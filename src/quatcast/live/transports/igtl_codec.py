"""OpenIGTLink messages: header, checksum and metadata, for the protocol versions 1 to 3.

A message is a header of 58 bytes and a body. All numbers are big-endian. Version 3 of the protocol has 2 in the
header's version field, and its body is an extended header, the content, and metadata. The checks of `parse_header` come
before anything is allocated for the body; those of `parse_body` come before anything in the body is used.

References
----------
J. Tokuda et al., "OpenIGTLink: an open network protocol for image-guided therapy environment", Int. J. Med. Robotics
Comput. Assist. Surg. 5 (2009) 423. Protocol: http://openigtlink.org/developers/spec
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from quatcast.live.frames import ChecksumError, FrameError
from quatcast.live.messages import MAX_MESSAGE

HEADER = struct.Struct(">H12s20sQQQ")
EXTENDED = struct.Struct(">HHII")
INDEX = struct.Struct(">HHI")
STATUS = struct.Struct(">Hq20s")
PORT = 18944
"""Usual port of OpenIGTLink."""
KINDS = ("TRANSFORM", "POSITION", "QTDATA", "TDATA", "STATUS")
"""Types of messages that are read; the bodies of others are skipped."""
MAX_SKIPPED = 2**28
"""Largest body, in bytes, of a message of another type, such as an image, that is skipped."""
UTF8 = 106
"""Number of UTF-8 in the registry of character sets, which metadata uses."""
STATUS_OK, STATUS_NOT_READY = 1, 13
"""Codes of STATUS messages: the device works; it gives no data now."""


class Header(NamedTuple):
    """Header of a message: version, type, name of the device, time in seconds (None for none), and size of the body."""

    version: int
    kind: str
    device: str
    time: float | None
    size: int
    checksum: int


@dataclass(frozen=True)
class Body:
    """Body of a message: the content, and the metadata of version 3."""

    content: bytes
    metadata: Mapping[str, str] = field(default_factory=dict)


class Status(NamedTuple):
    """Content of a STATUS message; code 1 means OK."""

    code: int
    subcode: int
    name: str
    message: str


def _checksum_table() -> tuple[int, ...]:
    table = []
    for byte in range(256):
        remainder = byte << 56
        for _ in range(8):
            remainder = (remainder << 1) ^ (0x42F0E1EBA9EA3693 if remainder >> 63 else 0)
            remainder &= 0xFFFFFFFFFFFFFFFF
        table.append(remainder)
    return tuple(table)


_TABLE = _checksum_table()


def checksum(data: bytes) -> int:
    """Return the checksum of a body: CRC-64 with the polynomial of ECMA-182, beginning with 0.

    Examples
    --------
    >>> hex(checksum(b"123456789"))
    '0x6c40df5f0b497347'
    """
    remainder = 0
    for byte in data:
        remainder = ((remainder << 8) & 0xFFFFFFFFFFFFFFFF) ^ _TABLE[(remainder >> 56) ^ byte]
    return remainder


def parse_header(data: bytes) -> Header:
    """Read a header; raise `FrameError` if it is not one, or if the body would be too large.

    Examples
    --------
    >>> parse_header(pack("TRANSFORM", "Chest", 1.5, bytes(48), version=1)[:58])[:5]
    (1, 'TRANSFORM', 'Chest', 1.5, 48)
    """
    if len(data) != HEADER.size:
        raise FrameError(f"header: expected {HEADER.size} bytes, got {len(data)}")
    version, kind, device, stamp, size, check = HEADER.unpack(data)
    if version not in (1, 2, 3):
        raise FrameError(f"header: expected version 1, 2 or 3, got {version}")
    name = text_of(kind)
    if not name or not name.replace("_", "").isalnum() or not name.isascii():
        raise FrameError(f"header: expected the name of a message type, got {kind!r}")
    limit = MAX_MESSAGE if name in KINDS else MAX_SKIPPED
    if size > limit:
        raise FrameError(f"header: expected a {name} body of at most {limit} bytes, got {size}")
    return Header(version, name, text_of(device), stamp / 2**32 if stamp else None, size, check)


def parse_body(header: Header, body: bytes) -> Body:
    """Check the checksum of a body and split it into content and metadata.

    Raises
    ------
    ChecksumError
        If the checksum is wrong.
    FrameError
        If the lengths in the body contradict each other.

    Examples
    --------
    >>> message = pack("TRANSFORM", "Chest", 1.5, bytes(48), {"TransformStatus": "MISSING"})
    >>> parse_body(parse_header(message[:58]), message[58:]).metadata
    {'TransformStatus': 'MISSING'}
    """
    if len(body) != header.size or checksum(body) != header.checksum:
        raise ChecksumError(f"{header.kind}: expected the checksum {header.checksum:016x}, got another")
    if header.version < 2:
        return Body(body)
    if len(body) < EXTENDED.size:
        raise FrameError(f"{header.kind}: expected an extended header of {EXTENDED.size} bytes, got {len(body)}")
    size, index_size, metadata_size, _ = EXTENDED.unpack_from(body)
    end = len(body) - index_size - metadata_size
    if not EXTENDED.size <= size <= end:
        raise FrameError(f"{header.kind}: expected sizes of extended header and metadata that fit into the body")
    return Body(body[size:end], _metadata(body[end : end + index_size], body[end + index_size :]))


def _metadata(index: bytes, texts: bytes) -> dict[str, str]:
    """Read the metadata: an index of sizes, and the keys and values one after the other."""
    if not index:
        return {}
    count = int.from_bytes(index[:2], "big")
    if len(index) != 2 + count * INDEX.size:
        raise FrameError(f"metadata: expected an index of {2 + count * INDEX.size} bytes, got {len(index)}")
    metadata, at = {}, 0
    for key_size, _, value_size in INDEX.iter_unpack(index[2:]):
        middle, end = at + key_size, at + key_size + value_size
        if end > len(texts):
            raise FrameError(f"metadata: expected {end} bytes, got {len(texts)}")
        metadata[texts[at:middle].decode(errors="replace")] = texts[middle:end].decode(errors="replace")
        at = end
    return metadata


def pack(
    kind: str,
    device: str,
    time: float,
    content: bytes,
    metadata: Mapping[str, str] | None = None,
    version: int = 2,
) -> bytes:
    """Return a message; metadata requires version 2 or above in the header.

    Examples
    --------
    >>> len(pack("TRANSFORM", "Chest", 1.5, bytes(48), version=1))
    106
    """
    body = content
    if version >= 2:
        pairs = [(key.encode(), value.encode()) for key, value in (metadata or {}).items()]
        index = len(pairs).to_bytes(2, "big") + b"".join(INDEX.pack(len(k), UTF8, len(v)) for k, v in pairs)
        texts = b"".join(key + value for key, value in pairs)
        body = EXTENDED.pack(EXTENDED.size, len(index), len(texts), 0) + content + index + texts
    seconds = math.floor(max(0.0, min(time, 2.0**32 - 1)))
    stamp = (seconds << 32) + int(min(max(time - seconds, 0.0) * 2**32, 2.0**32 - 1))
    return HEADER.pack(version, kind.encode(), _name(device), stamp, len(body), checksum(body)) + body


def pack_status(device: str, time: float, status: Status, version: int = 2) -> bytes:
    """Return a STATUS message."""
    content = STATUS.pack(status.code, status.subcode, _name(status.name)) + status.message.encode() + b"\0"
    return pack("STATUS", device, time, content, version=version)


def text_of(field: bytes) -> str:
    r"""Return the text of a field that ends with its size or with a zero byte.

    Examples
    --------
    >>> text_of(b"Chest\0\0\0")
    'Chest'
    """
    return field.partition(b"\0")[0].decode(errors="replace").rstrip()


def _name(text: str) -> bytes:
    return text.encode("ascii", errors="replace")[:20]
