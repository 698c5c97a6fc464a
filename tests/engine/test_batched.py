"""Many runs at once: run r equals the single run of seed r."""

import numpy as np
import pytest

from quatcast import MCC, MSE, QRNN, RNN, SGD


def samples(n, d):
    rng = np.random.default_rng(8)
    tail = () if d == 1 else (d,)
    t = np.arange(n).reshape(-1, 1, *(1 for _ in tail))
    return np.sin(0.2 * t + rng.uniform(0, 6, (4, *tail))), np.cos(0.2 * t + rng.uniform(0, 6, (2, *tail)))


@pytest.mark.parametrize("loss", [MSE(), MCC(sigma="adaptive")], ids=repr)
@pytest.mark.parametrize("kind", [RNN, QRNN])
def test_300_seeds(kind, loss):
    settings = {"hidden": (3,), "loss": loss, "optimizer": SGD(learning_rate=0.1, clip=0.5), "init_std": 0.1}
    together = kind(seeds=range(300), **settings)
    some = {r: kind(seeds=r, **settings) for r in (0, 1, 137, 299)}
    for u, d in zip(*samples(80, kind.algebra.dimension), strict=True):
        batch = together.update(u, d)
        for r, single in some.items():
            step = single.update(u, d)
            np.testing.assert_allclose(batch.prediction[r], step.prediction, rtol=0, atol=1e-10)
            assert batch.loss[r] == pytest.approx(step.loss, abs=1e-10)
            assert batch.gradient_norm[r] == pytest.approx(step.gradient_norm, abs=1e-10)
    for r, single in some.items():
        for name, array in single.parameters().items():
            np.testing.assert_allclose(together.parameters()[name][r], array, rtol=0, atol=1e-10)


def test_a_grid_over_rate_and_width_is_one_batch():
    rates, sigmas = (a.ravel() for a in np.meshgrid([0.02, 0.1, 0.2], [0.5, 2.0]))
    seeds = [7, 7, 7, 8, 8, 8]
    together = QRNN((3,), loss=MCC(sigma=sigmas), optimizer=SGD(learning_rate=rates), seeds=seeds, init_std=0.1)
    alone = [
        QRNN((3,), loss=MCC(sigma=sigma), optimizer=SGD(learning_rate=rate), seeds=seed, init_std=0.1)
        for rate, sigma, seed in zip(rates, sigmas, seeds, strict=True)
    ]
    for u, d in zip(*samples(150, 4), strict=True):
        predictions = [single.update(u, d).prediction for single in alone]
        np.testing.assert_allclose(together.update(u, d).prediction, predictions, rtol=0, atol=1e-10)


def test_one_seed_serves_all_rates():
    together = RNN((3,), optimizer=SGD(learning_rate=[0.1, 0.2]), seeds=5).begin(4, 2)
    weights = together.parameters()["layers.0.input"]
    assert weights.shape == (2, 3, 4, 1)
    np.testing.assert_array_equal(weights[0], weights[1])


def test_a_run_that_diverges_leaves_the_others_alone():
    settings = {"hidden": (3,), "init_std": 0.1, "activation": "identity"}
    together = RNN(optimizer=SGD(learning_rate=[0.05, 1e3], clip=None), **settings)
    single = RNN(optimizer=SGD(learning_rate=0.05, clip=None), **settings)
    for u, d in zip(*samples(60, 1), strict=True):
        batch, step = together.update(u, d), single.update(u, d)
        np.testing.assert_allclose(batch.prediction[0], step.prediction, rtol=0, atol=1e-10)
    assert not np.isfinite(batch.prediction[1]).all()
