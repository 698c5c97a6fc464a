"""What every part of the test suite may ask for."""

import gc
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

# Before NumPy is loaded: on matrices of this size threads of BLAS cost more than they give, and twenty times as much
# where several test processes share the cores.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The tests start some hundred interpreters. Without files of bytecode each of them compiles the library, and each test
# process all tests.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# A shell lets what it starts in the background ignore Ctrl-C, and so would all processes that the tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(optionalhook=True)  # also without pytest-xdist
def pytest_xdist_auto_num_workers() -> int:
    """One process more than cores: tests of the live service and of browsers spend a part of their time waiting."""
    return 1 + (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)


def pytest_collection_finish() -> None:
    """Let garbage collections pass over the tests, which are thousands of objects that stay until the end."""
    gc.freeze()


@pytest.fixture(scope="session")
def extmarker_folder() -> Path:
    """The folder of the real recordings, or a skip that says how to give it."""
    folder = os.environ.get("QUATCAST_EXTMARKER")
    if not folder:
        pytest.skip("real recordings: set QUATCAST_EXTMARKER to the folder of the 27 files")
    return Path(folder)


@pytest.fixture
def _threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let experiments compute in a thread of this process, in tests whose subject is not the worker processes."""
    from quatcast import evaluation
    from quatcast.evaluation.run import timing

    @contextmanager
    def thread(count: int | None = None, device: str = "cpu") -> Iterator[tuple[Executor, int]]:
        with ThreadPoolExecutor(1) as executor:
            yield executor, 1

    for module in (evaluation, timing):
        monkeypatch.setattr(module, "local", thread)
