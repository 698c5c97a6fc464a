"""The file of a checkpoint: a tree of plain values and its arrays, written whole or not at all.

A file begins with a magic word, the format version, and the length and checksums of what follows: the bytes of the
arrays, and an outline. The outline is JSON text with the tree and how `packing` packed the arrays. All sizes are
compared with the size of the file before any memory is allocated.
"""

from __future__ import annotations

import errno
import glob
import json
import math
import os
import secrets
import struct
import time
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from quatcast.algebra.backend import device_of, fetch, place
from quatcast.basics.limits import check_memory
from quatcast.basics.typing import Array, Floats
from quatcast.checkpoint.packing import pack_arrays, packed_size, unpack_arrays

MAGIC = b"quatcast"
VERSION = 17
_HEAD = struct.Struct("<8sIQII")
"""Magic word, format version, length of the outline, checksum of the outline, checksum of the arrays."""
_ALONE = 1 << 16
"""Bytes from which an array is packed alone; smaller ones are packed together with all others of their shape."""
_CANNOT_SYNC = (errno.EINVAL, errno.EBADF, errno.ENOTSUP, errno.EACCES)
"""Errors of systems that cannot flush folders, as some network file systems, or of folders that may not be listed."""
_ABANDONED = 600.0
"""Seconds after which a temporary file that does not grow belongs to a process that was killed."""


class Container:
    """A tree of plain values and its arrays, to be written to a file.

    Packing the arrays takes most of the time. `pack` does it in short pieces, between which a live forecaster can
    answer; `write` needs the interpreter for little of its time and can run in a thread.

    Parameters
    ----------
    tree
        Plain values.
    arrays
        Arrays by the numbers that stand for them in the tree.
    copy
        Copy the arrays. Without it, nothing may change until the file is written.
    """

    def __init__(self, tree: Any, arrays: Mapping[int, Array], *, copy: bool) -> None:
        self._tree = tree
        self._packed: list[tuple[dict[str, Any], list[Any]]] = []
        self._waiting: dict[Any, list[tuple[int, Floats]]] = {}
        for position, given in arrays.items():
            array = fetch(given)
            infinite = array.dtype.kind == "f" and not np.isfinite(array).all()
            alone = position if array.nbytes > _ALONE else None
            group = (array.dtype, array.shape, device_of(given), infinite, alone)
            self._waiting.setdefault(group, []).append((position, array.copy() if copy else array))

    def pack(self) -> Iterator[None]:
        """Pack the arrays, and yield after each group of them."""
        while self._waiting:
            self._packed.append(self._pack_next())
            yield

    def _pack_next(self) -> tuple[dict[str, Any], list[Any]]:
        group = next(iter(self._waiting))
        members = self._waiting.pop(group)
        entry, parts = pack_arrays([array for _, array in members])
        entry |= {"device": group[2], "positions": [position for position, _ in members]}
        return entry | ({"infinite": True} if group[3] else {}), list(parts)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write to a file, whole or not at all; what has not been packed is packed on the way.

        The file is written under a temporary name of its own in the same folder, flushed to the disk, and then takes
        the place of an earlier one. After an error the temporary file is removed. One that a killed process has left
        behind is removed by a later call.
        """
        target = Path(path)
        if not target.parent.is_dir():
            raise FileNotFoundError(f"{target.parent}: there is no such folder")
        if target.is_dir():
            raise IsADirectoryError(f"{path}: is a folder, not a file")
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(8)}.part")
        try:
            with temporary.open("xb") as file:
                self._write(file)
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(target.parent)
        _remove_abandoned(target)

    def _write(self, file: BinaryIO) -> None:
        file.write(bytes(_HEAD.size))
        entries, checksum = [], 0
        for entry, parts in self._all_packed():
            entries.append(entry)
            for part in parts:
                checksum = zlib.crc32(part, checksum)
                file.write(part)
        outline = json.dumps({"arrays": entries, "tree": self._tree}, separators=(",", ":")).encode()
        file.write(outline)
        file.seek(0)
        file.write(_HEAD.pack(MAGIC, VERSION, len(outline), zlib.crc32(outline), checksum))
        file.flush()
        os.fsync(file.fileno())

    def _all_packed(self) -> Iterator[tuple[dict[str, Any], list[Any]]]:
        yield from self._packed
        while self._waiting:
            yield self._pack_next()


def _sync_folder(folder: Path) -> None:
    """Flush the name of a new file to the disk, where the system can: the file itself is complete and in its place."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        if error.errno not in _CANNOT_SYNC:
            raise


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files of a target that nobody writes any more."""
    for path in target.parent.glob(f".{glob.escape(target.name)}.*.part"):
        try:
            if time.time() - path.stat().st_mtime > _ABANDONED:
                path.unlink()
        except OSError:
            continue  # another process was faster, or the file belongs to somebody else


def read_container(path: str | os.PathLike[str]) -> tuple[memoryview, memoryview]:
    """Read the outline and the packed arrays of a file, and check its format and its checksums.

    Raises
    ------
    ValueError
        If the file is not a checkpoint, has another format version, or is damaged; the message names the file.
    """
    with Path(path).open("rb") as file:
        head = file.read(_HEAD.size)
        if len(head) < _HEAD.size or head[: len(MAGIC)] != MAGIC:
            raise ValueError(f"{path}: not a checkpoint of quatcast")
        _, version, length, outline_sum, array_sum = _HEAD.unpack(head)
        if version != VERSION:
            raise ValueError(f"{path}: checkpoint format {version}; this version of quatcast reads format {VERSION}")
        check_memory(str(path), os.fstat(file.fileno()).st_size)
        content = memoryview(file.read())
    at = max(0, len(content) - length)
    outline, body = content[at:], content[:at]
    if zlib.crc32(outline) != outline_sum or zlib.crc32(body) != array_sum:
        raise ValueError(f"{path}: damaged, or not complete")
    return outline, body


def unpack(outline: memoryview, body: memoryview) -> tuple[Any, dict[int, Array]]:
    """Return the tree and the arrays by their numbers; what is wrong with a forged file raises some error."""
    described = json.loads(bytes(outline))
    entries = described["arrays"]
    sizes = [packed_size(entry) for entry in entries]
    if sum(sizes) != len(body):
        raise ValueError("the arrays do not fill the file")
    check_memory("arrays", sum(8.0 * math.prod(entry["shape"]) for entry in entries))
    arrays: dict[int, Array] = {}
    for entry, size in zip(entries, sizes, strict=True):
        if len(entry["positions"]) != entry["shape"][0]:
            raise ValueError(f"{len(entry['positions'])} positions for arrays of shape {entry['shape']}")
        for position, array in zip(entry["positions"], unpack_arrays(entry, body[:size]), strict=True):
            if not entry.get("infinite") and array.dtype.kind == "f" and not np.isfinite(array).all():
                raise ValueError(f"array {position} contains NaN or infinity, which it did not when it was saved")
            arrays[position] = place(array, entry["device"])
        body = body[size:]
    return described["tree"], arrays
