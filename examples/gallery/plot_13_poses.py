"""
Forecasting poses
=================

A pose is a position and an orientation: x, y, z and a unit quaternion w, x, y, z. With ``space="pose"`` the recommended
forecaster forecasts both. Orientations are forecast as rotations, so that forecasts are unit quaternions, and their
radius is an angle.
"""

import matplotlib.pyplot as plt
import numpy as np

import quatcast
from quatcast import quaternion

# %%
# A probe that is moved by hand: it circles, and turns about axes that change.

rate, rng = 30.0, np.random.default_rng(2)
times = np.arange(round(40 * rate)) / rate
position = np.stack([60 * np.cos(1.3 * times), 40 * np.sin(1.9 * times), 15 * np.sin(2.6 * times)], axis=-1)
turning = np.stack([np.sin(1.7 * times), 1.2 * np.cos(2.3 * times), 0.8 * np.sin(0.9 * times)], axis=-1)
orientation = [quaternion.random_unit(1)]
for step in quaternion.from_rotation_vector(turning[1:] / rate):
    orientation.append(quaternion.product(orientation[-1], step))
poses = np.concatenate([position + 0.2 * rng.standard_normal(position.shape), np.array(orientation)], axis=-1)

# %%
# Feed the poses one by one, one channel of seven numbers. The tracker flips the sign of the quaternion now and then,
# which is the same orientation.

signs = np.where(rng.uniform(size=len(poses)) < 0.1, -1.0, 1.0)
poses[:, 3:] *= signs[:, np.newaxis]
forecaster = quatcast.recommended(horizon=0.2, rate=rate, space="pose", names=["probe"])
forecasts = forecaster.run(poses[:, np.newaxis])
print(forecasts.positions.shape, forecasts.radius.shape)

# %%
# Errors of positions are distances, errors of orientations are angles. The radius of each is the second curve.

distance = np.linalg.norm(forecasts.positions[:, 0, :3] - poses[:, :3], axis=-1)
degrees = np.degrees(quaternion.angle(forecasts.positions[:, 0, 3:], poses[:, 3:]))
figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(8, 5.5))
above.plot(times, distance, color="0.4", linewidth=0.8, label="error")
above.plot(times, forecasts.radius[:, 0, 0], label="95 % radius")
above.set(ylabel="position [mm]", title="0.2 s ahead", ylim=(0, 12))
above.legend(loc="upper right", ncols=2)
below.plot(times, degrees, color="0.4", linewidth=0.8)
below.plot(times, np.degrees(forecasts.radius[:, 0, 1]))
below.set(xlabel="time [s]", ylabel="orientation [°]", ylim=(0, 8))
plt.show()
