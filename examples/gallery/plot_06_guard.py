"""
The guard at work on gaps and glitches
======================================

``Guarded`` checks every sample before a forecaster sees it. A channel that is missing or implausible is replaced by
an estimate from the other channels, and the status says whether the forecast may be used (:doc:`/safety`).
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import RLS, Forecaster, Guarded, Status
from quatcast.data import corrupt, simulated

clean = simulated(seconds=90)[1]
positions = corrupt(clean, glitches=0.01, magnitude=30.0, seed=3).positions.copy()
positions[550:570, 0] = np.nan  # one marker lost for 2 s: degraded
positions[680:730, 0] = np.nan  # and for 5 s: hold

inner = Forecaster(RLS(forgetting=0.999), horizon=5, lags=8, target="displacement", scale_by="channel")
guarded = Guarded(inner, rate=clean.rate, names=clean.channels)
forecasts = guarded.run(positions)

# %%
# The crosses are samples that the gate did not believe. During a gap the forecaster works with the filled-in positions.

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(9, 5.5), height_ratios=(4, 1))
replaced = forecasts.replaced[:, 0]
above.plot(clean.times, clean.positions[:, 0, 2], color="0.3", label="true position")
above.plot(clean.times, forecasts.positions[:, 0, 2], label="forecast, 0.5 s before")
above.plot(clean.times[replaced], positions[replaced, 0, 2], "x", color="C1", markersize=8, label="glitch, refused")
low, high = above.get_ylim()
above.fill_between(clean.times, low, high, np.isnan(positions[:, 0, 2]), color="C5", alpha=0.3, label="missing")
above.set(ylabel="position [mm]", title=clean.channels[0].capitalize(), ylim=(low, high))
above.legend(loc="upper left", ncols=2, fontsize="small")

below.step(clean.times, forecasts.status, where="post", color="C3")
below.set(yticks=[status.value for status in Status], yticklabels=[status.label for status in Status])
below.set(xlabel="time [s]", xlim=(35, 90))
plt.show()

# %%
# Each status but "ok" comes with its reason.

for t in (400, 560, 725, 760):
    print(f"{clean.times[t]:4.1f} s  {Status(forecasts.status[t]).label}: {forecasts.reasons[t]}")
