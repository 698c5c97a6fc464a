"""
How forecasts age with the horizon
==================================

The further ahead, the larger the error. This example measures it for four predictors on regular breathing: persistence
keeps the last position; the others are linear and differ in how they learn.
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import LMS, RLS, SGD, Forecaster, Learner, Persistence, Ridge
from quatcast.data import simulated
from quatcast.evaluation import score

recording = simulated(seconds=110)[4]
horizons = [1, 2, 3, 5, 7, 10, 15, 20]  # samples of 0.1 s


def rmse(learner: Learner, horizon: int, **options: object) -> float:
    """Return the error of a learner after the first minute."""
    forecasts = Forecaster(learner.clone(), horizon=horizon, lags=12, **options).run(recording.positions)  # type: ignore[arg-type]
    return float(score(recording.positions, forecasts.positions, start=600).rmse)


# %%
# The refitted ridge regression forecasts displacements from the newest sample rather than positions.

displacement = {"target": "displacement", "scale_by": "channel"}
curves: dict[str, list[float]] = {
    "persistence": [rmse(Persistence(), h) for h in horizons],
    "LMS": [rmse(LMS(optimizer=SGD(0.02)), h) for h in horizons],
    "RLS": [rmse(RLS(forgetting=0.999), h) for h in horizons],
    "ridge, displacements": [rmse(Ridge(regularization=30.0, refit=10), h, **displacement) for h in horizons],
}

figure, axes = plt.subplots()
for name, errors in curves.items():
    axes.plot(np.array(horizons) / recording.rate, errors, "o-", label=name)
axes.set(xlabel="horizon [s]", ylabel="RMSE [mm]", title="Regular breathing, causal labels", xlim=(0, 2.1))
axes.set_ylim(bottom=0)
axes.legend()
plt.show()
