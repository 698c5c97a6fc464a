"""Who may see the view: checks of the headers Host and Origin, and of the token.

A page of another site that runs in a browser on this machine can send requests to 127.0.0.1. It cannot choose the
header Host, so that a name which is not ours unmasks a name server that points its own name here; and the browser adds
the header Origin to the request for a WebSocket, which unmasks the other page.
"""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from quatcast.live.protection import check_token, is_loopback


@dataclass(frozen=True)
class Access:
    """Rules of access for a server that listens on `host`.

    Parameters
    ----------
    host
        Address on which the server listens.
    token
        Secret that every request must carry, in the header Authorization, the cookie or the query. It may be None on a
        loopback address only.
    names
        Further names under which the server is reached, for example that of a reverse proxy.

    Raises
    ------
    ValueError
        If other machines can reach the address and there is no token, or if the token is short.

    Examples
    --------
    >>> access = Access("127.0.0.1")
    >>> access.known_host("localhost:8000"), access.known_host("evil.example")
    (True, False)
    >>> Access("0.0.0.0")
    Traceback (most recent call last):
    ValueError: token: expected one, because other machines can reach 0.0.0.0; or listen on 127.0.0.1
    """

    host: str = "127.0.0.1"
    token: str | None = None
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.host):
            raise ValueError(
                f"token: expected one, because other machines can reach {self.host}; or listen on 127.0.0.1"
            )
        if self.token is not None:
            check_token(self.token)

    def known_host(self, header: str | None) -> bool:
        """Whether the header Host names this server.

        An address in numbers is accepted where other machines may connect: only a name can be made to point here.
        """
        name = _hostname(f"//{header}")
        if not name:
            return False
        if name in {"localhost", self.host.lower(), *(other.lower() for other in self.names)} or is_loopback(name):
            return True
        return not is_loopback(self.host) and (_is_address(name) or name == socket.gethostname().lower())

    def same_origin(self, origin: str | None, host: str | None) -> bool:
        """Whether a request comes from our own page, or from a program, which sends no Origin."""
        if origin is None:
            return True
        try:
            parts = urlsplit(origin)
        except ValueError:
            return False
        return parts.scheme in ("http", "https") and bool(host) and parts.netloc.lower() == (host or "").lower()

    def allowed(self, *given: str | None) -> bool:
        """Whether one of the given secrets is the token, or none is needed."""
        if self.token is None:
            return True
        expected = self.token.encode()
        return any(hmac.compare_digest(secret.encode(), expected) for secret in given if secret)


def secrets_of(headers: Mapping[str, str], cookies: Mapping[str, str], cookie: str) -> Iterable[str | None]:
    """Return the secrets that a request carries in its header Authorization and in a cookie."""
    kind, _, secret = headers.get("authorization", "").partition(" ")
    return secret.strip() if kind.lower() == "bearer" else None, cookies.get(cookie)


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _hostname(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""
