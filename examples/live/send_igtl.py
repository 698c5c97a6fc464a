"""Serve a breathing chest, three tools, over OpenIGTLink: a tracker to try out `quatcast live igtl://127.0.0.1:18944`.

It needs the package pyigtl (`pip install pyigtl`), which has nothing to do with quatcast.
"""

from __future__ import annotations

import argparse
import math
import time

import numpy as np
import pyigtl


def main() -> None:
    """Send samples until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--port", type=int, default=18944)
    parser.add_argument("--rate", type=float, default=10.0, help="samples per second")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to send")
    options = parser.parse_args()

    server = pyigtl.OpenIGTLinkServer(port=options.port, local_server=True)
    while not server.is_connected():
        time.sleep(0.05)
    began = time.time()
    for number in range(round(options.seconds * options.rate)):
        moment = number / options.rate
        time.sleep(max(0.0, began + moment - time.time()))
        breath = 5 * math.sin(2 * math.pi * moment / 4)
        for marker, tool in enumerate(("Chest", "Abdomen", "Neck")):
            matrix = np.eye(4)
            matrix[:3, 3] = [10.0 * marker, 0.5 * breath, (1 + 0.1 * marker) * breath]
            server.send_message(pyigtl.TransformMessage(matrix, timestamp=began + moment, device_name=tool))
    server.stop()


if __name__ == "__main__":
    main()
