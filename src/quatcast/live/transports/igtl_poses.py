"""Poses in OpenIGTLink messages: TRANSFORM, POSITION, QTDATA and TDATA.

A pose is seven numbers: the position x, y, z in millimetres and the orientation as a quaternion w, x, y, z. On the wire
a quaternion is x, y, z, w. The wire has single precision; what is read is exactly what was sent.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterator, Mapping

import numpy as np

from quatcast.algebra.quaternion import rotation_matrix
from quatcast.basics.typing import Floats
from quatcast.data.rotations import quaternions
from quatcast.live.frames import FrameError
from quatcast.live.transports.igtl_codec import Body, Header, text_of

UNKNOWN_ORIENTATION = (math.nan,) * 4
MATRIX = struct.Struct(">12f")
QUATERNION_TOOL = struct.Struct(">20sBB7f")
MATRIX_TOOL = struct.Struct(">20sBB12f")
TOLERANCE = 0.01
"""Largest deviation of a rotation matrix from orthogonality, and of the modulus of a quaternion from 1."""

Pose = tuple[str, Floats]
"""Name of a tool and its pose (7,); NaN if the tool is not seen."""


def quaternion_from_matrix(matrix: Floats) -> Floats:
    """Return the unit quaternion w, x, y, z with w ≥ 0 of a rotation matrix (3, 3).

    Raises
    ------
    FrameError
        If the matrix is not a rotation.

    Examples
    --------
    >>> quaternion_from_matrix(np.eye(3))
    array([1., 0., 0., 0.])
    """
    if not (np.abs(matrix @ matrix.T - np.eye(3)) <= TOLERANCE).all() or np.linalg.det(matrix) < 0:
        raise FrameError(f"TRANSFORM: expected a rotation matrix, got {matrix.tolist()}")
    return np.asarray(quaternions(matrix[np.newaxis])[0])


def read_poses(header: Header, body: Body, oriented: bool) -> list[Pose]:
    """Return the poses of a message; none for a message without poses.

    Parameters
    ----------
    header, body
        The message.
    oriented
        Whether orientations are wanted. Otherwise they are neither checked nor computed, and are NaN.

    Raises
    ------
    FrameError
        If the content is not what the header says.
    """
    reader = _READERS.get(header.kind)
    if reader is None:
        return []
    seen = _is_seen(body.metadata)
    return [
        (tool or header.device, pose if seen else np.full(7, np.nan))
        for tool, pose in reader(header.kind, body.content, oriented)
    ]


def _is_seen(metadata: Mapping[str, str]) -> bool:
    """Tell whether the metadata of a message says that the tool is seen; without metadata it is."""
    valid = metadata.get("TransformValid", "true").strip().lower()
    return metadata.get("TransformStatus", "OK").strip().upper() == "OK" and valid not in ("false", "0")


def _read_transform(kind: str, content: bytes, oriented: bool) -> Iterator[Pose]:
    _expect(kind, len(content) == MATRIX.size, content)
    yield "", _from_matrix(MATRIX.unpack(content), oriented)


def _read_position(kind: str, content: bytes, oriented: bool) -> Iterator[Pose]:
    _expect(kind, len(content) in (12, 24, 28), content)
    numbers = struct.unpack(f">{len(content) // 4}f", content)
    if len(numbers) == 6:  # the quaternion has modulus 1 and w ≥ 0
        numbers += (math.sqrt(max(0.0, 1 - sum(number * number for number in numbers[3:]))),)
    yield "", _from_quaternion(numbers[:3], numbers[3:], oriented)


def _read_quaternion_tools(kind: str, content: bytes, oriented: bool) -> Iterator[Pose]:
    _expect(kind, len(content) % QUATERNION_TOOL.size == 0, content)
    for name, _, _, *numbers in QUATERNION_TOOL.iter_unpack(content):
        yield text_of(name), _from_quaternion(numbers[:3], numbers[3:], oriented)


def _read_matrix_tools(kind: str, content: bytes, oriented: bool) -> Iterator[Pose]:
    _expect(kind, len(content) % MATRIX_TOOL.size == 0, content)
    for name, _, _, *numbers in MATRIX_TOOL.iter_unpack(content):
        yield text_of(name), _from_matrix(numbers, oriented)


_READERS: dict[str, Callable[[str, bytes, bool], Iterator[Pose]]] = {
    "TRANSFORM": _read_transform,
    "POSITION": _read_position,
    "QTDATA": _read_quaternion_tools,
    "TDATA": _read_matrix_tools,
}


def _expect(kind: str, right: bool, content: bytes) -> None:
    if not right:
        raise FrameError(f"{kind}: expected the size that the type has, got {len(content)} bytes")


def _from_matrix(numbers: tuple[float, ...] | list[float], oriented: bool) -> Floats:
    """Return the pose of three columns of a rotation matrix and a translation."""
    matrix = np.array(numbers).reshape(4, 3)
    orientation = quaternion_from_matrix(matrix[:3].T) if oriented else np.array(UNKNOWN_ORIENTATION)
    return _finite(np.concatenate([matrix[3], orientation]))


def _from_quaternion(
    position: tuple[float, ...] | list[float], xyzw: tuple[float, ...] | list[float], oriented: bool
) -> Floats:
    """Return the pose of a position and of a quaternion x, y, z, w, which may be missing."""
    wxyz = UNKNOWN_ORIENTATION
    if oriented and xyzw:
        x, y, z, w = xyzw
        wxyz = (w, x, y, z)
        if not abs(math.hypot(*wxyz) - 1) <= TOLERANCE:
            raise FrameError(f"quaternion: expected modulus 1, got {math.hypot(*wxyz):g}")
    return _finite(np.array([*position, *wxyz]))


def _finite(pose: Floats) -> Floats:
    if np.isinf(pose).any():
        raise FrameError(f"pose: expected finite numbers, got {pose.tolist()}")
    return pose


def transform_content(pose: Floats) -> bytes:
    """Return the content of a TRANSFORM; without an orientation the rotation is the identity.

    Raises
    ------
    OverflowError
        If a number is too large for single precision.
    """
    rotation = np.eye(3) if np.isnan(pose[3:]).any() else rotation_matrix(pose[3:] / np.linalg.norm(pose[3:]))
    return MATRIX.pack(*rotation.T.ravel(), *pose[:3])


def position_content(pose: Floats) -> bytes:
    """Return the content of a POSITION; without an orientation it has the position only."""
    if np.isnan(pose[3:]).any():
        return struct.pack(">3f", *pose[:3])
    return struct.pack(">7f", *pose[:3], *pose[4:], pose[3])


def quaternion_tool(name: bytes, pose: Floats) -> bytes:
    """Return the part of one tool of a QTDATA; without an orientation it is the identity, and the type is 3-D."""
    known = not np.isnan(pose[3:]).any()
    w, x, y, z = pose[3:] if known else (1.0, 0.0, 0.0, 0.0)
    return QUATERNION_TOOL.pack(name, 2 if known else 3, 0, *pose[:3], x, y, z, w)
