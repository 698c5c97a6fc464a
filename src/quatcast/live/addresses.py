"""Network addresses: who can reach them, which tokens they accept, and errors of sockets that name them.

The same rules hold for transports and for the view.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

SHORTEST_TOKEN = 16
"""Smallest number of characters of a token."""


def is_loopback(host: str) -> bool:
    """Tell whether only this machine can reach an address.

    Examples
    --------
    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "LOCALHOST", "0.0.0.0", "192.168.1.5", "tracker")]
    [True, True, True, False, False, False]
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_own_name(header: str, host: str, names: Iterable[str] = ()) -> bool:
    """Tell whether a header Host names a machine that listens on an address.

    Besides known names, a numeric address is accepted where other machines may connect: only a name can be made to
    point here by a foreign name server (DNS rebinding).

    Examples
    --------
    >>> [is_own_name(name, "127.0.0.1") for name in ("localhost:80", "[::1]:80", "192.168.1.5", "evil.example", "")]
    [True, True, False, False, False]
    """
    try:
        name = urlsplit(f"//{header}").hostname or ""
    except ValueError:
        return False
    if name and name in {"localhost", host.lower(), *map(str.lower, names)}:
        return True
    try:
        return ipaddress.ip_address(name).is_loopback or not is_loopback(host)
    except ValueError:
        return False


def bearer_token(header: str) -> str:
    """Return the token of a header Authorization; empty if it has none."""
    kind, _, token = header.partition(" ")
    return token.strip() if kind.lower() == "bearer" else ""


def check_token(token: str) -> None:
    """Raise an error for a token that is short, or that a URL, a cookie or a header would have to escape.

    Examples
    --------
    >>> check_token("correct-horse-battery")
    >>> check_token("secret")
    Traceback (most recent call last):
        ...
    ValueError: token: expected at least 16 letters, digits or characters of -._~, got 6 characters; ...
    """
    plain = token.isascii() and all(letter.isalnum() or letter in "-._~" for letter in token)
    if len(token) < SHORTEST_TOKEN or not plain:
        raise ValueError(
            f"token: expected at least {SHORTEST_TOKEN} letters, digits or characters of -._~, got {len(token)} "
            f"characters{'' if plain else ', others among them'}; "
            "python -c 'import secrets; print(secrets.token_urlsafe())' makes one"
        )


@contextmanager
def naming(address: object, advice: str = "") -> Iterator[None]:
    """Let an error of a socket name the address that cannot be used, and say what to do.

    Examples
    --------
    >>> import errno
    >>> with naming("udp://127.0.0.1:5005"):
    ...     raise OSError(errno.EADDRINUSE, "…")
    Traceback (most recent call last):
        ...
    OSError: udp://127.0.0.1:5005: Address already in use
    """
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno is not None and error.errno > 0 else error.strerror
        raise OSError(f"{address}: {reason or error}{advice}") from None
