"""Totals of the source, the sinks and the grid, published as metrics once per second."""

from __future__ import annotations

from collections.abc import Mapping

from quatcast.live.metrics import Metrics


class Counters:
    """Publishes totals that the source, the sinks and the grid of a stream have counted.

    Examples
    --------
    >>> metrics = Metrics()
    >>> counters = Counters(metrics, "chest")
    >>> for total in (2, 5):
    ...     counters.publish({"malformed": total}, unchecked=7, dropped=0, grid={"late": 1})
    >>> metrics.value("messages_refused", kind="malformed", stream="chest")
    5.0
    """

    def __init__(self, metrics: Metrics, stream: str) -> None:
        self._metrics, self._stream = metrics, stream
        self._refused: dict[str, int] = {}

    def publish(self, refused: Mapping[str, int], unchecked: int, dropped: int, grid: Mapping[str, int]) -> None:
        """Publish refused messages by kind, samples without a checksum, dropped forecasts, and samples by kind."""
        for kind, n in refused.items():
            self._metrics.count("messages_refused", n - self._refused.get(kind, 0), kind=kind, stream=self._stream)
            self._refused[kind] = n
        self._metrics.gauge("samples_unchecked", unchecked, stream=self._stream)
        self._metrics.gauge("forecasts_dropped", dropped, stream=self._stream)
        for kind, n in grid.items():
            self._metrics.gauge("grid", n, kind=kind, stream=self._stream)
