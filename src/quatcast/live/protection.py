"""Who can reach an address, and which tokens are accepted: the same rules for transports and for the view."""

from __future__ import annotations

import ipaddress

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
