"""
Look-ahead and causal labels
============================

Published results in this field let a learner see the position two seconds ahead as soon as it has forecast it. No live
system can do that: the position arrives two seconds later. quatcast calls the first rule *look-ahead* and the second
one *causal*, and names the rule in every table. This example runs the same learners under both rules.
"""

import matplotlib.pyplot as plt
import numpy as np

from quatcast import LMS, MSE, QRNN, SGD, Forecaster, Learner, Persistence
from quatcast.data import simulated
from quatcast.evaluation import score

HORIZON = 20  # samples, 2 s
recording = simulated(seconds=120)[1]
learners: dict[str, Learner] = {
    "QRNN": QRNN(hidden=(10,), loss=MSE(), optimizer=SGD(0.1)),
    "LMS": LMS(optimizer=SGD(0.02)),
    "persistence": Persistence(),
}

# %%
# Only the keyword ``labels`` differs.

forecasts = {
    (name, labels): np.asarray(Forecaster(learner, horizon=HORIZON, labels=labels).run(recording.positions))
    for name, learner in learners.items()
    for labels in ("lookahead", "causal")
}

# %%
# Under look-ahead labels the network seems to follow the signal closely, two seconds ahead. Under causal labels the
# same network learns from the same pairs of input and target, but two seconds later.

figure, (left, right) = plt.subplots(1, 2, width_ratios=(3, 2), figsize=(9.5, 4.2))
left.plot(recording.times, recording.positions[:, 0, 2], color="0.3", label="measured")
for labels, colour in (("lookahead", "C1"), ("causal", "C0")):
    left.plot(recording.times, forecasts["QRNN", labels][:, 0, 2], color=colour, label=f"QRNN, {labels}")
left.set(xlim=(90, 120), xlabel="time [s]", ylabel="position [mm]", title="Forecasts made 2 s before")
left.legend(loc="upper right", fontsize="small")

for shift, (labels, colour) in zip((-0.2, 0.2), (("lookahead", "C1"), ("causal", "C0")), strict=True):
    rmse = [score(recording.positions, forecasts[name, labels]).rmse for name in learners]
    bars = right.bar(np.arange(len(learners)) + shift, rmse, width=0.4, color=colour, label=labels)
    right.bar_label(bars, fmt="%.1f", fontsize="small")
right.set(xticks=range(len(learners)), xticklabels=list(learners), ylabel="RMSE [mm]", title="Error after 60 s")
right.grid(axis="x", visible=False)
right.legend()
plt.show()
