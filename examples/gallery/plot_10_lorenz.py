"""
Forecasting chaos
=================

Nearby states of the Lorenz system move apart exponentially, so that no forecaster can look far ahead. Learning online,
random quaternion neurons with a refitted readout (``QELM``) come closer to the limit than a linear filter.
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import QELM, RLS, Forecaster, Learner, Persistence
from quatcast.data import chaotic
from quatcast.evaluation import score

recording = chaotic("lorenz", samples=1500, rate=20.0)
learners: dict[str, Learner] = {
    "persistence": Persistence(),
    "RLS": RLS(forgetting=0.999),
    "QELM, 50 neurons": QELM(50, regularization=0.1, refit=20),
}
horizons = [1, 2, 4, 6, 8, 10]

# %%
# The horizon in units of the system's time; a loop of the butterfly takes about 0.8 of them.

figure = plt.figure(figsize=(9.5, 4.2))
attractor = figure.add_subplot(1, 2, 1, projection="3d")
axes = figure.add_subplot(1, 2, 2)
for name, learner in learners.items():
    errors = []
    for horizon in horizons:
        forecasts = np.asarray(Forecaster(learner.clone(), horizon=horizon, lags=6).run(recording.positions))
        errors.append(score(recording.positions, forecasts).nrmse)
        if name.startswith("QELM") and horizon == 4:
            attractor.plot(*forecasts[900:, 0].T, linewidth=1.0, color="C2", label="forecast, 0.2 before")
    axes.semilogy(np.array(horizons) / recording.rate, errors, "o-", label=name)
attractor.plot(*recording.positions[900:, 0].T, linewidth=0.6, color="0.3", label="signal")
attractor.set(xticklabels=[], yticklabels=[], zticklabels=[])
attractor.legend(loc="upper left", fontsize="small")
axes.set(xlabel="horizon [time of the system]", ylabel="normalised RMSE", title="Error against horizon")
axes.legend()
plt.show()
