"""
Radius and coverage
===================

The radius around a forecast is to hold the true position with a given probability, the *level*. It is computed from the
errors of earlier forecasts, and the target is corrected by the misses that were seen. So the share of positions within
the radius, the *coverage*, approaches the level whatever the errors are like.
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import RLS, Forecaster, Guarded
from quatcast.data import simulated

recording = simulated(seconds=150)[0]  # somebody who talks now and then


def forecaster() -> Forecaster:
    """Return a fresh forecaster, half a second ahead."""
    return Forecaster(RLS(forgetting=0.998), horizon=5, lags=8, target="displacement", scale_by="channel")


# %%
# Guard three forecasters at three levels and count how often the truth was within the radius.

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 6))
for level in (0.95, 0.9, 0.8):
    forecasts = Guarded(forecaster(), rate=recording.rate, level=level).run(recording.positions)
    error = np.linalg.norm(forecasts.positions - recording.positions, axis=-1)[:, 2]
    known = np.isfinite(forecasts.radius[:, 2])
    covered = np.cumsum((error <= forecasts.radius[:, 2]) & known) / np.maximum(np.cumsum(known), 1)
    times = recording.times[known]
    above.plot(times, 100 * covered[known], label=f"level {level:.0%}")
    above.axhline(100 * level, color="0.6", linestyle=":", linewidth=1)
    if level == 0.95:
        below.plot(times, error[known], color="0.5", linewidth=0.8, label="error")
        below.plot(times, forecasts.radius[known, 2], label="95 % radius")
above.set(ylabel="coverage so far [%]", ylim=(70, 101), title="Coverage approaches the level")
above.legend(loc="lower right", ncols=3)
below.set(xlabel="time [s]", ylabel="[mm]", title="Error and radius of the chest marker")
below.legend(loc="upper right", ncols=2)
plt.show()
