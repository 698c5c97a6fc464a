"""The numbers that the paper reports, under the names that it uses for its methods."""

from __future__ import annotations

CITATION = (
    "P. Bourigault, D. Xu and D. P. Mandic, “Quaternion Recurrent Neural Network with Real-Time Recurrent Learning "
    "and Maximum Correntropy Criterion”"
)
DATA_SET = "extmarker"
"""Data source of the paper's numbers."""
RUNS, CONFIGURATIONS = 300, 500
"""Test runs per recording, and configurations in the grid of a network with correntropy."""

Printed = tuple[float, float | None]
"""A mean, and the half-width of its 95% interval if the paper gives one."""

GROUPS = ("all", "regular", "irregular")

TABLE_I: dict[str, dict[str, tuple[Printed, Printed, Printed]]] = {
    "rmse": {
        "QRNN-MCC": ((1.486, 0.004), (1.245, 0.004), (1.683, 0.005)),
        "QRNN-MSE": ((1.513, 0.006), (1.239, 0.005), (1.741, 0.008)),
        "RNN-MCC": ((1.691, 0.006), (1.437, 0.004), (1.896, 0.005)),
        "RNN-MSE": ((1.709, 0.005), (1.421, 0.005), (1.932, 0.006)),
        "QLMS": ((1.696, None), (1.549, None), (2.004, None)),
        "LMS": ((1.728, None), (1.573, None), (2.038, None)),
    },
    "nrmse": {
        "QRNN-MCC": ((0.3148, 0.0007), (0.3115, 0.0006), (0.3392, 0.0008)),
        "QRNN-MSE": ((0.3186, 0.0005), (0.3092, 0.0004), (0.3473, 0.0011)),
        "RNN-MCC": ((0.3327, 0.0006), (0.3319, 0.0005), (0.3618, 0.0009)),
        "RNN-MSE": ((0.3358, 0.0008), (0.3261, 0.0007), (0.3694, 0.0008)),
        "QLMS": ((0.3461, None), (0.3328, None), (0.4352, None)),
        "LMS": ((0.3509, None), (0.3391, None), (0.4427, None)),
    },
    "mae": {
        "QRNN-MCC": ((0.752, 0.007), (0.617, 0.005), (0.882, 0.009)),
        "QRNN-MSE": ((0.771, 0.006), (0.625, 0.006), (0.918, 0.007)),
        "RNN-MCC": ((0.854, 0.005), (0.701, 0.003), (0.971, 0.004)),
        "RNN-MSE": ((0.863, 0.003), (0.713, 0.002), (1.002, 0.003)),
        "QLMS": ((0.935, None), (0.881, None), (1.156, None)),
        "LMS": ((0.988, None), (0.936, None), (1.214, None)),
    },
    "jitter": {
        "QRNN-MCC": ((0.7083, 0.0013), (0.6217, 0.0012), (0.7741, 0.0014)),
        "QRNN-MSE": ((0.6971, 0.0014), (0.5948, 0.0014), (0.8201, 0.0016)),
        "RNN-MCC": ((0.7899, 0.0016), (0.6932, 0.0014), (0.8803, 0.0013)),
        "RNN-MSE": ((0.7862, 0.0014), (0.6745, 0.0017), (0.9021, 0.0012)),
        "QLMS": ((1.693, None), (1.68, None), (1.726, None)),
        "LMS": ((1.697, None), (1.683, None), (1.728, None)),
    },
}
"""Table I: metric → method → mean and interval of each of `GROUPS`; horizon 2.0 s, 300 runs."""

TABLE_II: dict[str, float] = {
    "QRNN-MCC": 184.5,
    "QRNN-MSE": 182.4,
    "RNN-MCC": 116.1,
    "RNN-MSE": 115.7,
    "QLMS": 0.507,
    "LMS": 0.313,
}
"""Table II: method → milliseconds per time step, on an i7-10700K with an RTX 3080."""


def printed(metric: str, method: str, group: str) -> Printed | None:
    """Return the entry of Table I, or None if there is none.

    Examples
    --------
    >>> printed("rmse", "QRNN-MCC", "irregular")
    (1.683, 0.005)
    >>> printed("rmse", "RLS", "all") is None
    True
    """
    row = TABLE_I.get(metric, {}).get(method)
    return row[GROUPS.index(group)] if row and group in GROUPS else None
