"""Lossless packing of arrays into few bytes, in little time: the arrays of a checkpoint.

Arrays of one type and shape are packed together. Nothing is assumed about them, but these are packed well:

- symmetric matrices: only one half is stored;
- zeros: one bit for each number tells whether it is zero;
- numbers that recur, such as measurements of limited resolution: a dictionary of the different numbers, and the place
  of each number in it;
- floating-point numbers of similar magnitude, or a series that changes slowly: the highest 16 bits of each number (with
  the sign moved to the end) differ little from the largest ones, or from those of the number before. The difference is
  stored in few bits; numbers whose difference is too large are stored apart.

The description of a packing is plain data, and `packed_size` checks it before any memory is allocated. Unpacked arrays
have at most 128 times the size of the packed ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

DTYPES = ("<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "|u1", "|b1")
SYMMETRIC = 16
"""Rows from which matrices are tested for symmetry."""
COMPRESSED = 8192
"""Bytes from which numbers are compressed."""
SAMPLE = 512
"""Numbers that tell whether numbers recur."""
TRIAL = 4096
"""Numbers that tell in how many bits differences are stored."""
WIDTHS = (2, 4, 6, 8, 9, 10, 12)
"""Numbers of bits for a difference."""
PARTS = (16, 8, 4, 2, 1)
"""Numbers of bits that are stored together; every width is a sum of them."""

Entry = dict[str, Any]
Bits = NDArray[Any]
"""Unsigned integers."""


def pack_arrays(arrays: Sequence[NDArray[Any]]) -> tuple[Entry, list[Any]]:
    """Pack arrays of one type and shape, and return the description of the packing and the packed bytes in parts.

    Examples
    --------
    >>> entry, parts = pack_arrays([np.eye(100), np.eye(100)])
    >>> entry["shape"], packed_size(entry) == sum(part.nbytes for part in parts) < 4000
    ([2, 100, 100], True)
    >>> packed = memoryview(b"".join(part.tobytes() for part in parts))
    >>> bool((unpack_arrays(entry, packed)[1] == np.eye(100)).all())
    True
    """
    first = arrays[0]
    dtype = first.dtype.newbyteorder("<")
    if dtype.str not in DTYPES:
        raise TypeError(f"a checkpoint cannot hold an array of type {dtype}")
    stack = (first[None] if len(arrays) == 1 else np.stack(arrays)).astype(dtype, order="C", copy=False)
    entry: Entry = {"dtype": dtype.str, "shape": list(stack.shape)}
    # As unsigned integers, numbers are equal if all their bits are.
    bits: Bits = stack.view(f"<u{dtype.itemsize}")
    n = stack.shape[-1] if stack.ndim > 2 and stack.size else 0
    if n >= SYMMETRIC and stack.shape[-2] == n and np.array_equal(bits, bits.swapaxes(-1, -2)):
        entry["symmetric"] = True
        lower, matrices = np.tri(n, dtype=bool), bits.reshape(-1, n, n)
        # A mask of all axes is many times faster than one after an ellipsis.
        flat = matrices[0][lower] if len(matrices) == 1 else np.concatenate([matrix[lower] for matrix in matrices])
    else:
        # The first axis varies fastest: along it, numbers of a series are similar.
        flat = bits.ravel(order="F") if len(stack) > 1 else bits[0].ravel(order="F")
    nonzero = flat != 0
    count, parts = int(np.count_nonzero(nonzero)), []
    if count * flat.itemsize + flat.size / 8 < 0.9 * flat.nbytes:
        entry["nonzero"] = count
        parts.append(np.packbits(nonzero))
        flat = flat[nonzero]
    if flat.itemsize < 8 or flat.nbytes < COMPRESSED:
        return entry, [*parts, flat]
    return entry, parts + (_by_dictionary(flat, entry) or _by_difference(flat, entry) or [flat])


def packed_size(entry: Entry) -> int:
    """Return the number of packed bytes, or raise an error if the description is not valid."""
    count, item = _count(entry), int(np.dtype(entry["dtype"]).itemsize)
    kept, mask = entry.get("nonzero", count), -(-count // 8) if "nonzero" in entry else 0
    if not isinstance(kept, int) or not 0 <= kept <= count:
        raise ValueError(f"{kept} of {count} numbers")
    kind = next((kind for kind in ("dictionary", "escaped") if kind in entry), None)
    if kind is None:
        return mask + kept * item
    many, width = entry[kind], entry["width"]
    if item != 8 or width not in range(1, 17) or not isinstance(many, int) or many < 0:
        raise ValueError(f"numbers of {item} bytes in {width} bits and {many} others")
    split = sum(-(-kept * part // 8) for part in PARTS if width & part)
    return mask + split + (8 * many if kind == "dictionary" else 6 * kept + 2 * many)


def unpack_arrays(entry: Entry, packed: memoryview) -> list[NDArray[Any]]:
    """Return the arrays that `pack_arrays` packed."""
    dtype, count, shape = np.dtype(entry["dtype"]), _count(entry), tuple(entry["shape"])
    bits = np.dtype(f"<u{dtype.itemsize}")
    if "nonzero" in entry:
        mask = -(-count // 8)
        nonzero = np.unpackbits(np.frombuffer(packed[:mask], np.uint8), count=count).astype(bool)
        flat = np.zeros(count, bits)
        flat[nonzero] = _numbers(packed[mask:], entry, entry["nonzero"], bits)
    else:
        flat = _numbers(packed, entry, count, bits)
    if entry.get("symmetric"):
        full, lower = np.zeros(shape, bits), np.tri(shape[-1], dtype=bool)
        full[..., lower] = flat.reshape(*shape[:-2], -1)
        stack = np.where(lower, full, full.swapaxes(-1, -2)).view(dtype)
    else:
        stack = flat.view(dtype).reshape(shape, order="F")
    return [array.copy(order="C") for array in (stack[i, ...] for i in range(shape[0]))]


def _count(entry: Entry) -> int:
    """Return the number of numbers to unpack, zeros included."""
    shape: list[int] = entry["shape"]
    if entry["dtype"] not in DTYPES or not shape or not all(isinstance(n, int) and n >= 0 for n in shape):
        raise ValueError(f"arrays of type {entry['dtype']} and shape {shape}")
    if not entry.get("symmetric"):
        return math.prod(shape)
    *lead, n, m = shape
    if not lead or n != m or 0 in shape:
        raise ValueError(f"symmetric arrays of shape {shape}")
    return math.prod(lead) * (n * (n + 1) // 2)


def _by_dictionary(flat: Bits, entry: Entry) -> list[Any] | None:
    """Pack numbers that recur; None if they do not recur often enough."""
    if len(np.unique(flat[:SAMPLE])) > 0.75 * min(len(flat), SAMPLE):
        return None
    numbers, places = different_numbers(flat)
    width = max(1, (len(numbers) - 1).bit_length())
    if width > 16 or 8 * len(numbers) + len(flat) * width / 8 > 6 * len(flat):
        return None
    entry["dictionary"], entry["width"] = len(numbers), width
    return [numbers, *split_bits(places.astype("<u2"), width)]


def _by_difference(flat: Bits, entry: Entry) -> list[Any] | None:
    """Pack numbers whose highest bits are similar; None if they are not."""
    words = flat.view("<u2")
    top = words[3::4].copy()
    top = top << 1 | top >> 15
    highest = top.max()
    trials = {start: difference(top[:TRIAL], start) for start in (int(highest), None)}
    costs = {(start, width): _cost(codes, width) for start, codes in trials.items() for width in WIDTHS}
    start, width = min(costs, key=lambda choice: costs[choice])
    if costs[start, width] > 14:
        return None
    codes, escape = difference(top, start), (1 << width) - 1
    escaped = codes[codes >= escape]
    entry["start"], entry["width"], entry["escaped"] = start, width, len(escaped)
    low = [flat.view("<u4")[::2].copy(), words[2::4].copy()]
    return [*low, *split_bits(np.minimum(codes, escape), width), escaped]


def _cost(codes: Bits, width: int) -> float:
    """Return the number of bits per code; the largest code of a width marks those that are stored apart."""
    return width + 16 * np.count_nonzero(codes >= (1 << width) - 1) / len(codes)


def difference(values: Bits, start: int | None) -> Bits:
    """Return start − v for 16-bit values v or, without a start, v − v₋₁ with the sign in the last bit.

    Examples
    --------
    >>> difference(np.array([5, 6, 4], "<u2"), 6), difference(np.array([5, 6, 4], "<u2"), None)
    (array([1, 0, 2], dtype=uint16), array([10,  2,  3], dtype=uint16))
    """
    if start is not None:
        return np.uint16(start) - values
    steps = values.copy()
    steps[1:] -= values[:-1]
    signs: Bits = (steps.view("<i2") >> 15).view("<u2")
    return steps << 1 ^ signs


def undo_difference(codes: Bits, start: int | None) -> Bits:
    """Return the values of `difference`."""
    if start is not None:
        return np.uint16(start) - codes
    return np.cumsum(codes >> 1 ^ -(codes & 1), dtype="<u2")


def different_numbers(flat: Bits) -> tuple[Bits, NDArray[np.intp]]:
    """Return the different numbers of an array of 64-bit integers, and the place of each number among them."""
    # Multiplicative hashing into a table of 2¹⁶ numbers. Numbers whose entry was taken by another one are sorted.
    slots = (flat * np.uint64(0x9E3779B97F4A7C15) >> 48).astype(np.intp)
    table, used = np.zeros(1 << 16, flat.dtype), np.zeros(1 << 16, bool)
    table[slots], used[slots] = flat, True
    numbers, places = table[used], (np.cumsum(used) - 1)[slots]
    lost = np.flatnonzero(table[slots] != flat)
    others, among = np.unique(flat[lost], return_inverse=True)
    places[lost] = len(numbers) + among
    return np.concatenate([numbers, others]), places


def split_bits(values: Bits, width: int) -> list[Any]:
    """Return the lowest `width` bits of 16-bit values, in parts of 16, 8, 4, 2 and 1 bits."""
    parts: list[Any] = []
    for part in PARTS:
        if not width & part:
            continue
        if part >= 8:
            parts.append(values.astype(f"<u{part // 8}"))
        else:
            # Several bytes form a word, and their bits move into its lowest byte.
            each = 8 // part
            padded = np.zeros(-(-len(values) // each) * each, "u1")
            padded[: len(values)] = values & (1 << part) - 1
            word = padded.view(f"<u{each}")
            for k in range(each.bit_length() - 1):
                word |= word >> ((8 - part) << k)
            parts.append(word.astype("u1"))
        values = values >> part
    return parts


def join_bits(packed: memoryview, count: int, width: int) -> Bits:
    """Return the values that `split_bits` split."""
    values, at, shift = np.zeros(count, "<u2"), 0, 0
    for part in PARTS:
        if not width & part:
            continue
        size = -(-count * part // 8)
        found = np.frombuffer(packed[at : at + size], f"<u{max(1, part // 8)}")
        if part < 8:
            found = (found[:, None] >> part * np.arange(8 // part, dtype="u1") & (1 << part) - 1).reshape(-1)[:count]
        values |= found.astype("<u2") << shift
        at, shift = at + size, shift + part
    return values


def _numbers(packed: memoryview, entry: Entry, count: int, bits: np.dtype[Any]) -> Bits:
    """Return the numbers that are not left out."""
    if "dictionary" in entry:
        at = 8 * entry["dictionary"]
        return np.frombuffer(packed[:at], bits)[join_bits(packed[at:], count, entry["width"])]
    if "escaped" not in entry:
        return np.frombuffer(packed, bits)
    width, at = entry["width"], len(packed) - 2 * entry["escaped"]
    codes = join_bits(packed[6 * count : at], count, width)
    marked = np.flatnonzero(codes == (1 << width) - 1)
    if len(marked) != entry["escaped"]:
        raise ValueError(f"{entry['escaped']} numbers stored apart instead of {len(marked)}")
    codes[marked] = np.frombuffer(packed[at:], "<u2")
    top = undo_difference(codes, entry["start"])
    flat = np.empty(count, bits)
    flat.view("<u4")[::2] = np.frombuffer(packed[: 4 * count], "<u4")
    flat.view("<u2")[2::4] = np.frombuffer(packed[4 * count : 6 * count], "<u2")
    flat.view("<u2")[3::4] = top >> 1 | top << 15
    return flat
