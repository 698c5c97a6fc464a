"""The device clock: simulated clocks with known offset and drift are the oracle."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quatcast.live.clock import DeviceClock, now
from quatcast.live.rate import detect_rate, enough


@settings(max_examples=25, deadline=None)
@given(
    offset=st.floats(-1e9, 1e9),
    drift=st.floats(-2e-4, 2e-4),
    jitter=st.floats(0.0, 0.05),
    seed=st.integers(0, 1000),
)
def test_offset_and_drift_are_found(offset: float, drift: float, jitter: float, seed: int) -> None:
    """Half of the messages are delayed; the mapped time is that of an undelayed message within a millisecond."""
    rng = np.random.default_rng(seed)
    clock = DeviceClock()
    device = np.arange(0.0, 300.0, 0.1)
    true = offset + device * (1 + drift)
    delays = np.where(rng.random(len(device)) < 0.5, rng.exponential(jitter + 1e-9, len(device)), 0.0)
    for at, received in zip(device.tolist(), (true + delays).tolist(), strict=True):
        clock.observe(at, received)
    assert abs(clock.local(device[-1]) - true[-1]) < 1e-3
    if abs(offset) < 1e6:  # with larger numbers the slope drowns in rounding
        assert abs(clock.drift - drift) < 5e-5


def test_one_delayed_interval_changes_nothing() -> None:
    clock = DeviceClock()
    for i in range(1200):
        at = i / 10
        clock.observe(at, 500.0 + at + (0.4 if 300 <= i < 420 else 0.0))
    assert abs(clock.local(119.9) - 619.9) < 1e-6


def test_memory_is_bounded() -> None:
    clock = DeviceClock()
    for i in range(5000):
        clock.observe(float(i), float(i))
    assert len(clock.minima) <= 12


def test_own_clock_ignores_corrections_of_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    before = now()
    monkeypatch.setattr("time.time", lambda: 0.0)
    assert before <= now() < before + 5


@pytest.mark.parametrize("rate", [0.5, 10.0, 29.97, 50.0, 59.94, 100.0, 143.7])
def test_rate_is_detected_from_jittered_times_with_losses(rate: float) -> None:
    rng = np.random.default_rng(round(rate))
    times = np.arange(0, 3 * max(rate, 4)) / rate + rng.normal(0, 0.02 / rate, int(np.ceil(3 * max(rate, 4))))
    kept = times[rng.random(len(times)) > 0.1]
    assert detect_rate(rng.permutation(kept)) == pytest.approx(rate, rel=0.005)


@pytest.mark.parametrize(
    ("rate", "jitter", "lost", "wrong"),
    [
        (10.0, 0.25, 0.0, 0.01),
        (10.0, 0.3, 0.0, 0.02),
        (10.0, 0.4, 0.0, 0.05),
        (10.0, 0.25, 0.05, 0.02),
        (10.0, 0.3, 0.05, 0.05),
        (10.0, 0.25, 0.2, 0.2),
        (60.0, 0.4, 0.05, 0.02),
    ],
)
def test_rate_is_detected_from_times_with_large_jitter(rate: float, jitter: float, lost: float, wrong: float) -> None:
    """Steps of 1.5 periods occur without a loss; counted as two, they gave 10.4 Hz instead of 10 Hz."""
    rng = np.random.default_rng(round(100 * jitter))
    errors = []
    for _ in range(200):
        count = int(2.1 * rate)
        times = (1e9 + np.arange(count) + rng.uniform(-jitter, jitter, count)) / rate
        errors.append(abs(detect_rate(times[rng.random(count) >= lost]) / rate - 1.0))
    assert np.mean(np.array(errors) > 0.03) <= wrong


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("seed", range(40))
def test_detection_ends_whatever_the_times_are(seed: int) -> None:
    """With steps of 1e17 periods one period more or less is lost by rounding."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(2, 400))
    for times in (
        rng.uniform(-1e11, 1e11, count),
        np.minimum(np.cumsum(rng.lognormal(0.0, rng.uniform(0.1, 20.0), count)), 1e11),
        np.append(np.arange(count) / 100, rng.uniform(0.0, 1e11)),
    ):
        with suppress(ValueError):  # hopeless
            assert 0.2 <= detect_rate(times) <= 2000.0


def test_round_rates_are_exact() -> None:
    assert detect_rate(np.arange(30) / 9.998) == 10.0
    assert detect_rate(np.arange(30) / 59.93) == 59.94
    assert detect_rate(np.arange(30) / 10.3) == pytest.approx(10.3)


@pytest.mark.parametrize("times", [[], [1.0], [1.0, 1.0, 2.0], [0.0, 1e-9, 2e-9, 3e-9]])
def test_hopeless_times_are_refused(times: list[float]) -> None:
    with pytest.raises(ValueError, match="give --rate"):
        detect_rate(times)


def test_how_long_detection_takes() -> None:
    assert not enough([0.0, 3.0])
    assert enough([i / 10 for i in range(21)])
    assert enough([0.0] * 400)


def test_messages_that_were_held_up_do_not_show_the_rate() -> None:
    """The network stops after the first of 20 messages per second for 1.5 s."""
    arrivals = [max(i / 20, 1.5 + i * 4e-5) if i else 0.0 for i in range(100)]
    needed = next(n for n in range(1, 100) if enough(arrivals[:n]))
    assert arrivals[needed] < 4.0
    assert detect_rate(arrivals[:needed]) == 20.0
