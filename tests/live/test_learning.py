"""Learning that does not hold up answers: limits are journalled and repeated, and workers learn in turn."""

from __future__ import annotations

import asyncio
import gc
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from itertools import cycle
from pathlib import Path
from typing import Self

import numpy as np
import pytest

from quatcast.data import simulated
from quatcast.forecasting.forecaster import Forecaster
from quatcast.learners import RLS
from quatcast.live import Frame, LiveSettings, Pipeline, Service, Session, Source, replay_session
from quatcast.live.journal import read_journal
from quatcast.live.latency import Garbage, only_young
from quatcast.live.learning import LEAST, Pace, Turns
from quatcast.live.session import checkpoints
from quatcast.safety.guard import Guarded

SETTINGS = LiveSettings(stream="chest", horizon=(0.3,), rate=10.0)


def build(horizons: tuple[float, ...], rate: float, names: tuple[str, ...], space: str) -> Guarded:
    """Return a forecaster that collects 60 samples and then learns from 7 with each new one."""
    return Guarded(Forecaster(RLS(), horizon=3, lags=4, train=60, catch_up=7), rate=rate, names=names, space=space)


class Quick(Source):
    """A source that counts as real time and does not wait."""

    def __init__(self, seconds: int) -> None:
        self.refused, self.positions = {}, simulated(seconds=seconds)[1].positions

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        pass

    async def frames(self) -> AsyncIterator[Frame]:
        for i, values in enumerate(self.positions):
            await asyncio.sleep(0)
            yield Frame("chest", i, i / 10, 500 + i / 10, values)


@pytest.fixture
def session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Record a stream whose learning is limited in a way that no rule could guess."""
    limits = cycle([2, None, 3, 2, 5, 2])
    monkeypatch.setattr(Pace, "observe", lambda self, took, period: setattr(self, "limit", next(limits)))
    monkeypatch.setattr(Service, "_is_behind", lambda self, frame: False)
    monkeypatch.setattr("quatcast.live.service.hold_if_late", lambda answer, act_latency: (answer, False))
    recorded = Session(tmp_path, SETTINGS, print)
    summary = asyncio.run(Service(Pipeline(SETTINGS, build), Quick(15), session=recorded).run())
    assert (summary.frames, summary.unlearnt) == (150, 0)
    return tmp_path


def test_limits_are_journalled_and_replayed(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {record.get("limit") for record in read_journal(session) if record["type"] == "forecast"}
    assert limits == {None, 2, 3, 5}
    assert replay_session(session, build).equal == 150
    learn = Pipeline.learn
    monkeypatch.setattr(Pipeline, "learn", lambda self, limit=None: learn(self))
    assert replay_session(session, build).different, "limits make a difference, so that the comparison can fail"


def test_recovery_repeats_limits(session: Path) -> None:
    def next_forecast() -> np.ndarray:
        pipeline, recorded = Pipeline(SETTINGS, build), Session(session, SETTINGS, print)
        recorded.recover(pipeline)
        recorded.close()
        values = np.ones((3, 3))
        [sample] = pipeline.take(Frame("chest", 150, 15.0, 515.0, values)).samples
        return pipeline.forecast(sample).position

    from_checkpoint = next_forecast()
    for _, path in checkpoints(session):
        path.unlink()
    np.testing.assert_array_equal(next_forecast(), from_checkpoint)


def test_a_limit_is_chosen_that_fits_between_two_samples() -> None:
    """Simulate a learner that needs 3 ms per waiting sample, of which it takes up to 7."""
    for period, expected in ((0.1, None), (0.02, 4), (0.01, LEAST)):
        pace = Pace()
        for _ in range(5):
            pace.observe(0.003 * min(7, pace.limit or 7), period)
        assert pace.limit == expected


CHILD = """
import sys, time
from quatcast.live.learning import Turns
turns = Turns.inherited()
for line in sys.stdin:
    print(turns.take() if line == "take\\n" else turns.give_back(), flush=True)
"""


@pytest.mark.skipif(not hasattr(os, "memfd_create"), reason="workers take turns on Linux only")
def test_workers_learn_in_turn() -> None:
    turns = Turns.create(2)
    words = {"pass_fds": [turns.descriptor], "env": os.environ | turns.environment(), "text": True}
    children = [
        subprocess.Popen([sys.executable, "-c", CHILD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **words)
        for _ in range(3)
    ]

    def ask(child: int, word: str) -> str:
        process = children[child]
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{word}\n")
        process.stdin.flush()
        return process.stdout.readline().strip()

    try:
        assert [ask(child, "take") for child in (0, 1, 2)] == ["True", "True", "False"]
        ask(0, "give back")
        assert [ask(child, "take") for child in (2, 0)] == ["True", "False"]
        children[1].kill()
        children[1].wait()
        assert ask(0, "take") == "True", "a worker that dies gives its turn back"
    finally:
        for process in children:
            process.kill()
            process.communicate()
        turns.close()


def test_without_a_supervisor_there_are_no_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("", "999:1", "nonsense"):
        monkeypatch.setenv("QUATCAST_LEARNING_TURNS", value)
        assert Turns.inherited() is None


def test_a_stream_without_a_turn_learns_nothing_once_the_next_sample_has_come(monkeypatch: pytest.MonkeyPatch) -> None:
    class Taken(Turns):
        def take(self) -> bool:
            return False

    monkeypatch.setattr(Service, "_is_behind", lambda self, frame: False)
    monkeypatch.setattr("quatcast.live.service.hold_if_late", lambda answer, act_latency: (answer, False))
    service = Service(Pipeline(SETTINGS, build), Quick(3), turns=Taken(-1, 1))
    summary = asyncio.run(asyncio.wait_for(service.run(), 20))
    assert summary.forecasts == summary.unlearnt == 30


def test_all_objects_are_collected_between_samples_only() -> None:
    before = gc.get_threshold()
    with only_young():
        assert gc.get_threshold()[:2] == before[:2]
        assert gc.get_threshold()[2] > 10**8
        Garbage().collect_if_due()
        collected = gc.get_stats()[2]["collections"]
        Garbage(every=0.0).collect_if_due()
        assert gc.get_stats()[2]["collections"] == collected + 1
    assert gc.get_threshold() == before
    Garbage(every=0.0).collect_if_due()
    assert gc.get_stats()[2]["collections"] == collected + 1
