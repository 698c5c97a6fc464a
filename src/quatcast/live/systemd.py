"""Messages to systemd: ready, alive, stopping; nothing happens where there is no systemd."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLES = ("NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID")
"""Environment variables by which systemd tells a service how to talk to it."""


def notify(text: str) -> bool:
    """Send a message such as ``READY=1`` to the service manager; return whether there is one.

    Examples
    --------
    >>> import os
    >>> _ = os.environ.pop("NOTIFY_SOCKET", None)
    >>> notify("READY=1")
    False
    """
    address = os.environ.get("NOTIFY_SOCKET", "")
    if not address or not hasattr(socket, "AF_UNIX"):
        return False
    # An address that begins with @ is in the abstract namespace of Linux.
    path = "\0" + address[1:] if address.startswith("@") else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as channel:
            channel.connect(path)
            channel.sendall(text.encode())
    except OSError:
        return False
    return True


@contextmanager
def lifetime() -> Iterator[None]:
    """Tell the service manager while the loop runs that it does, and at the end that it stops."""
    beating = asyncio.create_task(_signs_of_life())
    try:
        yield
    finally:
        notify("STOPPING=1")
        beating.cancel()


async def _signs_of_life() -> None:
    """Notify the service manager that the loop still runs, if it expects this."""
    interval = watchdog_interval()
    while interval:
        notify("WATCHDOG=1")
        await asyncio.sleep(interval)


def watchdog_interval() -> float | None:
    """Return the seconds between signs of life that the service manager expects, or None if it expects none.

    Half of the time limit is used, as systemd recommends.
    """
    try:
        limit = int(os.environ.get("WATCHDOG_USEC", "0"))
        own = int(os.environ.get("WATCHDOG_PID", str(os.getpid()))) == os.getpid()
    except ValueError:
        return None
    return limit / 2e6 if limit > 0 and own else None
