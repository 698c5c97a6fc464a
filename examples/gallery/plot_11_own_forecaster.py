"""
A forecaster of your own in a mixture
=====================================

A constant-velocity Kalman filter needs no scaling and forecasts from the first second, but it cannot learn the shape of
a breath. As a member of a mixture it bridges the time until a learner is ready. :doc:`/how-to/write-a-forecaster`
explains the contract.
"""

from dataclasses import dataclass

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from quatcast import RLS, Forecaster, ForecasterState, Mixture, OnlineForecaster
from quatcast.data import simulated

F = np.array([[1.0, 1.0], [0.0, 1.0]])
Q = np.array([[0.25, 0.5], [0.5, 1.0]])
Floats = NDArray[np.float64]


@dataclass
class VelocityState(ForecasterState):
    """Position and velocity x (2, channels, dimensions), and their covariance P (channels, 2, 2)."""

    x: Floats
    P: Floats


class Velocity(OnlineForecaster):
    """Constant-velocity Kalman filter."""

    def __init__(self, horizon: int, acceleration: float = 0.1, noise: float = 0.1) -> None:
        self.horizon, self.acceleration, self.noise = horizon, acceleration, noise

    def begin(self, shape: tuple[int, int]) -> None:
        """Begin with an unknown position and velocity."""
        self.state = VelocityState(shape, np.zeros((2, *shape)), np.tile(1e6 * np.eye(2), (shape[0], 1, 1)))

    def forecast(self, sample: Floats, observed: NDArray[np.bool_]) -> Floats:
        """Correct position and velocity by the newest sample and extrapolate."""
        x = np.tensordot(F, self.state.x, axes=1)
        P = F @ self.state.P @ F.T + self.acceleration**2 * Q
        gain = np.where(observed[:, None], P[:, :, 0] / (P[:, :1, 0] + self.noise**2), 0.0)
        self.state.x = x + gain.T[:, :, None] * (sample - x[0])
        self.state.P = P - gain[:, :, None] * P[:, :1, :]
        forecast: Floats = self.state.x[0] + self.horizon * self.state.x[1]
        return forecast

    def learn(self) -> None:
        """Nothing is left to learn after the answer."""


# %%
# The other member is a recursive least-squares filter, which collects the samples of 30 s before its first forecast.

recording = simulated(seconds=70)[4]
HORIZON = 3
mixture = Mixture([Velocity(HORIZON), Forecaster(RLS(forgetting=0.999), horizon=HORIZON, lags=8)], memory=100)
weights = []
for sample in recording.positions:
    mixture.update(sample)
    weights.append(mixture.weights[0])

mixed = mixture.run(recording.positions).positions
alone = Velocity(HORIZON).run(recording.positions).positions

# %%
# Once errors of both members are known, most of the weight goes to the filter that has learnt.

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.5))
for name, forecasts in (("Kalman filter alone", alone), ("mixture", mixed)):
    error = np.linalg.norm(forecasts - recording.positions, axis=-1)[:, 0]
    above.plot(recording.times, np.convolve(error, np.ones(20) / 20, mode="same"), label=name)
above.axvspan(0, 30, color="0.93", zorder=0)
above.set(ylabel="error [mm], mean over 2 s", title="0.3 s ahead; no learner until 30 s")
above.legend()
below.stackplot(recording.times, np.array(weights).T, labels=["Kalman filter", "RLS"], alpha=0.8)
below.axvspan(0, 30, color="0.93", alpha=0.7)
below.set(xlabel="time [s]", ylabel="weight", ylim=(0, 1), xlim=(0, 70))
below.legend(loc="lower left", frameon=True)
plt.show()
