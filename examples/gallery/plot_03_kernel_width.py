"""
Kernel width: outliers and lock-out
===================================

Under the maximum correntropy criterion (MCC) a target counts with the weight exp(−e²/2σ²). A narrow kernel
ignores outliers. It also ignores everything else once the signal has moved away: the weight vanishes, and the
learner never learns again. The adaptive kernel follows the size of the errors and recovers.
"""

from typing import Any

import matplotlib.pyplot as plt
import numpy as np

from quatcast import LMS, MCC, SGD, Forecaster
from quatcast.data import Recording, corrupt

rng = np.random.default_rng(0)
times = np.arange(1200) / 10
wave = np.stack([np.sin(times), np.cos(times), 0.3 * np.sin(2 * times)], axis=-1)[:, np.newaxis]
wave = 3 * wave + 0.05 * rng.standard_normal(wave.shape)
wave[700:] += 25.0  # at 70 s the whole signal shifts
clean = Recording("wave", wave, times, rate=10.0)
dirty = corrupt(clean, glitches=0.04, magnitude=40.0).positions.copy()
dirty[:300] = clean.positions[:300]  # the scaling is fitted to the first 30 s

# %%
# One learner computes all kernel widths side by side, one per run. An infinite width is the mean square error.

widths: dict[str, Any] = {"σ = 1": 1.0, "adaptive": "adaptive", "∞ (square error)": np.inf}
learner = LMS(loss=MCC(sigma=list(widths.values())), optimizer=SGD(0.01))
forecasts = Forecaster(learner, horizon=3, lags=10).run(dirty)
errors = np.linalg.norm(np.asarray(forecasts) - clean.positions, axis=-1)[..., 0]

# %%
# Until the shift the narrow kernel has the smallest errors, because it does not learn from outliers. After the shift it
# does not learn at all. The adaptive kernel widens within a few seconds and learns again. (The errors are medians over
# four seconds: an outlier among the inputs of a forecast disturbs it under every loss.)

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 6), height_ratios=(1, 1.6))
above.plot(times, dirty[:, 0, 0], ".-", color="0.3", markersize=3, linewidth=0.5)
above.set(ylabel="x [mm]", title="The signal: 4 % outliers, and a shift at 70 s")
for name, error in zip(widths, errors, strict=True):
    median = np.array([np.median(error[max(0, t - 20) : t + 20]) for t in range(len(error))])
    below.semilogy(times, median, label=name)
    before, after = np.median(error[400:690]), np.median(error[900:])
    print(f"{name}: median error {before:.2f} mm before the shift, {after:.2f} mm after it")
below.set(xlabel="time [s]", ylabel="error [mm], median over 4 s", xlim=(30, 120))
below.legend(title="kernel width", loc="upper left")
plt.show()
