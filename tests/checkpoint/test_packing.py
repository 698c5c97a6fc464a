"""Packing of arrays: every bit comes back, and arrays that should be packed well are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from quatcast.checkpoint import packing


def packed(*arrays):
    entry, parts = packing.pack_arrays(arrays)
    content = memoryview(b"".join(part.tobytes() for part in parts))
    assert packing.packed_size(entry) == len(content)
    return entry, content


def size(*arrays):
    """Return the packed size of arrays, after a look at what comes back."""
    entry, content = packed(*arrays)
    for found, array in zip(packing.unpack_arrays(entry, content), arrays, strict=True):
        assert (found.dtype, found.shape, found.tobytes()) == (array.dtype, array.shape, array.tobytes())
        assert found.flags.writeable
        assert found.flags.c_contiguous
    return len(content)


RNG = np.random.default_rng(0)
DENSE = RNG.normal(size=(200, 200))


@pytest.mark.parametrize(
    ("array", "bytes_per_number"),
    [
        (DENSE, 7.1),
        (DENSE + DENSE.T, 3.6),
        (np.where(DENSE > 2, DENSE, 0.0), 0.35),
        (DENSE.round(2), 1.4),
        (np.ones((200, 200)), 0.13),
        (2.0 ** (100 * DENSE), 8.0),
        ((1.5 + np.cumsum(1e-4 * DENSE, axis=0)) * 2.0 ** RNG.integers(-500, 500, 200), 6.4),
        (DENSE.astype("f4"), 4.0),
        (DENSE > 2, 1.0),
    ],
    ids=["normal", "symmetric", "sparse", "rounded", "constant", "wide", "series", "f4", "bool"],
)
def test_size(array, bytes_per_number):
    assert size(array) <= bytes_per_number * array.size
    assert size(array, array, array) <= 3 * bytes_per_number * array.size


def test_a_few_numbers_of_another_magnitude_are_stored_apart():
    array = DENSE.copy()
    array[::20, ::20] = 2.0**-900
    entry, _ = packed(array)
    assert entry["escaped"] >= 100
    assert size(array) < 7.15 * array.size


@settings(deadline=None, max_examples=60)
@given(
    bits=hnp.arrays("<u8", st.integers(1, 60)),
    repeats=st.integers(1, 60),
    different=st.booleans(),
    many=st.integers(1, 3),
)
def test_every_bit_comes_back(bits, repeats, different, many):
    """Long enough to be compressed, or not; by a dictionary, by differences, or not at all."""
    flat = np.tile(bits, repeats)
    if different:
        flat ^= np.random.default_rng(0).integers(0, 2**52, len(flat), dtype=np.uint64)
    size(*[flat.view("<f8").copy() if k else flat.view("<f8") for k in range(many)])


@pytest.mark.parametrize("width", range(1, 17))
def test_values_of_any_width_are_split_and_joined(width):
    for count in (1, 7, 8, 9, 1000):
        values = RNG.integers(0, 1 << width, count).astype("<u2")
        content = b"".join(part.tobytes() for part in packing.split_bits(values, width))
        assert len(content) <= count * width / 8 + 4
        np.testing.assert_array_equal(packing.join_bits(memoryview(content), count, width), values)


@given(values=hnp.arrays("<u2", st.integers(1, 50)), start=st.none() | st.integers(0, 2**16 - 1))
def test_differences_are_undone(values, start):
    np.testing.assert_array_equal(packing.undo_difference(packing.difference(values, start), start), values)


@settings(deadline=None)
@given(different=st.integers(1, 3000), seed=st.integers(0, 9))
def test_a_dictionary_has_each_number_once(different, seed):
    rng = np.random.default_rng(seed)
    flat = rng.choice(rng.normal(size=different), 4000).view("<u8")
    numbers, places = packing.different_numbers(flat)
    np.testing.assert_array_equal(numbers[places], flat)
    assert len(numbers) == len(np.unique(flat))
