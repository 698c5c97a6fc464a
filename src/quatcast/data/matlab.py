"""Numeric arrays in MATLAB files of version 5, which is what `save` of MATLAB and of other tools writes by default."""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from quatcast.basics.typing import Floats

HEADER = 128
MATRIX, COMPRESSED = 14, 15
NUMBERS = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
"""Code of a type → the type without byte order."""
NUMERIC = range(6, 16)
"""Classes of arrays that are numeric: double, single, and whole numbers of one to eight bytes."""
LARGEST = 1 << 30
"""Most bytes that a compressed array may have."""


def read_matlab(path: str | os.PathLike[str]) -> dict[str, Floats]:
    """Read the real numeric arrays of a MATLAB file of version 5 by name; anything else in it is skipped.

    Raises
    ------
    ValueError
        If the file is damaged or of another version.

    Examples
    --------
    >>> read_matlab(__file__)
    Traceback (most recent call last):
    ValueError: ...matlab.py: not a MATLAB file of version 5
    """
    content = Path(path).read_bytes()
    if len(content) < HEADER or content[126:128] not in (b"IM", b"MI") or content[:10] != b"MATLAB 5.0":
        raise ValueError(f"{path}: not a MATLAB file of version 5")
    order = "<" if content[126:128] == b"IM" else ">"
    try:
        return dict(_arrays(memoryview(content)[HEADER:], order))
    except (struct.error, zlib.error, ValueError, KeyError, UnicodeError) as error:
        raise ValueError(f"{path}: damaged MATLAB file ({error})") from None


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield type and content of the elements that follow one another."""
    while len(data):
        first, size = struct.unpack_from(f"{order}II", data)
        if first >> 16:
            # A small element: size and type share four bytes, and the content is in the other four.
            kind, size, begin, total = first & 0xFFFF, first >> 16, 4, 8
        else:
            kind, begin = first, 8
            total = 8 + size + (0 if kind == COMPRESSED else -size % 8)
        if begin + size > len(data):
            raise ValueError(f"an element of {size} bytes exceeds the file")
        yield kind, data[begin : begin + size]
        data = data[total:]


def _arrays(data: memoryview, order: str) -> Iterator[tuple[str, Floats]]:
    for kind, content in _elements(data, order):
        if kind == COMPRESSED:
            unpacker = zlib.decompressobj()
            whole = unpacker.decompress(content, LARGEST)
            if unpacker.unconsumed_tail:
                raise ValueError(f"a compressed array has more than {LARGEST} bytes")
            yield from _arrays(memoryview(whole), order)
        elif kind == MATRIX:
            flags, shape, name, *parts = _elements(content, order)
            (word,) = struct.unpack_from(f"{order}I", flags[1])
            if word & 0xFF not in NUMERIC or word & 0x800:
                continue  # text, structures, cells, and complex numbers
            sizes = np.frombuffer(shape[1], f"{order}i4").tolist()
            number, values = parts[0]
            array = np.frombuffer(values, order + NUMBERS[number]).astype(float)
            yield bytes(name[1]).decode("ascii"), array.reshape(sizes, order="F")
