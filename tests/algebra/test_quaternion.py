"""Functions of quaternions, compared with numpy-quaternion and the basis table, and on extreme values."""

import numpy as np
import pytest
import quaternion as nq
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from quatcast import quaternion as qt

components = st.floats(-8, 8, allow_subnormal=False)
quaternions = arrays(float, 4, elements=components)
nonzero = quaternions.filter(lambda q: np.abs(q).max() > 1e-3)
points = arrays(float, st.tuples(st.integers(0, 3), st.just(3)), elements=components)
AXES = {"i": qt.I, "j": qt.J, "k": qt.K}
INF, NAN = np.inf, np.nan


def oracle(q):
    return nq.quaternion(*map(float, q))


def components_of(z):
    return np.array([z.w, z.x, z.y, z.z])


def close(actual, expected, atol=1e-12):
    np.testing.assert_allclose(actual, expected, rtol=1e-12, atol=atol)


def test_units_obey_hamilton():
    """i² = j² = k² = ijk = −1; cyclic products give the third unit, and anticyclic ones its negative."""
    for unit in (qt.I, qt.J, qt.K):
        np.testing.assert_array_equal(qt.product(unit, unit), -qt.ONE)
        np.testing.assert_array_equal(qt.product(qt.ONE, unit), unit)
        np.testing.assert_array_equal(qt.product(unit, qt.ONE), unit)
    np.testing.assert_array_equal(qt.product(qt.product(qt.I, qt.J), qt.K), -qt.ONE)
    for x, y, z in [(qt.I, qt.J, qt.K), (qt.J, qt.K, qt.I), (qt.K, qt.I, qt.J)]:
        np.testing.assert_array_equal(qt.product(x, y), z)
        np.testing.assert_array_equal(qt.product(y, x), -z)


@given(p=quaternions, q=quaternions)
def test_product_is_that_of_numpy_quaternion(p, q):
    close(qt.product(p, q), components_of(oracle(p) * oracle(q)))


@given(q=quaternions)
def test_conjugate_and_modulus_are_those_of_numpy_quaternion(q):
    np.testing.assert_array_equal(qt.conjugate(q), components_of(oracle(q).conjugate()))
    close(qt.modulus(q), oracle(q).abs())
    close(qt.product(q, qt.conjugate(q)), [qt.modulus(q) ** 2, 0, 0, 0])


@given(q=nonzero)
def test_inverse_is_that_of_numpy_quaternion(q):
    close(qt.inverse(q), components_of(oracle(q).inverse()))
    close(qt.product(q, qt.inverse(q)), qt.ONE)
    close(qt.product(qt.inverse(q), q), qt.ONE)


@given(q=quaternions, mu=nonzero)
def test_rotation_is_that_of_numpy_quaternion(q, mu):
    rotated = qt.rotation(q, mu)
    close(rotated, components_of(oracle(mu) * oracle(q) * oracle(mu).inverse()), atol=1e-11)
    close(qt.rotation(q, -2.5 * mu), rotated, atol=1e-11)


@given(point=arrays(float, 3, elements=components), mu=nonzero)
def test_rotation_turns_points_as_a_rotation_matrix(point, mu):
    matrix = nq.as_rotation_matrix(oracle(mu))
    rotated = qt.rotation(qt.pure(point), mu)
    close(qt.vector(rotated), matrix @ point, atol=1e-11)
    close(qt.scalar(rotated), 0.0, atol=1e-11)


@given(q=arrays(float, (2, 4), elements=components))
def test_rotation_matrices_are_those_of_numpy_quaternion(q):
    assume(np.all(np.linalg.norm(q, axis=-1) > 0.1))
    q = q / np.linalg.norm(q, axis=-1, keepdims=True)
    close(qt.rotation_matrix(q), nq.as_rotation_matrix(nq.from_float_array(q)), atol=1e-12)


@pytest.mark.parametrize("axis", AXES)
@given(q=quaternions)
def test_involution_is_the_rotation_by_a_unit(axis, q):
    np.testing.assert_array_equal(qt.involution(q, axis), qt.rotation(q, AXES[axis]))
    np.testing.assert_array_equal(qt.involution(qt.involution(q, axis), axis), q)


@given(q=quaternions)
def test_four_involutions_add_up_to_the_real_part(q):
    """q + q^i + q^j + q^k = 4 Re q, the identity behind the GHR chain rule."""
    total = q + sum(qt.involution(q, axis) for axis in "ijk")
    close(total, 4 * qt.scalar(q) * qt.ONE)


def test_unknown_axis_is_named():
    with pytest.raises(ValueError, match=r'axis: expected "i", "j" or "k", got .x.'):
        qt.involution(qt.ONE, "x")


@given(p=quaternions, q=quaternions)
def test_matrices_multiply(p, q):
    expected = components_of(oracle(p) * oracle(q))
    close(qt.left_matrix(p) @ q, expected)
    close(qt.right_matrix(q) @ p, expected)


def test_matrices_written_out():
    a, b, c, d = q = np.array([2.0, 3.0, 5.0, 7.0])
    left = [[a, -b, -c, -d], [b, a, -d, c], [c, d, a, -b], [d, -c, b, a]]
    right = [[a, -b, -c, -d], [b, a, d, -c], [c, -d, a, b], [d, c, -b, a]]
    np.testing.assert_array_equal(qt.left_matrix(q), left)
    np.testing.assert_array_equal(qt.right_matrix(q), right)


@given(x=points)
def test_points_go_and_come_back(x):
    q = qt.pure(x)
    assert q.shape == (len(x), 4)
    np.testing.assert_array_equal(qt.vector(q), x)
    np.testing.assert_array_equal(qt.scalar(q), np.zeros(len(x)))


def test_leading_axes_broadcast():
    rng = np.random.default_rng(0)
    p, q = rng.standard_normal((5, 1, 4)), rng.standard_normal((3, 4))
    whole, turned, back = qt.product(p, q), qt.rotation(q, p), qt.inverse(p)
    assert whole.shape == turned.shape == (5, 3, 4)
    assert qt.left_matrix(p).shape == qt.right_matrix(p).shape == (5, 1, 4, 4)
    for i, k in np.ndindex(5, 3):
        close(whole[i, k], qt.product(p[i, 0], q[k]))
        close(turned[i, k], qt.rotation(q[k], p[i, 0]))
    for i in range(5):
        close(back[i, 0], qt.inverse(p[i, 0]))


def test_random_units_are_uniform_and_reproducible():
    mu = qt.random_unit(rng=3, size=(2000, 2))
    assert mu.shape == (2000, 2, 4)
    assert qt.random_unit(rng=3).shape == (4,)
    close(qt.modulus(mu), 1.0)
    np.testing.assert_array_equal(mu, qt.random_unit(rng=np.random.default_rng(3), size=(2000, 2)))
    # A rotated point is uniform on the sphere: mean 0 and covariance 1/3, each within five standard errors.
    turned = qt.vector(qt.rotation(qt.I, mu.reshape(-1, 4)))
    assert np.abs(turned.mean(axis=0)).max() < 5 * np.sqrt(1 / 3 / 4000)
    np.testing.assert_allclose(turned.T @ turned / 4000, np.eye(3) / 3, atol=5 * 0.3 / np.sqrt(4000))


def test_zero_has_no_inverse():
    with pytest.raises(ZeroDivisionError, match="the zero quaternion has no inverse"):
        qt.inverse(np.zeros(4))
    several = np.ones((2, 3, 4))
    several[1, 2] = 0.0
    with pytest.raises(ZeroDivisionError, match=r"at index \(1, 2\)"):
        qt.inverse(several)
    with pytest.raises(ZeroDivisionError):
        qt.rotation(qt.ONE, np.zeros(4))


@pytest.mark.parametrize("size", [1e-200, 1e-160, 1e160, 1e200])
def test_moduli_beyond_the_square_root_of_the_range(size):
    """The squares of these moduli overflow or underflow; the modulus and the inverse must not."""
    q = size * np.array([1.0, -2.0, 3.0, -4.0])
    close(qt.modulus(q) / size, np.sqrt(30))
    close(qt.inverse(q) * size, qt.inverse(q / size))


@pytest.mark.parametrize("q", [[0, 0, 0, 0], [-0.0, 0, -0.0, 0]], ids=str)
@given(p=quaternions)
def test_zero_annihilates(q, p):
    np.testing.assert_array_equal(qt.product(p, q), np.zeros(4))
    np.testing.assert_array_equal(qt.product(q, p), np.zeros(4))
    assert qt.modulus(q) == 0.0


@pytest.mark.parametrize("bad", [INF, -INF, NAN])
@pytest.mark.parametrize("where", range(4))
def test_infinity_and_nan_are_not_repaired(bad, where):
    q = np.array([1.0, 2.0, 3.0, 4.0])
    q[where] = bad
    assert np.isnan(qt.product(q, [1.0, 2.0, 3.0, 4.0])).all()
    assert qt.modulus(q) == INF if np.isinf(bad) else np.isnan(qt.modulus(q))
    np.testing.assert_array_equal(qt.conjugate(q), q * [1, -1, -1, -1])
    np.testing.assert_array_equal(np.isfinite(qt.involution(q, "j")), np.isfinite(q))


def test_bad_elements_leave_the_others_alone():
    q = np.array([[NAN, 0, 0, 0], [1.0, 2.0, 3.0, 4.0]])
    np.testing.assert_array_equal(qt.product(q, q)[1], qt.product(q[1], q[1]))
    np.testing.assert_array_equal(qt.inverse(q)[1], qt.inverse(q[1]))
    assert np.isnan(qt.inverse(q)[0, 0])


def test_empty_arrays_stay_empty():
    none = np.zeros((0, 4))
    for function in (qt.conjugate, qt.inverse, lambda q: qt.product(q, qt.I), lambda q: qt.rotation(q, qt.I)):
        assert function(none).shape == (0, 4)
    assert qt.modulus(none).shape == (0,)


ONE_ARGUMENT = [
    qt.conjugate,
    qt.modulus,
    qt.inverse,
    qt.vector,
    qt.scalar,
    qt.left_matrix,
    qt.right_matrix,
    qt.rotation_matrix,
]


@pytest.mark.parametrize(
    "function",
    [
        *ONE_ARGUMENT,
        lambda q: qt.product(qt.ONE, q),
        lambda q: qt.rotation(q, qt.I),
        lambda q: qt.involution(q, "i"),
    ],
)
@pytest.mark.parametrize("bad", [1.0, [1.0, 2.0, 3.0], np.zeros((4, 5))], ids=["0-d", "point", "(4, 5)"])
def test_wrong_shapes_are_named(function, bad):
    with pytest.raises(ValueError, match=r"q: expected quaternions, shape \(…, 4\), got"):
        function(bad)


def test_wrong_shapes_of_other_arguments_are_named():
    with pytest.raises(ValueError, match="p: expected quaternions"):
        qt.product([1.0, 2.0], qt.ONE)
    with pytest.raises(ValueError, match="mu: expected quaternions"):
        qt.rotation(qt.ONE, [1.0, 2.0])
    with pytest.raises(ValueError, match="points: expected 3-D points"):
        qt.pure(np.zeros((3, 4)))


@given(q=nonzero)
def test_results_never_alias_arguments(q):
    assume(np.all(q != 0.0))
    before = q.copy()
    x = qt.vector(q)
    results = [
        qt.conjugate(q),
        qt.involution(q, "i"),
        x,
        qt.scalar(q),
        qt.inverse(q),
        qt.product(q, qt.ONE),
        qt.pure(x),
    ]
    for result in results:
        assert not np.shares_memory(result, q)
    x[:] = -1.0
    np.testing.assert_array_equal(q, before)
    assert not np.shares_memory(qt.pure(x), x)


@pytest.mark.parametrize("unit", [qt.ONE, qt.I, qt.J, qt.K])
def test_unit_constants_cannot_be_changed(unit):
    with pytest.raises(ValueError, match="read-only"):
        unit[0] = 7.0
