"""Checks of samples: a forecaster copies them, learns from what was observed only, and refuses bad ones."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from quatcast.basics.typing import Floats
from quatcast.forecasting.contract import OnlineForecaster
from quatcast.learners import Learner
from quatcast.testing.forecasters.common import Make, of_online_forecasters
from quatcast.testing.tools import fingerprint, require, require_same, spoilt


@of_online_forecasters
def samples_are_neither_changed_nor_kept(make: Make, x: Floats) -> None:
    """Check that `update` writes into no sample and that writing into it or into a forecast afterwards is harmless."""
    undisturbed, disturbed = make(), make()
    for t, row in enumerate(x):
        expected = np.array(undisturbed.update(row), dtype=float)
        lent, observed = row.copy(), np.ones(len(row), dtype=bool)
        made = disturbed.update(lent, observed)
        require_same(lent, row, "update must not write into the sample", f"sample {t}")
        promise = "a forecaster must copy samples and return copies; writing into these arrays must change nothing"
        require_same(np.array(made, dtype=float), expected, promise, f"forecast {t}")
        lent[...], observed[...] = np.nan, False
        if isinstance(made, np.ndarray) and made.flags.writeable:
            made[...] = np.nan


def _learners(value: Any) -> list[Learner]:
    """Return the learners within the settings of an object."""
    if isinstance(value, Learner):
        return [value]
    if isinstance(value, OnlineForecaster):
        return _learners(value.settings())
    parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple) else ()
    return [learner for part in parts for learner in _learners(part)]


@of_online_forecasters
def unobserved_channels_are_not_learnt_from(make: Make, x: Floats) -> None:
    """Check that the position of a channel that was not observed does not change what learners have learnt.

    Such a position may serve as an input, so that only a look at the learners within a forecaster tells: in the last
    quarter of the recording, when all scales are known, their parameters must not depend on it. A forecaster without
    learners is not checked.
    """
    forecaster = make()
    for t, row in enumerate(x):
        if t >= 0.75 * len(x) and t % 5 == 0:
            observed = np.arange(len(row)) != t % len(row)
            one, other = copy.deepcopy(forecaster), copy.deepcopy(forecaster)
            one.update(row, observed)
            other.update(np.where(observed[:, None], row, row + 10.0), observed)
            for learner, changed in zip(_learners(one), _learners(other), strict=True):
                promise = "channels that were not observed must not be learnt from"
                what = f"what {learner!r} has learnt by sample {t}"
                require_same(changed.parameters(), learner.parameters(), promise, what)
        forecaster.update(row)


@of_online_forecasters
def bad_samples_are_refused(make: Make, x: Floats) -> None:
    """Check that `update` refuses what is not a sample, also when it begins, and that nothing changes.

    NaN and infinity are either refused, or accepted as positions that are missing.
    """
    row = x[-1]
    bad = {"an array with one axis less": row[0], **{kind: array for kind, (array, _) in spoilt(row).items()}}
    for known in (0, 2, len(x) - 1):
        forecaster = make()
        for sample in x[:known]:
            forecaster.update(sample)
        for kind, sample in bad.items():
            if kind == "an array that is too long" and not known:
                continue
            _refused(forecaster, sample, None, f"{kind} as sample", kind in ("nan", "inf", "-inf"))
        for mask in ([True], [1] * len(row), "no", np.ones((1, len(row)), dtype=bool)):
            _refused(forecaster, row, mask, f"the mask {mask!r}", len(row) == 1)


def _refused(forecaster: OnlineForecaster, sample: Any, observed: Any, what: str, may_accept: bool) -> None:
    before, mark = fingerprint(forecaster), forecaster.mark()
    try:
        forecaster.update(sample, observed)
    except ValueError as error:
        name = "sample" if observed is None else "observed"
        require(str(error).startswith(f"{name}: "), f"the error for {what} must begin with '{name}: ', but is {error}")
        require(fingerprint(forecaster) == before, f"{what} must change nothing, but the state is different afterwards")
    else:
        require(may_accept, f"{what} must be refused with a ValueError, but it was accepted")
        forecaster.rewind(mark)


CHECKS = (samples_are_neither_changed_nor_kept, unobserved_channels_are_not_learnt_from, bad_samples_are_refused)
