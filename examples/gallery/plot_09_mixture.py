"""
Weights of a mixture over time
==============================

A ``Mixture`` gives each member a weight by its recent errors, for each channel separately. Here the signal changes its
nature twice: it is a slow wave, then a random walk, which nothing forecasts better than its last position, then a fast
wave. The members that suit the signal take over as their errors become known.
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import RLS, Forecaster, Mixture, Persistence

rng = np.random.default_rng(1)
times = np.arange(1500) / 10
frequency = np.where(times < 70, 0.8, np.where(times < 110, 0.0, 2.5))
phase = np.cumsum(frequency) / 10
wave = 10 * np.stack([np.sin(phase), np.cos(phase), 0.3 * np.sin(2 * phase)], axis=-1)
walk = np.cumsum(rng.standard_normal(wave.shape) * (frequency == 0)[:, np.newaxis], axis=0)
positions = (wave + walk + 0.2 * rng.standard_normal(wave.shape))[:, np.newaxis]

members = {
    "RLS, long memory": Forecaster(RLS(forgetting=0.9995), horizon=5, lags=10),
    "RLS, short memory": Forecaster(RLS(forgetting=0.97), horizon=5, lags=10),
    "persistence": Forecaster(Persistence(), horizon=5, lags=1),
}

# %%
# The weights of a channel sum to one. They change as errors of forecasts become known.

mixture = Mixture(list(members.values()), memory=50)
weights = []
for sample in positions:
    mixture.update(sample)
    weights.append(mixture.weights[0])

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.5))
above.plot(times, positions[:, 0, 0], color="0.3")
above.set(ylabel="x [mm]", title="The signal")
below.stackplot(times, np.transpose(weights), labels=list(members), colors=["C0", "C4", "C1"], alpha=0.8)
below.set(xlabel="time [s]", ylabel="weight", ylim=(0, 1), xlim=(30, 150), title="The members' weights")
below.legend(loc="lower left", ncols=3, frameon=True, fontsize="small")
plt.show()
