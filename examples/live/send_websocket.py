"""Send a breathing chest, three markers, over a WebSocket: try it with `quatcast live "ws://127.0.0.1:8766?listen"`.

It needs the package websockets (`pip install websockets`).
"""

from __future__ import annotations

import argparse
import json
import math
import time
import zlib

from websockets.sync.client import connect


def main() -> None:
    """Send samples until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--url", default="ws://127.0.0.1:8766")
    parser.add_argument("--rate", type=float, default=10.0, help="samples per second")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to send")
    options = parser.parse_args()

    with connect(options.url, proxy=None) as connection:
        began = time.time()
        for number in range(round(options.seconds * options.rate)):
            moment = number / options.rate
            time.sleep(max(0.0, began + moment - time.time()))
            breath = 5 * math.sin(2 * math.pi * moment / 4)
            markers = [[10.0 * marker, 0.5 * breath, (1 + 0.1 * marker) * breath] for marker in range(3)]
            sample = {"v": 1, "type": "sample", "seq": number, "t": began + moment, "p": markers, "unit": "mm"}
            text = json.dumps(sample)[:-1]
            connection.send(f'{text},"crc":"{zlib.crc32(text.encode()):08x}"}}')


if __name__ == "__main__":
    main()
