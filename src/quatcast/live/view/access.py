"""Who may see the view: checks of the headers Host and Origin, and of the token.

A page of another site that runs in a browser on this machine can send requests to 127.0.0.1. It cannot choose the
header Host, so that a name which is not ours reveals a name server that points its own name here; and the browser adds
the header Origin to the request for a WebSocket, which reveals the other page.
"""

from __future__ import annotations

import hmac
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from quatcast.live.addresses import check_token, is_loopback, is_own_name


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
        """Whether the header Host names this server."""
        own = () if is_loopback(self.host) else (socket.gethostname(),)
        return is_own_name(header or "", self.host, (*self.names, *own))

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
