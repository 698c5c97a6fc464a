"""Send a breathing chest, three markers, as UDP datagrams: a tracker to try out `quatcast live udp://127.0.0.1:5005`.

Only the standard library is used, so that the file can be a model for your own sender.
"""

from __future__ import annotations

import argparse
import json
import math
import socket
import time
import zlib


def with_checksum(text: str) -> str:
    """Return a JSON object or a line of numbers with a checksum of what precedes it."""
    if text.startswith("{"):
        return f'{text[:-1]},"crc":"{zlib.crc32(text[:-1].encode()):08x}"}}'
    return f"{text}*{zlib.crc32(text.encode()):08x}"


def main() -> None:
    """Send samples until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=5005)
    parser.add_argument("--rate", type=float, default=10.0, help="samples per second")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to send")
    parser.add_argument("--csv", action="store_true", help="send lines of numbers instead of JSON")
    parser.add_argument("--token", default="", help="token of the source, if it has one")
    options = parser.parse_args()

    began = time.time()
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for number in range(round(options.seconds * options.rate)):
            moment = number / options.rate
            time.sleep(max(0.0, began + moment - time.time()))
            breath = 5 * math.sin(2 * math.pi * moment / 4)
            markers = [[10.0 * marker, 0.5 * breath, (1 + 0.1 * marker) * breath] for marker in range(3)]
            if options.csv:
                text = ",".join(repr(value) for value in [began + moment, *(v for marker in markers for v in marker)])
            else:
                sample = {"v": 1, "type": "sample", "seq": number, "t": began + moment, "p": markers, "unit": "mm"}
                text = json.dumps(sample)
            text = with_checksum(text)
            if options.token:
                text = f"token {options.token}\n{text}"
            sender.sendto(text.encode(), (options.host, options.port))


if __name__ == "__main__":
    main()
