"""A task and its helpers: helpers run as long as the task does, and one that fails ends it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence


async def run_with_helpers(
    main: asyncio.Task[None], helpers: Sequence[asyncio.Task[None]], stop: Callable[[], None]
) -> None:
    """Wait until a task ends or is cancelled, then cancel its helpers.

    Parameters
    ----------
    main
        The task.
    helpers
        Tasks without an end; the name of each is used in the error if it fails.
    stop
        Called if a helper fails; asks the task to end soon.

    Raises
    ------
    RuntimeError
        If a helper has failed.
    asyncio.CancelledError
        If the caller is cancelled, and not only the task.

    Examples
    --------
    >>> async def fail() -> None:
    ...     raise ValueError("no route")
    >>> async def scenario() -> None:
    ...     main = asyncio.create_task(asyncio.sleep(60))
    ...     await run_with_helpers(main, [asyncio.create_task(fail(), name="the watch")], main.cancel)
    >>> asyncio.run(scenario())
    Traceback (most recent call last):
        ...
    RuntimeError: the watch failed: ValueError('no route')
    """
    failed: list[asyncio.Task[None]] = []
    try:
        # Unlike `await main`, this tells the end of the task from the end of the one that waits for it.
        await asyncio.wait([main, *helpers], return_when=asyncio.FIRST_COMPLETED)
        failed = [helper for helper in helpers if helper.done()]
        if failed:
            stop()
        await asyncio.wait([main])
    finally:
        for task in (main, *helpers):
            task.cancel()
        await asyncio.gather(main, *helpers, return_exceptions=True)
    if not main.cancelled():
        main.result()
    for helper in failed:
        error = helper.exception()
        raise RuntimeError(f"{helper.get_name()} failed: {error!r}") from error
