"""Network addresses of transports: what a URL says, and who may use it.

`tcp://HOST:PORT` connects to a server; `tcp://HOST:PORT?listen` waits for clients. A listener on an address that other
machines can reach requires a token, or, for protocols that cannot carry one, a list of the addresses of its peers.
"""

from __future__ import annotations

import hmac
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, parse_qsl

from quatcast.live.addresses import check_token, is_loopback
from quatcast.live.transports.options import read_number

TOKEN_VARIABLE = "QUATCAST_TOKEN"
"""Environment variable with the token, so that it need not be written into a URL."""


@dataclass(frozen=True)
class Endpoint:
    """Where a transport listens or connects.

    Attributes
    ----------
    scheme, host, port
        Parts of the URL. Port 0 lets the operating system choose.
    listen
        Whether the transport waits for clients; otherwise it connects.
    token
        Token that clients must give, or that this client gives; empty for none.
    allow
        Addresses from which clients are accepted; empty for all.
    options
        Further options of the URL.
    """

    scheme: str
    host: str
    port: int
    listen: bool
    token: str = field(default="", repr=False)
    allow: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}"

    def accepts(self, token: str) -> bool:
        """Tell whether a client's token is right, in a time that does not depend on where it differs."""
        return not self.token or hmac.compare_digest(token.encode(errors="replace"), self.token.encode())

    def admits(self, address: str) -> bool:
        """Tell whether a client may connect from an address."""
        return not self.allow or address.removeprefix("::ffff:") in self.allow

    def number(self, name: str, default: float, low: float, high: float) -> float:
        """Return the value of a numerical option within bounds; a whole number if the default is an integer."""
        text, whole = self.options.get(name), isinstance(default, int)
        return default if text is None else read_number(f"{self.scheme}, {name}", text, low, high, whole=whole)


def parse_endpoint(
    parts: SplitResult,
    options: tuple[str, ...] = (),
    *,
    port: int | None = None,
    listen: bool | None = None,
    carries_token: bool = True,
) -> Endpoint:
    """Return the endpoint of a URL, after checking that its listener is protected.

    Parameters
    ----------
    parts
        The split URL.
    options
        Options that the transport knows, beside `listen`, `token` and `allow`.
    port
        Default port; None if the URL must name one.
    listen
        Whether the transport listens; None if the option `listen` decides.
    carries_token
        Whether clients of this protocol can give a token.

    Examples
    --------
    >>> from urllib.parse import urlsplit
    >>> endpoint = parse_endpoint(urlsplit("tcp://:5005?listen"))
    >>> endpoint.host, endpoint.listen
    ('127.0.0.1', True)
    >>> parse_endpoint(urlsplit("tcp://0.0.0.0:5005?listen"))
    Traceback (most recent call last):
        ...
    ValueError: tcp://0.0.0.0:5005: expected a token, because other machines can reach this address; ...
    """
    given = _options(parts, options, listen is None, carries_token)
    host = parts.hostname or "127.0.0.1"
    listens = "listen" in given if listen is None else listen
    endpoint = Endpoint(
        scheme=parts.scheme,
        host=host,
        port=_port(parts, port, listens),
        listen=listens,
        token=_token(given, listens, host),
        allow=_addresses(parts.scheme, given.get("allow", "")),
        options={name: value for name, value in given.items() if name in options},
    )
    _check_protection(endpoint, carries_token)
    return endpoint


def _options(parts: SplitResult, options: tuple[str, ...], may_listen: bool, carries_token: bool) -> dict[str, str]:
    """Return the options of a URL, all of which are known."""
    known = [*options, *["listen"] * may_listen, *["token"] * carries_token, "allow"]
    given = dict(parse_qsl(parts.query, keep_blank_values=True))
    for name in given:
        if name not in known:
            raise ValueError(f"{parts.scheme}: expected the options {', '.join(known)}, got {name!r}")
    return given


def _port(parts: SplitResult, default: int | None, listens: bool) -> int:
    example = f"{parts.scheme}://127.0.0.1:5005"
    try:
        port = default if parts.port is None else parts.port
    except ValueError:
        raise ValueError(f"{parts.scheme}: expected a port from 0 to 65535, got {parts.netloc!r}") from None
    if port is None or (port == 0 and not listens):
        given = parts._replace(query="").geturl()  # without a token
        raise ValueError(f"{parts.scheme}: expected an address with a port, such as {example}, got {given!r}")
    return port


def _token(given: Mapping[str, str], listens: bool, host: str) -> str:
    """Return the token: that of the URL, or that of the environment for `?token` and for listeners that need one."""
    token = given.get("token", "")
    if not token and ("token" in given or (listens and not is_loopback(host))):
        token = os.environ.get(TOKEN_VARIABLE, "")
    if token:
        check_token(token)
    return token


def _addresses(scheme: str, text: str) -> tuple[str, ...]:
    try:
        return tuple(str(ipaddress.ip_address(address.strip())) for address in text.split(",") if address.strip())
    except ValueError:
        raise ValueError(f"{scheme}, allow: expected IP addresses separated by commas, got {text!r}") from None


def _check_protection(endpoint: Endpoint, carries_token: bool) -> None:
    """Raise an error for a listener that other machines can reach without a token or a list of addresses."""
    if not endpoint.listen or is_loopback(endpoint.host):
        return
    if carries_token and not endpoint.token:
        raise ValueError(
            f"{endpoint}: expected a token, because other machines can reach this address; set {TOKEN_VARIABLE}, "
            "add ?token=…, or listen on 127.0.0.1"
        )
    if not carries_token and not endpoint.allow:
        raise ValueError(
            f"{endpoint}: expected the addresses of the clients, because other machines can reach this address and the "
            "protocol has no token; add allow=ADDRESS,… or listen on 127.0.0.1"
        )
