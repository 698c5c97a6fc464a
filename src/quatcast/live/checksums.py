"""Checksums of lines of text: the last field of a JSON object, or the end of a line of numbers.

A line with a changed digit is a valid line. A checksum, CRC-32 in eight hexadecimal digits, shows the change. It is
computed from the bytes of the line before it:

    {"v":1,"type":"sample","p":[[1,2,3]],"crc":"29a76143"}
    0.1,1.5,2,3*9473bc8d
"""

from __future__ import annotations

import zlib

_MARK = b',"crc":"'


def add_checksum(line: bytes) -> bytes:
    """Return a JSON object or a line of numbers with its checksum.

    Examples
    --------
    >>> add_checksum(b'{"v":1}')
    b'{"v":1,"crc":"6acc9348"}'
    >>> add_checksum(b"1,2,3")
    b'1,2,3*11894deb'
    """
    if line.startswith(b"{"):
        body = line[:-1]
        return b'%b%b%08x"}' % (body, _MARK, zlib.crc32(body))
    return b"%b*%08x" % (line, zlib.crc32(line))


def remove_checksum(line: bytes) -> bytes | None:
    """Return a line without its checksum, or None if it has none or a wrong one.

    Examples
    --------
    >>> remove_checksum(b'{"v":1,"crc":"6acc9348"}'), remove_checksum(b'{"v":2,"crc":"6acc9348"}')
    (b'{"v":1}', None)
    """
    if line.startswith(b"{"):
        body, mark, _ = line.rpartition(_MARK)
        content = body + b"}"
    else:
        content, mark, _ = line.rpartition(b"*")
    return content if mark and content and line == add_checksum(content) else None
