"""The OpenIGTLink codec against pyigtl, crcmod, numpy-quaternion and the bytes of the specification."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.algebra.quaternion import rotation_matrix
from quatcast.live.frames import ChecksumError, FrameError
from quatcast.live.transports.igtl import device_names
from quatcast.live.transports.igtl_codec import (
    Header,
    Status,
    checksum,
    pack,
    pack_status,
    parse_body,
    parse_header,
)
from quatcast.live.transports.igtl_poses import (
    position_content,
    quaternion_from_matrix,
    quaternion_tool,
    read_poses,
    transform_content,
)

NUMBERS = st.floats(width=32, allow_nan=False, allow_infinity=False)
POSE = np.array([1.5, -2.25, 1e6, 0.5, 0.5, -0.5, 0.5])
"""Exact in single precision."""


def split(message: bytes) -> tuple[Header, bytes]:
    return parse_header(message[:58]), message[58:]


def poses(message: bytes, oriented: bool = True) -> dict[str, list[float]]:
    header, body = split(message)
    return {tool: pose.tolist() for tool, pose in read_poses(header, parse_body(header, body), oriented)}


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_checksum_is_that_of_crcmod(data: bytes) -> None:
    crcmod = pytest.importorskip("crcmod")
    oracle = crcmod.mkCrcFun(0x142F0E1EBA9EA3693, rev=False, initCrc=0, xorOut=0)
    assert checksum(data) == oracle(data)


def test_header_has_the_bytes_of_the_specification() -> None:
    message = pack("TRANSFORM", "Chest", 2.75, bytes(48), version=1)
    assert message[:2] == b"\0\1"
    assert message[2:14] == b"TRANSFORM\0\0\0"
    assert message[14:34] == b"Chest".ljust(20, b"\0")
    assert message[34:42] == b"\0\0\0\2\xc0\0\0\0"  # seconds, and three quarters as a binary fraction
    assert message[42:50] == (48).to_bytes(8, "big")


@settings(deadline=None)
@given(st.lists(NUMBERS, min_size=16, max_size=16), st.integers(1, 2), st.floats(1, 2e9))
def test_pyigtl_reads_and_writes_the_same_bytes(numbers: list[float], version: int, time: float) -> None:
    pyigtl = pytest.importorskip("pyigtl")
    matrix = np.array(numbers).reshape(4, 4)
    message = pyigtl.TransformMessage(matrix, timestamp=time, device_name="Chest")
    message.header_version, message.metadata = version, {"TransformStatus": "OK"} if version == 2 else {}
    theirs = message.pack()
    content = struct.pack(">12f", *matrix[:3].T.ravel())
    ours = pack("TRANSFORM", "Chest", time, content, message.metadata, version)
    # Their metadata are ASCII (3), ours UTF-8 (106); their times are rounded.
    assert ours[:34] == theirs[:34]
    assert ours[42:50] == theirs[42:50]
    assert ours[58 : 58 + 48] == theirs[58 : 58 + 48]
    header, body = split(theirs)
    assert parse_body(header, body).metadata == message.metadata
    assert header.time == pytest.approx(time, abs=3e-7)
    read = pyigtl.TransformMessage()
    read.unpack(pyigtl.messages.MessageBase.parse_header(ours[:58]), ours[58:])
    np.testing.assert_array_equal(read.matrix[:3], matrix[:3])
    assert read.metadata == message.metadata


@settings(deadline=None)
@given(st.floats(0, 4e9), st.text(max_size=30), st.binary(max_size=60), st.dictionaries(st.text(), st.text()))
def test_messages_survive(time: float, device: str, content: bytes, metadata: dict[str, str]) -> None:
    encodable = {k: v for k, v in metadata.items() if k.isprintable() and v.isprintable()}
    header, body = split(pack("STRING", device, time, content, encodable))
    assert parse_body(header, body).content == content
    assert parse_body(header, body).metadata == encodable
    assert (header.time or 0.0) == pytest.approx(time, abs=2**-32)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=120) | st.binary(min_size=58, max_size=58))
def test_arbitrary_bytes_raise_frame_errors_only(data: bytes) -> None:
    try:
        header = parse_header(data[:58])
        read_poses(header, parse_body(header, data[58:]), True)
    except FrameError:
        pass


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(["TRANSFORM", "POSITION", "QTDATA", "TDATA", "STATUS"]), st.binary(max_size=150), st.integers(1, 3)
)
def test_arbitrary_bodies_with_right_checksums_raise_frame_errors_only(kind: str, body: bytes, version: int) -> None:
    header = Header(version, kind, "Chest", 1.0, len(body), checksum(body))
    try:
        found = read_poses(header, parse_body(header, body), True)
    except FrameError:
        return
    for _, pose in found:
        assert pose.shape == (7,)
        assert not np.isinf(pose).any()


@settings(deadline=None)
@given(st.integers(0, 137), st.integers(1, 255))
def test_every_changed_byte_of_a_body_is_found(at: int, flip: int) -> None:
    message = bytearray(pack("TRANSFORM", "Chest", 1.0, transform_content(POSE), {"TransformStatus": "OK"}))
    at = 58 + at % (len(message) - 58)
    message[at] ^= flip
    header, body = split(bytes(message))
    with pytest.raises(ChecksumError):
        parse_body(header, body)


@pytest.mark.parametrize(
    ("change", "part"),
    [
        ({"version": 9}, "version 1, 2 or 3, got 9"),
        ({"kind": b"TRANS\xffFORM"}, "name of a message type"),
        ({"kind": b""}, "name of a message type"),
        ({"size": 2**16 + 1}, "body of at most 65536 bytes"),
        ({"size": 2**40}, "body of at most 65536 bytes"),
        ({"kind": b"IMAGE", "size": 2**40}, "IMAGE body of at most 268435456 bytes"),
    ],
)
def test_wrong_headers_are_refused(change: dict[str, object], part: str) -> None:
    fields = {"version": 1, "kind": b"TRANSFORM", "device": b"Chest", "stamp": 1 << 32, "size": 48, "crc": 0} | change
    with pytest.raises(FrameError, match=part):
        parse_header(struct.pack(">H12s20sQQQ", *fields.values()))


@pytest.mark.parametrize(
    "body",
    [
        b"\0\x0c\0\0\0\0\0\0",  # shorter than the extended header
        struct.pack(">HHII", 12, 500, 0, 0),  # metadata larger than the body
        struct.pack(">HHII", 12, 0, 2**32 - 1, 0),
        struct.pack(">HHII", 500, 0, 0, 0),
        struct.pack(">HHII", 3, 0, 0, 0),
        struct.pack(">HHII", 12, 2, 0, 0) + b"\xff\xff",  # an index of 65535 entries
        struct.pack(">HHIIHHHI", 12, 10, 0, 0, 1, 65535, 3, 2**32 - 1),  # a key and a value of 4 GiB
    ],
)
def test_lengths_that_contradict_each_other_are_refused(body: bytes) -> None:
    with pytest.raises(FrameError):
        parse_body(Header(2, "TRANSFORM", "Chest", None, len(body), checksum(body)), body)


def test_contents_have_the_bytes_of_the_specification() -> None:
    x, y, z, qw, qx, qy, qz = POSE
    assert position_content(POSE) == struct.pack(">7f", x, y, z, qx, qy, qz, qw)
    tool = quaternion_tool(b"Chest", POSE)
    assert tool == b"Chest".ljust(20, b"\0") + b"\2\0" + struct.pack(">7f", x, y, z, qx, qy, qz, qw)
    assert position_content(np.array([x, y, z, *[np.nan] * 4])) == struct.pack(">3f", x, y, z)
    status = pack_status("chest", 1.0, Status(13, -5, "hold", "no sample"), version=1)[58:]
    assert status == b"\0\x0d" + (-5).to_bytes(8, "big", signed=True) + b"hold".ljust(20, b"\0") + b"no sample\0"


def test_poses_of_all_kinds() -> None:
    tools = quaternion_tool(b"A", POSE) + quaternion_tool(b"", POSE)
    matrix = struct.pack(">20sBB", b"M", 1, 0) + transform_content(POSE)
    three = struct.pack(">6f", *POSE[:3], *POSE[4:])
    expected = POSE.tolist()
    assert poses(pack("QTDATA", "dev", 1.0, tools)) == {"A": expected, "dev": expected}
    assert poses(pack("POSITION", "dev", 1.0, position_content(POSE), version=1)) == {"dev": expected}
    assert poses(pack("POSITION", "dev", 1.0, three)) == {"dev": expected}
    assert poses(pack("TRANSFORM", "dev", 1.0, transform_content(POSE))) == {"dev": expected}
    assert poses(pack("TDATA", "dev", 1.0, matrix)) == {"M": expected}
    assert poses(pack("STATUS", "dev", 1.0, b"")) == {}
    np.testing.assert_equal(poses(pack("POSITION", "dev", 1.0, tools[22:34]), False)["dev"], [*POSE[:3], *[np.nan] * 4])


@pytest.mark.parametrize(
    "metadata",
    [{"TransformStatus": "MISSING"}, {"TransformStatus": "OUT_OF_VIEW"}, {"TransformValid": "False"}],
)
def test_tool_that_is_not_seen_has_no_pose(metadata: dict[str, str]) -> None:
    message = pack("TRANSFORM", "dev", 1.0, transform_content(POSE), metadata)
    assert np.isnan(poses(message)["dev"]).all()
    assert poses(pack("TRANSFORM", "dev", 1.0, transform_content(POSE), {"TransformStatus": "OK"})) == {
        "dev": POSE.tolist()
    }


@pytest.mark.parametrize(
    ("kind", "content"),
    [
        ("TRANSFORM", bytes(44)),
        ("TRANSFORM", bytes(48)),  # not a rotation
        ("TRANSFORM", struct.pack(">12f", 1, 0, 0, 0, 1, 0, 0, 0, -1, 0, 0, 0)),  # a reflection
        ("TRANSFORM", struct.pack(">12f", 1, 0, 0, 0, 1, 0, 0, 0, 1, np.inf, 0, 0)),
        ("POSITION", bytes(16)),
        ("POSITION", bytes(28)),  # the quaternion 0
        ("QTDATA", bytes(49)),
        ("TDATA", bytes(71)),
    ],
)
def test_wrong_contents_are_refused(kind: str, content: bytes) -> None:
    with pytest.raises(FrameError):
        poses(pack(kind, "dev", 1.0, content))


@settings(deadline=None)
@given(st.integers(0, 2**32))
def test_rotations_are_those_of_another_library(seed: int) -> None:
    quaternion = pytest.importorskip("quaternion")
    q = np.random.default_rng(seed).normal(size=4) * np.random.default_rng(seed + 1).choice([1e-9, 1], size=4)
    q /= np.linalg.norm(q)
    matrix = rotation_matrix(q)
    np.testing.assert_allclose(matrix, quaternion.as_rotation_matrix(quaternion.quaternion(*q)), atol=1e-12)
    back = quaternion_from_matrix(matrix)
    np.testing.assert_allclose(back * np.sign(back @ q), q, atol=1e-12)


@settings(deadline=None)
@given(
    st.lists(st.text(min_size=1, max_size=40), min_size=1, max_size=30, unique=True), st.sampled_from(["", "Forecast"])
)
def test_names_of_devices_differ_and_fit(names: list[str], suffix: str) -> None:
    devices = device_names(tuple(names), len(names), suffix)
    assert len(set(devices)) == len(names)
    assert all(len(device) <= 20 and device.isascii() and device.isprintable() for device in devices)
