"""Where work is done: on all cores, on a GPU or on a Dask cluster, through `concurrent.futures` alone."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager
from itertools import islice
from multiprocessing.connection import Connection
from typing import Any, ParamSpec, Self, TypeVar

Item = TypeVar("Item")
Outcome = TypeVar("Outcome")
Given = ParamSpec("Given")
Opened = tuple[Executor, int]
"""An executor, and how many tasks it does at once."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
GPU_WORKERS = 4
"""Processes that keep one GPU busy: while one prepares a step, others' kernels run."""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """Do tasks somewhere else, whatever somewhere else is. Nothing is started before there is a task.

    Parameters
    ----------
    place
        Opens the executor: `local(…)` or `dask(…)`.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> @contextmanager
    ... def here():
    ...     with ThreadPoolExecutor(1) as executor:
    ...         yield executor, 1
    >>> with Workers(here()) as workers:
    ...     sorted(workers.map(abs, [-3, 1, -2]))
    [1, 2, 3]
    """

    def __init__(self, place: AbstractContextManager[Opened]) -> None:
        self._place = place
        self._stack = ExitStack()
        self._opened: Opened | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def map(self, function: Callable[[Item], Outcome], items: Iterable[Item]) -> Iterator[Outcome]:
        """Outcomes in the order in which they are ready. Few tasks are on their way at any time."""
        queue = iter(items)
        first = list(islice(queue, 1))
        if not first:
            return
        if self._opened is None:
            self._opened = self._stack.enter_context(self._place)
        executor, slots = self._opened
        running: set[Future[Outcome]] = set()
        try:
            for item in [*first, *islice(queue, 2 * slots - 1)]:
                running.add(executor.submit(function, item))
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    running |= {executor.submit(function, item) for item in islice(queue, 1)}
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


@contextmanager
def local(count: int | None = None, device: str = "cpu") -> Iterator[Opened]:
    """Worker processes on this machine, by default one a core, each with one thread.

    They end with this process, even if it is killed, and at once if it leaves with an error.
    """
    count = count or (cores() if device != "cuda" else min(cores(), GPU_WORKERS))
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    kept = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    executor = _Processes(count, mp_context=context, initializer=_serve, initargs=(reader,))
    try:
        yield executor, count
        executor.shutdown()
    finally:
        writer.close()
        executor.shutdown(cancel_futures=True)
        reader.close()
        for name, value in kept.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Processes(ProcessPoolExecutor):
    """Processes that Ctrl-C does not reach from their first moment on.

    They are started as tasks are handed in, and inherit which signals are blocked then. One that comes meanwhile is
    not lost: the parent has it right after.
    """

    def submit(
        self, function: Callable[Given, Outcome], /, *args: Given.args, **kwargs: Given.kwargs
    ) -> Future[Outcome]:
        with _uninterrupted():
            return super().submit(function, *args, **kwargs)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Keep Ctrl-C waiting, where the system can."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(parent: Connection) -> None:
    """Begin as a worker: leave interrupts to the parent, and leave when its end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            parent.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def dask(address: str) -> Iterator[Opened]:
    """Workers of the Dask scheduler at an address, on which quatcast has to be installed."""
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError("cluster: needs Dask; install quatcast[cluster]") from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(f"cluster: no Dask scheduler answers at {address!r}") from error
    with client:
        slots = sum(client.nthreads().values())
        if not slots:
            raise ValueError(f"cluster: the scheduler at {address!r} has no workers")
        with client.get_executor() as executor:
            yield executor, slots
