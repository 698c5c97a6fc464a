"""Checkpoints: every kind of value comes back bit for bit, in little space, and what cannot be saved is refused."""

from collections import deque
from typing import Any

import numpy as np
import pytest
from checkpoint_tools import Holder, Leaf, awkward, round_trip
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quatcast import Ridge, checkpoint
from quatcast.algebra import H
from quatcast.testing import fingerprint

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
