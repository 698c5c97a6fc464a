"""
Several horizons at once
========================

With a list of horizons the recommended forecaster returns a path into the future, with a radius at each horizon.
Between the horizons ``Forecast.at`` interpolates, so that you can ask for any moment up to the longest one.
"""

import matplotlib.pyplot as plt
import numpy as np

import quatcast

recording = quatcast.data.simulated(seconds=84)[1]
horizons = [0.2, 0.5, 1.0, 1.5, 2.0]  # seconds
forecaster = quatcast.recommended(horizons, rate=recording.rate)

# %%
# Keep the whole forecasts: ``position`` is (horizons, markers, 3) and ``radius`` is (horizons, markers).

forecasts = [forecaster.update(sample) for sample in recording.positions]
print(forecasts[-1].position.shape, forecasts[-1].radius.shape)

# %%
# Draw three of the paths, one coordinate of the first marker. The dots are the horizons; the curve between them asks
# for a moment every 20 ms, five times as often as samples arrive.

moments = np.linspace(0.02, 2.0, 100)
figure, axes = plt.subplots()
axes.plot(recording.times, recording.positions[:, 0, 2], color="0.3", label="measured")
for color, begin in zip(("C0", "C1", "C4"), (735, 762, 796), strict=True):
    forecast, now = forecasts[begin], recording.times[begin]
    path = [forecast.at(seconds) for seconds in moments]
    curve = np.array([one.position[0, 2] for one in path])
    radius = np.array([one.radius[0] for one in path])
    axes.plot(now + moments, curve, color=color, label=f"forecast at {now:.1f} s")
    axes.fill_between(now + moments, curve - radius, curve + radius, color=color, alpha=0.2)
    axes.plot(now + np.array(horizons), forecast.position[:, 0, 2], "o", color=color, markersize=4)
axes.set(xlabel="time [s]", ylabel="position [mm]", xlim=(70, 83), title="Lower abdomen, antero-posterior")
axes.legend(loc="upper left", ncols=2)
plt.show()
