"""
A first forecast
================

The recommended forecaster follows three markers on a breathing chest and says where they will be half a second later.
Simple forecasts come from the first sample on. Meanwhile it collects the samples of 30 seconds to learn the scale of
the signal; after 35 seconds all of its members but the network take part.
"""

# %%
# Feed the samples one by one, as a camera would deliver them. A forecast made at time t is about time t + 0.5 s.

import matplotlib.pyplot as plt
import numpy as np

import quatcast

recording = quatcast.data.simulated(seconds=70)[1]
forecaster = quatcast.recommended(horizon=0.5, rate=recording.rate, names=recording.channels)
forecasts = [forecaster.update(sample) for sample in recording.positions]

# %%
# Draw the antero-posterior coordinate of the first marker, each forecast at the time that it is about. The band is the
# radius within which the true position lies with a probability of 95 %.

times = recording.times + 0.5
position = np.array([forecast.position[0, 2] for forecast in forecasts])
radius = np.array([forecast.radius[0] for forecast in forecasts])

figure, axes = plt.subplots()
axes.plot(recording.times, recording.positions[:, 0, 2], color="0.3", label="measured")
axes.plot(times, position, label="forecast, 0.5 s before")
axes.fill_between(times, position - radius, position + radius, alpha=0.25, label="95 % radius")
axes.axvspan(0, 35, color="0.92", zorder=0)
axes.text(27.5, axes.get_ylim()[1], "warming up", ha="center", va="top", color="0.4")
axes.set(xlabel="time [s]", ylabel="position [mm]", xlim=(20, 70), title="Lower abdomen, antero-posterior")
axes.set_ylim(bottom=-8)
axes.legend(loc="lower left", ncols=3)
plt.show()

# %%
# Every forecast has a status, and a reason when something is wrong.

print(forecasts[0].status.label, "-", forecasts[0].reason)
print(forecasts[-1].status.label, forecasts[-1].reason)
