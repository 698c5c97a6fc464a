"""The algebras R, C and H: multiplication tables, algebraic laws, and products on stacked arrays."""

import pickle

import array_api_strict as strict
import numpy as np
import pytest
import quaternion as nq
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quatcast.algebra import C, H, R, by_name, pack, unpack

ALGEBRAS = [R, C, H]

# Row: left factor; column: right factor.
TABLES = {
    "R": [["1"]],
    "C": [["1", "i"], ["i", "-1"]],
    "H": [
        ["1", "i", "j", "k"],
        ["i", "-1", "k", "-j"],
        ["j", "-k", "-1", "i"],
        ["k", "j", "-i", "-1"],
    ],
}
BASIS = {"1": [1, 0, 0, 0], "i": [0, 1, 0, 0], "j": [0, 0, 1, 0], "k": [0, 0, 0, 1]}

# Values near 1, so that a constant bounds the rounding errors.
components = st.floats(-8, 8, allow_subnormal=False)


def triples(algebra):
    return arrays(float, (3, algebra.dimension), elements=components)


def element(word, d):
    sign = -1.0 if word.startswith("-") else 1.0
    return sign * np.array(BASIS[word.lstrip("-")][:d], dtype=float)


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
def test_basis_table(algebra):
    d = algebra.dimension
    table = TABLES[algebra.name]
    assert d == len(table)
    units = np.eye(d)
    for alpha in range(d):
        for beta in range(d):
            expected = element(table[alpha][beta], d)
            np.testing.assert_array_equal(algebra.multiply(units[alpha], units[beta]), expected)
            np.testing.assert_array_equal(algebra.table[alpha, beta], expected)


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
@given(data=st.data())
def test_product_is_associative(algebra, data):
    x, y, z = data.draw(triples(algebra))
    left = algebra.multiply(algebra.multiply(x, y), z)
    right = algebra.multiply(x, algebra.multiply(y, z))
    np.testing.assert_allclose(left, right, rtol=0, atol=1e-11)


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
@given(data=st.data())
def test_norm_is_multiplicative(algebra, data):
    x, y, _ = data.draw(triples(algebra))
    norm = np.linalg.norm
    np.testing.assert_allclose(norm(algebra.multiply(x, y)), norm(x) * norm(y), rtol=1e-13, atol=1e-100)


@given(x=arrays(float, (2, 2), elements=components))
def test_complex_product_is_that_of_python(x):
    expected = complex(*x[0]) * complex(*x[1])
    np.testing.assert_allclose(C.multiply(x[0], x[1]), [expected.real, expected.imag], rtol=0, atol=1e-13)


def test_products_broadcast():
    x, y = np.ones((5, 1, 4)), np.ones((3, 4))
    assert H.multiply(x, y).shape == (5, 3, 4)


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
def test_table_is_read_only(algebra):
    with pytest.raises(ValueError, match="read-only"):
        algebra.table[0, 0, 0] = 2.0


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
def test_pickle_gives_the_same_object(algebra):
    algebra.mixing(np.zeros((2, 2)))
    assert pickle.loads(pickle.dumps(algebra)) is algebra
    assert by_name(algebra.name) is algebra


def numbers(algebra, rng, *shape):
    return rng.standard_normal((*shape, algebra.dimension))


def stack(v):
    """Convert a vector from the public layout (…, m, d) to the stacked layout (…, d, m)."""
    return np.swapaxes(v, -1, -2)


def matrix_vector(algebra, W, v):
    """Compute W ⊗ v in the public layout, with the number types of Python and numpy-quaternion."""
    make = {1: lambda x: x[0], 2: lambda x: complex(*x), 4: lambda x: nq.quaternion(*x)}[algebra.dimension]
    parts = {
        1: lambda z: [z],
        2: lambda z: [z.real, z.imag],
        4: lambda z: [z.w, z.x, z.y, z.z],
    }[algebra.dimension]
    rows = [sum((make(w) * make(x) for w, x in zip(row, v, strict=True)), start=make(0 * v[0])) for row in W]
    return np.array([parts(z) for z in rows], dtype=float)


@pytest.mark.parametrize("runs", [(), (1,), (3,), (2, 3)], ids=str)
@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
def test_apply_is_the_matrix_vector_product(algebra, runs):
    rng = np.random.default_rng(1)
    q, m = 3, 5
    W, v = numbers(algebra, rng, *runs, q, m), numbers(algebra, rng, *runs, m)
    result = algebra.apply(pack(W), stack(v))
    assert result.shape == (*runs, algebra.dimension, q)
    for run in np.ndindex(runs):
        expected = matrix_vector(algebra, W[run], v[run])
        np.testing.assert_allclose(result[run], expected.T, rtol=0, atol=1e-13)


def test_apply_shares_one_vector_among_runs():
    rng = np.random.default_rng(2)
    W, v = numbers(H, rng, 6, 3, 5), numbers(H, rng, 5)
    together = H.apply(pack(W), stack(v))
    for run in range(6):
        np.testing.assert_allclose(together[run], H.apply(pack(W[run]), stack(v)), rtol=0, atol=1e-13)


@pytest.mark.parametrize("runs", [(), (4,), (2, 3)], ids=str)
@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
def test_expand_is_adjoint_to_apply(algebra, runs):
    """⟨W ⊗ v, δ⟩ = ⟨v, E W⟩ = ⟨W, Eᵀ v⟩ holds for every run separately."""
    rng = np.random.default_rng(3)
    d, q, m = algebra.dimension, 3, 5
    W, v = rng.standard_normal((*runs, d * q, m)), rng.standard_normal((*runs, d, m))
    delta = rng.standard_normal((*runs, d, q))
    E = algebra.expand(delta)
    assert E.shape == (*runs, d, d * q)

    def inner(x, y):
        return np.sum(x * y, axis=(-1, -2))

    forward = inner(algebra.apply(W, v), delta)
    np.testing.assert_allclose(inner(v, E @ W), forward, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(inner(W, E.mT @ v), forward, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("runs", [(), (3,)], ids=str)
@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
def test_pack_stacks_components_and_unpack_undoes_it(algebra, runs):
    rng = np.random.default_rng(4)
    d, q, m = algebra.dimension, 3, 5
    x = numbers(algebra, rng, *runs, q, m)
    W = pack(x)
    assert W.shape == (*runs, d * q, m)
    for alpha in range(d):
        for row in range(q):
            np.testing.assert_array_equal(W[..., alpha * q + row, :], x[..., row, :, alpha])
    np.testing.assert_array_equal(unpack(W, d), x)


@pytest.mark.parametrize("algebra", ALGEBRAS, ids=repr)
def test_any_array_of_the_standard(algebra):
    """A library that has nothing beyond the array API standard gives the same numbers."""
    rng = np.random.default_rng(5)
    x, v = numbers(algebra, rng, 2, 3, 5), stack(numbers(algebra, rng, 2, 5))
    delta = stack(numbers(algebra, rng, 2, 3))

    W = pack(strict.asarray(x))
    result = algebra.apply(W, strict.asarray(v))
    E = algebra.expand(strict.asarray(delta))
    for array in (W, result, E, unpack(W, algebra.dimension)):
        assert isinstance(array, type(strict.asarray(0.0)))

    np.testing.assert_array_equal(np.asarray(W), pack(x))
    np.testing.assert_array_equal(np.asarray(unpack(W, algebra.dimension)), x)
    np.testing.assert_allclose(np.asarray(result), algebra.apply(pack(x), v), rtol=0, atol=1e-13)
    np.testing.assert_array_equal(np.asarray(E), algebra.expand(delta))
