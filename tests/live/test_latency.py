"""The service gets ready shortly before a sample is due, and at no other time."""

import asyncio
import time

import pytest

from quatcast import QELM, QRNN, RLS, Forecaster, Guarded, KernelRidge, LocalAverage, recommended
from quatcast.data import simulated
from quatcast.live.latency import AHEAD, SHORTEST, Readiness


def moments_of(plan, seconds):
    """Return when a plan made the service get ready, in seconds after it was made."""

    async def wait():
        moments, began = [], time.monotonic()
        readiness = Readiness(lambda: moments.append(time.monotonic() - began))
        plan(readiness)
        await asyncio.sleep(seconds)
        return moments

    return asyncio.run(wait())


def test_ready_shortly_before_the_sample_is_due():
    (moment,) = moments_of(lambda r: r.expect(period=0.2, passed=0.05), 0.3)
    assert 0.15 - AHEAD - 0.002 <= moment < 0.25


@pytest.mark.parametrize(
    "plan",
    [
        pytest.param(lambda r: r.expect(period=0.9 * SHORTEST, passed=0.0), id="short period"),
        pytest.param(lambda r: r.expect(period=0.1, passed=0.1 - 0.5 * AHEAD), id="too late"),
        pytest.param(lambda r: r.expect(period=0.0, passed=0.0), id="rate not known"),
        pytest.param(lambda r: (r.expect(period=0.02, passed=0.0), r.cancel()), id="cancelled"),
        pytest.param(lambda r: r.cancel(), id="nothing planned"),
    ],
)
def test_not_ready_at_other_times(plan):
    assert moments_of(plan, 0.06) == []


def test_a_new_sample_replaces_the_plan():
    assert len(moments_of(lambda r: [r.expect(period=0.02, passed=0.0) for _ in range(3)], 0.06)) == 1


def test_every_learner_predicts_once_to_get_ready(monkeypatch):
    forecaster, asked = recommended(0.5, 10.0), []
    forecaster.get_ready()
    for row in simulated(seconds=46)[1].positions:
        forecaster.update(row)
    for kind in (QRNN, QELM, KernelRidge, LocalAverage):
        predict = kind._predict
        monkeypatch.setattr(
            kind, "_predict", lambda self, inputs, p=predict: asked.append((type(self), len(inputs))) or p(self, inputs)
        )
    forecaster.get_ready()
    # The network is rolled over the inputs of a horizon and one more, as for the next answer.
    assert asked == [(QRNN, 6), (QELM, 1), (KernelRidge, 1), (LocalAverage, 1)]


def test_an_error_comes_with_the_sample_and_not_before(monkeypatch):
    guarded = Guarded(Forecaster(RLS(), horizon=2, lags=3, train=20), rate=10.0)
    x = simulated(seconds=6)[1].positions
    for row in x[:-1]:
        guarded.update(row)

    def fail(self, inputs):
        raise ArithmeticError("overflow")

    monkeypatch.setattr(RLS, "_predict", fail)
    guarded.get_ready()
    assert "overflow" in guarded.update(x[-1]).reason
