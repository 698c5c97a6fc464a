"""One of every kind of learner, small, for the bank of checks."""

from dataclasses import dataclass
from typing import Any

from quatcast import (
    CLMS,
    GRU,
    LMS,
    MCC,
    QELM,
    QGRU,
    QLMS,
    QRNN,
    RLS,
    RNN,
    SGD,
    Adam,
    ComplexRNN,
    KernelRidge,
    LocalAverage,
    Persistence,
    Replay,
    Ridge,
)


@dataclass(frozen=True)
class Specimen:
    """A learner's class and settings, and the settings of each of its runs alone."""

    kind: type
    settings: dict[str, Any]
    alone: tuple[dict[str, Any], ...] = ()

    def make(self):
        return self.kind(**self.settings)


SMALL = {"hidden": (3,), "init_std": 0.2, "max_depth": 40}
REPLAY = Replay(updates=2, batch=3, window=4, memory=40)

ZOO = {
    "persistence": Specimen(Persistence, {}),
    "lms": Specimen(LMS, {}),
    "lms-mcc-adam": Specimen(LMS, {"loss": MCC(sigma="adaptive"), "optimizer": Adam(learning_rate=0.01, clip=1.0)}),
    "lms-runs": Specimen(
        LMS,
        {"optimizer": SGD(learning_rate=[0.01, 0.1])},
        ({"optimizer": SGD(learning_rate=0.01)}, {"optimizer": SGD(learning_rate=0.1)}),
    ),
    "clms": Specimen(CLMS, {}),
    "qlms": Specimen(QLMS, {}),
    "qlms-ghr-channels": Specimen(QLMS, {"variant": "ghr", "loss": MCC(sigma=1.0, scope="channel")}),
    "rls": Specimen(RLS, {}),
    "rls-runs": Specimen(
        RLS,
        {"forgetting": [0.9, 0.99], "regularization": 0.5},
        ({"forgetting": 0.9, "regularization": 0.5}, {"forgetting": 0.99, "regularization": 0.5}),
    ),
    "ridge": Specimen(Ridge, {"regularization": 0.5, "refit": 4}),
    "qelm": Specimen(QELM, {"units": 3, "refit": 4, "seeds": 2}),
    "qelm-runs": Specimen(
        QELM,
        {"units": 3, "refit": 4, "seeds": [2, 5, 7]},
        tuple({"units": 3, "refit": 4, "seeds": seed} for seed in (2, 5, 7)),
    ),
    "kernel-ridge": Specimen(KernelRidge, {"memory": 25, "refit": 4, "descents": 3}),
    "local-average": Specimen(LocalAverage, {"memory": 25}),
    "local-average-sparse": Specimen(LocalAverage, {"memory": 25, "every": 2}),
    "rnn": Specimen(RNN, {**SMALL, "seeds": 1}),
    "complex-rnn": Specimen(ComplexRNN, {**SMALL, "activation": "sigmoid"}),
    "qrnn": Specimen(QRNN, {**SMALL, "loss": MCC(sigma=2.0)}),
    "qrnn-deep": Specimen(
        QRNN,
        {
            "hidden": (3, 2),
            "init_std": 0.2,
            "loss": MCC("adaptive", scope="channel"),
            "optimizer": Adam(learning_rate=0.01),
        },
    ),
    "qrnn-runs": Specimen(
        QRNN,
        {**SMALL, "seeds": [4, 9, 4], "loss": MCC([1.0, 2.0, 3.0]), "optimizer": SGD(learning_rate=[0.01, 0.1, 0.2])},
        (
            {**SMALL, "seeds": 4, "loss": MCC(1.0), "optimizer": SGD(learning_rate=0.01)},
            {**SMALL, "seeds": 9, "loss": MCC(2.0), "optimizer": SGD(learning_rate=0.1)},
            {**SMALL, "seeds": 4, "loss": MCC(3.0), "optimizer": SGD(learning_rate=0.2)},
        ),
    ),
    "qrnn-replay": Specimen(QRNN, {**SMALL, "loss": MCC("adaptive", scope="channel"), "replay": REPLAY}),
    "qrnn-replay-runs": Specimen(
        QRNN,
        {**SMALL, "seeds": [1, 6], "loss": MCC([1.0, 3.0]), "optimizer": Adam(learning_rate=0.01), "replay": REPLAY},
        tuple(
            {**SMALL, "seeds": seed, "loss": MCC(sigma), "optimizer": Adam(learning_rate=0.01), "replay": REPLAY}
            for seed, sigma in ((1, 1.0), (6, 3.0))
        ),
    ),
    "rnn-runs-adam": Specimen(
        RNN,
        {**SMALL, "seeds": range(3), "optimizer": Adam(learning_rate=0.01)},
        tuple({**SMALL, "seeds": seed, "optimizer": Adam(learning_rate=0.01)} for seed in range(3)),
    ),
    "gru": Specimen(GRU, {**SMALL, "loss": MCC("adaptive"), "optimizer": Adam(learning_rate=0.01)}),
    "gru-deep": Specimen(GRU, {**SMALL, "hidden": (3, 2), "max_depth": 15, "seeds": 3, "replay": REPLAY}),
    "qgru": Specimen(QGRU, {**SMALL, "seeds": 1, "loss": MCC(sigma=2.0)}),
    "qgru-runs": Specimen(
        QGRU,
        {**SMALL, "seeds": range(2), "optimizer": SGD(learning_rate=[0.01, 0.1])},
        tuple({**SMALL, "seeds": seed, "optimizer": SGD(learning_rate=rate)} for seed, rate in enumerate((0.01, 0.1))),
    ),
}
