"""
Seen from the body
==================

A hand pushes and pulls a tool along axes that turn with the tool. In the room its path bends whenever the tool turns;
in the frame of the tool the same motion is close to linear. ``RigidBody`` forecasts there, position and orientation
together. The gain depends on the motion: it is large here, because the tool mostly moves along one of its own axes, and
there is none if pushes are as irregular as turns.
"""

import matplotlib.pyplot as plt
import numpy as np
from numpy.typing import NDArray

from quatcast import AdaptiveLinear, Guarded, RigidBody, quaternion

# %%
# A tool that a hand leads for a minute, such as a brush or an ultrasound probe: mostly along its own first axis, while
# it turns in a way that nobody knows beforehand. Speeds are in the frame of the tool.

rate, horizon = 50.0, 10
rng = np.random.default_rng(4)


def smooth(noise: NDArray[np.float64], time_constant: float) -> NDArray[np.float64]:
    """Let two low-pass filters follow each other."""
    for _ in range(2):
        state, filtered = np.zeros(noise.shape[1]), []
        for value in noise:
            state = state + (value - state) / (time_constant * rate)
            filtered.append(state)
        noise = np.array(filtered)
    return noise


steps = round(60 * rate)
turning = 40.0 * smooth(rng.standard_normal((steps, 3)), 0.4)  # rad/s
speed = [250.0, 0.0, 0.0] + 300.0 * smooth(rng.standard_normal((steps, 3)), 0.4)  # mm/s
q, x, rows = quaternion.ONE, np.zeros(3), []
for push, turn in zip(speed / rate, turning / rate, strict=True):
    x = x + quaternion.vector(quaternion.rotation(quaternion.pure(push), q))
    q = quaternion.product(q, quaternion.from_rotation_vector(turn))
    rows.append(np.concatenate([x + 0.05 * rng.standard_normal(3), q]))
poses = np.array(rows)[:, np.newaxis]

# %%
# The same linear regression twice, 0.2 s ahead: on positions in the room, and on poses in the frame of the tool.

room = Guarded(AdaptiveLinear(horizon, 12), rate=rate, space="position").run(poses[..., :3]).positions
body = Guarded(RigidBody(horizon), rate=rate, space="pose").run(poses).positions[..., :3]
errors = {
    name: np.linalg.norm(made - poses[..., :3], axis=-1)[:, 0] for name, made in {"room": room, "body": body}.items()
}
for name, error in errors.items():
    print(f"{name}: {np.sqrt(np.mean(error[1500:] ** 2)):.1f} mm from 30 s on")

# %%
# Errors of both over ten seconds.

times = np.arange(steps) / rate
shown = (times >= 45) & (times < 55)
figure, axes = plt.subplots(figsize=(8, 3.5))
axes.plot(times[shown], errors["room"][shown], color="0.6", label="positions, in the room")
axes.plot(times[shown], errors["body"][shown], label="poses, in the frame of the tool")
axes.set(xlabel="time [s]", ylabel="error of the position [mm]", ylim=(0, None), title="0.2 s ahead")
axes.legend(loc="upper left")
plt.show()
