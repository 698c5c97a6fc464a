"""Checkpoints: every value bit for bit, whole or not at all, and nothing else is taken for one."""

import errno
import json
import os
import struct
import subprocess
import sys
import threading
import tracemalloc
import zlib
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quatcast import MCC, QRNN, RLS, Adam, Learner, Replay, Ridge, checkpoint, container
from quatcast.algebra import H
from quatcast.checkpoint import Checkpointable, State
from quatcast.safety.gate import Gate
from quatcast.testing import fingerprint


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


CONTINUE = """
import sys
import numpy as np
from quatcast import Learner
from quatcast.testing import fingerprint

learner = Learner.load(sys.argv[1])
data = np.load(sys.argv[2])
predictions = [learner.update(u, d).prediction for u, d in zip(data["u"], data["d"])]
np.save(sys.argv[3], predictions)
learner.save(sys.argv[4])
print(fingerprint(learner))
"""


@pytest.mark.parametrize("replay", [None, Replay()], ids=["plain", "replay"])
@pytest.mark.parametrize("seeds", [3, range(2)], ids=["single", "runs"])
def test_a_new_process_continues_bit_for_bit(tmp_path, seeds, replay):
    rng = np.random.default_rng(0)
    u, d = rng.normal(size=(300, 3, 4)), rng.normal(size=(300, 2, 4))
    optimizer = Adam(learning_rate=0.01)
    learner = QRNN((4, 3), loss=MCC(sigma="adaptive"), optimizer=optimizer, seeds=seeds, init_std=0.1, replay=replay)
    for x, y in zip(u[:150], d[:150], strict=True):
        learner.update(x, y)
    paths = [str(tmp_path / name) for name in ("half", "data.npz", "rest.npy", "end")]
    learner.save(paths[0])
    np.savez(paths[1], u=u[150:], d=d[150:])
    done = subprocess.run([sys.executable, "-c", CONTINUE, *paths], check=True, capture_output=True, text=True)
    expected = [learner.update(x, y).prediction for x, y in zip(u[150:], d[150:], strict=True)]
    np.testing.assert_array_equal(np.load(paths[2]), expected)
    assert done.stdout.strip() == fingerprint(learner) == fingerprint(Learner.load(paths[3]))


# Every kind of value.

DTYPES = ["<f8", "<f4", "<i8", "<i4", "<u8", "<u4", "|u1", "|b1", ">f8", ">i4"]
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.integers(-9, 9).map(np.int64)
)
ARRAYS = st.sampled_from(DTYPES).flatmap(lambda t: hnp.arrays(t, hnp.array_shapes(min_dims=0, min_side=0, max_side=20)))
RANGES = st.builds(range, st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 5))
TREES = st.recursive(
    SCALARS | ARRAYS | RANGES | st.just(H),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.builds(deque, st.lists(inner, max_size=4), st.none() | st.integers(0, 5))
        | st.dictionaries(st.text() | st.integers(), inner, max_size=4)
        | inner.map(Leaf)
        | inner.map(Holder)
    ),
    max_leaves=12,
)


def in_our_order(tree: Any) -> Any:
    """Return a tree with all arrays in little-endian order, as they come back."""
    if isinstance(tree, np.ndarray):
        return tree.astype(tree.dtype.newbyteorder("<"))
    if isinstance(tree, list | tuple):
        return type(tree)(map(in_our_order, tree))
    if isinstance(tree, deque):
        return deque(map(in_our_order, tree), tree.maxlen)
    if isinstance(tree, dict):
        return {key: in_our_order(value) for key, value in tree.items()}
    if isinstance(tree, Leaf):
        return Leaf(in_our_order(tree.content))
    return Holder(in_our_order(tree.setting)) if isinstance(tree, Holder) else tree


@settings(deadline=None)
@given(tree=TREES)
def test_trees_round_trip_bit_for_bit(tree, tmp_path_factory):
    back = round_trip(tree, tmp_path_factory.getbasetemp())
    assert fingerprint(back) == fingerprint(in_our_order(tree))


@settings(deadline=None)
@given(bits=hnp.arrays("<u8", st.integers(0, 40)))
def test_every_bit_pattern_of_a_float_comes_back(bits, tmp_path_factory):
    back = round_trip(bits.view("<f8"), tmp_path_factory.getbasetemp())
    np.testing.assert_array_equal(back.view("<u8"), bits)


def awkward() -> np.ndarray:
    payloads = np.array([0x7FF8_0000_0000_0001, 0xFFF0_0000_0000_0BAD, 0x7FF0_0000_0000_0001], "<u8").view("<f8")
    return np.concatenate([payloads, [0.0, -0.0, np.inf, -np.inf, 5e-324, 1.0]])


@pytest.mark.parametrize(
    "array",
    [
        awkward(),
        np.tile(np.append(awkward(), np.zeros(91)), 3),
        np.zeros((40, 40)),
        np.full((30, 30), -0.0),
        np.add.outer(np.arange(20.0), np.arange(20.0)),
        np.stack([np.diag(awkward().repeat(2)), np.ones((18, 18))]),
        np.maximum.outer(np.arange(16), np.arange(16)) % 2 == 0,
        np.zeros((0, 20, 20)),
        np.zeros((20, 0)),
        np.array(3.5),
        np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1),
        np.arange(10.0)[::-2],
        np.arange(5, dtype=">f8"),
        *(np.random.default_rng(0).normal(size=(n, 7)) for n in (146, 147, 148, 149)),
        np.random.default_rng(0).normal(size=(1200, 2)) * 2.0 ** np.array([0, -25]),
        np.random.default_rng(0).normal(size=(1200, 2)) * 2.0 ** np.array([0, -900]),
        np.append(np.random.default_rng(0).normal(size=1500), awkward()),
        np.random.default_rng(0).normal(size=(50, 5, 40)).round(1) * [0.0, *[1.0] * 39],
        np.ones((100, 300)),
        np.random.default_rng(0).integers(-(2**63), 2**63, size=2000),
        np.random.default_rng(0).normal(size=5000).astype("f4"),
    ],
    ids=lambda array: f"{array.dtype.str}{array.shape}",
)
def test_arrays_come_back_bit_for_bit(array, tmp_path):
    back = round_trip(array, tmp_path)
    expected = array.astype(array.dtype.newbyteorder("<"))
    assert (back.dtype, back.shape, back.tobytes()) == (expected.dtype, expected.shape, expected.tobytes())
    assert back.flags.writeable


def test_almost_symmetric_is_not_symmetric(tmp_path):
    """A zero of another sign on the other side must not be lost."""
    array = np.zeros((20, 20))
    array[3, 5] = -0.0
    assert np.signbit(round_trip(array, tmp_path)[3, 5])
    assert not np.signbit(round_trip(array, tmp_path)[5, 3])


def test_packing_saves_space(tmp_path):
    def size(array):
        checkpoint.write(tmp_path / "a", array)
        return (tmp_path / "a").stat().st_size

    dense = np.random.default_rng(0).normal(size=(200, 200))
    assert size(dense) < 285_000
    assert size(dense + dense.T) < 143_000
    assert size(np.where(dense > 2, dense, 0.0)) < 14_000
    assert size(dense.round(2)) < 60_000
    assert size(np.ones((200, 200))) < 6_000
    assert size(2.0 ** (100 * dense)) > 320_000


def test_an_array_that_occurs_twice_is_stored_once(tmp_path):
    array = np.random.default_rng(0).normal(size=10_000)
    back = round_trip({"a": array, "b": [Leaf(array), array.copy()]}, tmp_path)
    assert back["a"] is back["b"][0].content
    assert back["a"] is not back["b"][1]
    assert 140_000 < (tmp_path / "tree").stat().st_size < 143_000


def test_arrays_that_exist_only_while_saving_are_told_apart(tmp_path):
    """Python may give one identity to several arrays, one after the other."""

    class Fleeting(Holder):
        def settings(self):
            return {"setting": np.arange(50.0) + self.setting}

    back = round_trip([Fleeting(i) for i in range(40)], tmp_path)
    assert [one.setting[0] for one in back] == list(range(40))


def test_weights_of_a_regression_are_stored_once(tmp_path):
    rng, learner = np.random.default_rng(0), Ridge(refit=1)
    learner.update(rng.normal(size=10), rng.normal(size=5000))
    learner.save(tmp_path / "ridge")
    assert (tmp_path / "ridge").stat().st_size < 1.5 * learner.state.theta[0].nbytes + 41_000


@pytest.mark.parametrize("kind", [np.random.PCG64, np.random.PCG64DXSM, np.random.MT19937, np.random.Philox])
def test_generators_continue(kind, tmp_path):
    generator = np.random.Generator(kind(3))
    generator.integers(9, dtype=np.uint32)
    back = round_trip(generator, tmp_path)
    np.testing.assert_array_equal(back.normal(size=20), generator.normal(size=20))
    np.testing.assert_array_equal(
        back.integers(9, size=5, dtype=np.uint32), generator.integers(9, size=5, dtype=np.uint32)
    )


def test_the_length_of_a_deque_and_unbounded_numbers_come_back(tmp_path):
    back = round_trip(
        {"last": deque([1, 2, 3], maxlen=2), "big": -(2**100), "nan": float("nan"), 3: (1, [2])}, tmp_path
    )
    assert (back["last"], back["last"].maxlen, back["big"], back[3]) == (deque([2, 3]), 2, -(2**100), (1, [2]))
    assert np.isnan(back["nan"])


def test_numbers_of_numpy_become_numbers(tmp_path):
    assert round_trip({"a": np.int64(3), "b": np.float32(0.5), "c": np.bool_(True)}, tmp_path) == {
        "a": 3,
        "b": 0.5,
        "c": True,
    }


def test_an_object_comes_back_with_or_without_its_state(tmp_path):
    holder = Holder({"a": 1})
    assert not round_trip(holder, tmp_path).begun
    holder.state = Leaf(np.arange(3.0))
    assert fingerprint(round_trip(holder, tmp_path)) == fingerprint(holder)
    with pytest.raises(ValueError, match=r"Holder has not begun: call begin\(...\) first"):
        _ = Holder().state


@pytest.mark.parametrize(
    "value",
    [object(), {1, 2}, 1j, b"x", abs, np.zeros(2, complex), np.array(["a"])],
    ids=lambda value: type(value).__name__,
)
def test_what_cannot_be_saved_is_refused_and_the_old_file_stays(tmp_path, value):
    path = tmp_path / "t"
    checkpoint.write(path, {"a": 1})
    with pytest.raises(TypeError, match="a checkpoint cannot hold"):
        checkpoint.write(path, {"a": value})
    with pytest.raises(TypeError, match=r"cannot hold a dictionary with the key 1\.5"):
        checkpoint.write(path, {1.5: 1})
    assert checkpoint.read(path) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["t"]


# Files that are not whole, or not ours.


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_bytes(b"")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("text", "empty", "other.npz"):
        with pytest.raises(ValueError, match=rf"{name}: not a checkpoint of quatcast"):
            checkpoint.read(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        checkpoint.read(tmp_path / "absent")


def forge(path: Path, outline: Any, body: bytes = b"", version: int = container.VERSION) -> Path:
    """Write a file whose checksums are right."""
    text = outline if isinstance(outline, bytes) else json.dumps(outline).encode()
    head = struct.pack("<8sIQII", b"quatcast", version, len(text), zlib.crc32(text), zlib.crc32(body))
    path.write_bytes(head + body + text)
    return path


@pytest.mark.parametrize("version", [0, 3, container.VERSION + 1, 2**32 - 1])
def test_other_versions_are_refused(tmp_path, version):
    path = forge(tmp_path / "other", {"arrays": [], "tree": {"value": 1}}, version=version)
    expected = f"other: checkpoint format {version}; this version of quatcast reads format {container.VERSION}"
    with pytest.raises(ValueError, match=expected):
        checkpoint.read(path)
    assert checkpoint.read(forge(path, {"arrays": [], "tree": {"value": 1}})) == 1


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> tuple[bytes, str]:
    """The bytes of a small checkpoint with all kinds of packing, and the fingerprint of its content."""
    path = tmp_path_factory.mktemp("small") / "small"
    learner = RLS().begin(15, 1)
    learner.update(np.arange(15.0), [1.0])
    checkpoint.write(
        path, {"learner": learner, "sparse": np.eye(9), "random": np.random.default_rng(1), "nan": awkward()}
    )
    return path.read_bytes(), fingerprint(checkpoint.read(path))


def refused_or_equal(path: Path, expected: str) -> bool:
    """Read a file that may be damaged, and return whether it was refused with an error that names it."""
    message = ""
    try:
        found = checkpoint.read(path)
    except ValueError as error:
        message = str(error)
    assert message.startswith(f"{path}: ") if message else fingerprint(found) == expected
    return bool(message)


def test_every_truncation_is_refused(tmp_path, small):
    content, expected = small
    path = tmp_path / "cut"
    for length in range(len(content)):
        path.write_bytes(content[:length])
        assert refused_or_equal(path, expected), length
    path.write_bytes(content + b"\0")
    assert refused_or_equal(path, expected)


def test_damage_is_refused(tmp_path, small):
    content, expected = small
    path, rng = tmp_path / "damaged", np.random.default_rng(0)
    places = [*range(64), *rng.integers(0, len(content), 2000).tolist()]
    for place in places:
        spoilt = bytearray(content)
        spoilt[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(spoilt)
        assert refused_or_equal(path, expected), place


def array_of(shape: Any = (1,), **entry: Any) -> dict[str, Any]:
    """Return the outline of a file that holds one array."""
    shape = [1, *shape] if isinstance(shape, list | tuple) else shape
    entry = {"dtype": "<f8", "shape": shape, "device": "cpu", "positions": [0]} | entry
    return {"arrays": [entry], "tree": {"array": 0}}


@pytest.mark.parametrize(
    "outline",
    [
        array_of(shape=[2**40]),
        array_of(shape=[2**40], nonzero=0),
        array_of(shape=[2**20, 2**20], symmetric=True),
        array_of(shape=[0, 2**20, 2**20], symmetric=True),
        array_of(shape=[2**62, 2**62]),
        array_of(shape=[2**40], nonzero=-(2**37)),
        array_of(shape=[2**40], dictionary=1, width=1),
        array_of(shape=[2**40], start=0, width=6, escaped=-(2**42)),
        array_of(shape=[0], positions=[]),
        array_of(shape=[0], positions=[0, 1]),
        array_of(shape=[0], positions=[1]),
        array_of(shape=[0], positions=0),
        {"arrays": [{"dtype": "<f8", "shape": [2**40, 0], "device": "cpu", "positions": [0]}], "tree": {"value": 1}},
        {"arrays": [{"dtype": "<f8", "shape": [], "device": "cpu", "positions": [0]}], "tree": {"array": 0}},
        array_of(shape=[0], dictionary=1.5, width=1),
        array_of(shape=[0], dictionary=0, width=0),
        array_of(shape=[0], dictionary=0, width=17),
        array_of(shape=[0], dictionary=0),
        array_of(shape=[0], dtype="<f4", dictionary=0, width=1),
        array_of(shape=[-1]),
        array_of(shape=["a"]),
        array_of(shape=[1.0]),
        array_of(shape=None),
        array_of(shape=[2, 3], symmetric=True),
        array_of(dtype="O"),
        array_of(dtype="<f16"),
        array_of(dtype=["<f8"]),
        {"arrays": [], "tree": {"array": 0}},
        {"arrays": [], "tree": {"array": "a"}},
        {"arrays": [], "tree": {}},
        {"arrays": [], "tree": []},
        {"arrays": [], "tree": {"set": []}},
        {"arrays": [], "tree": {"deque": [], "maxlen": -1}},
        {"arrays": [], "tree": {"range": [0, 1, 0]}},
        {"arrays": [], "tree": {"algebra": "O"}},
        {"arrays": [], "tree": {"generator": {"dict": [["bit_generator", {"value": "default_rng"}]]}}},
        {"arrays": [], "tree": {"object": ["RLS", "quatcast.learners.rls"]}},
        {
            "arrays": [],
            "tree": {"object": ["RLS", "quatcast.learners.rls"], "settings": {"dict": [["momentum", {"value": 1}]]}},
        },
        {
            "arrays": [],
            "tree": {"object": ["RLS", "quatcast.learners.rls"], "settings": {"dict": [["forgetting", {"value": -1}]]}},
        },
        {"arrays": [], "tree": {"object": ["Learner", "quatcast.learners.base"], "settings": {"dict": []}}},
        {"arrays": []},
        [],
        b"not JSON",
        b"[" * 100_000,
    ],
    ids=lambda outline: str(outline)[:60],
)
def test_forged_outlines_are_refused_at_once_and_with_little_memory(tmp_path, outline):
    path = forge(tmp_path / "forged", outline)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"forged: cannot be restored: "):
            checkpoint.read(path)
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("entry", "body"),
    [
        ({"dictionary": 1, "width": 1}, bytes(8) + b"\xff" * 13),
        ({"dictionary": 0, "width": 1}, bytes(13)),
        ({"start": 0, "width": 8, "escaped": 1}, bytes(702)),
        ({"start": 0, "width": 8, "escaped": 0}, b"\xff" * 700),
        ({"start": -1, "width": 8, "escaped": 0}, bytes(700)),
        ({"start": "a", "width": 8, "escaped": 0}, bytes(700)),
        ({"width": 8, "escaped": 0}, bytes(700)),
    ],
    ids=lambda value: str(value)[:60],
)
def test_wrong_compressed_arrays_are_refused(tmp_path, entry, body):
    """A place outside the dictionary, one difference too many or too few, a start that is no number of 16 bits."""
    path = forge(tmp_path / "forged", array_of(shape=[100], **entry), body)
    with pytest.raises(ValueError, match=r"forged: cannot be restored: "):
        checkpoint.read(path)


# Classes and devices.


def test_an_unknown_class_is_named_and_nothing_is_imported(tmp_path):
    before = set(sys.modules)
    path = forge(
        tmp_path / "x", {"arrays": [], "tree": {"object": ["Flight", "antigravity"], "settings": {"dict": []}}}
    )
    with pytest.raises(
        ValueError, match=r"x: .*class 'Flight' of antigravity is not known; import the module that defines it"
    ):
        checkpoint.read(path)
    assert set(sys.modules) == before


@pytest.mark.parametrize("device", ["antigravity", "os", "this", "no.such", "", 3])
def test_an_unknown_device_is_refused_and_nothing_is_imported(tmp_path, device):
    before = set(sys.modules)
    path = forge(tmp_path / "x", array_of(device=device), bytes(8))
    with pytest.raises(ValueError, match="x: cannot be restored: device: "):
        checkpoint.read(path)
    assert set(sys.modules) == before


def test_arrays_of_another_library_come_back_in_it(tmp_path):
    strict = pytest.importorskip("array_api_strict")
    back = round_trip({"a": strict.asarray([1.0, 2.0])}, tmp_path)["a"]
    assert type(back) is type(strict.asarray(0.0))
    np.testing.assert_array_equal(np.from_dlpack(back), [1.0, 2.0])


def test_another_class_is_refused(tmp_path):
    Gate(10.0).save(tmp_path / "gate")
    with pytest.raises(ValueError, match=r"gate: expected a QRNN, got a Gate"):
        QRNN.load(tmp_path / "gate")
    checkpoint.write(tmp_path / "list", [1, 2])
    with pytest.raises(ValueError, match=r"list: expected a Learner, got a list"):
        Learner.load(tmp_path / "list")


def test_classes_of_one_name_are_told_apart_by_their_module(tmp_path):
    Holder(3).save(tmp_path / "mine")
    other = type("Holder", (Checkpointable,), {"__module__": "elsewhere"})
    try:
        assert type(Holder.load(tmp_path / "mine")) is Holder
        moved = forge(tmp_path / "moved", {"arrays": [], "tree": {"object": ["Holder", "gone"], "settings": {}}})
        with pytest.raises(
            ValueError, match=r"class 'Holder' of gone is not known.*several, in elsewhere, test_checkpo"
        ):
            checkpoint.read(moved)
    finally:
        del Checkpointable._registry["Holder"][other.__module__]


def test_a_class_that_has_moved_to_another_module_is_found(tmp_path):
    settings = {"dict": [["setting", {"value": 4}]]}
    path = forge(tmp_path / "old", {"arrays": [], "tree": {"object": ["Holder", "old_module"], "settings": settings}})
    assert checkpoint.read(path).setting == 4


def test_a_class_may_be_defined_again_in_its_module(tmp_path):
    first, second = (type("Twice", (Holder,), {"__module__": __name__}) for _ in range(2))
    first(3).save(tmp_path / "t")
    assert type(Checkpointable.load(tmp_path / "t")) is second


# Writing: whole or not at all.


def test_file_and_folder_are_flushed_to_the_disk_before_and_after_the_file_is_replaced(tmp_path, monkeypatch):
    events = []
    fsync, replace = os.fsync, Path.replace

    def spy(descriptor):
        events.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")).name)
        fsync(descriptor)

    def move(self, target):
        events.append(f"replace {Path(target).name}")
        return replace(self, target)

    monkeypatch.setattr(os, "fsync", spy)
    monkeypatch.setattr(Path, "replace", move)
    checkpoint.write(tmp_path / "file", 1)
    temporary, moved, folder = events
    assert temporary.startswith(".file.")
    assert (moved, folder) == ("replace file", tmp_path.name)


@pytest.mark.parametrize("failing", ["os.fsync", "pathlib.Path.replace", "zlib.crc32"])
@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), KeyboardInterrupt()], ids=repr)
def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch, failing, error):
    path = tmp_path / "file"
    checkpoint.write(path, {"old": np.arange(1000.0)})
    before = path.read_bytes()

    def fail(*_, **__):
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(failing, fail)
        with pytest.raises(type(error)):
            checkpoint.write(path, {"new": np.zeros(1000)})
        with pytest.raises(type(error)):
            checkpoint.write(tmp_path / "first", {"new": np.zeros(1000)})
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_leaves_the_old_file_and_nothing_else(tmp_path, monkeypatch):
    path = tmp_path / "file"
    checkpoint.write(path, "old")
    opened = Path.open

    def open_full(self, mode):
        self.touch()
        return opened(Path("/dev/full"), "wb")

    monkeypatch.setattr(Path, "open", open_full)
    with pytest.raises(OSError, match="No space left"):
        checkpoint.write(path, np.random.default_rng(0).normal(size=100_000))
    monkeypatch.undo()
    assert checkpoint.read(path) == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


def test_concurrent_writers_never_destroy_a_good_file(tmp_path):
    path, failures = tmp_path / "file", []
    checkpoint.write(path, [0, np.zeros(3000)])
    stop = threading.Event()

    def save(number):
        for _ in range(40):
            checkpoint.write(path, [number, np.full(3000, float(number))])

    def load():
        while not stop.is_set():
            number, array = checkpoint.read(path)
            if not (array == number).all():
                failures.append((number, array))

    reader = threading.Thread(target=load)
    writers = [threading.Thread(target=save, args=(number,)) for number in range(1, 5)]
    for thread in (reader, *writers):
        thread.start()
    for thread in writers:
        thread.join()
    stop.set()
    reader.join()
    assert not failures
    assert [entry.name for entry in tmp_path.iterdir()] == ["file"]


# Undoing a step.


def test_a_mark_serves_several_attempts():
    rng = np.random.default_rng(0)
    leaf = Leaf({"last": 1})
    holder = Holder()
    holder.state = Leaf([leaf, Leaf(deque([1, 2])), Leaf(rng), 5])
    before, mark = fingerprint(holder), holder.mark()
    for _ in range(3):
        leaf.content["last"] = 2
        holder.state.content[1].content.append(3)
        holder.state.content[2].content.normal()
        holder.state.content.append(6)
        assert fingerprint(holder) != before
        holder.rewind(mark)
        assert fingerprint(holder) == before


def test_rewinding_to_a_mark_before_the_beginning_takes_the_state_away():
    learner = RLS()
    mark = learner.mark()
    learner.update([1.0], [2.0])
    learner.rewind(mark)
    assert not learner.begun
