"""Print the forecasts of `quatcast live SOURCE --to "igtl://127.0.0.1:18945?listen"`, with the package pyigtl."""

from __future__ import annotations

import argparse

import pyigtl


def main() -> None:
    """Print forecasts until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=18945)
    parser.add_argument("--device", default="ChestForecast", help="name of the channel with the ending Forecast")
    parser.add_argument("--count", type=int, default=0, help="end after so many forecasts; 0 never ends")
    options = parser.parse_args()

    client = pyigtl.OpenIGTLinkClient(options.host, options.port)
    received = 0
    while not options.count or received < options.count:
        message = client.wait_for_message(options.device, timeout=1.0)
        if message is None:
            print("no forecast for a second", flush=True)
            continue
        received += 1
        position = message.matrix[:3, 3].tolist()
        radius = message.metadata.get("ForecastRadius", "unknown")
        print(f"{message.timestamp:.3f} s: {position} ± {radius}", flush=True)
    client.stop()


if __name__ == "__main__":
    main()
