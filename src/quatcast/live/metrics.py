"""Counters, gauges and histograms of the live service, written in the text format of Prometheus."""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TypeVar

PREFIX = "quatcast_"
BUCKETS = (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
"""Upper bounds of the buckets of a histogram in seconds; one without bound follows."""
MAX_SERIES = 1000
"""Largest number of series. Labels can come from a network, so that their number has to be bounded."""
MAX_LABEL = 200
"""Longest value of a label in characters; the rest is cut off."""
OVERFLOW = f"{PREFIX}metrics_refused_total"

Labels = tuple[tuple[str, str], ...]
T = TypeVar("T")
_NAME = re.compile(r"[a-z][a-z0-9_]*")


@dataclass
class Histogram:
    """Counts per bucket, number and sum of the values that were observed.

    Attributes
    ----------
    counts
        Number of values per bucket of `BUCKETS`; the last bucket has no upper bound.
    sum
        Sum of the values.

    Examples
    --------
    >>> histogram = Histogram()
    >>> for seconds in (0.0004, 0.0015, 0.0016, 0.3):
    ...     histogram.add(seconds)
    >>> histogram.count, histogram.counts[:4]
    (4, [1, 0, 2, 0])
    """

    counts: list[int] = field(default_factory=lambda: [0] * (len(BUCKETS) + 1))
    sum: float = 0.0

    @property
    def count(self) -> int:
        """Number of values."""
        return sum(self.counts)

    def add(self, value: float) -> None:
        """Count one value."""
        self.counts[bisect_left(BUCKETS, value)] += 1
        self.sum += value


class Metrics:
    """Registry of what the live service counts and measures, and whether it is ready.

    A series is a name with labels. Names are short words; the text output adds the prefix ``quatcast_``, the ending
    ``_total`` of a counter and the ending ``_seconds`` of a histogram unless they are there already. Everything is
    plain Python for one event loop and costs a few microseconds per call.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.count("samples", stream="chest")
    >>> metrics.count("samples", 2, stream="chest")
    >>> metrics.gauge("viewers", 1)
    >>> print(metrics.text(), end="")
    # TYPE quatcast_ready gauge
    quatcast_ready 0
    # TYPE quatcast_samples_total counter
    quatcast_samples_total{stream="chest"} 3
    # TYPE quatcast_viewers gauge
    quatcast_viewers 1
    >>> metrics.value("samples", stream="chest")
    3.0
    """

    def __init__(self) -> None:
        self._counters: dict[str, dict[Labels, float]] = {}
        self._gauges: dict[str, dict[Labels, float]] = {}
        self._histograms: dict[str, dict[Labels, Histogram]] = {}
        self._size = 0
        self.is_ready = False
        self.why = "starting"

    def count(self, name: str, n: float = 1, **labels: object) -> None:
        """Add `n` to a counter.

        Raises
        ------
        ValueError
            If `n` is negative or not finite, or if a name is not made of lower-case letters, digits and underscores.
        """
        if not (n >= 0 and math.isfinite(n)):
            raise ValueError(f"n: expected a finite number of at least 0 for the counter {name}, got {n}")
        series, key = self._series(self._counters, _full(name, "_total"), labels)
        if series is not None:
            series[key] = series.get(key, 0.0) + n

    def gauge(self, name: str, value: float, **labels: object) -> None:
        """Set a gauge, a value that can rise and fall."""
        series, key = self._series(self._gauges, _full(name), labels)
        if series is not None:
            series[key] = float(value)

    def observe(self, name: str, seconds: float, **labels: object) -> None:
        """Add a duration to a histogram; durations that are not finite are ignored."""
        if not math.isfinite(seconds):
            return
        series, key = self._series(self._histograms, _full(name, "_seconds"), labels)
        if series is not None:
            series.setdefault(key, Histogram()).add(seconds)

    def ready(self, is_ready: bool, why: str = "") -> None:
        """Set whether the service is ready to forecast, and why not."""
        self.is_ready, self.why = is_ready, "" if is_ready else why

    def value(self, name: str, **labels: object) -> float:
        """Return the value of a counter or a gauge; 0 if there is no such series.

        Examples
        --------
        >>> Metrics().value("samples")
        0.0
        """
        key = _key(labels)
        for kind, full in ((self._counters, _full(name, "_total")), (self._gauges, _full(name))):
            if key in kind.get(full, {}):
                return kind[full][key]
        return 0.0

    def histogram(self, name: str, **labels: object) -> Histogram:
        """Return a histogram; an empty one if nothing has been observed."""
        return self._histograms.get(_full(name, "_seconds"), {}).get(_key(labels), Histogram())

    def counters(self) -> dict[str, float]:
        """Return all counters, by name without prefix and ending, with the labels in braces.

        Examples
        --------
        >>> metrics = Metrics()
        >>> metrics.count("samples_refused", kind="size")
        >>> metrics.counters()
        {'samples_refused{kind="size"}': 1.0}
        """
        return {
            name.removeprefix(PREFIX).removesuffix("_total") + _braces(key): value
            for name, series in sorted(self._counters.items())
            for key, value in sorted(series.items())
        }

    def text(self) -> str:
        """Return everything in the text format of Prometheus, version 0.0.4."""
        lines = _lines("gauge", f"{PREFIX}ready", {(): float(self.is_ready)})
        for name, series in sorted(self._counters.items()):
            lines += _lines("counter", name, series)
        for name, series in sorted(self._gauges.items()):
            lines += _lines("gauge", name, series)
        for name, histograms in sorted(self._histograms.items()):
            lines.append(f"# TYPE {name} histogram")
            for key, histogram in sorted(histograms.items()):
                lines += _histogram_lines(name, key, histogram)
        return "\n".join(lines) + "\n"

    def _series(
        self, kind: dict[str, dict[Labels, T]], name: str, labels: Mapping[str, object]
    ) -> tuple[dict[Labels, T] | None, Labels]:
        """Return the series of a name and the key of the labels; None if there are too many series."""
        key = _key(labels)
        series = kind.get(name)
        if series is None or key not in series:
            if any(name in other for other in (self._counters, self._gauges, self._histograms) if other is not kind):
                raise ValueError(f"name: {name} is already a metric of another kind")
            if self._size >= MAX_SERIES:
                refused = self._counters.setdefault(OVERFLOW, {})
                refused[()] = refused.get((), 0.0) + 1
                return None, key
            self._size += 1
            series = kind.setdefault(name, {})
        return series, key


@lru_cache(maxsize=4096)
def _full(name: str, ending: str = "") -> str:
    """Return the name with prefix and ending."""
    if not _NAME.fullmatch(name):
        raise ValueError(f"name: expected lower-case letters, digits and underscores, got {name!r}")
    return PREFIX + name.removeprefix(PREFIX).removesuffix(ending) + ending


def _key(labels: Mapping[str, object]) -> Labels:
    """Return labels in a fixed order, with values of bounded length."""
    return tuple(sorted((name, str(value)[:MAX_LABEL]) for name, value in labels.items()))


def _braces(key: Labels) -> str:
    """Return labels as they are written after a name."""
    if not key:
        return ""
    return "{" + ",".join(f'{name}="{_escape(value)}"' for name, value in key) + "}"


def _escape(value: str) -> str:
    # Half a surrogate pair, as in the name of a file that is not UTF-8, could not be sent.
    return (
        value.encode(errors="replace")
        .decode()
        .replace("\\", r"\\")
        .replace('"', r"\"")
        .replace("\n", r"\n")
        .replace("\r", " ")
    )


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def _lines(kind: str, name: str, series: Mapping[Labels, float]) -> list[str]:
    values = [f"{name}{_braces(key)} {_number(value)}" for key, value in sorted(series.items())]
    return [f"# TYPE {name} {kind}", *values]


def _histogram_lines(name: str, key: Labels, histogram: Histogram) -> list[str]:
    lines, below = [], 0
    for bound, count in zip((*BUCKETS, math.inf), histogram.counts, strict=True):
        below += count
        lines.append(f"{name}_bucket{_braces((*key, ('le', _number(bound))))} {below}")
    return [*lines, f"{name}_sum{_braces(key)} {_number(histogram.sum)}", f"{name}_count{_braces(key)} {below}"]
