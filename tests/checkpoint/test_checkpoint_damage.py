"""Checkpoints: files that are damaged, forged, of another version or not checkpoints at all are refused."""

import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from checkpoint_tools import array_of, awkward, forge

from quatcast import RLS, checkpoint
from quatcast.checkpoint import container
from quatcast.testing import fingerprint


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").write_bytes(b"")
    np.savez(tmp_path / "other.npz", x=np.zeros(3))
    for name in ("text", "empty", "other.npz"):
        with pytest.raises(ValueError, match=rf"{name}: not a checkpoint of quatcast"):
            checkpoint.read(tmp_path / name)
    with pytest.raises(FileNotFoundError):
        checkpoint.read(tmp_path / "absent")


def test_a_file_larger_than_the_memory_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = forge(tmp_path / "large", {"arrays": [], "tree": {"value": 1}})
    with path.open("r+b") as file:
        file.truncate(10**9)  # a hole, which takes no space on the disk
    monkeypatch.setattr("quatcast.basics.limits.memory_bytes", lambda: 1e9)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="large: needs about 1 GB of memory, but only 500 MB can be used here"):
            checkpoint.read(path)
        assert tracemalloc.get_traced_memory()[1] < 1e7
    finally:
        tracemalloc.stop()


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
