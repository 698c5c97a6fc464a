"""Transports: where samples come from and where forecasts go, one file per kind, found by the scheme of a URL.

A source yields frames; a sink takes forecasts. Both are opened from a URL such as ``udp://127.0.0.1:5005``. Plugins add
schemes with `register_transport`.
"""

from __future__ import annotations

# These register the transports of the package.
from quatcast.live.transports import files, igtl, lsl, simulated, standard, tcp, udp, websocket  # noqa: F401
from quatcast.live.transports.base import Sink, Source, open_sink, open_source, register_transport

__all__ = [
    "Sink",
    "Source",
    "open_sink",
    "open_source",
    "register_transport",
]
