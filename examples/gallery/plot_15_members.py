"""
Who makes the recommended forecast
==================================

``quatcast.recommended`` is a guarded mixture of members that have little in common (:doc:`/recommended`). Simple ones
answer from the first sample on. After 30 s the scales of the signal are known, and the learners catch up: the random
neurons, the kernel regression and the local average join after 35 s, the quaternion network after 45 s.
"""

from typing import cast

import matplotlib.pyplot as plt
import numpy as np

import quatcast

recording = quatcast.data.simulated(seconds=110)[2]  # a person whose breathing changes
forecaster = quatcast.recommended(horizon=0.5, rate=recording.rate)
mixture = cast(quatcast.Mixture, forecaster.forecaster)

groups = {  # how many members each group has, in the order of the mixture
    "positions and velocities": 5,
    "linear prediction": 3,
    "QRNN": 1,
    "random neurons": 1,
    "kernel regression": 1,
    "local average": 1,
}
assert sum(groups.values()) == len(mixture.members)

weights, forecasts = [], []
for sample in recording.positions:
    forecasts.append(forecaster.update(sample).position)
    weights.append(np.add.reduceat(mixture.weights[0], np.cumsum([0, *groups.values()][:-1])))

# %%
# The weights are those of the marker on the lower abdomen. They are computed anew with every sample from the errors
# that are known by then, so that a member that fails loses its weight within seconds.

HORIZON = 5  # samples
errors = np.linalg.norm(recording.positions[HORIZON:] - forecasts[:-HORIZON], axis=-1).mean(axis=-1)

figure, (above, below) = plt.subplots(2, 1, sharex=True, figsize=(10, 5.5), height_ratios=(3, 2), layout="constrained")
above.stackplot(recording.times[HORIZON:], np.transpose(weights[HORIZON:]), labels=list(groups), alpha=0.85)
above.set(ylabel="weight", ylim=(0, 1), title="Members of the recommended forecaster, 0.5 s ahead")
above.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), reverse=True, fontsize="small")
below.plot(recording.times[HORIZON:], errors, color="0.3")
below.set(xlabel="time [s]", ylabel="error [mm]", xlim=(0, 110), ylim=(0, 3))
plt.show()
