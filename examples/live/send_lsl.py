"""Offer a breathing chest, three markers, as a stream of Lab Streaming Layer: try it with `quatcast live lsl://Tracker`.

It needs the package pylsl (`pip install pylsl`).
"""

from __future__ import annotations

import argparse
import math
import time

import pylsl


def main() -> None:
    """Send samples until the time is over."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--name", default="Tracker")
    parser.add_argument("--rate", type=float, default=10.0, help="samples per second")
    parser.add_argument("--seconds", type=float, default=600.0, help="how long to send")
    options = parser.parse_args()

    info = pylsl.StreamInfo(options.name, "MoCap", 9, options.rate, pylsl.cf_double64, f"example-{options.name}")
    channels = info.desc().append_child("channels")
    for marker in ("Chest", "Abdomen", "Neck"):
        for axis in "XYZ":
            channel = channels.append_child("channel")
            channel.append_child_value("label", f"{marker}_{axis}")
            channel.append_child_value("marker", marker)
            channel.append_child_value("type", f"Position{axis}")
            channel.append_child_value("unit", "millimeters")
    outlet = pylsl.StreamOutlet(info)
    outlet.wait_for_consumers(60)

    began = pylsl.local_clock()
    for number in range(round(options.seconds * options.rate)):
        moment = number / options.rate
        time.sleep(max(0.0, began + moment - pylsl.local_clock()))
        breath = 5 * math.sin(2 * math.pi * moment / 4)
        markers = [[10.0 * marker, 0.5 * breath, (1 + 0.1 * marker) * breath] for marker in range(3)]
        outlet.push_sample([value for marker in markers for value in marker], began + moment)
    time.sleep(0.5)  # let the last samples leave


if __name__ == "__main__":
    main()
