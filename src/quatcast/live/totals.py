"""Totals of a live service: what it has done in the end, and the counts that it publishes once per second."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from quatcast.live.metrics import Metrics


@dataclass(frozen=True)
class Summary:
    """What a service has done.

    Attributes
    ----------
    frames, forecasts, holds
        Number of frames taken, of forecasts sent, and of those with the status hold.
    unlearnt
        Number of samples from which nothing was learnt, because this machine could not keep up.
    hurried
        Whether samples arrived faster than they were measured, as those of a recording that is sent at once do.
    counts
        Number of frames and samples of each kind.
    refused
        Number of messages that were not valid samples, by kind.
    dropped
        Number of forecasts that sinks dropped.
    rate
        Sampling rate in Hz, also of a session that was continued; 0 if it could not be detected.

    Examples
    --------
    >>> Summary(frames=100, forecasts=98, holds=0, unlearnt=0, counts={"lost": 2}, refused={}, dropped=0).counts["lost"]
    2
    """

    frames: int
    forecasts: int
    holds: int
    unlearnt: int
    counts: dict[str, int]
    refused: dict[str, int]
    dropped: int
    rate: float = 0.0
    hurried: bool = False


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
