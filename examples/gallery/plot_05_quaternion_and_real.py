"""
A quaternion and a real network
===============================

A quaternion weight rotates and scales a whole point, so that a quaternion network shares weights between coordinates.
This example compares the two kinds of network with about the same number of real parameters on the four-dimensional
chaotic signal of Rössler, which uses every component of a quaternion.
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import QRNN, RNN, SGD, Forecaster
from quatcast.data import chaotic
from quatcast.evaluation import score

recording = chaotic("rossler4", samples=900)
rates, seeds = np.array([0.005, 0.02, 0.05, 0.1]), 3

# %%
# Learning rates and seeds are runs of one learner. All runs are computed side by side and have a leading axis in the
# result.

optimizer, starts = SGD(np.repeat(rates, seeds)), list(range(seeds)) * len(rates)
learners = {
    "QRNN, 10 units": QRNN(hidden=(10,), optimizer=optimizer, seeds=starts),
    "RNN, 15 units": RNN(hidden=(15,), optimizer=optimizer, seeds=starts),
}

figure, axes = plt.subplots()
for name, learner in learners.items():
    forecasts = np.asarray(Forecaster(learner, horizon=3, lags=10).run(recording.positions))
    parameters = sum(array[0].size for array in learner.parameters().values())
    rmse = score(recording.positions, forecasts, start=500).rmse.reshape(len(rates), seeds)
    axes.semilogx(rates, rmse.mean(axis=1), "o-", label=f"{name}, {parameters} parameters")
    axes.fill_between(rates, rmse.min(axis=1), rmse.max(axis=1), alpha=0.2)
axes.set(xlabel="learning rate", ylabel="RMSE", title="Rössler's hyperchaos, three samples ahead, causal labels")
axes.set_xticks(rates, [f"{rate:g}" for rate in rates])
axes.minorticks_off()
axes.legend(title="mean and range over three seeds")
plt.show()

# %%
# One signal and three seeds do not show which kind is better in general. On the recordings of breathing the answer
# depends on the label rule: see :doc:`/reproduction`.
