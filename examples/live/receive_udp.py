"""Print the forecasts that `quatcast live SOURCE --to udp://127.0.0.1:5006` sends, with the standard library only."""

from __future__ import annotations

import argparse
import json
import socket
import zlib


def main() -> None:
    """Print forecasts until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=5006)
    parser.add_argument("--count", type=int, default=0, help="end after so many forecasts; 0 never ends")
    options = parser.parse_args()

    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", options.port))
        print(f"listening on port {receiver.getsockname()[1]}", flush=True)
        received = 0
        while not options.count or received < options.count:
            message = receiver.recv(65536)
            received += 1
            body, _, digits = message.rpartition(b',"crc":"')
            if digits != b'%08x"}' % zlib.crc32(body):
                print("a forecast was changed on its way", flush=True)
                continue
            forecast = json.loads(message)
            if forecast["status"] in ("hold", "warming up"):
                print(f"{forecast['t_target']:.3f} s: {forecast['status']}: {forecast['reason']}", flush=True)
                continue
            for channel, (position, radius) in enumerate(zip(forecast["p"], forecast["radius"], strict=True)):
                print(f"{forecast['t_target']:.3f} s, channel {channel}: {position} ± {radius}", flush=True)


if __name__ == "__main__":
    main()
