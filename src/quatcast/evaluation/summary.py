"""The summary of a test: means over runs, recordings and groups, each with its confidence interval."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from quatcast.data.wording import with_unit
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
    """A score, with its title, whether it has the unit of the recordings, and its number of decimals in tables."""

    field: str
    title: str
    has_unit: bool
    decimals: int


METRICS = (
    Metric("rmse", "RMSE", True, 3),
    Metric("nrmse", "nRMSE", False, 4),
    Metric("mae", "MAE", True, 3),
    Metric("jitter", "Jitter", True, 4),
)
"""The scores of the paper's Table I, in its order."""
RMSE = METRICS[0]


class RecordingInfo(NamedTuple):
    """Name, group, unit and number of channels of a recording."""

    name: str
    group: str
    unit: str = ""
    channels: int = 1


def fitting_decimals(value: float, usual: int) -> int:
    """Return how many decimals show at least three digits of a number, at least `usual` ones near 1.

    Examples
    --------
    >>> fitting_decimals(1.25, 3), fitting_decimals(0.00828, 3), fitting_decimals(45.3, 3), fitting_decimals(0.0, 3)
    (3, 5, 1, 3)
    """
    if not (math.isfinite(value) and value > 0):
        return usual
    exponent = math.floor(math.log10(value))
    return usual if -1 <= exponent < 1 else max(0, 2 - exponent)


class Summary:
    """Means over the test results of an experiment.

    Means over several recordings need one unit. `by_unit` divides a summary into summaries of one unit each.

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

    def by_unit(self) -> list[Summary]:
        """Return one summary per unit, in the order of the recordings; this one if there is a single unit.

        Recordings whose unit is not known are divided by group, because different groups may well have different units.

        Examples
        --------
        >>> about = [RecordingInfo("tumour", "", "mm"), RecordingInfo("buoy", "sea"), RecordingInfo("head", "lab")]
        >>> [part.unit_title for part in Summary([], about).by_unit()]
        ['mm', 'sea, unknown unit', 'lab, unknown unit']
        """
        of_unit = {one.name: (one.unit, "" if one.unit else one.group) for one in self.recordings}
        units = list(dict.fromkeys(of_unit.values()))
        if len(units) < 2:
            return [self]
        return [
            Summary(
                [result for result in self.results if of_unit.get(result.recording) == unit],
                [recording for recording in self.recordings if of_unit[recording.name] == unit],
            )
            for unit in units
        ]

    @cached_property
    def unit(self) -> str:
        """The unit of the recordings; empty if it is unknown or not the same for all."""
        units = {recording.unit for recording in self.recordings}
        return units.pop() if len(units) == 1 else ""

    @property
    def unit_title(self) -> str:
        """The unit in words; if it is not known, after the group whose unit it is."""
        groups = {recording.group for recording in self.recordings}
        return self.unit or ", ".join(filter(None, [groups.pop() if len(groups) == 1 else "", "unknown unit"]))

    def assumption(self) -> str:
        """Return a sentence if there are means over recordings or channels that may have different units.

        Examples
        --------
        >>> Summary([], [RecordingInfo("buoy", ""), RecordingInfo("head", "")]).assumption().split(";")[0]
        'The unit of 2 recordings is not known'
        >>> Summary([], [RecordingInfo("arm", "", channels=2)]).assumption().split(".")[0]
        'The unit of the 2 channels of arm is not known; their mean assumes that it is the same'
        """
        unknown = [part for part in self.by_unit() if not part.unit]
        count = sum(len(part.recordings) for part in unknown if len(part.recordings) > 1)
        several = [recording for part in unknown for recording in part.recordings if recording.channels > 1]
        if count:
            channels = ", also of the channels of one file" if several else ""
            means = f"The unit of {count} recordings is not known; their means assume that it is the same{channels}"
            return f"{means}. --unit names it, --groups separates recordings of different units."
        if not several:
            return ""
        whose = f"the {several[0].channels} channels of {several[0].name}"
        if len(several) > 1:
            whose = f"the channels of {several[0].name} and {len(several) - 1} more"
        mean = f"The unit of {whose} is not known; their mean assumes that it is the same"
        return f"{mean}. --unit names it, --channels chooses channels."

    def heading(self, metric: Metric = RMSE) -> str:
        """Return the title of a score with its unit."""
        return with_unit(metric.title, self.unit if metric.has_unit else "")

    def decimals(self, metric: Metric = RMSE) -> int:
        """Return the decimals that fit a score: those of the metric for values near 1, otherwise three digits."""
        return self._decimals[metric.field]

    @cached_property
    def _decimals(self) -> dict[str, int]:
        shown = [result for result in self.results if result.horizon == self.horizon]
        scores = {metric: [getattr(result, metric.field) for result in shown] for metric in METRICS}
        finite = {metric: [one for one in found if math.isfinite(one) and one > 0] for metric, found in scores.items()}
        return {one.field: fitting_decimals(min(finite[one], default=math.nan), one.decimals) for one in METRICS}

    @cached_property
    def few_decimals(self) -> int:
        """Decimals of a mean RMSE in running text and short tables: two for values near 1, otherwise three digits."""
        means = [mean.mean for rule in self.labels for _, mean in self.ranking(rule, self.horizon)]
        return fitting_decimals(min(means, default=math.nan), RMSE.decimals - 1)

    def amount(self, value: float) -> str:
        """Return an RMSE as text with its unit, for running text.

        Examples
        --------
        >>> Summary([], [RecordingInfo("tumour", "", "mm")]).amount(1.25)
        '1.25 mm'
        """
        text = f"{value:.{self.few_decimals}f}"
        return f"{text} {self.unit}" if self.unit else text

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
        if not self.horizons:
            return PUBLISHED_HORIZON
        return PUBLISHED_HORIZON if PUBLISHED_HORIZON in self.horizons else self.horizons[-1]

    @cached_property
    def groups(self) -> list[str]:
        """The group of all recordings, followed by the named groups unless one of them has all recordings."""
        named = {recording.group for recording in self.recordings} - {""}
        first = [group for group in ("regular", "irregular") if group in named]
        several = len({recording.group for recording in self.recordings}) > 1
        return [ALL, *first, *sorted(named - set(first))] if several else [ALL]

    def members(self, group: str) -> list[str]:
        """Return the names of the recordings of a group."""
        return [recording.name for recording in self.recordings if group in (ALL, recording.group)]

    def of_recording(
        self, labels: Labels, horizon: float, predictor: str, recording: str, metric: Metric = RMSE
    ) -> Estimate | None:
        """Return the mean over the runs on one recording: None without runs, NaN if all of them diverged."""
        runs = self._runs.get((labels, horizon, predictor, recording))
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
