"""The summary of a test: means over runs, recordings and groups, each with its confidence interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from quatcast.evaluation.catalogue import in_order
from quatcast.evaluation.metrics import Estimate, estimate, pool
from quatcast.evaluation.records import Result
from quatcast.forecasting.contract import Labels

ALL = "all"
"""Name of the group of all recordings."""

LABELS: dict[Labels, str] = {"causal": "causal labels", "lookahead": "look-ahead labels"}
"""Names of the label rules in tables and figures."""

PUBLISHED_HORIZON = 2.0
"""Horizon of the paper in seconds."""


class Metric(NamedTuple):
    """A score, with its title, unit and number of decimals in tables."""

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
"""The scores of the paper's Table I, in its order."""
RMSE = METRICS[0]


class RecordingInfo(NamedTuple):
    """Name and group of a recording."""

    name: str
    group: str


class Summary:
    """Means over the test results of an experiment.

    Parameters
    ----------
    results
        Results of the test.
    recordings
        All recordings of the experiment; by default those of the results.

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

    def __init__(self, results: Sequence[Result], recordings: Sequence[RecordingInfo] = ()) -> None:
        self.results = list(results)
        self.recordings = list(recordings) or sorted({RecordingInfo(r.recording, r.group) for r in self.results})

    @cached_property
    def _runs(self) -> dict[tuple[str, float, str, str], list[Result]]:
        runs: dict[tuple[str, float, str, str], list[Result]] = defaultdict(list)
        for result in self.results:
            runs[result.labels, result.horizon, result.predictor, result.recording].append(result)
        return dict(runs)

    @cached_property
    def predictors(self) -> list[str]:
        """Predictors with results, in the order of the catalogue."""
        return in_order(result.predictor for result in self.results)

    @cached_property
    def labels(self) -> list[Labels]:
        """Label rules with results, causal first."""
        return [rule for rule in LABELS if any(result.labels == rule for result in self.results)]

    @cached_property
    def horizons(self) -> list[float]:
        """Horizons with results, the shortest first."""
        return sorted({result.horizon for result in self.results})

    @cached_property
    def horizon(self) -> float:
        """The horizon that reports show in detail: that of the paper if it was tested, otherwise the longest."""
        return PUBLISHED_HORIZON if PUBLISHED_HORIZON in self.horizons else self.horizons[-1]

    @cached_property
    def groups(self) -> list[str]:
        """The group of all recordings, followed by the named groups if there are several."""
        named = {recording.group for recording in self.recordings} - {""}
        first = [group for group in ("regular", "irregular") if group in named]
        return [ALL, *first, *sorted(named - set(first))] if len(named) > 1 else [ALL]

    def members(self, group: str) -> list[str]:
        """Return the names of the recordings of a group."""
        return [recording.name for recording in self.recordings if group in (ALL, recording.group)]

    def runs(self, labels: Labels, horizon: float, predictor: str, recording: str) -> list[Result]:
        """Return the results of all seeds."""
        return self._runs.get((labels, horizon, predictor, recording), [])

    def of_recording(
        self, labels: Labels, horizon: float, predictor: str, recording: str, metric: Metric = RMSE
    ) -> Estimate | None:
        """Return the mean over the runs on one recording: None without runs, NaN if all of them diverged."""
        runs = self.runs(labels, horizon, predictor, recording)
        return estimate(getattr(run, metric.field) for run in runs) if runs else None

    def of_group(
        self, labels: Labels, horizon: float, predictor: str, group: str = ALL, metric: Metric = RMSE
    ) -> Estimate | None:
        """Return the mean over the recordings of a group, or None while a recording has no results.

        Means over different recordings cannot be compared, so there is no mean over a part of a group.
        """
        means = [self.of_recording(labels, horizon, predictor, name, metric) for name in self.members(group)]
        complete = [mean for mean in means if mean is not None]
        return pool(complete) if complete and len(complete) == len(means) else None

    def ranking(
        self, labels: Labels, horizon: float, group: str = ALL, metric: Metric = RMSE
    ) -> list[tuple[str, Estimate]]:
        """Return the predictors that have a finite mean over the group, the best first."""
        means = [(name, self.of_group(labels, horizon, name, group, metric)) for name in self.predictors]
        finite = [(name, mean) for name, mean in means if mean is not None and not math.isnan(mean.mean)]
        return sorted(finite, key=lambda pair: pair[1].mean)
