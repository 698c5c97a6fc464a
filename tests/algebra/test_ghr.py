"""GHR calculus, compared with closed forms, autodiff and the rules of the calculus."""

import autograd
import autograd.numpy as anp
import numpy as np
import pytest
import quaternion as nq

from quatcast import ghr
from quatcast.algebra.quaternion import (
    ONE,
    I,
    J,
    K,
    conjugate,
    inverse,
    left_matrix,
    modulus,
    product,
    random_unit,
    rotation,
    scalar,
)

UNITS = [ONE, I, J, K]
SEEDS = range(5)


def close(actual, expected, rtol=1e-10):
    """Assert equality up to `rtol` times the largest expected component."""
    np.testing.assert_allclose(actual, expected, rtol=0, atol=rtol * max(np.abs(expected).max(), 1e-3))


def times(*factors):
    """Multiply any number of quaternions."""
    result = ONE
    for factor in factors:
        result = product(result, factor)
    return result


@pytest.fixture(params=SEEDS)
def rng(request):
    return np.random.default_rng(request.param)


@pytest.fixture
def q(rng):
    return rng.standard_normal(4)


@pytest.fixture
def mu(rng):
    """Return a rotation that is neither pure nor of unit modulus."""
    return rng.uniform(0.5, 2.0) * random_unit(rng)


@pytest.fixture
def functions(rng):
    """Return two nonlinear functions H → H whose values do not commute."""
    s, t, u, v = rng.standard_normal((4, 4))

    def f(q):
        return times(q, s, q) + product(t, np.sin(q))

    def g(q):
        return u + times(v, q, s) + product(conjugate(q), np.tanh(q))

    return f, g


# Name: f, ∂f/∂q, ∂f/∂q*, with ω and ν constant.
CLOSED_FORMS = {
    "ωqν": (
        lambda q, w, v: times(w, q, v),
        lambda q, w, v: w * v[0],
        lambda q, w, v: -0.5 * product(w, conjugate(v)),
    ),
    "ωq*ν": (
        lambda q, w, v: times(w, conjugate(q), v),
        lambda q, w, v: -0.5 * product(w, conjugate(v)),
        lambda q, w, v: w * v[0],
    ),
    "q²": (
        lambda q, w, v: product(q, q),
        lambda q, w, v: q + q[0] * ONE,
        lambda q, w, v: -q[0] * ONE,
    ),
    "q⁻¹": (
        lambda q, w, v: inverse(q),
        lambda q, w, v: -inverse(q) * inverse(q)[0],
        lambda q, w, v: 0.5 * product(inverse(q), conjugate(inverse(q))),
    ),
    "|q|": (
        lambda q, w, v: modulus(q),
        lambda q, w, v: conjugate(q) / (4 * np.linalg.norm(q)),
        lambda q, w, v: q / (4 * np.linalg.norm(q)),
    ),
    "exp(−|q|²/2)": (
        lambda q, w, v: float(np.exp(-(modulus(q) ** 2) / 2)),
        lambda q, w, v: -0.25 * conjugate(q) * np.exp(-(q @ q) / 2),
        lambda q, w, v: -0.25 * q * np.exp(-(q @ q) / 2),
    ),
}


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_closed_forms(name, q, rng):
    f, expected, expected_conjugate = CLOSED_FORMS[name]
    w, v = rng.standard_normal((2, 4))
    close(ghr.derivative(lambda q: f(q, w, v), q), expected(q, w, v))
    close(ghr.conjugate_derivative(lambda q: f(q, w, v), q), expected_conjugate(q, w, v))


def test_linear_function_for_any_rotation(q, mu, rng):
    """∂(ωqν)/∂q^μ = ω Re(νμ) μ⁻¹."""
    w, v = rng.standard_normal((2, 4))
    expected = product(w, inverse(mu)) * scalar(product(v, mu))
    close(ghr.derivative(lambda q: times(w, q, v), q, mu), expected)


def test_jacobian_against_autodiff(mu, rng):
    """Differentiate a layer H³ → H² with autodiff and assemble the Jacobian with numpy-quaternion."""
    W, b, q = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 4)), rng.standard_normal((3, 4))
    real_W = np.block([[left_matrix(W[m, n]) for n in range(3)] for m in range(2)])

    def layer(flat):
        return anp.tanh(anp.dot(real_W, flat) + b.ravel())

    real = autograd.jacobian(layer)(q.ravel()).reshape(2, 4, 3, 4)
    m = nq.quaternion(*mu)
    units = [m * unit * m.inverse() for unit in (nq.x, nq.y, nq.z)]
    expected = np.empty((2, 3, 4))
    for row, column in np.ndindex(2, 3):
        f_a, *imaginary = (nq.quaternion(*real[row, :, column, alpha]) for alpha in range(4))
        total = f_a - sum((part * u for part, u in zip(imaginary, units, strict=True)), start=nq.zero)
        expected[row, column] = nq.as_float_array(total / 4)

    actual = ghr.jacobian(lambda q: np.tanh(product(W, q).sum(axis=-2) + b), q, mu)
    close(actual, expected)


def test_product_rule(functions, q, mu):
    """∂(fg)/∂q^μ = f ∂g/∂q^μ + ∂f/∂q^gμ g; with ∂f/∂q^μ instead of ∂f/∂q^gμ it does not hold."""
    f, g = functions
    whole = ghr.derivative(lambda q: product(f(q), g(q)), q, mu)
    first = product(f(q), ghr.derivative(g, q, mu))
    close(whole, first + product(ghr.derivative(f, q, product(g(q), mu)), g(q)))
    assert not np.allclose(whole, first + product(ghr.derivative(f, q, mu), g(q)), rtol=1e-3)


def test_chain_rule(functions, q, mu):
    """∂f(g(q))/∂q^μ = Σ_υ ∂f/∂g^υ ∂g^υ/∂q^μ over υ in 1, i, j, k; the first term alone is not enough."""
    f, g = functions
    whole = ghr.derivative(lambda q: f(g(q)), q, mu)
    terms = [
        product(
            ghr.derivative(f, g(q), upsilon),
            ghr.derivative(lambda q, upsilon=upsilon: rotation(g(q), upsilon), q, mu),
        )
        for upsilon in UNITS
    ]
    close(whole, sum(terms))
    assert not np.allclose(whole, terms[0], rtol=1e-3)


def test_rotation_rule(functions, q, mu, rng):
    """(∂f/∂q^μ)^υ = ∂f^υ/∂q^υμ, and likewise for the conjugate; the order υμ matters."""
    f, _ = functions
    upsilon = 1.7 * random_unit(rng)
    for d in (ghr.derivative, ghr.conjugate_derivative):
        rotated = rotation(d(f, q, mu), upsilon)
        close(rotated, d(lambda q: rotation(f(q), upsilon), q, product(upsilon, mu)))
        other = d(lambda q: rotation(f(q), upsilon), q, product(mu, upsilon))
        assert not np.allclose(rotated, other, rtol=1e-3)


def test_differential(functions, q, rng):
    """df = Σ_μ ∂f/∂q^μ dq^μ: the four derivatives are equivalent to the real Jacobian matrix."""
    f, _ = functions
    dq = rng.standard_normal(4)
    total = sum(product(ghr.derivative(f, q, mu), rotation(dq, mu)) for mu in UNITS)
    h = 1e-5
    close(total, (f(q + h * dq) - f(q - h * dq)) / (2 * h), rtol=1e-7)


def test_gradient_is_a_quarter_of_the_real_gradient(rng):
    """∇_q* f = ¼ (∂f/∂a + ∂f/∂b i + ∂f/∂c j + ∂f/∂d k), with the real gradient from autodiff."""
    q, target = rng.standard_normal((2, 3, 4))

    def f(q, xp=np):
        return xp.sum(xp.tanh(q - target) ** 2 * xp.exp(0.3 * q))

    real = autograd.grad(lambda q: f(q, anp))(q)
    close(ghr.gradient(f, q), real / 4)
    close(ghr.gradient(f, q), conjugate(ghr.jacobian(f, q)))


def test_conjugates_swap_only_for_real_functions(functions, q, mu):
    """∂f/∂q^μ* = (∂f/∂q^μ)* holds for real functions only."""
    f, _ = functions
    close(
        ghr.conjugate_derivative(lambda q: f(q)[0], q, mu),
        conjugate(ghr.derivative(lambda q: f(q)[0], q, mu)),
    )
    assert not np.allclose(ghr.conjugate_derivative(f, q, mu), conjugate(ghr.derivative(f, q, mu)), rtol=1e-3)


@pytest.mark.parametrize("size", [0.0, 1e-4, 0.02, 1.0, 30.0])
def test_accuracy_over_the_size_of_q(size):
    q = size * np.array([0.5, -0.1, 0.7, 0.3])
    close(ghr.derivative(lambda q: product(q, q), q), q + q[0] * ONE, rtol=1e-11)
    q_like_a_bias = q / max(size, 1.0)
    expected = np.mean(1 - np.tanh(q_like_a_bias) ** 2) * ONE
    close(ghr.derivative(np.tanh, q_like_a_bias), expected, rtol=1e-11)


def test_a_kink_nearby_does_no_harm():
    q = np.array([0.01, -0.01, 2.0, -3.0])
    close(ghr.derivative(lambda q: np.maximum(q, 0.0), q), 0.5 * ONE)


def test_shapes():
    q = np.arange(24.0).reshape(2, 3, 4) / 10
    W = np.ones((5, 3, 4))
    assert ghr.jacobian(lambda q: q[0, 0], q).shape == (2, 3, 4)
    assert ghr.jacobian(lambda q: q.sum(), q).shape == (2, 3, 4)
    assert ghr.jacobian(lambda q: q.sum(axis=0), q).shape == (3, 2, 3, 4)
    assert ghr.jacobian(lambda q: product(W, q).sum(axis=1), q[0]).shape == (5, 3, 4)
    assert ghr.jacobian(lambda q: q, q[0, 0]).shape == (4,)
    assert ghr.gradient(lambda q: q.sum(), q).shape == q.shape


def test_four_real_numbers_are_one_quaternion():
    """A value of shape (4,) is one quaternion, and a value without axes is a real number."""
    close(ghr.derivative(lambda q: q.sum() * ONE, ONE), ghr.derivative(lambda q: q.sum(), ONE))
    close(ghr.derivative(lambda q: q.sum(), ONE), [0.25, -0.25, -0.25, -0.25])


def test_derivative_at_many_points_with_many_rotations(functions):
    f, _ = functions
    rng = np.random.default_rng(9)
    q, mu = rng.standard_normal((3, 1, 4)), rng.standard_normal((2, 4))
    for d in (ghr.derivative, ghr.conjugate_derivative):
        many = d(f, q, mu)
        assert many.shape == (3, 2, 4)
        for i, k in np.ndindex(3, 2):
            np.testing.assert_array_equal(many[i, k], d(f, q[i, 0], mu[k]))


def test_arguments_are_left_alone():
    q = np.array([1.0, 2.0, 3.0, 4.0])

    def careless(q):
        q *= 2.0
        return q[0]

    close(ghr.gradient(careless, q), 0.5 * ONE)
    np.testing.assert_array_equal(q, [1.0, 2.0, 3.0, 4.0])


@pytest.mark.parametrize("call", [ghr.derivative, ghr.conjugate_derivative, ghr.jacobian])
def test_mistakes_are_named(call):
    with pytest.raises(ValueError, match=r"f: expected quaternions, .*, got shape \(3,\)"):
        call(lambda q: q[:3], ONE)
    with pytest.raises(ValueError, match="q: expected quaternions"):
        call(lambda q: q, np.ones(3))
    with pytest.raises(ValueError, match="mu: expected quaternions"):
        call(lambda q: q, ONE, [1.0])
    with pytest.raises(ZeroDivisionError, match="zero quaternion has no inverse"):
        call(lambda q: q, ONE, np.zeros(4))


def test_functions_of_several_quaternions_are_sent_to_jacobian():
    with pytest.raises(ValueError, match=r"f: expected a value of shape .*, got \(2, 4\); use jacobian\(\)"):
        ghr.derivative(lambda q: np.stack([q, q]), ONE)


def test_gradient_needs_a_real_function():
    with pytest.raises(ValueError, match=r"f: expected one real number, got a value of shape \(4,\)"):
        ghr.gradient(lambda q: q, ONE)
