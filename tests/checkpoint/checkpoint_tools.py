"""What the tests of checkpoints share: objects to save, a way there and back, and files whose checksums are right."""

import json
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quatcast import checkpoint
from quatcast.checkpoint import Checkpointable, State, container


@dataclass
class Leaf(State):
    """A state for these tests."""

    content: Any


class Holder(Checkpointable):
    """An object with a setting and a state, for these tests."""

    def __init__(self, setting: Any = None) -> None:
        self.setting = setting


def round_trip(tree: Any, folder: Path) -> Any:
    checkpoint.write(folder / "tree", tree)
    return checkpoint.read(folder / "tree")


def forge(path: Path, outline: Any, body: bytes = b"", version: int = container.VERSION) -> Path:
    """Write a file whose checksums are right."""
    text = outline if isinstance(outline, bytes) else json.dumps(outline).encode()
    head = struct.pack("<8sIQII", b"quatcast", version, len(text), zlib.crc32(text), zlib.crc32(body))
    path.write_bytes(head + body + text)
    return path


def array_of(shape: Any = (1,), **entry: Any) -> dict[str, Any]:
    """Return the outline of a file that holds one array."""
    shape = [1, *shape] if isinstance(shape, list | tuple) else shape
    entry = {"dtype": "<f8", "shape": shape, "device": "cpu", "positions": [0]} | entry
    return {"arrays": [entry], "tree": {"array": 0}}


def awkward() -> np.ndarray:
    payloads = np.array([0x7FF8_0000_0000_0001, 0xFFF0_0000_0000_0BAD, 0x7FF0_0000_0000_0001], "<u8").view("<f8")
    return np.concatenate([payloads, [0.0, -0.0, np.inf, -np.inf, 5e-324, 1.0]])
