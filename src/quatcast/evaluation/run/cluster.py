"""The workers of a Dask cluster: they are checked before they get work, and watched while they work."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from concurrent.futures import CancelledError, Executor, Future
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from quatcast.basics.logs import quiet
from quatcast.basics.optional import require
from quatcast.evaluation.provenance import Origin, origin
from quatcast.evaluation.run.execution import Pool

Output = TypeVar("Output")
Parameters = ParamSpec("Parameters")

PATIENCE = 4.0
"""Seconds without a scheduler or without a worker after which an experiment ends."""
ANSWER = 10.0
"""Seconds to wait for an answer of the scheduler."""
RESUME = "results so far are stored, and the same command resumes"


@contextmanager
def dask(address: str, files: Sequence[Path] = (), modules: Collection[str] = ()) -> Iterator[Pool]:
    """Open the workers of the Dask scheduler at an address. The same quatcast must be installed on them.

    Parameters
    ----------
    address
        Address of the scheduler.
    files
        Python files to send to the scheduler and the workers, such as plugins that are not installed there.
    modules
        Modules that tasks need. It is an error if the scheduler or a worker cannot import one; Dask itself would wait
        forever.

    Raises
    ------
    ValueError
        If there is no scheduler or no worker, or if a worker has no quatcast, another version or other code.
    ConnectionError
        While tasks are computed, if the scheduler or all workers have gone.
    """
    distributed = require("distributed", "quatcast[cluster]", "cluster: ")
    # Dask would print tracebacks when a connection is lost.
    noisy = map(logging.getLogger, ("distributed", "distributed.client", "tornado.application"))
    with quiet(logging.CRITICAL, *noisy):
        try:
            client = distributed.Client(address, timeout=ANSWER)
        except (OSError, ValueError) as error:
            raise ValueError(f"cluster: no Dask scheduler answers at {address!r}") from error
        try:
            executor = _Cluster(client, address, client.get_executor(retries=2))
            slots = sum(client.nthreads().values())
            if not slots:
                raise ValueError(f"cluster: the scheduler at {address!r} has no workers")
            for file in files:
                client.upload_file(str(file))
            _check_workers(client, address, modules)
            yield executor, slots
        finally:
            # Closing politely would wait for running tasks, and for a scheduler that may be gone.
            client.close(timeout=1)


def _check_workers(client: Any, address: str, modules: Collection[str]) -> None:
    """Raise a ValueError that names the workers that cannot compute what this process would."""
    for module in ("quatcast.evaluation.provenance", *modules):
        try:
            if module in modules:
                client.run_on_scheduler(import_module, module)
            client.run(import_module, module)
        except ImportError as error:
            name = "quatcast" if module not in modules else module
            raise ValueError(f"cluster: {name!r} is not installed at {address!r} ({error})") from error
    found: dict[str, Origin] = client.run(origin, list(modules))
    own = origin(modules)
    others = {worker: other for worker, other in found.items() if other != own}
    if others:
        worker, other = next(iter(others.items()))
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise ValueError(
            f"cluster: worker {worker}{more} has {other}, expected {own}; install the same version everywhere"
        )


class _Cluster(Executor):
    """An executor of Dask whose errors name the cluster, and that notices when nothing can be computed any more."""

    def __init__(self, client: Any, address: str, executor: Executor) -> None:
        self._client, self._address, self._executor = client, address, executor
        self._well = time.monotonic()

    def submit(
        self, function: Callable[Parameters, Output], /, *args: Parameters.args, **kwargs: Parameters.kwargs
    ) -> Future[Output]:
        done: Future[Output] = Future()

        def pass_on(finished: Future[Output]) -> None:
            if not done.set_running_or_notify_cancel():
                return
            try:
                done.set_result(finished.result())
            except CancelledError:
                done.set_exception(self._gone("the scheduler has"))
            except Exception as error:
                done.set_exception(self._named(error))

        self._executor.submit(function, *args, **kwargs).add_done_callback(pass_on)
        return done

    def check(self) -> None:
        """Raise an error if there has been no scheduler or no worker for some seconds."""
        missing = self._missing()
        if missing is None:
            self._well = time.monotonic()
        elif time.monotonic() - self._well > PATIENCE:
            raise self._gone(missing)

    def _missing(self) -> str | None:
        if self._client.status != "running":
            return "the scheduler has"
        try:
            return None if self._client.nthreads() else "all workers have"
        except (OSError, TimeoutError, RuntimeError):
            return "the scheduler has"

    def _gone(self, who: str) -> ConnectionError:
        return ConnectionError(f"cluster: {who} gone from {self._address!r}; {RESUME}")

    def _named(self, error: Exception) -> Exception:
        """Return an error of Dask itself as one with a message for users; errors of tasks remain as they are."""
        if type(error).__name__ == "KilledWorker":
            return ConnectionError(f"cluster: workers died of a task, perhaps for lack of memory; {RESUME}")
        return error
