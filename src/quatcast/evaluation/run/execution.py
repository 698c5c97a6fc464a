"""Workers: processes on this machine, or elsewhere, used through `concurrent.futures` only."""

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
Output = TypeVar("Output")
Parameters = ParamSpec("Parameters")
Pool = tuple[Executor, int]
"""An executor, and how many tasks it computes at once."""

ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
CHECK_EVERY = 2.0
"""Seconds after which an executor with a method `check` is asked whether it can still compute anything."""
GPU_WORKERS = 4
"""Processes that share one GPU: while one prepares a step, the kernels of the others run."""


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """Compute tasks in other processes. Nothing is started before there is a task.

    Parameters
    ----------
    pool
        Context manager that opens the executor: `local(…)` or `dask(…)`. If the executor has a method `check`, it is
        called now and then while nothing is ready, and raises an error if nothing will be.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> from contextlib import contextmanager
    >>> @contextmanager
    ... def threads():
    ...     with ThreadPoolExecutor(1) as executor:
    ...         yield executor, 1
    >>> with Workers(threads()) as workers:
    ...     sorted(workers.map(abs, [-3, 1, -2]))
    [1, 2, 3]
    """

    def __init__(self, pool: AbstractContextManager[Pool]) -> None:
        self._pool = pool
        self._stack = ExitStack()
        self._opened: list[Pool] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def map(self, function: Callable[[Item], Output], items: Iterable[Item]) -> Iterator[Output]:
        """Yield the outputs in the order in which they are ready. Few tasks are submitted ahead of time."""
        queue = iter(items)
        first = list(islice(queue, 1))
        if not first:
            return
        if not self._opened:
            self._opened.append(self._stack.enter_context(self._pool))
        executor, slots = self._opened[0]
        running: set[Future[Output]] = set()
        try:
            for item in [*first, *islice(queue, 2 * slots - 1)]:
                running.add(executor.submit(function, item))
            check: Callable[[], None] | None = getattr(executor, "check", None)
            while running:
                done, running = wait(running, timeout=CHECK_EVERY if check else None, return_when=FIRST_COMPLETED)
                if check and not done:
                    check()
                for future in done:
                    running |= {executor.submit(function, item) for item in islice(queue, 1)}
                    yield future.result()
        finally:
            for future in running:
                future.cancel()


@contextmanager
def local(count: int | None = None, device: str = "cpu") -> Iterator[Pool]:
    """Open worker processes on this machine, by default one per core, each with one thread.

    They end with this process, even if it is killed, and immediately if it ends with an error.
    """
    count = count or (cores() if device != "cuda" else min(cores(), GPU_WORKERS))
    context = multiprocessing.get_context("spawn")
    reader, writer = context.Pipe(duplex=False)
    before = {name: os.environ.get(name) for name in ONE_THREAD}
    os.environ.update(dict.fromkeys(ONE_THREAD, "1"))
    executor = _Processes(count, mp_context=context, initializer=_serve, initargs=(reader,))
    try:
        yield executor, count
        executor.shutdown()
    finally:
        writer.close()
        executor.shutdown(cancel_futures=True)
        reader.close()
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


class _Processes(ProcessPoolExecutor):
    """Processes that never receive Ctrl-C, not even while they start.

    A process is started when a task is submitted, and inherits the signals that are blocked at that moment. An
    interrupt in the meantime is not lost: the parent receives it when the signal is unblocked.
    """

    def submit(
        self, function: Callable[Parameters, Output], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Output]:
        with _uninterrupted():
            return super().submit(function, *args, **kwargs)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C, where the system can block signals."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(parent: Connection) -> None:
    """Initialize a worker: ignore interrupts, and exit when the parent's end of the pipe is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def watch() -> None:
        try:
            parent.recv_bytes()
        except (EOFError, OSError):
            os._exit(0)

    threading.Thread(target=watch, daemon=True).start()
