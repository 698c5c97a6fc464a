"""
How far back exact RTRL looks
=============================

quatcast finds the gradient of real-time recurrent learning by going back through the remembered steps until what is
left of the gradient is smaller than a tolerance (:doc:`/rtrl`). ``Step.depth`` is the number of steps that this took.
It is small at first, because the initial weights are small, and grows as the network learns to use its memory.
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import QRNN, SGD, quaternion
from quatcast.data import simulated

recording = simulated(seconds=120)[1]
signal = quaternion.pure(recording.positions / recording.positions.std())  # (T, markers, 4)
LAGS, HORIZON = 10, 5


def learn(tol: float) -> tuple[list[int], list[float]]:
    """Run a network over the signal; return the depth of the gradient and the error of every step."""
    learner = QRNN(hidden=(10,), optimizer=SGD(0.02), tol=tol)
    depths, errors = [], []
    for t in range(LAGS, len(signal) - HORIZON):
        step = learner.update(signal[t - LAGS : t].reshape(-1, 4), signal[t - 1 + HORIZON])
        depths.append(step.depth)
        errors.append(float(np.linalg.norm(step.error)))
    return depths, errors


# %%
# A larger tolerance stops earlier. With the default, 1e-12, the gradient is exact to about twelve digits. With 1e-3
# the errors are still almost the same on this signal; the difference grows where a network needs a long memory.

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 6))
times = recording.times[LAGS : len(signal) - HORIZON]
for tol in (1e-12, 1e-6, 1e-3):
    depths, errors = learn(tol)
    above.plot(times, depths, label=f"tolerance {tol:g}")
    below.plot(times, np.convolve(errors, np.ones(50) / 50, mode="same"), label=f"tolerance {tol:g}")
above.set(ylabel="steps back", title="Depth of the gradient")
above.legend()
below.set(xlabel="time [s]", ylabel="error, mean over 5 s", title="Error")
plt.show()
