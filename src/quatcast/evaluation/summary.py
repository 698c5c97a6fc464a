"""What the runs of a test come to: means over runs, recordings and groups, each with its interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import NamedTuple

from quatcast.evaluation.metrics import Estimate, estimate, pool
from quatcast.evaluation.predictors import CATALOGUE
from quatcast.evaluation.records import Result
from quatcast.forecasting.forecaster import Labels

ALL = "all"
"""The group of all recordings."""

LABELS: dict[Labels, str] = {"causal": "causal labels", "lookahead": "look-ahead labels"}
"""Label rules, as they are called in tables and figures."""

PUBLISHED_HORIZON = 2.0
"""Seconds ahead in the paper."""


class Metric(NamedTuple):
    """A field of `Result`, as it is shown."""

    field: str
    title: str
    unit: str
    decimals: int


METRICS = (
    Metric("rmse", "RMSE", "mm", 3),
    Metric("nrmse", "nRMSE", "", 4),
    Metric("mae", "MAE", "mm", 3),
    Metric("jitter", "Jitter", "mm", 4),
)
"""The errors of the paper's Table I, in its order."""
RMSE = METRICS[0]


class About(NamedTuple):
    """Name and group of a recording."""

    name: str
    group: str


def in_order(predictors: Iterable[str]) -> list[str]:
    """Predictors in the order of the catalogue, those that it does not know last.

    Examples
    --------
    >>> in_order({"mine", "LMS", "QRNN-MCC"})
    ['QRNN-MCC', 'LMS', 'mine']
    """
    known = list(CATALOGUE)
    return sorted(set(predictors), key=lambda name: (known.index(name) if name in known else len(known), name))


class Summary:
    """Means over the test results of an experiment.

    Parameters
    ----------
    results
        Results of the test.
    recordings
        Every recording of the experiment; by default those that there are results of.

    Examples
    --------
    >>> def run(predictor, recording, rmse):
    ...     key = ("test", "causal", 2.0, predictor, {}, recording, 0)
    ...     return Result(*key, "", rmse, 0.5, 0.8, 0.1, 3.0, False, 0.001)
    >>> summary = Summary([run("LMS", "a", 1.0), run("LMS", "b", 2.0), run("RLS", "a", 0.5)])
    >>> summary.of_group("causal", 2.0, "LMS").mean
    1.5
    >>> summary.of_group("causal", 2.0, "RLS") is None
    True
    """

    def __init__(self, results: Sequence[Result], recordings: Sequence[About] = ()) -> None:
        self.results = list(results)
        self.recordings = list(recordings) or sorted({About(r.recording, r.group) for r in self.results})

    @cached_property
    def _runs(self) -> dict[tuple[str, float, str, str], list[Result]]:
        runs: dict[tuple[str, float, str, str], list[Result]] = defaultdict(list)
        for result in self.results:
            runs[result.labels, result.horizon, result.predictor, result.recording].append(result)
        return dict(runs)

    @cached_property
    def predictors(self) -> list[str]:
        """Predictors that there are results of."""
        return in_order(result.predictor for result in self.results)

    @cached_property
    def labels(self) -> list[Labels]:
        """Label rules that there are results of, causal first."""
        return [rule for rule in LABELS if any(result.labels == rule for result in self.results)]

    @cached_property
    def horizons(self) -> list[float]:
        """Horizons that there are results of."""
        return sorted({result.horizon for result in self.results})

    @cached_property
    def horizon(self) -> float:
        """The horizon that is looked at closely: that of the paper, or else the longest."""
        return PUBLISHED_HORIZON if PUBLISHED_HORIZON in self.horizons else self.horizons[-1]

    @cached_property
    def groups(self) -> list[str]:
        """All recordings first, then their groups where there is more than one."""
        named = {recording.group for recording in self.recordings} - {""}
        first = [group for group in ("regular", "irregular") if group in named]
        return [ALL, *first, *sorted(named - set(first))] if len(named) > 1 else [ALL]

    def members(self, group: str) -> list[str]:
        """Names of the recordings of a group."""
        return [recording.name for recording in self.recordings if group in (ALL, recording.group)]

    def runs(self, labels: Labels, horizon: float, predictor: str, recording: str) -> list[Result]:
        """Results of all seeds."""
        return self._runs.get((labels, horizon, predictor, recording), [])

    def of_recording(
        self, labels: Labels, horizon: float, predictor: str, recording: str, metric: Metric = RMSE
    ) -> Estimate | None:
        """Mean over the runs on one recording, None where there are none; NaN where all of them diverged."""
        runs = self.runs(labels, horizon, predictor, recording)
        return estimate(getattr(run, metric.field) for run in runs) if runs else None

    def of_group(
        self, labels: Labels, horizon: float, predictor: str, group: str = ALL, metric: Metric = RMSE
    ) -> Estimate | None:
        """Mean over the recordings of a group, None until every one of them is there.

        Means over different recordings cannot be compared, so that there is none of a part of the group.
        """
        found = [self.of_recording(labels, horizon, predictor, name, metric) for name in self.members(group)]
        there = [one for one in found if one is not None]
        return pool(there) if there and len(there) == len(found) else None

    def ranking(
        self, labels: Labels, horizon: float, group: str = ALL, metric: Metric = RMSE
    ) -> list[tuple[str, Estimate]]:
        """Predictors that stayed finite on the whole group, the best first."""
        found = [(name, self.of_group(labels, horizon, name, group, metric)) for name in self.predictors]
        finite = [(name, one) for name, one in found if one is not None and not math.isnan(one.mean)]
        return sorted(finite, key=lambda pair: pair[1].mean)
