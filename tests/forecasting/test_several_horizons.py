"""Forecasters of several horizons: each horizon is what the definition says, and one of several is one alone."""

import numpy as np
import pytest

from quatcast import (
    QELM,
    QRNN,
    RLS,
    RNN,
    Adam,
    AdaptiveLinear,
    DampedVelocity,
    Forecaster,
    KernelRidge,
    LocalAverage,
    Mixture,
    Ridge,
)
from quatcast.forecasting.contract import horizons_of, positions_of
from quatcast.forecasting.embedding import Embedding
from quatcast.forecasting.mixture import blend
from quatcast.testing import fingerprint, smooth_positions

AHEAD, LONGEST, TRAIN = (1, 3, 6), 6, 20
DISPLACEMENT = {"lags": [0, 1, 2, 5], "target": "displacement", "scale_by": "channel", "train": TRAIN}


def tracked(learner, horizons=AHEAD, **more):
    return Forecaster(learner, horizon=LONGEST, horizons=horizons, **{**DISPLACEMENT, **more})


FORECASTERS = {
    "rls": lambda horizons: tracked(RLS(), horizons),
    "ridge": lambda horizons: tracked(Ridge(refit=3), horizons, catch_up=4),
    "qelm": lambda horizons: tracked(QELM(4, refit=3, seeds=[1, 2]), horizons),
    "qrnn": lambda horizons: tracked(QRNN((3,), seeds=range(2), optimizer=Adam(0.01)), horizons),
    "kernel ridge": lambda horizons: tracked(KernelRidge(memory=30, refit=5), horizons),
    "local average": lambda horizons: tracked(LocalAverage(), horizons),
    "positions": lambda horizons: tracked(RNN((3,), seeds=0), horizons, target="position", scale_by="coordinate"),
    "damped velocity": lambda horizons: DampedVelocity(LONGEST, (1, 4), horizons=horizons),
    "linear": lambda horizons: AdaptiveLinear(LONGEST, 4, horizons=horizons),
    "mixture": lambda horizons: Mixture(
        [tracked(Ridge(refit=3), horizons), DampedVelocity(LONGEST, horizons=horizons)], memory=30
    ),
}
every = pytest.mark.parametrize("make", FORECASTERS.values(), ids=FORECASTERS.keys())
SEEDED = [FORECASTERS[name] for name in ("qelm", "qrnn")]


def signal(samples=90):
    rng = np.random.default_rng(0)
    return smooth_positions(samples) + 0.1 * rng.standard_normal((samples, 2, 3))


@every
def test_shapes(make):
    forecaster, x = make(AHEAD), signal()
    assert (forecaster.horizon, horizons_of(forecaster)) == (LONGEST, AHEAD)
    for row in x:
        made = forecaster.update(row)
    runs = (2,) if make in SEEDED else ()
    assert made.shape == (*runs, 3, 2, 3)
    assert positions_of(forecaster, made, (2, 3)).shape == (3, 2, 3)
    assert np.isfinite(made).all()
    forecasts = forecaster.run(x)
    assert forecasts.positions.shape == (*runs, 3, *x.shape)
    assert forecasts.horizon == LONGEST


@every
def test_a_list_of_one_is_a_single_horizon(make):
    x = signal()
    single, listed = make(None), make([LONGEST])
    for row in x:
        one, path = single.update(row), listed.update(row)
        np.testing.assert_array_equal(path[..., 0, :, :], one)
    np.testing.assert_array_equal(listed.run(x).positions[..., 0, :, :, :], single.run(x).positions)


@every
def test_the_order_of_the_list_does_not_matter(make):
    x = signal(70)
    np.testing.assert_array_equal(make([6, 1, 3]).run(x).positions, make(AHEAD).run(x).positions)


@every
def test_rows_of_a_run_belong_to_the_samples_that_they_forecast(make):
    x = signal(60)
    rows, live = make(AHEAD).run(x).positions, make(AHEAD)
    for i, h in enumerate(AHEAD):
        assert np.isnan(rows[..., i, :h, :, :]).all()
    for t, row in enumerate(x):
        made = live.update(row)
        for i, h in enumerate(AHEAD):
            if t + h < len(x):
                np.testing.assert_array_equal(rows[..., i, t + h, :, :], made[..., i, :, :])


@every
def test_the_past_decides_alone(make):
    x = signal(80)
    other = x.copy()
    other[60:] = 3.0
    one, changed = make(AHEAD).run(x).positions, make(AHEAD).run(other).positions
    for i, h in enumerate(AHEAD):
        np.testing.assert_array_equal(one[..., i, : 60 + h, :, :], changed[..., i, : 60 + h, :, :])


@every
@pytest.mark.parametrize("at", [10, 40])
def test_saved_forecasters_go_on_bit_for_bit(make, at, tmp_path):
    x, forecaster = signal(80), make(AHEAD)
    for row in x[:at]:
        forecaster.update(row)
    forecaster.save(tmp_path / "several")
    loaded = type(forecaster).load(tmp_path / "several")
    assert horizons_of(loaded) == AHEAD
    for row in x[at:]:
        np.testing.assert_array_equal(loaded.update(row), forecaster.update(row))
    assert fingerprint(loaded) == fingerprint(forecaster)


@every
def test_steps_can_be_undone(make):
    forecaster, twin = make(AHEAD), make(AHEAD)
    for row in signal(60):
        mark = forecaster.mark()
        forecaster.update(row[::-1] + 1.0)
        forecaster.rewind(mark)
        np.testing.assert_array_equal(forecaster.update(row), twin.update(row))
    assert fingerprint(forecaster) == fingerprint(twin)


def test_all_horizons_are_learnt_from_inputs_that_have_matured_for_the_longest():
    """Each horizon is a ridge regression of its own on pairs (u(s), x(s+h) − x(s)) with s + LONGEST ≤ t."""
    x, penalty = signal(), 2.0
    forecaster = tracked(Ridge(penalty, refit=1))
    for row in x[:-1]:
        forecaster.update(row)
    made = forecaster.update(x[-1])
    delays = (5, 2, 1, 0)
    embedding = Embedding.fit(x[:TRAIN], delays, AHEAD, "displacement", "channel", forecaster.learner.algebra)
    inputs = np.stack([embedding.input(x[[t - d for d in delays]])[0] for t in range(5, len(x))])
    learnt = len(inputs) - 1 - LONGEST  # the answer at the newest sample comes before its pair is learnt
    U = np.column_stack([inputs[:learnt], np.ones(learnt)])
    for i, h in enumerate(AHEAD):
        targets = (x[5 + h :][:learnt] - x[5:][:learnt]) / embedding.target_scale[i]
        rows = np.vstack([U, np.diag([penalty**0.5] * inputs.shape[1] + [(1e-6 * penalty) ** 0.5])])
        goal = np.vstack([targets.reshape(learnt, -1), np.zeros((inputs.shape[1] + 1, 6))])
        theta = np.linalg.lstsq(rows, goal, rcond=None)[0]
        output = (np.append(inputs[-1], 1.0) @ theta).reshape(2, 3)
        np.testing.assert_allclose(made[i], x[-1] + output * embedding.target_scale[i], atol=1e-6)


def test_the_longest_of_several_is_the_single_one_for_linear_learners():
    """Outputs of a ridge regression do not affect each other."""
    x = signal()
    for make in (FORECASTERS["ridge"], FORECASTERS["linear"], FORECASTERS["local average"]):
        np.testing.assert_allclose(make(AHEAD).run(x).positions[-1], make(None).run(x).positions, atol=1e-5)


@pytest.mark.parametrize("name", ["rls", "ridge", "qelm", "qrnn", "kernel ridge", "local average", "positions"])
def test_learners_are_told_which_targets_were_observed(name, monkeypatch):
    """The pair of sample s has one target per horizon and channel, observed if sample s + h of the channel was."""
    x, rng = signal(60), np.random.default_rng(5)
    observed = rng.uniform(size=(len(x), 2)) > 0.3
    forecaster, pairs = FORECASTERS[name](AHEAD), []
    learn = forecaster.learner._learn

    def spy(u, d, mask):
        pairs.append((d, mask))
        return learn(u, d, mask)

    monkeypatch.setattr(forecaster.learner, "_learn", spy)
    for row, seen in zip(x, observed, strict=True):
        forecaster.update(row, seen)
    # The first input ends with sample 5, and the last pair is the one whose last target is the newest sample.
    assert len(pairs) == len(x) - 5 - LONGEST
    for s, (d, mask) in enumerate(pairs, start=5):
        expected = np.stack([observed[s + h] for h in AHEAD]).ravel()
        told = np.ones(d.shape[-1]) if mask is None else mask
        np.testing.assert_array_equal(told, np.repeat(expected, d.shape[-1] // 6))


class Fixed(DampedVelocity):
    """A member whose forecasts are known: the truth plus errors of a given size."""

    def __init__(self, horizon, truth, size, seed, *, horizons=None):
        super().__init__(horizon, horizons=horizons)
        self.truth, self.size, self.seed = truth, size, seed

    def begin(self, shape):
        super().begin(shape)
        self.t = -1
        noise = np.random.default_rng(self.seed).standard_normal((len(self.truth), *self.truth.shape))
        self.wrong = noise[: len(AHEAD)]

    def forecast(self, sample, observed):
        self.t += 1
        ahead = [min(self.t + h, len(self.truth) - 1) for h in horizons_of(self)]
        errors = [s * w[self.t] for s, w in zip(self.size, self.wrong, strict=True)]
        return np.stack([self.truth[a] + e for a, e in zip(ahead, errors, strict=True)])

    def learn(self):
        pass


def test_a_mixture_weighs_each_horizon_by_its_own_errors():
    """C sums γᵃeeᵀ/s² of the errors that have matured at each horizon; weights follow from it.

    Of two members, s is the size of the smaller errors, averaged over an eighth of the memory.
    """
    x, memory, rho = signal(70), 25, [0.1, 0.2, 0.3]
    members = [
        Fixed(LONGEST, x, (0.1, 1.0, 1.0), 1, horizons=AHEAD),
        Fixed(LONGEST, x, (1.0, 0.1, 1.0), 2, horizons=AHEAD),
    ]
    mixture = Mixture(members, memory=memory, shrinkage=rho)
    mixture.begin((2, 3))
    made = []
    for row in x:
        mixture.forecast(row, np.array([True, True]))
        made.append(mixture.state.made[-1])
        mixture.learn()
    for i, h in enumerate(AHEAD):
        C, power = np.zeros((2, 2, 2)), np.zeros(2)
        for t in range(h, len(x)):
            e = (x[t] - made[t - h][:, i]).swapaxes(0, 1)
            power += (np.sum(e**2, axis=-1).min(axis=-1) - power) / min(t - h + 1, memory / 8)
            C = (1 - 1 / memory) * C + e @ e.mT / power[:, None, None]
        np.testing.assert_allclose(mixture.state.covariance[i], C, rtol=1e-9)
        np.testing.assert_allclose(mixture.weights[i], blend(C, rho[i]), rtol=1e-9)
    assert (mixture.weights[0, :, 0] > 0.9).all()
    assert (mixture.weights[1, :, 1] > 0.9).all()
    np.testing.assert_allclose(mixture.weights[2], 0.5, atol=0.2)


def test_members_of_different_horizons_are_refused():
    members = [DampedVelocity(6, horizons=AHEAD), DampedVelocity(6)]
    with pytest.raises(ValueError, match=r"expected the same horizons for all, got \[1, 3, 6\], 6"):
        Mixture(members)


@pytest.mark.parametrize("horizons", [(1, 3), (1, 1, 6), (6, 9), (0, 6), (1.5, 6)])
@every
def test_horizons_that_do_not_fit_are_refused(make, horizons):
    with pytest.raises(ValueError, match=r"horizons?: expected"):
        make(horizons)


def test_damped_velocity_is_exact_at_its_horizons_and_linear_between_them():
    forecaster = DampedVelocity(LONGEST, horizons=AHEAD)
    for row in signal(60):
        forecaster.update(row)
    path = forecaster._ahead(AHEAD)
    np.testing.assert_allclose(forecaster._ahead([3, 4.5, 6])[1], (path[1] + path[2]) / 2, atol=1e-12)
    np.testing.assert_allclose(forecaster._ahead([0.5])[0], (signal(60)[-1] + path[0]) / 2, atol=1e-12)
    again = forecaster.forecast(signal(61)[60], np.ones(2, dtype=bool))
    np.testing.assert_array_equal(forecaster._ahead(AHEAD), again)
