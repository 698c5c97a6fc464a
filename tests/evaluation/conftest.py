"""A small experiment: two short recordings of one marker, four predictors, a few runs."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest
from small_experiment import SMALL

from quatcast.data import Recording, simulated
from quatcast.evaluation.run.execution import Pool, Workers
from quatcast.evaluation.run.settings import Settings
from quatcast.evaluation.store import Store


@pytest.fixture(scope="session")
def recordings() -> list[Recording]:
    return [
        Recording(r.name, r.positions[:, :1], r.times, r.rate, group=r.group, channels=("m",), units=("mm",))
        for r in simulated(seconds=65)[:2]
    ]


@pytest.fixture
def settings() -> Settings:
    return Settings.of(SMALL)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "results.sqlite", create=True) as opened:
        yield opened


@pytest.fixture
def here() -> Workers:
    """Workers that are a thread of this process."""

    @contextmanager
    def thread() -> Iterator[Pool]:
        with ThreadPoolExecutor(1) as executor:
            yield executor, 1

    return Workers(thread())
