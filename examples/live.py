"""Forecast a live stream half a second ahead and print what a machine would need to know.

    python examples/live.py

The stream is simulated: some samples are missing and some are wrong.
"""

from __future__ import annotations

import numpy as np

import quatcast
from quatcast.data import simulated


def main() -> None:
    """Forecast one minute of signal and print one line per second, beginning with the first forecast."""
    recording = simulated(seconds=60.0, glitches=0.01, dropouts=0.02)[1]
    forecaster = quatcast.recommended(horizon=0.5, rate=recording.rate, names=recording.channels)
    print("  time   forecast of the first marker [mm]   radius   status")
    for time, sample in zip(recording.times, recording.positions, strict=True):
        forecast = forecaster.update(sample)
        if time >= 36 and np.isclose(time % 1, 0):
            x, y, z = forecast.position[0]
            status = ": ".join(filter(None, (forecast.status.label, forecast.reason)))
            print(f"{time:5.1f} s  {x:10.2f} {y:10.2f} {z:10.2f}  {forecast.radius[0]:7.2f}   {status}")


if __name__ == "__main__":
    main()
