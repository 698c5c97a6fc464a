import numpy as np
import pytest

from quatcast.data import chaotic


def lorenz(s):
    x, y, z = s
    return (10 * y - 10 * x, 28 * x - x * z - y, x * y - z * 8 / 3)


def rossler(s):
    x, y, z, w = s
    return (-(y + z), x + y / 4 + w, 3 + x * z, w / 20 - z / 2)


def midpoint(derivative, s, time, steps=20000):
    """Integrate with a second-order method and much smaller steps, which shares no code with the tested one."""
    h = time / steps
    for _ in range(steps):
        half = [a + h / 2 * b for a, b in zip(s, derivative(s), strict=True)]
        s = [a + h * b for a, b in zip(s, derivative(half), strict=True)]
    return s


@pytest.mark.parametrize(("kind", "derivative"), [("lorenz", lorenz), ("rossler4", rossler)])
def test_the_signal_solves_the_equations(kind, derivative):
    positions = chaotic(kind, samples=21, rate=20.0).positions[:, 0]
    expected = midpoint(derivative, positions[0].tolist(), time=1.0)
    np.testing.assert_allclose(positions[20], expected, atol=1e-3 * np.abs(positions).max())


@pytest.mark.parametrize(("kind", "dimensions"), [("lorenz", 3), ("rossler4", 4)])
def test_shape_bounds_and_seeds(kind, dimensions):
    recording = chaotic(kind, samples=1500, rate=20.0)
    assert recording.positions.shape == (1500, 1, dimensions)
    assert recording.times[-1] == pytest.approx(1499 / 20)
    assert np.abs(recording.positions).max() < 600
    assert recording.positions.std(axis=0).min() > 1, "a component is constant"
    assert np.array_equal(chaotic(kind, samples=1500, rate=20.0).positions, recording.positions)
    assert not np.allclose(chaotic(kind, samples=1500, rate=20.0, seed=1).positions, recording.positions, atol=1.0)


def test_a_higher_rate_samples_the_same_curve():
    coarse = chaotic("lorenz", samples=11, rate=10.0).positions
    fine = chaotic("lorenz", samples=101, rate=100.0).positions
    np.testing.assert_allclose(fine[::10], coarse, rtol=1e-6)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"kind": "henon"}, "kind: expected one of lorenz, rossler4, got 'henon'"),
        ({"samples": 0}, "samples, rate: expected positive numbers, got 0 and 20.0"),
        ({"rate": 0.0}, "expected positive numbers, got 2000 and 0.0"),
    ],
)
def test_bad_arguments(arguments, words):
    with pytest.raises(ValueError, match=words):
        chaotic(**arguments)
