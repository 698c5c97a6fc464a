"""The formulas printed in the paper, compared with the GHR calculus.

For every difference that docs/ghr.md lists, a test checks that the correct form holds and that the printed form does
not hold for generic quaternions. The second check shows that the first can tell them apart.
"""

import re
from pathlib import Path

import numpy as np
import pytest

from quatcast import ghr
from quatcast.algebra.quaternion import ONE, I, J, K, conjugate, inverse, modulus, product, random_unit, rotation

UNITS = [ONE, I, J, K]


@pytest.fixture(params=range(3))
def rng(request):
    return np.random.default_rng(100 + request.param)


def close(actual, expected):
    np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10 * max(np.abs(expected).max(), 1e-3))


def differs(actual, printed):
    """Assert that two results differ by more than a tenth of their norm, hence not by rounding."""
    assert np.linalg.norm(actual - printed) > 0.1 * np.linalg.norm(actual)


def not_parallel(actual, printed):
    """Assert that no learning rate makes two updates equal: the angle between them exceeds 8°."""
    cosine = np.vdot(actual, printed) / np.linalg.norm(actual) / np.linalg.norm(printed)
    assert abs(cosine) < 0.99


def matvec(W, v):
    """Compute W ⊗ v for shapes (q, m, 4) and (m, 4)."""
    return product(W, v).sum(axis=-2)


def hermitian(W):
    return conjugate(np.swapaxes(W, 0, 1))


def outer(delta, v):
    """Compute δ vᴴ, shape (q, m, 4)."""
    return product(delta[:, np.newaxis], conjugate(v))


def square(e):
    return np.sum(e**2)


def slope(f):
    """Compute the derivative of tanh for each component."""
    return 1 - np.tanh(f) ** 2


def test_squared_modulus(rng):
    """∂|e|²/∂e^μ = ½ (e^μ)*. Printed: ½ e^μ."""
    e, generic = rng.standard_normal((2, 4))
    for mu in [*UNITS, generic]:
        derivative = ghr.derivative(lambda e: modulus(e) ** 2, e, mu)
        close(derivative, 0.5 * conjugate(rotation(e, mu)))
        differs(derivative, 0.5 * rotation(e, mu))


def test_squared_modulus_by_the_product_rule(rng):
    """The preceding line is correct: e* ∂e/∂e^μ + ∂e*/∂e^(eμ) e is ½ (e^μ)*, at μ = 1 as e* − ½ e*."""
    e, mu = rng.standard_normal((2, 4))
    first = product(conjugate(e), ghr.derivative(lambda e: e, e, mu))
    second = product(ghr.derivative(conjugate, e, product(e, mu)), e)
    close(first + second, 0.5 * conjugate(rotation(e, mu)))
    close(product(ghr.derivative(conjugate, e, e), e), -0.5 * conjugate(e))


def model(rng):
    """Return a nonlinear function h: H → H and a target."""
    s, t, d = rng.standard_normal((3, 4))
    return lambda q: np.tanh(product(product(s, q), t)) + product(q, s), d


def test_jacobian_of_the_rotated_error(rng):
    """∂e^μ/∂q = −(∂h/∂q^μ)^μ holds for μ in 1, i, j, k; for a general μ it is −(∂h/∂q^(μ⁻¹))^μ."""
    h, d = model(rng)
    q, generic = rng.standard_normal((2, 4))
    for mu in [*UNITS, generic]:
        derivative = ghr.derivative(lambda q, mu=mu: rotation(d - h(q), mu), q)
        close(derivative, -rotation(ghr.derivative(h, q, inverse(mu)), mu))
        printed = -rotation(ghr.derivative(h, q, mu), mu)
        if mu is generic:
            differs(derivative, printed)
        else:
            close(derivative, printed)


def test_derivative_of_the_squared_error(rng):
    """∂|e|²/∂q = −½ Σ_μ (e* ∂h/∂q^μ)^μ. Printed: −½ Σ_μ e^μ (∂h/∂q^μ)^μ, then −½ Σ_μ (∂h/∂q^μ e)^μ."""
    h, d = model(rng)
    q = rng.standard_normal(4)
    e = d - h(q)
    derivative = ghr.derivative(lambda q: modulus(d - h(q)) ** 2, q)
    jacobians = [ghr.derivative(h, q, mu) for mu in UNITS]

    def total(term):
        return -0.5 * sum(rotation(term(jac), mu) for jac, mu in zip(jacobians, UNITS, strict=True))

    close(derivative, total(lambda jac: product(conjugate(e), jac)))
    differs(derivative, total(lambda jac: product(e, jac)))
    differs(derivative, total(lambda jac: product(jac, e)))
    differs(derivative, total(lambda jac: product(jac, conjugate(e))))


def test_gradient_of_the_squared_error(rng):
    """The appendix is correct: ∇_q* |e|² = −½ Σ_μ (J_(q^μ)ᴴ e)^μ, tested for h: H³ → H²."""
    W, d, q = rng.standard_normal((2, 3, 4)), rng.standard_normal((2, 4)), rng.standard_normal((3, 4))

    def h(q):
        return np.tanh(matvec(W, q))

    e = d - h(q)
    total = sum(rotation(matvec(hermitian(ghr.jacobian(h, q, mu)), e), mu) for mu in UNITS)
    close(ghr.gradient(lambda q: square(d - h(q)), q), -0.5 * total)


@pytest.mark.parametrize("sigma", [0.7, 2.0])
def test_derivative_of_the_kernel(rng, sigma):
    """∂κσ/∂e^μ has 2/(√2π σ³), no sum over μ. Printed: 4/(√2π σ³), summed over the μ it depends on."""
    e, mu = rng.standard_normal(4), random_unit(rng)

    def kernel(e):
        return 4 / (np.sqrt(2 * np.pi) * sigma) * np.exp(-(modulus(e) ** 2) / (2 * sigma**2))

    derivative = ghr.derivative(kernel, e, mu)
    weight = np.exp(-(e @ e) / (2 * sigma**2)) / (np.sqrt(2 * np.pi) * sigma**3)
    close(derivative, -2 * weight * 0.5 * conjugate(rotation(e, mu)))
    differs(derivative, -4 * weight * 0.5 * conjugate(rotation(e, mu)))
    differs(derivative, sum(-2 * weight * 0.5 * conjugate(rotation(e, nu)) for nu in UNITS))


def test_gradient_of_the_correntropy_loss(rng):
    """∂J/∂q = −1/(√2π σ³) exp(−|e|²/2σ²) Σ_μ (e* ∂h/∂q^μ)^μ for one sample. Printed: −2/(√2π σ³) … (∂h/∂q^μ e)^μ."""
    sigma = 1.5
    h, d = model(rng)
    q = rng.standard_normal(4)
    e = d - h(q)
    factor = 1 / (np.sqrt(2 * np.pi) * sigma**3)

    def loss(q):
        return -4 * factor * sigma**2 * np.exp(-(modulus(d - h(q)) ** 2) / (2 * sigma**2))

    derivative = ghr.derivative(loss, q)
    jacobians = [(ghr.derivative(h, q, mu), mu) for mu in UNITS]
    weight = factor * np.exp(-(e @ e) / (2 * sigma**2))
    close(derivative, -weight * sum(rotation(product(conjugate(e), jac), mu) for jac, mu in jacobians))
    printed = -2 * weight * sum(rotation(product(jac, e), mu) for jac, mu in jacobians)
    differs(derivative, printed)
    not_parallel(derivative, printed)
    close(ghr.gradient(loss, q), conjugate(derivative))


def test_split_activation(rng):
    """∂Φ/∂q = ¼ (φ'(r) + φ'(x) + φ'(y) + φ'(z)), as printed; ∂Φ/∂q^i, ^j, ^k by the signs of the involutions."""
    q = rng.standard_normal(4)
    signs = [(1, 1, 1, 1), (1, 1, -1, -1), (1, -1, 1, -1), (1, -1, -1, 1)]
    for mu, sign in zip(UNITS, signs, strict=True):
        close(ghr.derivative(np.tanh, q, mu), 0.25 * np.dot(sign, slope(q)) * ONE)


def test_split_activation_line_before(rng):
    """¼ (∂Φ/∂r − ∂Φ/∂x i − …) is correct for the quaternion Φ. Printed: the real Φ_ζ."""
    q = rng.standard_normal(4)
    derivative = ghr.derivative(np.tanh, q)
    differs(derivative, 0.25 * conjugate(slope(q)))
    partials = slope(q)[:, np.newaxis] * np.stack(UNITS)
    close(derivative, 0.25 * (partials[0] - sum(product(p, u) for p, u in zip(partials[1:], UNITS[1:], strict=True))))


def test_one_derivative_of_the_split_activation_does_not_carry_an_error_back(rng):
    """The error is multiplied by Φ̄ component by component; ∂Φ/∂q alone, a Hamilton product or no Φ̄ is wrong."""
    f, d = rng.standard_normal((2, 4))
    e = d - np.tanh(f)
    gradient = ghr.gradient(lambda f: square(d - np.tanh(f)), f)
    close(gradient, -0.5 * slope(f) * e)
    differs(gradient, -0.5 * e)
    differs(gradient, -0.5 * product(conjugate(ghr.derivative(np.tanh, f)), e))
    not_parallel(gradient, product(slope(f), e))


@pytest.fixture
def network(rng):
    """Return the arrays of a network with one hidden layer of two units and a linear readout."""
    shapes = {"W1": (2, 3, 4), "b1": (2, 4), "W2": (2, 2, 4), "b2": (2, 4), "v": (3, 4), "d": (2, 4)}
    return {name: 0.6 * rng.standard_normal(shape) for name, shape in shapes.items()}


def error(W1, b1, W2, b2, v, d):
    return d - matvec(W2, np.tanh(matvec(W1, v) + b1)) - b2


def gradients(loss, network, *names):
    return [ghr.gradient(lambda x, name=name: loss(error(**{**network, name: x})), network[name]) for name in names]


def test_updates_of_a_static_network(network):
    """−∇ ∝ e hᴴ and δ vᴴ, δ = Φ̄ ⊙ W₂ᴴ e. Printed for the hidden layer: Σ_μ δ^μ vᴴ, which is 4 Re(δ) vᴴ."""
    e = error(**network)
    f = matvec(network["W1"], network["v"]) + network["b1"]
    delta = slope(f) * matvec(hermitian(network["W2"]), e)
    W1, b1, W2, b2 = gradients(square, network, "W1", "b1", "W2", "b2")
    close(W2, -0.5 * outer(e, np.tanh(f)))
    close(b2, -0.5 * e)
    close(W1, -0.5 * outer(delta, network["v"]))
    close(b1, -0.5 * delta)

    summed = sum(rotation(delta, mu) for mu in UNITS)
    close(summed, 4 * delta[:, :1] * ONE)
    not_parallel(W1, outer(summed, network["v"]))
    not_parallel(b1, summed)


def test_no_sum_over_rotations_in_the_layer_updates(network):
    """The correct δ does not depend on μ. The printed Σ_μ would multiply the rate of the hidden layers by four."""
    e = error(**network)
    f = matvec(network["W1"], network["v"]) + network["b1"]
    delta = slope(f) * matvec(hermitian(network["W2"]), e)
    both = np.concatenate(gradients(square, network, "b1", "b2"))
    close(both, -0.5 * np.concatenate([delta, e]))
    differs(both, -0.5 * np.concatenate([4 * delta, e]))


def test_error_goes_back_through_the_hermitian_of_the_weights(rng):
    """δ = Φ̄ ⊙ (W* e) for one unit. Printed with MCC: Φ̄ ⊙ (W^μ e^μ)*, for one μ or summed."""
    b, w, d = rng.standard_normal((3, 4))
    e = d - product(w, np.tanh(b))
    gradient = ghr.gradient(lambda b: square(d - product(w, np.tanh(b))), b)
    close(gradient, -0.5 * slope(b) * product(conjugate(w), e))
    printed = [slope(b) * conjugate(product(rotation(w, mu), rotation(e, mu))) for mu in UNITS]
    for one in printed:
        not_parallel(gradient, one)
    not_parallel(gradient, sum(printed))


def test_kernel_weight_belongs_to_every_layer_once(rng):
    """Every δ contains exp(−|e|²/2σ²) once. Printed: not in the output layer, and with |δ| in each hidden layer."""
    sigma = 1.0
    biases = 0.1 * rng.standard_normal((3, 4))
    W2, W3 = 2.0 * random_unit(rng, size=2)
    e = sigma * random_unit(rng)

    def output(b):
        return product(W3, np.tanh(product(W2, np.tanh(b[0])) + b[1])) + b[2]

    d = output(biases) + e

    def loss(b):
        return sigma**2 * (1 - np.exp(-square(d - output(b)) / (2 * sigma**2)))

    def kernel(delta):
        return np.exp(-square(delta) / (2 * sigma**2))

    slopes = slope(biases[0]), slope(product(W2, np.tanh(biases[0])) + biases[1])
    exact = ghr.gradient(loss, biases)

    delta3 = kernel(e) * e
    delta2 = slopes[1] * product(conjugate(W3), delta3)
    delta1 = slopes[0] * product(conjugate(W2), delta2)
    close(exact, -0.25 * np.stack([delta1, delta2, delta3]))

    printed2 = slopes[1] * kernel(e) * product(conjugate(W3), e)
    printed1 = slopes[0] * kernel(printed2) * product(conjugate(W2), printed2)
    close(exact[1], -0.25 * printed2)
    differs(exact[0], -0.25 * printed1)
    differs(exact[2], -0.25 * e)


def test_recurrent_weights_meet_the_state_before(rng):
    """−∇_U ∝ δ(n) h(n−1)ᴴ. Printed: δ(n) h(n)ᴴ."""
    U, v1, v2, d = rng.standard_normal((4, 4))
    before = np.tanh(v1)

    def state(U):
        return np.tanh(product(U, before) + v2)

    delta = (1 - state(U) ** 2) * (d - state(U))
    gradient = ghr.gradient(lambda U: square(d - state(U)), U)
    close(gradient, -0.5 * product(delta, conjugate(before)))
    not_parallel(gradient, product(delta, conjugate(state(U))))


def test_the_example_of_the_docs_runs():
    text = (Path(__file__).parents[2] / "docs" / "ghr.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert "assert" in example
    exec(example, {})
